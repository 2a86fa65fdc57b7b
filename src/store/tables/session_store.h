/* Signed-in sessions. Layer 2 (store). Common errors: store.h. All writes but the purge note CHANGE_SESSION with the sid.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "session.h"
#include "store.h"

struct session_list {
    struct session *items;
    size_t count;
};
void session_list_done(struct session_list *list); /* NULL is allowed */
#define _cleanup_session_list_ __attribute__((cleanup(session_list_done)))

/* A credential that works once: its digest is noted with the session (replay_store_note). */
#define SESSION_ONCE_BYTES 32U
struct session_once {
    const uint8_t *digest; /* SESSION_ONCE_BYTES of them */
    int64_t until_ms;      /* wall clock: no replica accepts the credential from then on */
};

/* A session to be opened. Borrowed. */
struct session_opening {
    const struct session *session;
    const struct audit_record *line; /* written with it */
    const struct session_once *once; /* NULL: the credential may be used again */
    unsigned live_max;               /* sessions that the principal may have; 0: any number */
};

/* Writes a new session and its line of the audit log in one transaction. If the principal has live_max sessions already, those whose last token is the oldest
 * end, each with a line. Sessions through a program that acts for the person are counted apart, for each program, and so are sessions by the key of a vCenter
 * session. Sign-ons that other replicas write at the same moment may not be counted: the next one ends the sessions that are too many.
 * ERR_EXISTS if the sid is taken, or the credential was used before, here or at another replica. */
int session_store_open(struct store *store, const struct session_opening *opening, struct err *err);

/* As session_store_open, without lines of the audit log and credential. */
int session_store_insert(struct store *store, const struct session *s, unsigned live_max, struct err *err);

/* Reads one, revoked or ended ones too; freed by session_free. ERR_NOT_FOUND. */
int session_store_load(struct store *store, const char *sid, struct session **out, struct err *err);

/* Reads the sessions with these sids, up to SESSION_LOAD_MAX, as far as they exist, revoked or ended ones too, ordered by sid; in two statements, however many.
 * *out (uninitialised) is given back by session_list_done. */
#define SESSION_LOAD_MAX 64U
int session_store_load_some(struct store *store, const char *const *sids, size_t count, struct session_list *out,
                            struct err *err);

/* Reads sessions that are not revoked and end after now_ms, for start-up. If there are more than `limit`, administrators are chosen first, then the sessions
 * with the newest tokens. Ordered by sid. *out (uninitialised) is given back by session_list_done. */
int session_store_list_active(struct store *store, int64_t now_ms, size_t limit, struct session_list *out, struct err *err);

/* A page of live sessions, ordered by the principal's name, then by handle: the first 16 hex digits of the SHA-256 of the sid. Texts that are NULL do not
 * restrict. Further vCenters are not read. */
#define SESSION_HANDLE_BYTES 17
struct session_query {
    int64_t now_ms;
    const char *principal;                 /* id, or name in any case */
    const char *handle;                    /* of the session wanted */
    const char *after_name, *after_handle; /* the last one of the page before */
    unsigned limit;
};
/* *out (uninitialised) is given back by session_list_done. */
int session_store_list(struct store *store, const struct session_query *query, struct session_list *out, struct err *err);

struct session_rotation {
    const char *sid;
    const char *jti; /* of the caller's token; becomes old_jti */
    const char *new_jti;
    int64_t now_ms;
};
/* Exchanges the jti if it is still the current one, atomically: of several callers with the same token exactly one gets 0. The others
 * get ERR_PRECONDITION (load and judge again). ERR_SESSION_ENDED if the session is unknown, revoked or past its end. */
int session_store_rotate(struct store *store, const struct session_rotation *rotation, struct err *err);

/* Writes what a directory said about the bearer when it was asked again. Leaves a revoked session as it is, without an error. Notes the change only if
 * something differs. */
struct session_news {
    const char *sid;
    const char *directory_mark;
    const struct group_set *groups;
};
int session_store_update_person(struct store *store, const struct session_news *news, struct err *err);

/* Revokes a session; a second call keeps the first time and returns 0. The line, if not NULL, is written in the same transaction.
 * ERR_NOT_FOUND. */
int session_store_revoke(struct store *store, const char *sid, int64_t now_ms, const struct audit_record *line, struct err *err);

/* Adds a further vCenter to a live session, or replaces the credential for it; the session ends no later than `ends_at_ms` from then on.
 * ERR_SESSION_ENDED if the session is unknown, revoked or past its end; ERR_CONFLICT when SESSION_VCENTERS_MAX are there. */
struct session_addition {
    const char *sid;
    const struct session_vcenter *vcenter; /* added_at_ms is now */
    int64_t ends_at_ms;
};
int session_store_add_vcenter(struct store *store, const struct session_addition *addition, struct err *err);

/* Takes a further vCenter away from a session. ERR_NOT_FOUND. */
int session_store_remove_vcenter(struct store *store, const char *sid, const char *vcenter_id, struct err *err);

/* Deletes up to `limit` sessions that ended or were revoked before this wall-clock time; *deleted is their number. */
int session_store_purge(struct store *store, int64_t before_ms, unsigned limit, unsigned long *deleted, struct err *err);

/* -- within a transaction of this folder --------------------------------------------------------------------------------- */

struct store_tx;

#define SESSION_ROWS_MAX 4U /* in one statement: each number of rows is a statement of its own on each connection */

/* A session to be written. Borrowed. */
struct session_new {
    struct session_opening opening;
    const char *group_ids;
    bool has_no_room; /* written as revoked, since newer sessions of its principal are written with it and take the room */
};

#define SESSION_ROWS_FULL 2 /* no ERR_*: one of the principals would have too many sessions, and nothing was written */

/* Writes 1 to SESSION_ROWS_MAX sessions, either all with `once` or all without, in one round trip; with `begins` the statement also starts the transaction.
 * AUDIT_TX_UNSETTLED (audit_tx.h), SESSION_ROWS_FULL, ERR_EXISTS. */
int session_rows_write(struct store_tx *tx, const struct session_new *items, size_t count, bool begins, struct err *err);
