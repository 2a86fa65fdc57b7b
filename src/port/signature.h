/* Detached signatures by Ed25519 (RFC 8032), 64 bytes, as `openssl pkeyutl -sign -rawin` writes them. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define SIGNATURE_BYTES 64U
#define SIGNATURE_KEYS_MAX 8U

struct signature_keys;

/* Reads all public keys of a PEM text ("BEGIN PUBLIC KEY"), one to SIGNATURE_KEYS_MAX, each Ed25519; what else stands there is passed over. The caller frees
 * *out by signature_keys_free. ERR_CONFIG with a remedy, ERR_NOMEM. */
int signature_keys_read(const char *pem, struct signature_keys **out, struct err *err);
void signature_keys_free(struct signature_keys *keys); /* NULL is allowed */

/* True if one of the keys made this signature over exactly these bytes. */
bool signature_is_good(const struct signature_keys *keys, const void *bytes, size_t n, const void *signature,
                       size_t signature_bytes);
