/* Sign-on as a whole. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "signon.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "audit_store.h"
#include "clock.h"
#include "code_store.h"
#include "metric.h"
#include "role_mappings.h"
#include "singleflight.h"
#include "secret.h"
#include "session_store.h"
#include "signon_state.h"
#include "str.h"
#include "throttle.h"
#include "token.h"
#include "uuid.h"

#define PURGE_BATCH 1000U
#define KEEP_ENDED_MS (2LL * 3600 * 1000) /* longer than any token lasts */
#define IN_MEMORY_MAX 200000U             /* about 100 MB */
#define GROUP_PLACES_MAX 16000000U        /* 128 MB */

int signon_new(const struct signon_options *options, struct signon **out, struct err *err) {
    const struct rights_pace pace = {.fresh_ms = options->rights_fresh_ms, .per_s = options->rights_rechecks_per_s};
    struct signon *s = calloc(1, sizeof(*s));
    if (!s)
        return err_set(err, ERR_NOMEM, "out of memory");
    s->options = *options;
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_mutex_init(&s->keys_lock, NULL);
    for (size_t i = 0; i < SIGNON_STRIPES; i++)
        (void)pthread_mutex_init(&s->reload_locks[i], NULL);
    random_bytes(s->secret, sizeof(s->secret));
    s->options.issuer = str_dup(options->issuer);
    if (!s->options.sessions_in_memory_max)
        s->options.sessions_in_memory_max = IN_MEMORY_MAX;
    if (!s->options.group_places_max)
        s->options.group_places_max = GROUP_PLACES_MAX;
    signon_set_limits(s, options->limits);
    s->table = session_table_new();
    s->throttle = throttle_new();
    s->known = throttle_new();
    s->bad_tokens = throttle_new();
    s->pace = throttle_new();
    s->checks = signon_checks_new();
    s->mappings = role_mappings_new(options->maps_privileges);
    s->asker = (struct signon_asker){options->platform, options->inventory, s->mappings};
    s->cache = rights_cache_new(&s->asker, &pace);
    s->shared = (struct live_shared){.cache = s->cache, .pool = group_pool_new()};
    if (!s->options.issuer || !s->shared.pool || !s->table || !s->throttle || !s->known || !s->bad_tokens || !s->pace ||
        !s->checks || !s->mappings || !s->cache || signing_keys_new(s, err)) {
        signon_free(s);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = s;
    return 0;
}

void signon_free(struct signon *s) {
    if (!s)
        return;
    token_set_free(s->tokens);
    signon_free_notes(s);
    session_table_free(s->table);
    signon_forget_plugin_people(s);
    rights_cache_free(s->cache);
    role_mappings_free(s->mappings);
    group_pool_free(s->shared.pool);
    throttle_free(s->throttle);
    throttle_free(s->known);
    throttle_free(s->bad_tokens);
    throttle_free(s->pace);
    singleflight_free(s->checks);
    free((void *)(uintptr_t)s->options.issuer);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_mutex_destroy(&s->keys_lock);
    for (size_t i = 0; i < SIGNON_STRIPES; i++)
        (void)pthread_mutex_destroy(&s->reload_locks[i]);
    secret_wipe(s->secret, sizeof(s->secret));
    free(s);
}

void signon_set_limits(struct signon *s, struct signon_limits limits) {
    atomic_store(&s->sessions_max, limits.sessions_max);
    atomic_store(&s->per_s, limits.per_s);
}

int signon_load(struct signon *s, struct err *err) {
    int rc = signon_apply_key_change(s, err);
    if (!rc)
        rc = signon_apply_role_mappings(s, err);
    return rc ? rc : signon_load_sessions(s, err);
}

int signon_purge(struct signon *s, struct err *err) {
    unsigned long deleted = PURGE_BATCH;
    int rc = 0;
    (void)session_table_purge(s->table, clock_wall_ms());
    while (!rc && deleted == PURGE_BATCH)
        rc = session_store_purge(s->options.runtime->store, clock_wall_ms() - KEEP_ENDED_MS, PURGE_BATCH, &deleted, err);
    deleted = PURGE_BATCH;
    while (!rc && deleted == PURGE_BATCH)
        rc = code_store_purge(s->options.runtime->store, clock_wall_ms(), PURGE_BATCH, &deleted, err);
    return rc;
}

void signon_stop(struct signon *s) {
    if (s)
        rights_cache_stop(s->cache);
}

void signon_write_metrics(struct signon *s, struct metric_page *page) {
    metric_sample(page, METRIC_SESSIONS, (double)session_table_count(s->table));
}
