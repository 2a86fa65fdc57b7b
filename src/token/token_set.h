/* The set of keys behind issue and verification. Inside src/token only. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <cjose/cjose.h>
#include <pthread.h>
#include <stdatomic.h>

#include "token.h"
#include "token_cache.h"

#define TOKEN_SIGNATURE_CHARS 86 /* base64url of the 64 bytes of R and S (RFC 7518 3.4) */

/* A key in memory. Shared by reference count, so that no lock is held during a curve operation. `state` is read and written under
 * the set's lock only; the rest, but for `refs`, does not change. */
struct token_held_key {
    atomic_uint refs;
    char kid[TOKEN_KID_BYTES];
    cjose_jwk_t *jwk;
    enum token_key_state state;
    int64_t not_after_s;
};

struct token_set {
    char *issuer, *audience;
    pthread_rwlock_t lock;                             /* guards keys and key_count */
    struct token_held_key *keys[TOKEN_KEYS_COUNT_MAX]; /* oldest first */
    size_t key_count;
    struct token_cache *good, *bad;
    atomic_ulong hits, verified, refused, refused_hits;
};

/* A reference to the key with this id, or NULL; given back by token_held_key_unref. */
struct token_held_key *token_set_find_key(struct token_set *set, const char *kid);
/* A reference to the signing key, or NULL. */
struct token_held_key *token_set_find_active(struct token_set *set);
void token_held_key_unref(struct token_held_key *key); /* NULL is allowed */
CLEANUP_DEFINE(struct token_held_key, token_held_key_unref);

static inline void cleanup_cjose_jwk_release(cjose_jwk_t **jwk) {
    if (*jwk)
        (void)cjose_jwk_release(*jwk);
}
CLEANUP_DEFINE(cjose_jws_t, cjose_jws_release);
CLEANUP_DEFINE(cjose_header_t, cjose_header_release);

/* Of the two signatures that ECDSA has for a text, (r, s) and (r, n - s), only the one with the smaller s is written and read, so that a token has
 * one text. True if `s`, big-endian, is the smaller one. */
bool token_is_lower_s(const uint8_t s[32]);

/* Writes the RFC 7638 thumbprint of the key. ERR_CONFIG if it is no P-256 key, ERR_NOMEM. */
int token_key_thumbprint(const cjose_jwk_t *jwk, char kid[TOKEN_KID_BYTES], struct err *err);
