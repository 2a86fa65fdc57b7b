/* The description of a parsed certificate. Inside src/port only. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <openssl/types.h>

#include "err.h"
#include "x509.h"

/* Describes the certificate, which stays the caller's. ERR_UNPROCESSABLE (malformed parts), ERR_NOMEM. */
int x509_describe(X509 *cert, struct x509_info *out, struct err *err);
