/* The database: a bounded pool of connections, health, schema check. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * All SQL lives in this folder and in sql/. Every function here and in the *_store.h headers blocks on the network: call
 * from worker pools only, never from a handler that must be fast. All are safe to call from several threads at once.
 *
 * Common errors, not repeated at each prototype: ERR_DATABASE (away, or refused the account; retry_after_s is set while
 * the pool waits before it tries again), ERR_BUSY (no connection free in time, or a conflict that outlived all retries),
 * ERR_SCHEMA (a table or column is missing), ERR_NOMEM. A text that does not fit its column or is not UTF-8 gives
 * ERR_UNPROCESSABLE. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"

struct store;

/* Texts are copied. Either unix_socket, or host with ca_file: a network connection is always TLS with the chain and the
 * name checked. Zero numbers mean the default in brackets. */
struct store_options {
    const char *unix_socket;
    const char *host;
    unsigned port;        /* [3306] */
    const char *ca_file;  /* PEM file with the CA of the server's certificate */
    const char *database; /* NULL: none selected (only for store_create_accounts) */
    const char *user;
    const char *account_remedy; /* what to do when the server refuses the account; a literal; NULL: see database.user */
    const char *password;       /* NULL or "": none (socket authentication) */
    unsigned connections_max;   /* [8] 1 to 64; opened when needed */
    unsigned connect_timeout_s; /* [5] Connector/C knows whole seconds only */
    unsigned call_timeout_s;    /* [15] one statement; the server gives up a second earlier, or a third of it */
    long borrow_timeout_ms;     /* [5000] waiting for a free connection */
};

/* Makes the pool. Connects to nothing yet, so the database may be away. *out is freed by store_free.
 * ERR_CONFIG for options that contradict each other. */
int store_new(const struct store_options *options, struct store **out, struct err *err);

/* Closes all connections; none may be in use. The password is wiped. NULL is allowed. */
void store_free(struct store *store);
CLEANUP_DEFINE(struct store, store_free);

/* One round trip to the server, with a connection attempt if the pool's waiting time allows one. */
int store_ping(struct store *store, struct err *err);

/* Wall clock since when the database is away, or 0 while it answers (or was never asked). Asks memory only. */
int64_t store_away_since_ms(struct store *store);

/* 0 if the database is likely to answer; ERR_DATABASE with retry_after_s while it is away or has been silent for 1.5 s. Asks memory only: for callers
 * that would otherwise queue for a thread first. store_ping must be called every second, since it finds out that the database is back. */
int store_check_answers(struct store *store, struct err *err);

enum store_state {
    STORE_ANSWERS,
    STORE_AWAY,
    STORE_REFUSES, /* it answers, but refused something just now because it is read-only, its disk is full or the like */
};
/* The state of the database, and since when (wall clock), which is only as exact as this is called often. `why` gets reason and remedy of STORE_REFUSES.
 * Asks memory only. */
enum store_state store_get_state(struct store *store, int64_t *since_ms, struct err *why);

struct metric_page;
/* Puts on the page whether the database answers, and how the connections to it are used. Asks memory only. */
void store_write_metrics(struct store *store, struct metric_page *page);

/* Sets a function that is called when a transaction waited for a lock in vain: `problem` is "lock_wait_timeout" (error 1205, also where the transaction is
 * run again), "deadlock" (1213, after all attempts) or "audit_chain_timeout"; `sql` is the statement without its values, or what was waited for. Called by
 * the thread of the transaction; the texts are borrowed. Set before other threads use the store. */
void store_set_lock_listener(struct store *store, void (*fn)(void *arg, const char *problem, const char *sql), void *arg);

/* For worker_pool_options.thread_begin and thread_end of every thread that calls into the store. */
void store_thread_begin(void);
void store_thread_end(void);

/* The replica whose change sequence this process writes (replica_store_register gives the number). Until set it is 0, the
 * row of the command line tools. Set once, before other threads write. */
void store_set_replica(struct store *store, unsigned replica_id);
unsigned store_get_replica(const struct store *store);
/* "replica-7": this replica's name in leases, and in lines of the audit log about what it does by itself. Valid until this thread calls it again. */
const char *store_replica_name(const struct store *store);

/* Deletes old rows of the change log, closes operations that nobody works on any more, and deletes audit lines older than audit_keep_ms (0: none),
 * in batches, so that nobody waits long for the locks of one. Does nothing while another replica has the lease for this. *operations_closed counts
 * the operations closed with the result OPERATION_UNKNOWN, also on failure. Blocks; to be called every ten minutes. */
int store_prune(struct store *store, int64_t audit_keep_ms, unsigned *operations_closed, struct err *err);

/* Frees what Connector/C keeps for the process. Call once at the very end, after every store_free. */
void store_global_done(void);
