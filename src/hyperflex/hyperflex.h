/* The HX clusters that kaasd is connected to by their REST API: reads what each says of itself, with one token a cluster for all replicas. Layer 4 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * HX allows 5 logins in 15 minutes and 8 tokens a user, shared with the people who use HX Connect, and locks an account after 10 refused logins in a row (Administration
 * Guide 5.5, AAA Authentication REST API). So whoever tries an HX cluster holds its lease; its token is kept sealed in the database, used by the next holder, renewed
 * without a login before it ends, and given back when the connection is removed or the last replica stops. After a login there is none for
 * HYPERFLEX_LOGIN_GAP_MS, after HX_REFUSALS_MAX refused ones none until the connection is set anew. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "hx_connection.h"
#include "snapshot.h"
#include "strbuf.h"
#include "x509.h"

struct actor;
struct hyperflex;
struct net_policy;
struct seal;
struct store;

#define HYPERFLEX_LOGIN_GAP_MS (15 * 60 * INT64_C(1000)) /* after a login that HX granted, or did not answer */
#define HYPERFLEX_REFUSED_GAP_MS (5 * 60 * INT64_C(1000))
#define HYPERFLEX_RETRY_MS (60 * INT64_C(1000)) /* of one that cannot be reached */

/* A request to an HX cluster by what stands in for a connection: see peers.h. */
struct hyperflex_request {
    const char *method, *path;
    const struct strbuf *body; /* JSON; NULL: none */
    size_t reply_bytes_max;
    void (*on_header)(void *arg, const char *line, size_t n); /* each header line of an answer */
    void *on_header_arg;
};

struct hyperflex_options {
    struct store *store;
    struct seal *seal;
    const struct net_policy *networks; /* where HX clusters may be; borrowed; NULL: anywhere */
    const char *const *names;          /* hx.names, ended by NULL; borrowed; NULL: none */
    long call_timeout_ms;              /* of each call to an HX cluster, connecting included */
    int64_t read_every_ms;             /* 0: only when somebody asks */
    const char *public_url;            /* where KaaS is, without a trailing slash; "": nothing is published; borrowed */
    const char *version;               /* of this program; borrowed */
    bool publishes;                    /* tells each HX cluster that gets connected where KaaS is (publish.h) */
    void (*thread_begin)(void);        /* of the worker pool; may be NULL */
    void (*thread_end)(void);
    void (*on_news)(void *arg, const struct hx_status *status); /* state or reason has changed; may be NULL */
    /* Asks the vCenter of an HX cluster where it may be (hx_addresses.h). */
    int (*list_addresses)(void *arg, const char *hx_id, struct hx_addresses *out, struct err *err);
    void (*on_set)(void *arg); /* a connection was set: hyperflex_tick has something to do; may be NULL */
    /* State or reason of a publication has changed; may be NULL. */
    void (*on_published)(void *arg, const struct hx_publication *publication);
    /* The certificate at public_url, as our record in vCenters names it: PEM, for the caller to free; *out NULL: not known. */
    int (*get_certificate)(void *arg, char **out, struct err *err);
    /* Asks an HX cluster that kaasd is not connected to, and that has a peer, by our Kerberos account; as peers_exchange. NULL: that is not done. */
    int (*ask_peer)(void *arg, const char *hx_id, const struct hyperflex_request *request, struct hx_peer_result *out,
                    long *status, struct err *err);
    void *arg; /* of all of them */
};

/* Makes it; asks nobody yet. ERR_NOMEM. */
int hyperflex_new(const struct hyperflex_options *options, struct hyperflex **out, struct err *err);
/* Gives up what is under way, and refuses further work. NULL is allowed. */
void hyperflex_stop(struct hyperflex *h);
/* Gives all tokens back to their HX clusters, if no other replica is there to use them. After hyperflex_stop; blocks for some seconds at most. */
void hyperflex_sign_out(struct hyperflex *h);
void hyperflex_free(struct hyperflex *h); /* NULL is allowed */

/* The CA that HX clusters are trusted by where a connection names no other trust (hx.ca_file): PEM, copied; NULL: none. ERR_CONFIG: it cannot be read, and the one of
 * before goes on. Does not block. */
int hyperflex_set_ca(struct hyperflex *h, const char *ca_pem, struct err *err);

/* Those below block (database). */

/* *out is given back by hx_connection_list_done, hx_status_list_done. */
int hyperflex_list(struct hyperflex *h, struct hx_connection_list *out, struct err *err);
int hyperflex_list_statuses(struct hyperflex *h, struct hx_status_list *out, struct err *err);
/* *out is freed by hx_connection_free, hx_status_free. ERR_NOT_FOUND. */
int hyperflex_load(struct hyperflex *h, const char *hx_id, struct hx_connection **out, struct err *err);
int hyperflex_load_status(struct hyperflex *h, const char *hx_id, struct hx_status **out, struct err *err);
/* Where an HX cluster may be, by what its vCenter tells: candidates, since others can write that. *out (uninitialised) is given back by hx_addresses_done.
 * Waits for the vCenter: in the worker `outside`. ERR_NOT_FOUND, errors of vim.h. */
int hyperflex_list_addresses(struct hyperflex *h, const char *hx_id, struct hx_addresses *out, struct err *err);
/* What answers at one of them, by a TLS handshake and nothing else. */
struct hyperflex_look {
    struct x509_info certificate; /* pem NULL: none was seen */
    bool is_chain_valid;          /* under hx.ca_file, and it is for this address */
    bool is_trusted;              /* that, and hx.names names the address: nobody needs to confirm it */
    struct err problem;           /* code 0: none; why none was seen */
};
/* Waits for it, some seconds at most. *out is given back by x509_info_done of its certificate. */
void hyperflex_look_at(struct hyperflex *h, const struct hx_address *where, struct hyperflex_look *out);
/* Sets a connection: version_no 0 makes a new one. It is tried soon. Without user name and password (NULL) they are those of the vCenter. `actor` NULL: kaasd by
 * itself. ERR_UNPROCESSABLE; errors of hx_store_put. */
int hyperflex_put(struct hyperflex *h, const struct actor *actor, struct hx_connection *wish, const char *password,
                  struct err *err);
/* Waits for HX, too, which gets the token back: in the worker `outside`. `version_no` 0: whatever it is now. ERR_NOT_FOUND, ERR_PRECONDITION. */
int hyperflex_remove(struct hyperflex *h, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err);

/* What HX clusters of a vCenter inherit: user and password. Those that appear are connected by themselves where hx.names names an address that vCenter tells and the
 * certificate there is good under hx.ca_file, and tried once: what one refuses is tried at no other. Those that are not reached, at an address that vCenter tells no more, are
 * followed to such an address, or to the one where the confirmed certificate is. */

/* *out is freed by hx_credential_free. ERR_NOT_FOUND. */
int hyperflex_load_credential(struct hyperflex *h, const char *vcenter_id, struct hx_credential **out, struct err *err);
/* Sets it: version_no 0 makes a new one. Connections that have inherited are set anew; for that it waits for HX, which gets their tokens back: in the worker
 * `outside`. ERR_UNPROCESSABLE; errors of hx_store_put_credential. */
int hyperflex_put_credential(struct hyperflex *h, const struct actor *actor, struct hx_credential *wish, const char *password,
                             struct err *err);
/* Connections that have inherited keep what they have. `version_no` 0: whatever it is now. ERR_NOT_FOUND, ERR_PRECONDITION. */
int hyperflex_remove_credential(struct hyperflex *h, const struct actor *actor, const char *vcenter_id, int64_t version_no,
                                struct err *err);

/* Reads the HX cluster now, and logs in if that needs it and the time for it has come; *out, freed by hx_status_free, says what came of it, which is stored.
 * Waits for HX: in the worker `outside`. Waits for a reading that is under way, too. One that turns out to be an HX cluster that is known (hx_claim_check) is
 * that from then on, and *out is of that one. ERR_NOT_FOUND; ERR_BUSY while another replica asks it; what is wrong is an answer, not an error. */
int hyperflex_test(struct hyperflex *h, const struct actor *actor, const char *hx_id, struct hx_status **out, struct err *err);

/* Every few seconds: has those that are due read, in a worker pool of its own. */
int hyperflex_tick(struct hyperflex *h, struct err *err);

/* How the connection to this HX cluster stood some seconds ago, with what it said of itself; false: kaasd is not connected to it. *out is given back by
 * hx_status_done. Does not block. */
bool hyperflex_find_status(struct hyperflex *h, const char *hx_id, struct hx_status *out);

/* Adds how each connection stands. Does not block. */
void hyperflex_check_health(struct hyperflex *h, const struct inventory_platform *platform, struct findings *out);

struct metric_page;
/* Puts on the page which HX clusters answer, by their names in `platform` (NULL: none yet), and the worker pool. Does not block. */
void hyperflex_write_metrics(struct hyperflex *h, const struct inventory_platform *platform, struct metric_page *page);
