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
        *ended[SOURCE_POOLS_MAX]; /* of removed directories, oldest first; used by ldapdir_tick and ldapdir_free only */
    size_t ended_count;
    atomic_bool is_stopped;
    pthread_mutex_t sync_lock; /* one reads the database at a time */
    struct names *names;
};

/* Ends every write: calls on_written after success, writes a refusal to the audit log. Returns rc. */
int ldapdir_finish(struct ldapdirs *ldapdirs, const struct audit_record *line, int rc, const struct err *why);

/* Stores the name of an id that a lookup has found; ldapdir_get_name gives it from then on. */
void names_learn(struct names *names, const char *id, const char *text);

/* Finds a source by name; the caller gets a reference. ERR_NOT_FOUND also for a disabled source. */
int ldapdir_find(struct ldapdirs *ldapdirs, const char *name, struct ldapdir **out, struct err *err);
/* All that are not disabled, each with a reference; ended by NULL. NULL without memory. */
struct ldapdir **ldapdir_all(struct ldapdirs *ldapdirs);
void ldapdir_all_free(struct ldapdir **sources); /* NULL is allowed */
