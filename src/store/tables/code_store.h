/* Codes by which a session is handed over or found again, and credentials that work once. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "store.h"
#include "uuid.h"

#define CODE_DIGEST_BYTES 32U
#define CODE_ORIGIN_BYTES 301U /* "https://HOST:PORT" and NUL */

struct login_code {
    uint8_t digest[CODE_DIGEST_BYTES]; /* SHA-256 of the code */
    char sid[UUID_TEXT_BYTES];
    char origin[CODE_ORIGIN_BYTES]; /* of the page that may hand it over; "": our own page */
    int64_t ends_at_ms;             /* wall clock */
};

/* Writes a code and deletes the earlier codes of its session. ERR_EXISTS if the digest is there already. */
int code_store_add(struct store *store, const struct login_code *code, struct err *err);

/* Reads the code with this digest and deletes it in the same transaction: only one of several callers, at any replica, gets it. The caller checks
 * ends_at_ms. ERR_NOT_FOUND. */
int code_store_take(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], struct login_code *out, struct err *err);

/* Reads the code with this digest; it stays as it is. ERR_NOT_FOUND. */
int code_store_load(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], struct login_code *out, struct err *err);

/* Makes the code with this digest, if it is there, end at `until_ms` (wall clock) at the latest. */
int code_store_retire(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], int64_t until_ms, struct err *err);

/* Deletes up to `limit` codes that ended before this wall-clock time; *deleted is their number. */
int code_store_purge(struct store *store, int64_t before_ms, unsigned limit, unsigned long *deleted, struct err *err);

/* -- credentials that work once, for all replicas ----------------------------------------------- */

#define REPLAY_DIGEST_BYTES 32U

/* Notes that a credential was used. ERR_EXISTS if it was used before, here or at another replica. From `until_ms` on (wall clock) no replica accepts it any
 * more, and the note may be deleted. */
int replay_store_note(struct store *store, const uint8_t digest[REPLAY_DIGEST_BYTES], int64_t until_ms, struct err *err);

/* Deletes up to `limit` notes whose until_ms has passed; *deleted is their number. */
int replay_store_purge(struct store *store, int64_t now_ms, unsigned limit, unsigned long *deleted, struct err *err);

/* -- within a transaction of this folder --------------------------------------------------------------------------------- */

struct store_tx;

/* Deletes the codes of a session that ends. */
int code_tx_forget(struct store_tx *tx, const char *sid, struct err *err);
