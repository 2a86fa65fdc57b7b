/* What a client binds itself to when it speaks to a TLS server. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* "tls-server-end-point:" and the digest of the first certificate of a PEM text, by the algorithm of its signature, SHA-256 in place of MD5 and SHA-1 (RFC 5929
 * section 4.1). Writes at most `max` bytes, 85 are enough. ERR_UNPROCESSABLE if there is no certificate, or one whose signature names no digest. */
int x509_end_point_binding(const char *pem, uint8_t *out, size_t max, size_t *n, struct err *err);
