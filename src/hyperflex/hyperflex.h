/* The HX clusters that kaasd is connected to by their REST API: reads their state, with one token for each cluster that all replicas share. Layer 5
 * (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * HX allows 5 logins in 15 minutes and 8 tokens a user, shared with the people who use HX Connect, and locks an account after 10 refused logins in a row
 * (Administration Guide 5.5, AAA Authentication REST API). So a replica that calls an HX cluster holds its lease. The token is kept sealed in the database,
 * used by the next holder, renewed without a login before it ends, and given back to HX when the connection is removed or the last replica stops. After a
 * login there is no other one for HYPERFLEX_LOGIN_GAP_MS; after HX_REFUSALS_MAX refused logins there is none until the connection is set again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "hx_connection.h"
#include "runtime.h"
#include "snapshot.h"
#include "strbuf.h"
#include "x509.h"

struct actor;
struct gss_acceptor;
struct hyperflex;
struct inventory;
struct net_policy;
struct platform;

#define HYPERFLEX_LOGIN_GAP_MS (15 * 60 * INT64_C(1000)) /* until the next login, after one that HX granted or did not answer */
#define HYPERFLEX_REFUSED_GAP_MS (5 * 60 * INT64_C(1000))
#define HYPERFLEX_RETRY_MS (60 * INT64_C(1000)) /* until the next try, after HX could not be reached */

struct hyperflex_options {
    const struct runtime *runtime;
    const struct net_policy *networks; /* where HX clusters may be; borrowed; NULL: anywhere */
    const char *const *names;          /* hx.names, ended by NULL; borrowed; NULL: none */
    long call_timeout_ms;              /* of each call to an HX cluster, connecting included */
    int64_t read_every_ms;             /* how often each HX cluster is read; 0: only on request */
    bool publishes;                    /* each HX cluster that gets connected is told the URL of KaaS (publish.h) */
    void (*on_news)(void *arg,
                    const struct hx_status *status); /* called when state or reason of a connection has changed; may be NULL */
    void (*on_set)(void *arg);                       /* called when a connection was set: call hyperflex_tick soon; may be NULL */
    /* Called when state or reason of a publication has changed; may be NULL. */
    void (*on_published)(void *arg, const struct hx_publication *publication);
    struct inventory *inventory;   /* the HX clusters that are known */
    struct platform *platform;     /* the vCenters, which tell addresses of HX clusters, and our certificate */
    struct gss_acceptor *acceptor; /* looks at our keytab; NULL: there is none */
    const char *keytab;            /* its path; borrowed */
    long peer_timeout_ms;          /* of a sign-in to a controller */
    int64_t check_every_ms;        /* how often one is tried; 0: only when somebody asks */
    /* Called when state or reason of a peer has changed; may be NULL. */
    void (*on_peer_news)(void *arg, const struct hx_peer *peer);
    void *arg; /* `arg` of all functions above */
};

/* Makes the set of HX clusters; calls none yet. ERR_NOMEM. */
int hyperflex_new(const struct hyperflex_options *options, struct hyperflex **out, struct err *err);
/* Cancels the calls under way and refuses further work. NULL is allowed. */
void hyperflex_stop(struct hyperflex *h);
/* Gives all tokens back to their HX clusters, if no other replica runs that could use them. After hyperflex_stop; blocks for some seconds at most. NULL is
 * allowed. */
void hyperflex_sign_out(struct hyperflex *h);
void hyperflex_free(struct hyperflex *h); /* NULL is allowed */

/* Sets the CA (hx.ca_file) by which an HX cluster is trusted if its connection names neither CA nor fingerprint: PEM, copied; NULL: none. ERR_CONFIG: it
 * cannot be read, and the CA before stays in force. Does not block. */
int hyperflex_set_ca(struct hyperflex *h, const char *ca_pem, struct err *err);

/* The functions below block (database). */

/* List all connections, and their statuses. *out is given back by hx_connection_list_done, hx_status_list_done. */
int hyperflex_list(struct hyperflex *h, struct hx_connection_list *out, struct err *err);
int hyperflex_list_statuses(struct hyperflex *h, struct hx_status_list *out, struct err *err);
/* Load a connection, and its status. *out is freed by hx_connection_free, hx_status_free. ERR_NOT_FOUND. */
int hyperflex_load(struct hyperflex *h, const char *hx_id, struct hx_connection **out, struct err *err);
int hyperflex_load_status(struct hyperflex *h, const char *hx_id, struct hx_status **out, struct err *err);
/* Lists the addresses that its vCenter tells for an HX cluster: candidates only, since others can write them. *out (uninitialised) is given back by
 * hx_addresses_done. Waits for the vCenter: in the worker pool `outside`. ERR_NOT_FOUND, errors of vim.h. */
int hyperflex_list_addresses(struct hyperflex *h, const char *hx_id, struct hx_addresses *out, struct err *err);
/* The server at such an address, seen by a TLS handshake and nothing else. */
struct hyperflex_look {
    struct x509_info certificate; /* pem NULL: none was shown */
    bool is_chain_valid;          /* under hx.ca_file, and it is for this address */
    bool is_trusted;              /* is_chain_valid, and hx.names has the address: nobody needs to confirm it */
    struct err problem;           /* why no certificate was shown; code 0: one was */
};
/* Makes the TLS handshake; waits some seconds at most. x509_info_done frees out->certificate. */
void hyperflex_look_at(struct hyperflex *h, const struct hx_address *where, struct hyperflex_look *out);
/* Stores a connection: version_no 0 makes a new one. The HX cluster is read soon. Without user name and password (both NULL) those of the vCenter are used.
 * `actor` NULL: kaasd by itself. Waits for HX, too, if a token is given back to it: in the worker pool `outside`. ERR_UNPROCESSABLE; errors of hx_store_put. */
int hyperflex_put(struct hyperflex *h, const struct actor *actor, struct hx_connection *wish, const char *password,
                  struct err *err);
/* Removes a connection; `version_no` 0: whatever it is now. Waits for HX, too, which gets the token back: in the worker pool `outside`. ERR_NOT_FOUND,
 * ERR_PRECONDITION. */
int hyperflex_remove(struct hyperflex *h, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err);

/* The credential of a vCenter: user and password that its HX clusters inherit. A new HX cluster is connected automatically if hx.names has an address that
 * vCenter tells for it and the certificate there is valid under hx.ca_file; it is tried once, and a credential that one HX cluster refuses is tried at no
 * other. An HX cluster that cannot be reached, and whose address vCenter no longer tells, is followed to such an address, or to the one that shows the
 * confirmed certificate. */

/* Loads the credential of a vCenter. *out is freed by hx_credential_free. ERR_NOT_FOUND. */
int hyperflex_load_credential(struct hyperflex *h, const char *vcenter_id, struct hx_credential **out, struct err *err);
/* Stores the credential: version_no 0 makes a new one. Connections that inherited one are set again with it, for which this waits for HX, which gets their
 * tokens back: in the worker pool `outside`. ERR_UNPROCESSABLE; errors of hx_store_put_credential. */
int hyperflex_put_credential(struct hyperflex *h, const struct actor *actor, struct hx_credential *wish, const char *password,
                             struct err *err);
/* Removes the credential; connections that inherited it keep user and password. `version_no` 0: whatever it is now. ERR_NOT_FOUND, ERR_PRECONDITION. */
int hyperflex_remove_credential(struct hyperflex *h, const struct actor *actor, const char *vcenter_id, int64_t version_no,
                                struct err *err);

/* Reads the HX cluster now, logging in if it has to and may by now, and stores the result; *out, freed by hx_status_free, has it: a fault of HX is a result,
 * not an error. Waits for HX, and for a reading that is under way: in the worker pool `outside`. If the HX cluster turns out to be one that is known
 * (hx_claim_check), the two become one, and *out is of the known one. ERR_NOT_FOUND; ERR_BUSY while another replica reads it, or several wait for it. */
int hyperflex_test(struct hyperflex *h, const struct actor *actor, const char *hx_id, struct hx_status **out, struct err *err);

/* Call it every few seconds: has the HX clusters that are due read, in a worker pool of its own. Errors of the store. */
int hyperflex_tick(struct hyperflex *h, struct err *err);

/* Copies the status of the connection as of the last hyperflex_tick, with what HX told of itself; false: kaasd is not connected to this HX cluster, or
 * without memory. *out is given back by hx_status_done. Does not block. */
bool hyperflex_find_status(struct hyperflex *h, const char *hx_id, struct hx_status *out);

/* Adds a finding on each connection and publication. Does not block. */
void hyperflex_check_health(struct hyperflex *h, const struct inventory_platform *platform, struct findings *out);

struct metric_page;
/* Puts on the page which HX clusters answer, by their names in `platform` (NULL: none yet), and the worker pool. Does not block. */
void hyperflex_write_metrics(struct hyperflex *h, const struct inventory_platform *platform, struct metric_page *page);
