/* All configured directories, in memory. Layer 5 (auth); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "directories.h"
#include "directory_pool.h"
#include "identity.h"
#include "worker_pool.h"

#define SOURCE_POOLS_MAX 64U

struct source_pool {
    char name[LDAP_SOURCE_NAME_CHARS_MAX + 1];
    struct worker_pool *workers;
};

struct identity {
    struct identity_options options;
    pthread_mutex_t lock; /* guards the next four */
    struct inventory_source **sources;
    size_t count;
    struct source_pool pools[SOURCE_POOLS_MAX];
    size_t pools_count;
    struct worker_pool
        *ended[SOURCE_POOLS_MAX]; /* of directories that are gone, in turn; identity_tick alone uses them, and identity_free */
    size_t ended_count;
    atomic_bool is_stopped;
    pthread_mutex_t sync_lock; /* one reads the database at a time */
    struct names *names;
};

/* Ends every write: after success others learn of it, a refusal is noted. Returns rc. */
int identity_finish(struct identity *identity, const struct audit_record *line, int rc, const struct err *why);

/* Somebody has found out the name of an id, which identity_get_name gives from then on. */
void names_learn(struct names *names, const char *id, const char *text);

/* A new reference. ERR_NOT_FOUND also for a disabled one. */
int identity_find_source(struct identity *identity, const char *name, struct inventory_source **out, struct err *err);
/* All that are not disabled, each with a reference; ended by NULL. NULL without memory. */
struct inventory_source **identity_all_sources(struct identity *identity);
void identity_sources_free(struct inventory_source **sources); /* NULL is allowed */
