/* One configured directory: its servers, its connections, and asking it. Layer 5 (auth); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "ldapdir.h"
#include "ldap_conn.h"
#include "ldap_store.h"

struct names;

#define SOURCE_IDLE_MAX 4U
#define DOMAIN_BYTES 64U /* a NetBIOS name has 15 characters */

/* One server, guarded by the lock of its source. */
struct source_server {
    struct ldap_url url;
    unsigned failures;    /* in a row */
    int64_t retry_at_ms;  /* monotonic: not asked before that, while another server is there */
    int64_t cert_ends_ms; /* wall clock; 0: not known */
};

/* A bound connection that waits for the next question. */
struct source_idle {
    struct ldap_conn *conn;
    size_t server;
    int64_t used_at_ms; /* monotonic */
};

/* A directory as it is configured now; a change makes a new one. */
struct ldapdir {
    atomic_uint refs;
    atomic_bool is_looked_after;           /* a probe waits in its worker pool or is under way */
    const struct ldapdir_options *options; /* this and the next two: those of struct ldapdirs */
    const atomic_bool *is_stopped;
    struct names *names;
    struct ldap_row row;
    struct source_server servers[LDAP_SOURCE_URLS_MAX];
    size_t servers_count;
    pthread_mutex_t lock; /* guards servers and what follows; nothing blocks while it is held */
    struct source_idle idle[SOURCE_IDLE_MAX];
    size_t idle_count;
    enum ldapdir_state state;
    int64_t since_ms; /* wall clock */
    struct err why;
    char server[280];
    int64_t probe_at_ms;       /* monotonic */
    char domain[DOMAIN_BYTES]; /* NetBIOS name of the domain; "": not asked yet */
    uint64_t names_read;       /* number of the last question about names that was put to it; guarded by the lock of the names */
};
struct ldapdir *source_ref(struct ldapdir *source);
void source_unref(struct ldapdir *source); /* NULL is allowed */
CLEANUP_DEFINE(struct ldapdir, source_unref);

/* Makes a directory from a row, which it takes over in any case; the caller sets options, is_stopped and names. ERR_NOMEM. */
int source_new(struct ldap_row *row, struct ldapdir **out, struct err *err);

/* -- asking ----------------------------------------------------------------------------------------------------------------- */

typedef int source_fn(struct ldap_conn *conn, void *arg, struct err *err);
/* Runs fn with a connection that is bound as kaasd, on the first server that answers; again on another server when the connection is lost meanwhile, so fn
 * sets its results anew each time. ERR_UNREACHABLE at once while all servers have failed twice in a row and are given a rest. */
int source_ask(struct ldapdir *source, source_fn *fn, void *arg, struct err *err);
/* As source_ask, with a new connection that is not bound, closed afterwards. */
int source_ask_fresh(struct ldapdir *source, source_fn *fn, void *arg, struct err *err);
/* Binds as kaasd; *conn may become another connection, or NULL. */
int source_bind(struct ldapdir *source, const struct ldap_url *url, struct ldap_conn **conn, struct err *err);
struct ldap_target source_target(const struct ldapdir *source, const struct ldap_url *url);
/* Probes the directory by a simple search, if that is due; sets the state. Blocks. */
void source_probe(struct ldapdir *source);

/* Skips "DOMAIN\\" of a name as Windows writes it, if that is the domain of the source; *rest points behind it, or to the whole name if it has no such part.
 * ERR_UNPROCESSABLE for another domain, or if the source has none; errors of asking. */
int source_skip_domain(struct ldapdir *source, const char *name, const char **rest, struct err *err);
/* One attribute of the server's own entry (RFC 4512 section 5.1). *out is NULL if there is none; caller frees. */
int source_ask_root(struct ldap_conn *conn, const char *attr, char **out, struct err *err);
