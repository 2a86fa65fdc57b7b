/* The keys that sign tokens: publishing, rotating, retiring. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A new key is published for `signing_key_publish_ms` before it signs, so that whoever keeps a copy of the published keys knows it in time. The
 * one before is accepted until the last token that it may have signed has ended; then it is deleted, here and in the memory of every replica. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct signon;
struct actor;
struct strbuf;

/* Reads the keys that were changed, by any replica, and makes memory follow. Blocks. */
int signon_apply_key_change(struct signon *signon, struct err *err);

/* Appends the public keys to `out` as a JWK Set. ERR_NOMEM, ERR_TOO_LARGE. */
int signon_write_jwks(struct signon *signon, struct strbuf *out, struct err *err);
/* For how long others may keep the JWK Set: well below the time for which a key is published before it signs. */
int64_t signon_jwks_max_age_s(const struct signon *signon);

#define SIGNON_KEY_ID_BYTES 44
struct signon_key {
    char kid[SIGNON_KEY_ID_BYTES];
    const char *state; /* "next", "active", "retired"; static */
    int64_t created_at_ms, signs_from_ms;
    int64_t verifies_until_ms; /* 0: no end is set yet */
};
#define SIGNON_KEYS_MAX 32
struct signon_key_list {
    struct signon_key items[SIGNON_KEYS_MAX]; /* newest first */
    size_t count;
};

/* Reads the keys from the database. Blocks. */
int signon_list_keys(struct signon *signon, struct signon_key_list *out, struct err *err);

struct signon_key_rotation {
    bool is_immediate; /* publish for a moment only: those who keep copies may refuse tokens until they read again */
    bool drops_old;    /* tokens of the old key end at once: for a key that has leaked; implies is_immediate */
};
/* Publishes a new key, or takes one that is published already. Noted in the audit log. Blocks. *out is the coming key, whose state may have changed by then. */
int signon_rotate_keys(struct signon *signon, const struct actor *actor, const struct signon_key_rotation *rotation,
                       struct signon_key *out, struct err *err);

/* Does what is due with the keys: begins to sign with one, retires, deletes, or rotates by age. Looks only at memory while nothing is due; one replica does
 * it, under a lease. Call it every second or so. Blocks. */
int signon_keys_tick(struct signon *signon, struct err *err);

/* -- for the files of this folder -------------------------------------------------------------------------------------- */

/* Makes the empty key set in signon->keys. ERR_NOMEM. */
int signing_keys_new(struct signon *signon, struct err *err);

/* Makes a key, sealed for the database; its texts are freed by signing_key_done. `from_ms` is when it signs. */
struct signing_key;
int signing_keys_make(struct signon *signon, int64_t from_ms, struct signing_key *out, struct err *err);
