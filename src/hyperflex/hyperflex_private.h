/* What the files of this folder share. Layer 4 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "audit.h"
#include "digest.h"
#include "hx.h"
#include "hx_store.h"
#include "hyperflex.h"
#include "json.h"
#include "uuid.h"

struct worker_pool;

#define HYPERFLEX_AT_ONCE 8U /* under way, of the worker pool and of those who ask */

struct hyperflex {
    struct hyperflex_options options;
    struct worker_pool *workers;
    pthread_cond_t left;                             /* a place was left, or it is stopped */
    pthread_mutex_t inherited;                       /* held while somebody logs in with what was inherited */
    pthread_mutex_t lock;                            /* guards what follows */
    struct hx_status_list statuses;                  /* as of the last tick */
    struct hx_publication_list publications;         /* likewise */
    uint8_t certificate_sha256[DIGEST_SHA256_BYTES]; /* of what publications name */
    char installation[UUID_TEXT_BYTES];              /* "": not read yet */
    int64_t certificate_since_ms;                    /* wall clock; 0: it was not asked for yet */
    struct hyperflex_place {
        const char *hx_id;        /* NULL: the place is free */
        struct hx_client *client; /* that hyperflex_stop ends; NULL: not made yet */
    } places[HYPERFLEX_AT_ONCE];
    char *ca_pem;           /* of hx.ca_file; NULL: none */
    int64_t next_search_ms; /* monotonic clock */
    bool is_stopped;
};

/* One try at one HX cluster, by the holder of its lease. */
struct hx_visit {
    struct hyperflex *h;
    const struct actor *actor;     /* who asked; NULL: kaasd by itself */
    struct hyperflex_place *place; /* NULL: none is needed */
    struct hx_connection *connection;
    struct hx_status *status;
    struct hx_client *client;
    struct hx_token token; /* access NULL: none */
    enum hx_connection_state old_state;
    char old_reason[sizeof(((struct hx_status *)0)->reason)];
    char older_id[UUID_TEXT_BYTES]; /* it turned out to be this HX cluster; "": not */
};

/* What an HX cluster is to be told of where KaaS is, looked at once. */
struct publication {
    struct hyperflex *h;
    const struct actor *actor;    /* as of a visit */
    const struct hx_visit *visit; /* by whose client and token it goes; without a connection by the peer */
    struct hx_publication *row;
    json_t *registration; /* NULL: nothing may be said */
    char digest[HX_DIGEST_BYTES];
    char installation[UUID_TEXT_BYTES];
    enum hx_publication_step step;
    char reason[sizeof(((struct hx_publication *)0)->reason)]; /* of a failure */
    enum hx_publication_state old_state;
    char old_reason[sizeof(((struct hx_publication *)0)->reason)];
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

/* The stable word for what is wrong with an HX cluster. Static. */
const char *visit_reason(int rc);
/* What to do about it, in commands about this HX cluster. As err_remedy. */
int visit_advise(const char *hx_id, struct err *err);
/* What is wrong with us, the database included, or was stopped, says nothing of HX. */
bool visit_is_our_fault(int rc);

/* Reads connection and status from the database. ERR_NOT_FOUND. */
int visit_load(struct hx_visit *v, const char *hx_id, struct err *err);
/* Makes v->client for v->connection; asks nobody yet. ERR_CONFIG: its CA cannot be read. */
int visit_make_client(struct hx_visit *v, struct err *err);
/* Signs in and reads, and stores what came of it: what is wrong with HX is no error. */
int visit_run(struct hx_visit *v, struct err *err);
/* What is kept of before, as its token will be of no use any more. False: there is none. */
bool visit_load_token(struct hx_visit *v, const char *hx_id);
/* HX keeps a token for 18 days that nobody gives back. One that does not answer is no reason to fail. */
void visit_give_back(struct hx_visit *v);
/* Frees all that it has, and leaves its place. */
void visit_end(struct hx_visit *v);

/* -- inherit.c ---------------------------------------------------------------------------------------------------------- */

/* Gives a wish that names no user the one of the HX cluster's vCenter; *password is freed by secret_free. ERR_UNPROCESSABLE: it has none. */
int hyperflex_inherit(struct hyperflex *h, struct hx_connection *wish, char **password, struct err *err);
/* Connects HX clusters that have appeared, in the worker pool. */
void hyperflex_search(void *arg, bool is_canceled);
bool hyperflex_search_is_due(struct hyperflex *h);

/* -- publish.c ---------------------------------------------------------------------------------------------------------- */

/* Looks whether the HX cluster of this visit is to be told something. */
int publish_begin(struct publication *p, const char *hx_id, struct err *err);
/* Has it a peer, and no connection? Then the peer's sign-in stands in for that. ERR_NOT_FOUND: it has none. */
int publish_check_peer(struct hyperflex *h, const char *hx_id, struct err *err);
/* Tells it, if so, and stores what came of it: what is wrong with HX is no error. After the visit has read it. */
int publish_run(struct publication *p, struct err *err);
void publish_end(struct publication *p);
/* Withdraws, once, before kaasd forgets how an HX cluster is reached; `before` has token and client of then. */
void publish_leave(struct hx_visit *before);
/* Whether that is reason enough to read an HX cluster: not one that was never read since it was set, or whose user was refused; nor one that failed before it is time to try it
 * again, which may be when HX said. */
bool publish_may_visit(const struct hx_status *status);
/* Which HX clusters are to be told something: of those that may be visited, and of those with a peer alone. Called with the statuses of this tick. *ids is the caller's to
 * free, *count texts and itself, also after a failure. */
int publish_list_due(struct hyperflex *h, const struct hx_status_list *statuses, char ***ids, size_t *count, struct err *err);

/* -- hyperflex.c -------------------------------------------------------------------------------------------------------- */

/* Has the time come that the last try set for the next one by itself? */
bool hyperflex_is_time(const struct hx_status *status);
/* Reads the HX cluster, and publishes what is due, now. older_id[0]: it turned out to be that one, which was read. ERR_NOT_FOUND, ERR_BUSY. */
int hyperflex_visit(struct hyperflex *h, const struct actor *actor, const char *hx_id, char older_id[UUID_TEXT_BYTES],
                    struct err *err);
/* ERR_UNPROCESSABLE: empty, or longer than KAAS_PASSWORD_BYTES_MAX. */
int hyperflex_check_password(const char *password, struct err *err);
/* Has a refusal in the audit log, too; gives `rc` back. */
int hyperflex_finish(struct hyperflex *h, const struct audit_record *line, int rc, const struct err *why);
