/* What the files of this folder share. Layer 4 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "audit.h"
#include "hx.h"
#include "hx_store.h"
#include "hyperflex.h"
#include "uuid.h"

struct worker_pool;

#define HYPERFLEX_AT_ONCE 8U /* under way, of the worker pool and of those who ask */

struct hyperflex {
    struct hyperflex_options options;
    struct worker_pool *workers;
    pthread_cond_t left;            /* a place was left, or it is stopped */
    pthread_mutex_t inherited;      /* held while somebody logs in with what was inherited */
    pthread_mutex_t lock;           /* guards what follows */
    struct hx_status_list statuses; /* as of the last tick */
    struct place {
        const char *hx_id;        /* NULL: the place is free */
        struct hx_client *client; /* that hyperflex_stop ends; NULL: not made yet */
    } places[HYPERFLEX_AT_ONCE];
    char *ca_pem;           /* of hx.ca_file; NULL: none */
    int64_t next_search_ms; /* monotonic clock */
    bool is_stopped;
};

/* One try at one HX cluster, by the holder of its lease. */
struct visit {
    struct hyperflex *h;
    const struct actor *actor; /* who asked; NULL: kaasd by itself */
    struct place *place;       /* NULL: none is needed */
    struct hx_connection *connection;
    struct hx_status *status;
    struct hx_client *client;
    struct hx_token token; /* access NULL: none */
    enum hx_connection_state old_state;
    char old_reason[sizeof(((struct hx_status *)0)->reason)];
    char older_id[UUID_TEXT_BYTES]; /* it turned out to be this HX cluster; "": not */
};

/* -- visit.c ------------------------------------------------------------------------------------------------------------ */

/* `purpose` is malloc'ed and freed there; NULL: ERR_NOMEM. out->bytes is freed by the caller. */
int hyperflex_seal(struct hyperflex *h, char *purpose, const char *text, struct hx_sealed *out, struct err *err);
/* Likewise; frees the bytes of `sealed`, too. *out is freed by secret_free; NULL: none is kept. */
int hyperflex_unseal(struct hyperflex *h, char *purpose, struct hx_sealed sealed, char **out, struct err *err);
/* A secret of one HX cluster. out->bytes is freed by the caller. */
int visit_seal(struct hyperflex *h, const char *hx_id, enum hx_secret_kind kind, const char *text, struct hx_sealed *out,
               struct err *err);

/* The CA of hx.ca_file, freed by the caller; NULL: none, or no memory. */
char *hyperflex_get_ca(struct hyperflex *h);
bool hyperflex_has_ca(struct hyperflex *h);

/* Reads connection and status from the database. ERR_NOT_FOUND. */
int visit_load(struct visit *v, const char *hx_id, struct err *err);
/* Makes v->client for v->connection; asks nobody yet. ERR_CONFIG: its CA cannot be read. */
int visit_make_client(struct visit *v, struct err *err);
/* Signs in and reads, and stores what came of it: what is wrong with HX is no error. */
int visit_run(struct visit *v, struct err *err);
/* What is kept of before, as its token will be of no use any more. False: there is none. */
bool visit_load_token(struct visit *v, const char *hx_id);
/* HX keeps a token for 18 days that nobody gives back. One that does not answer is no reason to fail. */
void visit_give_back(struct visit *v);
/* Frees all that it has, and leaves its place. */
void visit_end(struct visit *v);

/* -- inherit.c ---------------------------------------------------------------------------------------------------------- */

/* Gives a wish that names no user the one of the HX cluster's vCenter; *password is freed by secret_free. ERR_UNPROCESSABLE: it has none. */
int hyperflex_inherit(struct hyperflex *h, struct hx_connection *wish, char **password, struct err *err);
/* Connects HX clusters that have appeared, in the worker pool. */
void hyperflex_search(void *arg, bool is_canceled);
bool hyperflex_search_is_due(struct hyperflex *h);

/* -- hyperflex.c -------------------------------------------------------------------------------------------------------- */

/* ERR_UNPROCESSABLE: empty, or longer than KAAS_PASSWORD_BYTES_MAX. */
int hyperflex_check_password(const char *password, struct err *err);
/* Has a refusal in the audit log, too; gives `rc` back. */
int hyperflex_finish(struct hyperflex *h, const struct audit_record *line, int rc);
