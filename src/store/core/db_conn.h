/* One connection to the database, for one thread at a time, and the pool of them: the inner part of a store. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "store.h"

/* Longest key name that db_errno_key copies, with NUL. */
#define DB_KEY_BYTES 65

struct st_mysql;      /* MYSQL */
struct st_mysql_stmt; /* MYSQL_STMT */

struct db_cached { /* a prepared statement, known by its text */
    char *sql;
    size_t bytes;
    struct st_mysql_stmt *stmt;
};

/* When the server answered last, over all connections of a pool. Monotonic times in ms; 0: never. */
struct db_pulse {
    _Atomic int64_t heard_ms;       /* its last answer of any kind */
    _Atomic int64_t refused_ms;     /* its last answer that it cannot do what was asked (read-only, disk full) */
    _Atomic unsigned refused_errno; /* error number of that answer */
};

struct db_conn {
    struct st_mysql *mysql;
    struct db_cached *cached;
    size_t cached_count;
    const char *last_sql;        /* of the last prepared statement; NULL: none yet */
    unsigned last_errno;         /* of the last failure, 0 after a success */
    char last_key[DB_KEY_BYTES]; /* key or constraint that the last failure named, or "" */
    bool is_broken;              /* to be closed, not given back */
    bool is_timed_out;           /* it broke because the server was silent too long */
    bool has_answered;           /* the server has answered something since the connection was borrowed */
    int64_t began_at_ms;         /* monotonic: start of the running statement */
    _Atomic int64_t asked_ms;    /* monotonic: no answer since then; 0: nothing is asked. Read by other threads */
    struct db_pulse *pulse;      /* gets the times of answers; NULL: not kept */
    bool is_sounder;             /* borrowed to find out whether a silent server still answers */
    int64_t idle_since_ms;       /* monotonic; 0: it was not idle yet */
    int64_t call_timeout_ms;
};

/* Connects and sets the session up (strict SQL mode, UTC, READ COMMITTED, server-side time-outs). Freed by db_conn_close.
 * ERR_DATABASE, ERR_SCHEMA (no such database), ERR_NOMEM. */
int db_conn_open(const struct store_options *options, struct db_pulse *pulse, struct db_conn **out, struct err *err);

/* Closes statements and connection without waiting for a silent server. NULL is allowed. */
void db_conn_close(struct db_conn *conn);
CLEANUP_DEFINE(struct db_conn, db_conn_close);

/* Runs one statement given as text: session settings, transaction control, DDL. Nothing from outside belongs into it. */
int db_conn_exec(struct db_conn *conn, const char *sql, struct err *err);

/* Makes one round trip to the server. */
int db_conn_ping(struct db_conn *conn, struct err *err);

/* Notes the start of a statement. */
void db_conn_begin(struct db_conn *conn);

/* Notes that the server has answered: with a row of more to come, or at the end of a statement. */
void db_conn_heard(struct db_conn *conn, bool has_more);

/* Notes the failure with this number and message and describes it in err. Returns the ERR_* code. */
int db_conn_fail(struct db_conn *conn, unsigned number, const char *message, struct err *err);

/* `text` as a quoted SQL literal for account statements, which cannot be prepared. Wiped and freed by secret_free; NULL without memory. */
char *db_conn_quote(struct db_conn *conn, const char *text);

/* The server's version as a number (101106 for 10.11.6), and whether it is MariaDB. */
unsigned long db_conn_version(struct db_conn *conn, bool *is_mariadb);

/* -- what the server's and the client library's error numbers mean for us, as pure functions ----------------------- */

/* ERR_* code for an error number of MariaDB or Connector/C; ERR_INTERNAL for one that only a mistake of ours can cause. */
int db_errno_code(unsigned number);

/* What to tell the caller; static. */
const char *db_errno_text(unsigned number);

/* What to do about it; static, NULL if there is nothing to say. */
const char *db_errno_remedy(unsigned number);

/* True if the transaction was undone through no fault of its own and may be run again. */
bool db_errno_is_transient(unsigned number);

/* True if the connection can no longer be used. */
bool db_errno_is_lost(unsigned number);

/* True if a COMMIT that failed so may have been made all the same. */
bool db_errno_is_open(unsigned number);

/* The name of the key or constraint in a "Duplicate entry '...' for key 'NAME'" or foreign key message; "" if there is none. The
 * entry itself may hold anything, so the last mention counts. */
void db_errno_key(const char *message, char out[DB_KEY_BYTES]);

/* -- the pool ------------------------------------------------------------------------------------------------------- */

struct audit_side;

/* store_new without the audit log; `audit` is the caller's, also after db_pool_free. */
int db_pool_new(const struct store_options *options, struct audit_side *audit, struct store **out, struct err *err);
void db_pool_free(struct store *store); /* NULL is allowed */
CLEANUP_DEFINE(struct store, db_pool_free);

/* The `audit` that db_pool_new was given (audit_tx.h). */
struct audit_side *store_audit_side(struct store *store);

/* Gives a connection, an idle one (pinged if it was idle for long) or a new one. Waits for borrow_timeout_ms: ERR_BUSY. While the
 * database is away and the back-off runs, ERR_DATABASE at once with retry_after_s. Every borrow is followed by a give. */
int db_pool_borrow(struct store *store, struct db_conn **out, struct err *err);

/* Takes the connection back; a broken one is closed, and the idle ones with it, since they have most likely died too. */
void db_pool_give(struct store *store, struct db_conn *conn);

/* Tells the listener of the store (store_set_lock_listener), if there is one. */
void db_pool_tell_lock(struct store *store, const char *problem, const char *sql);

/* Time for one statement as configured. */
int64_t db_pool_call_timeout_ms(const struct store *store);
