/* Sealing of secrets at rest with the master key (AES-256-GCM, NIST SP 800-38D). Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Format: version byte 1, key id (4 bytes, first of SHA-256 of the key), nonce (12), ciphertext, tag (16). The first five bytes and
 * the purpose text are authenticated, so that a sealed value cannot be moved to another place. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

#define SEAL_KEY_BYTES 32
#define SEAL_OVERHEAD_BYTES 33
#define SEAL_KEYS_MAX 8
#define SEAL_KEY_ID_BYTES 9 /* the key id in hexadecimal, with NUL */

/* Holds one or several keys in locked memory: one of them seals, all of them open. All functions may be called from any thread. */
struct seal;

/* Reads a key file: 32 raw bytes for each of 1 to SEAL_KEYS_MAX keys, the oldest first, mode 0600 (fs_read_secret). The first one seals until
 * seal_choose names another. ERR_CONFIG, ERR_NOT_FOUND. Freed by seal_free. */
int seal_open_file(const char *path, struct seal **out, struct err *err);

/* Takes raw key bytes (tests, key creation). */
int seal_open_key(const uint8_t key[SEAL_KEY_BYTES], struct seal **out, struct err *err);

/* Reads the file again and takes over what is in it now. ERR_CONFIG also if the key that seals is missing: then nothing changes. */
int seal_reload_file(struct seal *seal, const char *path, struct err *err);

/* From now on this key seals. ERR_NOT_FOUND if it is not held. */
int seal_choose(struct seal *seal, const char *key_id, struct err *err);

struct seal_ids {
    char items[SEAL_KEYS_MAX][SEAL_KEY_ID_BYTES]; /* in the order of the file */
    size_t count, sealing;                        /* items[sealing] seals */
};
/* Which keys are held. */
void seal_get_ids(struct seal *seal, struct seal_ids *out);

/* Id of the key with these 32 bytes. */
void seal_id_of_key(const uint8_t key[SEAL_KEY_BYTES], char out[SEAL_KEY_ID_BYTES]);

/* Wipes and frees. NULL is allowed. */
void seal_free(struct seal *seal);

/* Appends the sealed form of n bytes for `purpose` ("signing-key:<kid>"). ERR_NOMEM, ERR_INTERNAL. */
int seal_seal(struct seal *seal, const char *purpose, const void *plain, size_t n, struct strbuf *out, struct err *err);

/* Appends the plain bytes to `out` (make it with strbuf_init_secret). ERR_CONFIG if the key that sealed the value is not held, or the value was changed or
 * moved; ERR_NOMEM. */
int seal_unseal(struct seal *seal, const char *purpose, const void *sealed, size_t n, struct strbuf *out, struct err *err);

/* Derives a key for one purpose from the master key with this id (HKDF with SHA-256, RFC 5869); each `salt` and `info` gives another key. The
 * caller wipes it. ERR_NOT_FOUND if the master key is not held; ERR_INTERNAL. */
struct seal_derivation {
    const char *key_id;
    const void *salt, *info;
    size_t salt_bytes, info_bytes;
};
int seal_derive(struct seal *seal, const struct seal_derivation *from, uint8_t out[SEAL_KEY_BYTES], struct err *err);
