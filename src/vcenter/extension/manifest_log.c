/* Who fetched the plug-in's manifest: the proof that a vCenter can reach us. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "manifest_log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "link.h"
#include "net_addr.h"
#include "platform_links.h"
#include "str.h"

#define FETCHES_MAX 64 /* different pairs of address and version */
#define LOOKUP_LIMIT_MS 2000

struct entry {
    struct manifest_fetch fetch;
    bool is_settled; /* nothing to do until it is noted again */
    bool is_vcenter;
};

struct manifest_log {
    pthread_mutex_t lock;     /* guards the entries */
    pthread_mutex_t settling; /* one manifest_log_settle at a time */
    struct entry entries[FETCHES_MAX];
    size_t count;
};

int manifest_log_new(struct manifest_log **out, struct err *err) {
    struct manifest_log *log = calloc(1, sizeof(*log));
    if (!log)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&log->lock, NULL);
    (void)pthread_mutex_init(&log->settling, NULL);
    *out = log;
    return 0;
}

void manifest_log_free(struct manifest_log *log) {
    if (!log)
        return;
    (void)pthread_mutex_destroy(&log->lock);
    (void)pthread_mutex_destroy(&log->settling);
    free(log);
}

/* The entry of this pair, else a free one, else the oldest. Needs the lock. */
static struct entry *place_for(struct manifest_log *log, const char *address, const char *version) {
    struct entry *oldest = &log->entries[0];
    for (size_t i = 0; i < log->count; i++) {
        struct entry *e = &log->entries[i];
        if (str_eq(e->fetch.address, address) && str_eq(e->fetch.version, version))
            return e;
        if (e->fetch.at_ms < oldest->fetch.at_ms)
            oldest = e;
    }
    return log->count < FETCHES_MAX ? &log->entries[log->count++] : oldest;
}

void manifest_log_note(struct manifest_log *log, const char *address, const char *version) {
    struct entry *e;
    LOCKED(&log->lock);
    e = place_for(log, address, version);
    memset(e, 0, sizeof(*e));
    (void)snprintf(e->fetch.address, sizeof(e->fetch.address), "%s", address);
    (void)snprintf(e->fetch.version, sizeof(e->fetch.version), "%s", version);
    e->fetch.at_ms = clock_wall_ms();
}

/* -- whose are they ------------------------------------------------------------------------------------------------------- */

struct fetches {
    struct manifest_fetch items[FETCHES_MAX];
    bool is_vcenter[FETCHES_MAX], is_stored[FETCHES_MAX];
    size_t count;
};

static void manifest_log_copy_new(struct manifest_log *log, struct fetches *out) {
    out->count = 0;
    LOCKED(&log->lock);
    for (size_t i = 0; i < log->count; i++) {
        if (log->entries[i].is_settled)
            continue;
        out->is_vcenter[out->count] = false;
        out->is_stored[out->count] = true;
        out->items[out->count++] = log->entries[i].fetch;
    }
}

static bool comes_from(const struct manifest_fetch *fetch, const struct net_addresses *addresses) {
    for (size_t i = 0; i < addresses->count; i++)
        if (net_same_address(fetch->address, addresses->items[i]))
            return true;
    return false;
}

static int settle_link(struct link *link, struct fetches *fetches, struct err *err) {
    struct net_addresses addresses = {.count = 0};
    _cleanup_done_(vcenter_done) struct vcenter vc = {0};
    int rc = link_get_info(link, &vc, err);
    if (rc)
        return rc;
    (void)net_lookup_name(vc.address, LOOKUP_LIMIT_MS, &addresses, NULL);
    for (size_t i = 0; i < fetches->count; i++) {
        if (!comes_from(&fetches->items[i], &addresses))
            continue;
        fetches->is_vcenter[i] = true;
        rc = manifest_store_save(link_env(link)->options.runtime->store, vc.id, &fetches->items[i], err);
        fetches->is_stored[i] = fetches->is_stored[i] && !rc;
    }
    return rc;
}

static bool manifest_log_is_same_fetch(const struct manifest_fetch *a, const struct manifest_fetch *b) {
    return a->at_ms == b->at_ms && str_eq(a->address, b->address) && str_eq(a->version, b->version);
}

/* Entries that were noted again meanwhile stay as they are. */
static void manifest_log_mark(struct manifest_log *log, const struct fetches *fetches) {
    LOCKED(&log->lock);
    for (size_t i = 0; i < log->count; i++)
        for (size_t j = 0; j < fetches->count; j++)
            if (manifest_log_is_same_fetch(&log->entries[i].fetch, &fetches->items[j])) {
                log->entries[i].is_settled = fetches->is_stored[j];
                log->entries[i].is_vcenter = fetches->is_vcenter[j];
            }
}

static int manifest_log_settle_log(struct manifest_log *log, struct platform *platform, struct fetches *fetches,
                                   struct err *err) {
    size_t count = 0;
    struct link **links;
    int rc = 0;
    manifest_log_copy_new(log, fetches);
    if (!fetches->count)
        return 0;
    links = platform_list(platform, &count);
    if (!links)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        rc = rc ? rc : settle_link(links[i], fetches, err);
        link_unref(links[i]);
    }
    free(links);
    if (!rc)
        manifest_log_mark(log, fetches);
    return rc;
}

int manifest_log_settle(struct manifest_log *log, struct platform *platform, struct err *err) {
    _cleanup_free_ struct fetches *fetches = calloc(1, sizeof(*fetches));
    if (!fetches)
        return err_set(err, ERR_NOMEM, "out of memory");
    LOCKED(&log->settling);
    return manifest_log_settle_log(log, platform, fetches, err);
}

bool manifest_log_find_stranger(struct manifest_log *log, struct manifest_fetch *out) {
    int64_t newest_ms = 0;
    LOCKED(&log->lock);
    for (size_t i = 0; i < log->count; i++) {
        const struct entry *e = &log->entries[i];
        if (!e->is_settled || e->is_vcenter || e->fetch.at_ms <= newest_ms)
            continue;
        newest_ms = e->fetch.at_ms;
        *out = e->fetch;
    }
    return newest_ms != 0;
}
