/* What the files of this folder share. Layer 5 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "audit.h"
#include "digest.h"
#include "hx.h"
#include "hx_store.h"
#include "hyperflex.h"
#include "json.h"
#include "lease_store.h"
#include "remotes.h"
#include "uuid.h"

struct http_client;
struct worker_pool;

struct hyperflex {
    struct hyperflex_options options;
    struct worker_pool *workers;
    unsigned tick_no;                                /* touched by the tick only */
    atomic_uint signing_in;                          /* sign-ins under way in the worker pool */
    struct remotes *remotes;                         /* struct hx_remote: those that have a connection, or something to be told */
    struct remote_work work[REMOTE_WORK_MAX];        /* of all of them */
    pthread_mutex_t making;                          /* of remotes: no two of one HX cluster */
    pthread_mutex_t inherited;                       /* held during a login with an inherited credential */
    pthread_mutex_t lock;                            /* guards what follows */
    struct hx_publication_list publications;         /* as of the last tick */
    struct hx_peer_list peers;                       /* likewise */
    uint8_t certificate_sha256[DIGEST_SHA256_BYTES]; /* of the certificate that publications name */
    char installation[UUID_TEXT_BYTES];              /* "": not read yet */
    int64_t certificate_since_ms;                    /* wall clock: since when it is this one; 0: not read yet */
    char *ca_pem;                                    /* of hx.ca_file; NULL: none */
    int64_t next_search_ms;                          /* monotonic clock */
};

#define HX_WORK_PUBLISH 1U /* what is due to be told is told */
#define HX_WORK_SIGN_IN 2U /* it is looked whether its controller lets us in (peers.h) */

/* An HX cluster. */
struct hx_remote {
    struct remote remote; /* first */
    struct hyperflex *h;
    pthread_cond_t left; /* with the remote's lock, which guards what follows: it has become free, or is to be ended */
    bool is_entered;
    unsigned waiting;         /* until it is free */
    struct lease_fence fence; /* of whoever has entered */
    struct hx_client *client; /* of the visit under way; NULL: there is none */
    struct http_client *peer; /* of the sign-in under way; likewise */
    struct hx_status status;  /* as of the last tick; hx_id NULL: it has no connection */
    unsigned status_no;       /* the tick that found it */
    unsigned tick_no;         /* the last one that found a connection, or something to be told */
};

/* One try at one HX cluster, by the holder of its lease. */
struct hx_visit {
    struct hyperflex *h;
    const struct actor *actor; /* who asked; NULL: kaasd by itself */
    struct hx_remote *at;      /* entered; NULL: that is not needed */
    struct hx_connection *connection;
    struct hx_status *status;
    struct hx_client *client;
    struct hx_token token;          /* access NULL: none */
    int64_t credential_no;          /* version of the vCenter's credential that was tried; 0: none */
    char older_id[UUID_TEXT_BYTES]; /* the known HX cluster that this one turned out to be; "": none */
};

/* One look at what an HX cluster is to be told about the URL of KaaS. */
struct publication {
    struct hyperflex *h;
    const struct actor *actor;    /* as of a visit */
    const struct hx_visit *visit; /* its client and token are used; if it has no connection, the peer */
    struct hx_publication *row;
    json_t *registration; /* NULL: there is nothing to publish */
    char digest[HX_DIGEST_BYTES];
    char installation[UUID_TEXT_BYTES];
    enum hx_publication_step step;
    char reason[sizeof(((struct hx_publication *)0)->reason)]; /* of a failure */
    enum hx_publication_state old_state;
    char old_reason[sizeof(((struct hx_publication *)0)->reason)];
};

/* -- hx_remote.c -------------------------------------------------------------------------------------------------------- */

extern const struct remote_kind hx_remote_kind; /* hyperflex.c */
struct hx_remote *hx_remote_of(struct remote *remote);
/* The remote of this HX cluster with a reference for the caller, made if there is none. ERR_NOMEM, ERR_CANCELED. */
int hx_remote_get(struct hyperflex *h, const char *hx_id, struct hx_remote **out, struct err *err);
/* Asks the remote of this HX cluster for work (bits), and notes that tick `tick_no` found it. As hx_remote_get. */
int hx_remote_request(struct hyperflex *h, const char *hx_id, unsigned bits, unsigned tick_no, struct err *err);
/* How long a sign-in, and a visit, may take: a request, the KDC, the negotiation; a login, a renewal, a login again, what is read, and publishing by a peer. */
#define HX_SIGN_IN_MS(h) (4 * (int64_t)(h)->options.peer_timeout_ms)
#define HX_VISIT_MS(h) (12 * (int64_t)(h)->options.call_timeout_ms + HX_SIGN_IN_MS(h))
/* Has the HX cluster for the caller alone until hx_remote_leave: in this replica, and by a lease among all, for `most_ms`. `waits`: for whoever has it in this
 * one. ERR_BUSY: it is asked elsewhere, or several wait for it; ERR_CANCELED: kaasd is stopping; errors of the store. */
int hx_remote_enter(struct hx_remote *at, bool waits, int64_t most_ms, struct err *err);
void hx_remote_leave(struct hx_remote *at);
/* Shows the client of a visit or of a sign-in (the other is NULL), so that its calls can be ended. ERR_CANCELED: they are to end at once. */
int hx_remote_show(struct hx_remote *at, struct hx_client *client, struct http_client *peer, struct err *err);
/* Call it before the client of a sign-in is freed. */
void hx_remote_hide(struct hx_remote *at);
/* True for an outcome by which what was due is done by somebody else, or by nobody any more: not to be tried again. */
bool hx_remote_is_elsewhere(int rc);
/* begin_end and free of struct remote_kind. */
void hx_remote_begin_end(struct remote *remote);
void hx_remote_free(struct remote *remote);

/* -- visit.c ------------------------------------------------------------------------------------------------------------ */

/* Seals a secret of one HX cluster. out->bytes is freed by the caller. */
int visit_seal(struct hyperflex *h, const char *hx_id, enum hx_secret_kind kind, const char *text, struct secret_value *out,
               struct err *err);

/* The stable word for an error of a call to an HX cluster. Static. */
const char *visit_reason(int rc);
/* Sets the remedy of *err, in commands about this HX cluster. Returns as err_remedy. */
int visit_advise(const char *hx_id, struct err *err);
/* True for errors that say nothing about HX: faults of kaasd or the database, and calls that were stopped. */
bool visit_is_our_fault(int rc);

/* Reads connection and status from the database. ERR_NOT_FOUND. */
int visit_load(struct hx_visit *v, const char *hx_id, struct err *err);
/* Makes v->client for v->connection; asks nobody yet. ERR_CONFIG: its CA cannot be read. */
int visit_make_client(struct hx_visit *v, struct err *err);
/* Signs in, reads the HX cluster and stores the result; a fault of HX is a result, not an error. */
int visit_run(struct hx_visit *v, struct err *err);
/* Loads connection and kept token, before a change that makes the token useless. False: no token is kept. */
bool visit_load_token(struct hx_visit *v, const char *hx_id);
/* Gives the token back, as HX keeps it for 18 days otherwise. An HX cluster that does not answer is ignored. */
void visit_give_back(struct hx_visit *v);
/* Frees all members and leaves the remote. */
void visit_end(struct hx_visit *v);

/* -- addresses.c -------------------------------------------------------------------------------------------------------- */

/* The CA of hx.ca_file, freed by the caller; NULL: none, or no memory. */
char *hyperflex_get_ca(struct hyperflex *h);
bool hyperflex_has_ca(struct hyperflex *h);
/* True if hx.names has this address. */
bool hyperflex_names(const struct hyperflex *h, const char *address);
/* True if the certificate there is good by what this connection trusts (NULL: there is none yet), its own CA or fingerprint, else by hx.ca_file. Waits. */
bool hyperflex_trusts(struct hyperflex *h, const struct hx_connection *as, const struct hx_address *where);

/* -- search.c ----------------------------------------------------------------------------------------------------------- */

/* A worker_fn: connects HX clusters that have appeared or moved; `arg` is the struct hyperflex. One replica does it, under a lease. */
void hyperflex_search(void *arg, bool is_canceled);
bool hyperflex_search_is_due(struct hyperflex *h);

/* -- peers.c and peer_sign_in.c ----------------------------------------------------------------------------------------- */

/* A request to a controller, at the host of its url. */
struct peers_request {
    const char *method, *path;
    const struct strbuf *body; /* JSON; NULL: none */
    size_t reply_bytes_max;
    void (*on_header)(void *arg, const char *line, size_t n); /* each header line of an answer; may be NULL */
    void *on_header_arg;
};
/* 0 if the HX cluster has a peer, whose sign-in can stand in for a connection. ERR_NOT_FOUND: it has none. */
int peers_check(struct hyperflex *h, const char *hx_id, struct err *err);
/* Signs in, for a request or (NULL) to see whether one is let in, and says what came of it, in *out. Blocks (KDC and controller). */
void peer_sign_in(struct hx_remote *at, const struct hx_peer *peer, const struct peers_request *request,
                  struct hx_peer_result *out, long *status);
/* Sends the request without a credential, and once more with a proof of our account if the controller asks for that by Negotiate. *status is the HTTP status
 * of the last answer; with a 2xx to our account the controller has proved itself, too. out->state is HX_PEER_OK after any such answer, else *out says why
 * there is none; nothing is stored. `at` was entered. Waits for KDC and controller. ERR_NOT_FOUND: there is no such peer; ERR_CANCELED: kaasd is stopping. */
int peers_exchange(struct hx_remote *at, const struct peers_request *request, struct hx_peer_result *out, long *status,
                   struct err *err);
/* A remote_work_fn: signs in if that is due. */
int peers_work(struct remote *remote, struct err *err);
/* Asks for HX_WORK_SIGN_IN where it is due, and keeps the peers for health. */
int peers_request_due(struct hyperflex *h, unsigned tick_no, struct err *err);
void peers_check_health(struct hyperflex *h, const struct inventory_platform *platform, struct findings *out);

/* -- publish.c ---------------------------------------------------------------------------------------------------------- */

/* Finds out what is to be published to this HX cluster: p->step. publish_end frees the members in any case. */
int publish_begin(struct publication *p, const char *hx_id, struct err *err);
/* Copies the id of this installation, which never changes. Errors of the store. */
int publish_get_installation(struct hyperflex *h, char out[UUID_TEXT_BYTES], struct err *err);
/* The audit line of publishing or withdrawing: result and reason of `what`. */
struct audit_record publish_line(const struct publication *p, bool is_wanted, const struct audit_event *what);
/* Publishes or withdraws as p->step says, and stores the result; a fault of HX is a result, not an error. Call it after visit_run. */
int publish_run(struct publication *p, struct err *err);
void publish_end(struct publication *p);
/* Withdraws the publication, tried once, when a connection was removed; `before` has its token and client. */
void publish_leave(struct hx_visit *before);
/* True if an HX cluster may be read in order to publish: not if it was never read since it was set, or refused its user; after another failure only when its
 * next try is due, which HX may have set. */
bool publish_may_visit(const struct hx_status *status);
/* Asks the remotes of HX clusters to which something is to be published for HX_WORK_PUBLISH: of those that may be visited, and of those with only a peer. */
int publish_request_due(struct hyperflex *h, const struct hx_status_list *statuses, unsigned tick_no, struct err *err);

/* -- hyperflex.c -------------------------------------------------------------------------------------------------------- */

/* Reads the HX cluster now, and publishes what is due. older_id[0]: it turned out to be this known HX cluster, which was read. ERR_NOT_FOUND, ERR_BUSY. */
int hyperflex_visit(struct hyperflex *h, const struct actor *actor, const char *hx_id, char older_id[UUID_TEXT_BYTES],
                    struct err *err);
