/* Peers: controllers of HX clusters that kaasd signs in to by its own Kerberos account. Layer 5 (auth). Programs that sign in to kaasd are accounts.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "platform.h"
#include "principal.h"
#include "snapshot.h"
#include "strbuf.h"

struct kerberos;
struct net_policy;
struct peers;
struct store;

struct peers_options {
    struct store *store;
    struct kerberos *kerberos;         /* tells the state of the keytab; NULL: there is none */
    const char *keytab;                /* copied */
    const struct net_policy *networks; /* where controllers may be; borrowed; NULL: anywhere */
    long connect_timeout_ms, call_timeout_ms;
    int64_t check_every_ms;     /* 0: only when somebody asks */
    void (*thread_begin)(void); /* of the worker pool; may be NULL */
    void (*thread_end)(void);
    void (*on_news)(void *arg, const struct hx_peer *peer); /* called when state or reason of a peer has changed; may be NULL */
    void *on_news_arg;
    void (*on_set)(void *arg); /* called after peers_put: call peers_tick soon; may be NULL */
    void *on_set_arg;
};

/* Makes the set of peers; asks no peer yet. ERR_NOMEM. */
int peers_new(const struct peers_options *options, struct peers **out, struct err *err);
/* Ends the sign-ins and requests under way, and refuses further ones. NULL is allowed. */
void peers_stop(struct peers *peers);
void peers_free(struct peers *peers); /* NULL is allowed */

/* The functions below block (database). */

/* *out is given back by hx_peer_list_done. */
int peers_list(struct peers *peers, struct hx_peer_list *out, struct err *err);
/* *out is freed by hx_peer_free. ERR_NOT_FOUND. */
int peers_load(struct peers *peers, const char *hx_id, struct hx_peer **out, struct err *err);
/* Stores a peer: version_no 0 makes a new one. kaasd soon tries to sign in to it. ERR_UNPROCESSABLE; errors of peer_store_put. */
int peers_put(struct peers *peers, const struct actor *actor, struct hx_peer *wish, struct err *err);
/* Removes a peer; `version_no` 0: whatever it is now. ERR_NOT_FOUND, ERR_PRECONDITION. */
int peers_remove(struct peers *peers, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err);

/* Signs in to the peer now and stores the result; *out, freed by hx_peer_free, has it: a failed sign-in is a result, not an error. Waits for KDC and peer: in
 * the worker pool `outside`. ERR_NOT_FOUND; ERR_BUSY when too many peers are tried at once. */
int peers_test(struct peers *peers, const struct actor *actor, const char *hx_id, struct hx_peer **out, struct err *err);

/* A request to a controller, at the host of its url. */
struct peers_request {
    const char *method, *path;
    const struct strbuf *body; /* JSON; NULL: none */
    size_t reply_bytes_max;
    void (*on_header)(void *arg, const char *line, size_t n); /* each header line of an answer; may be NULL */
    void *on_header_arg;
};
/* Sends the request without a credential, and once more with a proof of our account if the controller asks for that by Negotiate. *status is the HTTP status
 * of the last answer; with a 2xx to our account the controller has proved itself, too. out->state is HX_PEER_OK after any such answer, else *out says why
 * there is none; nothing is stored. Waits for KDC and peer. ERR_NOT_FOUND: there is no such peer; ERR_CANCELED: kaasd is stopping, or too many requests are
 * under way. */
int peers_exchange(struct peers *peers, const char *hx_id, const struct peers_request *request, struct hx_peer_result *out,
                   long *status, struct err *err);

/* Call it every few seconds: reads the peers from the database, and has those that are due tried in a worker pool of its own. Under a lease, so that one
 * replica at a time tries them. */
int peers_tick(struct peers *peers, struct err *err);

/* Adds a finding on each peer. Does not block. */
void peers_check_health(struct peers *peers, const struct inventory_platform *platform, struct findings *out);

struct metric_page;
/* Puts the worker pool on the page. Does not block. */
void peers_write_metrics(struct peers *peers, struct metric_page *page);
