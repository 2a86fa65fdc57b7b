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
    int64_t until_ms;      /* wall clock; nobody takes the credential any more then */
};

/* A session to be opened. Borrowed. */
struct session_opening {
    const struct session *session;
    const struct audit_record *line; /* written with it */
    const struct session_once *once; /* NULL: the credential may be used again */
    unsigned live_max;               /* sessions that the principal may have; 0: any number */
};

/* Writes a new session and its line of the audit log in one transaction. Of a principal that has live_max sessions already, those end
 * that a token was made for longest ago, each with a line; sessions through a program that acts for the person are counted apart, for each program, and so are
 * those by the key of a vCenter session. Sign-ons that other replicas write at the same moment may not be seen: the next one ends what is too many.
 * ERR_EXISTS if the sid is taken, or the credential was used before, here or at another replica. */
int session_store_open(struct store *store, const struct session_opening *opening, struct err *err);

/* The same without lines and credential. */
int session_store_insert(struct store *store, const struct session *s, unsigned live_max, struct err *err);

/* Reads one, revoked or ended ones too; freed by session_free. ERR_NOT_FOUND. */
int session_store_load(struct store *store, const char *sid, struct session **out, struct err *err);

/* Reads, by sid, those of up to SESSION_LOAD_MAX that there are, revoked or ended ones too; in two statements, however many. *out (uninitialised) is given back
 * by session_list_done. */
#define SESSION_LOAD_MAX 64U
int session_store_load_some(struct store *store, const char *const *sids, size_t count, struct session_list *out,
                            struct err *err);

/* Reads, by sid, those not revoked that end after now_ms, for start-up: `limit` at most, administrators first, then those that a token was made for last. *out
 * (uninitialised) is given back by session_list_done. */
int session_store_list_active(struct store *store, int64_t now_ms, size_t limit, struct session_list *out, struct err *err);

/* A page of live sessions, by the names of their people and then by handle: the first 16 hex digits of the SHA-256 of the sid. Texts that are NULL do not
 * count. Further vCenters are not read. */
#define SESSION_HANDLE_BYTES 17
struct session_query {
    int64_t now_ms;
    const char *principal;                 /* id, or name in any case */
    const char *handle;                    /* this one */
    const char *after_name, *after_handle; /* the last one of the page before */
    unsigned limit;
};
/* *out (uninitialised) is given back by session_list_done. */
int session_store_list(struct store *store, const struct session_query *query, struct session_list *out, struct err *err);

struct session_rotation {
    const char *sid;
    const char *jti; /* the one the caller's token has; becomes old_jti */
    const char *new_jti;
    int64_t now_ms;
};
/* Exchanges the jti if it is still the current one, atomically: of several callers with one token exactly one gets 0. Others get
 * ERR_PRECONDITION (load and judge again). ERR_SESSION_ENDED if the session is unknown, revoked or past its end. */
int session_store_rotate(struct store *store, const struct session_rotation *rotation, struct err *err);

/* Writes what a directory said about the bearer when it was asked again; a session that has ended is left alone, without an error. Notes the change
 * only if something differs. */
struct session_news {
    const char *sid;
    const char *directory_mark;
    const struct group_set *groups;
};
int session_store_update_person(struct store *store, const struct session_news *news, struct err *err);

/* Revokes one session; doing it again keeps the first time and gives 0. The line, if not NULL, is written in the same transaction.
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
    bool has_no_room; /* it ends as it begins, since newer ones of its principal are written with it */
};

#define SESSION_ROWS_FULL 2 /* no ERR_*: one of the principals would have too many, and nothing was written */

/* Writes 1 to SESSION_ROWS_MAX of them, either all with `once` or all without, in one round trip; with `begins` that starts the transaction, too.
 * AUDIT_TX_UNSETTLED (audit_tx.h), SESSION_ROWS_FULL, ERR_EXISTS. */
int session_rows_write(struct store_tx *tx, const struct session_new *items, size_t count, bool begins, struct err *err);
