/* SHA-256 and HMAC over OpenSSL, with per-thread contexts. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DIGEST_SHA256_BYTES 32

/* SHA-256 of n bytes. Cannot fail with a working OpenSSL; ends the process otherwise. */
void digest_sha256(const void *bytes, size_t n, uint8_t out[DIGEST_SHA256_BYTES]);

/* The first eight bytes of the SHA-256 as a number: for entity tags. */
uint64_t digest_u64(const void *bytes, size_t n);

/* HMAC-SHA-256 (RFC 2104). */
void digest_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t n, uint8_t out[DIGEST_SHA256_BYTES]);
