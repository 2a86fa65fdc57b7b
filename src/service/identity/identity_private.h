/* What the files of this room share. Layer 4 (service/identity); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "directories.h"
#include "identity.h"
#include "lane.h"
#include "ldap_conn.h"
#include "ldap_store.h"

#define SOURCE_IDLE_MAX 4U
#define DOMAIN_BYTES 64U /* a NetBIOS name has 15 characters */
#define SOURCE_LANES_MAX 64U

/* One server, guarded by the lock of its source. */
struct source_server {
    struct ldap_url url;
    unsigned failures;    /* in a row */
    int64_t retry_at_ms;  /* monotonic: not asked before, while another one is there */
    int64_t cert_ends_ms; /* wall clock; 0: not known */
};

/* A bound connection that waits for the next question. */
struct source_idle {
    struct ldap_conn *conn;
    size_t server;
    int64_t used_at_ms; /* monotonic */
};

/* A directory as it is configured now; a change makes a new one. */
struct dir_source {
    atomic_uint refs;
    atomic_bool is_looked_after; /* a look waits in its lane or is under way */
    struct identity *room;
    struct ldap_row row;
    struct source_server servers[LDAP_SOURCE_URLS_MAX];
    size_t servers_count;
    pthread_mutex_t lock; /* guards servers and what follows; nothing blocks while it is held */
    struct source_idle idle[SOURCE_IDLE_MAX];
    size_t idle_count;
    enum directory_state state;
    int64_t since_ms; /* wall clock */
    struct err why;
    char server[280];
    int64_t probe_at_ms;       /* monotonic */
    char domain[DOMAIN_BYTES]; /* NetBIOS name of the domain; "": not asked yet */
    uint64_t names_read;       /* up to which question about names it was asked; guarded by the lock of the names */
};
struct dir_source *source_ref(struct dir_source *source);
void source_unref(struct dir_source *source); /* NULL is allowed */
CLEANUP_DEFINE(struct dir_source, source_unref);

struct source_lane {
    char name[LDAP_SOURCE_NAME_CHARS_MAX + 1];
    struct lane *lane;
};

struct names;

struct identity {
    struct identity_options options;
    pthread_mutex_t lock; /* guards the next four */
    struct dir_source **sources;
    size_t count;
    struct source_lane lanes[SOURCE_LANES_MAX];
    size_t lanes_count;
    struct lane
        *ended[SOURCE_LANES_MAX]; /* of directories that are gone, in turn; identity_tick alone uses them, and identity_free */
    size_t ended_count;
    atomic_bool is_stopped;
    pthread_mutex_t sync_lock; /* one reads the database at a time */
    struct names *names;
};

/* directories.c: a new reference. ERR_NOT_FOUND also for a disabled one. */
int identity_find_source(struct identity *identity, const char *name, struct dir_source **out, struct err *err);
/* All that are not disabled, each with a reference; ended by NULL. NULL without memory. */
struct dir_source **identity_all_sources(struct identity *identity);
void identity_sources_free(struct dir_source **sources); /* NULL is allowed */

/* -- directory_pool.c: asking a source ---------------------------------------------------------------------------------------- */

typedef int source_fn(struct ldap_conn *conn, void *arg, struct err *err);
/* Runs fn with a connection that is bound as kaasd, on the first server that answers; again on another one when the first is lost meanwhile. fn sets its
 * results anew each time. ERR_UNREACHABLE at once while all servers have failed twice in a row and are given a rest. */
int source_ask(struct dir_source *source, source_fn *fn, void *arg, struct err *err);
/* The same with a connection of its own that nobody is bound on, closed afterwards. */
int source_ask_fresh(struct dir_source *source, source_fn *fn, void *arg, struct err *err);
/* Binds as kaasd; *conn may become another connection, or NULL. */
int source_bind(struct dir_source *source, const struct ldap_url *url, struct ldap_conn **conn, struct err *err);
struct ldap_target source_target(const struct dir_source *source, const struct ldap_url *url);
/* Asks something simple, if it is time to; sets the state. Blocks. */
void source_probe(struct dir_source *source);

/* -- directory_people.c: what an entry says ------------------------------------------------------------------------------------- */

/* An account as found. Texts malloc'ed. */
struct account {
    char *dn, *id, *name, *full_name, *mark;
    char refusal[64]; /* why it may not sign in; "" if it may */
};
void account_done(struct account *account);
/* By name. Several are none. *found tells whether there is one. */
int account_find(struct ldap_conn *conn, const struct ldap_source *source, const char *name, struct account *out,
                 struct err *err);
/* By id. out->dn stays NULL if there is none. */
int account_find_id(struct ldap_conn *conn, const struct ldap_source *source, const char *id, struct account *out,
                    struct err *err);
/* directory_login.c: makes a person of an account and its groups, taking over both. */
int account_take_person(const struct dir_source *source, struct account *account, struct group_set *groups,
                        struct identity_person *out, struct err *err);
/* directory_groups.c: the groups of an account, sealed. */
int account_groups(struct ldap_conn *conn, const struct ldap_source *source, const struct account *account, struct group_set *out,
                   struct err *err);
/* The id of an entry: "sid:...", or "ldap:<source>:<uuid>". NULL if it has none. Caller frees. */
char *entry_id(const struct ldap_entry *entry, const struct ldap_source *source);
/* The name under which people and groups are shown. NULL if it has none. Caller frees. Its attributes, for queries, are ENTRY_NAME_ATTRS. */
char *entry_name(const struct ldap_entry *entry, const struct ldap_source *source);
#define ENTRY_NAME_ATTRS "userPrincipalName", "sAMAccountName", "cn", "uid", "displayName"

/* -- directory_domain.c ------------------------------------------------------------------------------------------------------- */

/* What is behind "DOMAIN\\" of a name as Windows writes it, if that is the domain of the source; the name itself if it has no such part. *rest points into it.
 * ERR_UNPROCESSABLE for another domain, or where there are none; errors of asking. */
int source_skip_domain(struct dir_source *source, const char *name, const char **rest, struct err *err);
/* One attribute of the server's own entry (RFC 4512 section 5.1). *out is NULL if there is none; caller frees. */
int source_ask_root(struct ldap_conn *conn, const char *attr, char **out, struct err *err);

/* -- directory_names.c -------------------------------------------------------------------------------------------------------- */
int names_new(struct names **out, struct err *err);
void names_free(struct names *names); /* NULL is allowed */
/* Somebody has found out this name. */
void names_learn(struct names *names, const char *id, const char *text);
/* Resolves what is wanted of a source's; in its lane. */
void names_resolve(struct names *names, struct dir_source *source);
/* Is there anything that this source has not been asked about? */
bool names_has_work(struct names *names, struct dir_source *source);
