/* Our tokens: signing keys, issue, verification, JWKS. JWT (RFC 7519) signed by ES256 (RFC 7518 3.4), nothing else. Layer 1 (token).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * This folder is the only user of cjose. All functions on a struct token_set may be called from any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "principal.h"
#include "strbuf.h"

#define TOKEN_KID_BYTES 44 /* base64url of a SHA-256, with NUL */
#define TOKEN_SUBJECT_BYTES 512
#define TOKEN_ID_BYTES 37 /* a UUID, with NUL */
#define TOKEN_KEYS_COUNT_MAX 32
#define TOKEN_ACT_BYTES 48    /* "svc:<uuid>" and NUL */
#define TOKEN_CLOCK_SKEW_S 60 /* how far `iat` may lie ahead of our clock */

/* What a token says. `iss` and `aud` belong to the set. */
struct token_claims {
    char sub[TOKEN_SUBJECT_BYTES]; /* principal id */
    char jti[TOKEN_ID_BYTES];
    char sid[TOKEN_ID_BYTES];  /* session */
    char act[TOKEN_ACT_BYTES]; /* `act` (RFC 8693 section 4.1): the program that acts for `sub`; "": none */
    enum source src;
    enum role role;       /* a hint: rights come from the session */
    int64_t iat_s, exp_s; /* wall clock */
};

enum token_key_state {
    TOKEN_KEY_ACTIVE,      /* signs; at most one, the newest one set */
    TOKEN_KEY_VERIFY_ONLY, /* not yet, or no longer, used for signing */
};

/* A key for token_set_add_key. Its id must be the thumbprint of the public part (RFC 7638); that is checked. */
struct token_key {
    const char *kid;
    const char *jwk; /* private JWK as JSON text; a secret */
    enum token_key_state state;
    int64_t not_after_s; /* tokens of this key are refused from then on; 0: no end */
};

struct token_set;

struct token_options {
    const char *issuer;   /* `iss`; copied */
    const char *audience; /* `aud`; copied */
    size_t cache_count;   /* verified tokens kept; 0: KAAS_TOKEN_CACHE_COUNT_MAX */
};

/* Makes a P-256 key. `kid` gets its id, *jwk the private JWK text, to be sealed by the caller and freed by secret_free. ERR_INTERNAL, ERR_NOMEM. */
int token_key_generate(char kid[TOKEN_KID_BYTES], char **jwk, struct err *err);

/* Makes a set without keys: it can neither issue nor verify yet. Freed by token_set_free. ERR_NOMEM. */
int token_set_new(const struct token_options *options, struct token_set **out, struct err *err);
void token_set_free(struct token_set *set); /* no call may be in progress; NULL is allowed */
CLEANUP_DEFINE(struct token_set, token_set_free);

/* Adds a key, or changes state and end of the one with this id. An active key makes the active one before it verify-only.
 * ERR_CONFIG (no P-256 key, or its id is another one), ERR_TOO_LARGE (TOKEN_KEYS_COUNT_MAX), ERR_NOMEM. */
int token_set_add_key(struct token_set *set, const struct token_key *key, struct err *err);

/* Forgets all keys but these `count`, and, if one goes, every cached verdict: tokens of a key that was deleted elsewhere fail from now on. */
void token_set_retain(struct token_set *set, const char *const *kids, size_t count);

/* Appends the public keys as JWK set (RFC 7517) for /.well-known/jwks.json: those that still verify at `now_s`. ERR_NOMEM, ERR_TOO_LARGE. */
int token_set_write_jwks(struct token_set *set, int64_t now_s, struct strbuf *out, struct err *err);

/* Signs the claims with the active key; *out is the compact form, freed by secret_free. ERR_UNAVAILABLE (no active key),
 * ERR_INTERNAL (claims that would not verify), ERR_NOMEM. */
int token_issue(struct token_set *set, const struct token_claims *claims, char **out, struct err *err);

/* Checks a token of `n` bytes at wall-clock time `now_s` and gives its claims. ERR_TOKEN_EXPIRED when nothing but its end is wrong;
 * else ERR_UNAUTHENTICATED with a general text, and the precise reason in the private detail; ERR_NOMEM. */
int token_verify(struct token_set *set, const char *text, size_t n, int64_t now_s, struct token_claims *out, struct err *err);

/* Callbacks that decide whether the signature of a token that is not in the cache is checked at all. */
struct token_gate {
    /* `claims` are those of the token, of the right form but not proved yet. 0: check the signature; else the code to answer. */
    int (*ask)(void *arg, const struct token_claims *claims, struct err *err);
    void (*on_failure)(void *arg); /* called when a check that `ask` allowed has failed */
    void *arg;
};
struct token_presented {
    const char *text;
    size_t n;
    int64_t now_s;
    const struct token_gate *gate; /* NULL: everything is checked */
};
/* As token_verify, with a gate, whose codes it returns, too. A token whose claims cannot be valid is refused without asking the gate. */
int token_verify_gated(struct token_set *set, const struct token_presented *presented, struct token_claims *out, struct err *err);

/* Drops all cached verdicts. For tests, as token_set_get_stats, which alone shows whether a verdict was cached. */
void token_set_drop_cache(struct token_set *set);

struct token_stats {
    unsigned long hits, verified, refused, refused_hits; /* since the start; refused_hits: known bad tokens, not checked again */
    size_t cached;
};
void token_set_get_stats(struct token_set *set, struct token_stats *out);
