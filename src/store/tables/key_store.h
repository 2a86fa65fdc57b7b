/* Signing keys of tokens. Layer 2 (store). Common errors: store.h. Writes note CHANGE_SIGNING_KEY with the kid.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "store.h"

enum signing_key_state { SIGNING_KEY_NEXT, SIGNING_KEY_ACTIVE, SIGNING_KEY_RETIRED };
const char *signing_key_state_name(enum signing_key_state state); /* "next", "active", "retired"; static */

struct signing_key {
    char *kid;
    char *public_jwk; /* JSON text */
    uint8_t *sealed;  /* private JWK, sealed by the caller */
    size_t sealed_bytes;
    enum signing_key_state state;
    int64_t created_at_ms;
    int64_t signs_from_ms; /* wall clock: when it begins or began to sign */
    int64_t not_after_ms;  /* wall clock: tokens of this key are accepted until then */
};
void signing_key_done(struct signing_key *k); /* NULL is allowed */

struct signing_key_list {
    struct signing_key *items; /* newest first */
    size_t count;
};
void signing_key_list_done(struct signing_key_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by signing_key_list_done. */
int key_store_list(struct store *store, struct signing_key_list *out, struct err *err);

/* Writes the first active key of the installation; ERR_EXISTS if there is an active one already (list again). So two replicas
 * that start together agree on one key. */
int key_store_insert_first(struct store *store, const struct signing_key *k, struct err *err);

#define SIGNING_KEYS_MAX 30 /* at a time, most of them retired */

/* Writes a key that signs from next->signs_from_ms on. If there is a next key already, none is written, and that one starts at next->signs_from_ms if it
 * would start later. Tokens of the active key are accepted until `active_until_ms` at most (0: unchanged). *out names the next key.
 * ERR_CONFLICT when SIGNING_KEYS_MAX are there. */
struct signing_key_rotation {
    const struct signing_key *next; /* state SIGNING_KEY_NEXT */
    int64_t active_until_ms;
};
#define SIGNING_KEY_ID_BYTES 101 /* as wide as the column */
struct signing_key_begun {
    char kid[SIGNING_KEY_ID_BYTES];
    bool is_new; /* `next` was written */
};
int key_store_begin_rotation(struct store *store, const struct signing_key_rotation *rotation, struct signing_key_begun *out,
                             struct err *err);

/* Makes this key the active one, signing from now on, and retires the active one before it, whose tokens are accepted until `old_until_ms` at most; in
 * one transaction. Changes nothing if the key is active already. ERR_NOT_FOUND, ERR_CONFLICT if it is retired. */
struct signing_key_activation {
    const char *kid;
    int64_t now_ms, old_until_ms;
};
int key_store_activate(struct store *store, const struct signing_key_activation *activation, struct err *err);

/* Deletes retired keys whose not_after_ms has passed; *deleted is their number. */
int key_store_purge(struct store *store, int64_t now_ms, unsigned *deleted, struct err *err);
