/* All configured directories, in memory. Layer 5 (auth); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "ldapdirs.h"
#include "ldapdir_pool.h"
#include "ldapdir.h"
#include "worker_pool.h"

#define SOURCE_POOLS_MAX 64U

struct source_pool {
    char name[LDAP_SOURCE_NAME_CHARS_MAX + 1];
    struct worker_pool *workers;
};

struct ldapdirs {
    struct ldapdir_options options;
    pthread_mutex_t lock; /* guards the next four */
    struct ldapdir **sources;
    size_t count;
    struct source_pool pools[SOURCE_POOLS_MAX];
    size_t pools_count;
    struct worker_pool
        *ended[SOURCE_POOLS_MAX]; /* of directories that are gone, in turn; ldapdir_tick alone uses them, and ldapdir_free */
    size_t ended_count;
    atomic_bool is_stopped;
    pthread_mutex_t sync_lock; /* one reads the database at a time */
    struct names *names;
};

/* Ends every write: after success others learn of it, a refusal is noted. Returns rc. */
int ldapdir_finish(struct ldapdirs *ldapdirs, const struct audit_record *line, int rc, const struct err *why);

/* Somebody has found out the name of an id, which ldapdir_get_name gives from then on. */
void names_learn(struct names *names, const char *id, const char *text);

/* A new reference. ERR_NOT_FOUND also for a disabled one. */
int ldapdir_find(struct ldapdirs *ldapdirs, const char *name, struct ldapdir **out, struct err *err);
/* All that are not disabled, each with a reference; ended by NULL. NULL without memory. */
struct ldapdir **ldapdir_all(struct ldapdirs *ldapdirs);
void ldapdir_all_free(struct ldapdir **sources); /* NULL is allowed */
