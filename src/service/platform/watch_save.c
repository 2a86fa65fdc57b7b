/* The live watch of one vCenter: the thread that saves what has changed. Layer 4 (service/platform). When is watch_plan.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "discovery.h"
#include "lease_store.h"
#include "link.h"
#include "metric.h"
#include "platform_links.h"
#include "str.h"
#include "uuid.h"
#include "watch_private.h"

static struct store *store_of(const struct watch *w) {
    return platform_options_of(link_platform(w->link))->store;
}

/* -- the lease ----------------------------------------------------------------------------------------------------------------- */

static char *lease_name(const struct watch *w) {
    return str_format("observe:%s", link_id(w->link));
}

static int ask_lease(const struct watch *w, bool *is_mine) {
    _cleanup_free_ char *name = lease_name(w);
    if (!name)
        return ERR_NOMEM;
    return lease_store_acquire(store_of(w), name, store_replica_name(store_of(w)), WATCH_LEASE_MS, is_mine, NULL);
}

/* The other replicas need not wait for its end. With the database away it ends by itself. */
static void release_lease(struct watch *w) {
    _cleanup_free_ char *name = NULL;
    if (clock_mono_ms() >= w->plan.lease_until_ms || store_away_since_ms(store_of(w)))
        return;
    name = lease_name(w);
    if (name)
        (void)lease_store_release(store_of(w), name, store_replica_name(store_of(w)), NULL);
}

/* -- clusters ------------------------------------------------------------------------------------------------------------------ */

static int save_clusters(struct watch *w, struct err *err) {
    struct vim_cluster_list clusters = {0};
    struct vim_key_list keys = {0};
    int rc;
    watch_lock_saving(w);
    rc = watch_get_inventory(w, &clusters, &keys, err);
    if (!rc)
        rc = discovery_save(w->link, &(struct discovery_input){.clusters = &clusters, .keys = &keys}, NULL, err);
    watch_unlock_saving(w);
    vim_cluster_list_done(&clusters);
    vim_key_list_done(&keys);
    return rc;
}

/* -- nodes --------------------------------------------------------------------------------------------------------------------- */

static int load_targets(struct watch *w, struct err *err) {
    struct node_target_list list = {0};
    struct node_matcher *matcher = NULL;
    int rc = observation_store_list_nodes(store_of(w), link_id(w->link), &list, err);
    if (rc)
        return rc;
    rc = node_matcher_new(list.items, list.count, &matcher, err);
    if (rc) {
        node_target_list_done(&list);
        return rc;
    }
    node_matcher_free(w->matcher);
    node_target_list_done(&w->targets);
    w->matcher = matcher;
    w->targets = list;
    return 0;
}

int watch_find_nodes(struct watch *w, struct node_matcher *matcher, const struct node_target_list *targets,
                     struct watch_nodes *out, struct err *err) {
    int rc;
    (void)pthread_mutex_lock(&w->lock);
    while (w->is_whole && w->is_in_update && !w->is_stopping)
        watch_wait(w, 1000);
    w->has_no_vm = watch_mirror_has_no_vm(&w->mirror);
    rc = watch_is_usable(w) ? watch_mirror_get_nodes(&w->mirror, matcher, targets->items, targets->count, out, err)
                            : err_set(err, ERR_NOT_FOUND, "the vCenter is not watched at the moment");
    if (!rc && matcher == w->matcher) {
        w->report.nodes = (unsigned)out->count;
        w->report.ambiguous = out->ambiguous;
    }
    (void)pthread_mutex_unlock(&w->lock);
    return rc;
}

int watch_check_rights(struct watch *w, struct err *err) {
    return w->has_no_vm && w->targets.count ? discovery_check_rights(w->link, err) : 0;
}

static int write_nodes(struct watch *w, const struct watch_nodes *nodes, struct err *err) {
    struct observation_picture picture = {.vcenter_id = link_id(w->link),
                                          .items = nodes->items,
                                          .count = nodes->count,
                                          .is_complete = true,
                                          .now_ms = clock_wall_ms()};
    unsigned changed = 0;
    int rc = observation_store_save(store_of(w), &picture, &changed, err);
    if (!rc && changed)
        platform_note_written(link_platform(w->link));
    return rc;
}

/* `is_forced`: what is stored may differ from what we saved last. */
static int save_nodes(struct watch *w, bool is_forced, struct err *err) {
    struct watch_nodes nodes = {0};
    int rc = watch_find_nodes(w, w->matcher, &w->targets, &nodes, err);
    if (rc)
        return rc;
    if (!is_forced && w->has_saved) {
        rc = watch_save_news(w, &nodes, err);
        if (rc)
            watch_nodes_done(&nodes);
        return rc;
    }
    rc = watch_check_rights(w, err);
    if (!rc)
        rc = write_nodes(w, &nodes, err);
    if (rc) {
        watch_nodes_done(&nodes);
        return rc;
    }
    watch_nodes_done(&w->saved);
    w->saved = nodes;
    w->has_saved = true;
    return 0;
}

/* -- the thread ---------------------------------------------------------------------------------------------------------------- */

static int save(struct watch *w, unsigned parts, const struct watch_noted *noted, struct err *err) {
    int rc = 0;
    if (parts & WATCH_SAVE_PART && !(w->matcher && w->has_saved))
        parts |= WATCH_SAVE_TARGETS;
    if (parts & WATCH_SAVE_CLUSTERS)
        rc = save_clusters(w, err);
    if (!rc && (parts & WATCH_SAVE_TARGETS || !w->matcher))
        rc = load_targets(w, err);
    if (!rc && parts & WATCH_SAVE_PART && !(parts & WATCH_SAVE_TARGETS))
        rc = watch_save_part(w, noted, err);
    if (!rc && parts & (WATCH_SAVE_NODES | WATCH_SAVE_TARGETS))
        rc = save_nodes(w, parts & WATCH_SAVE_TARGETS, err);
    return rc;
}

/* Needs the lock, gives it back meanwhile. */
static void save_now(struct watch *w) {
    unsigned parts = watch_plan_take(&w->plan, clock_mono_ms());
    struct watch_noted noted = w->noted;
    struct err err = {0};
    int rc;
    w->noted.count = 0;
    (void)pthread_mutex_unlock(&w->lock);
    rc = save(w, parts, &noted, &err);
    if (rc && parts & WATCH_SAVE_PART) /* which ones need not be remembered for this */
        parts = (parts & ~(unsigned)WATCH_SAVE_PART) | WATCH_SAVE_TARGETS | WATCH_SAVE_NODES;
    metric_add(metric_get(METRIC_COUNTER, "kaasd_watch_saves_total", "Savings of what watches told", NULL, NULL), 1);
    if (rc)
        metric_add(
            metric_get(METRIC_COUNTER, "kaasd_watch_save_failures_total", "Savings that failed and are tried again", NULL, NULL),
            1);
    (void)pthread_mutex_lock(&w->lock);
    watch_plan_note_saved(&w->plan, clock_mono_ms(), parts, rc, random_u32());
    if (rc)
        (void)snprintf(w->report.reason, sizeof(w->report.reason), "%s", err.text);
    else
        w->report.saved_at_ms = clock_wall_ms();
    if (!rc && w->report.is_watching)
        w->report.reason[0] = 0;
}

/* Needs the lock, gives it back meanwhile. */
static void ask_lease_now(struct watch *w) {
    bool is_mine = false;
    int64_t now_ms = clock_mono_ms(); /* before the question: the answer may be late, never the end of the lease */
    int rc;
    (void)pthread_mutex_unlock(&w->lock);
    rc = ask_lease(w, &is_mine);
    (void)pthread_mutex_lock(&w->lock);
    watch_plan_note_lease(&w->plan, now_ms, rc, is_mine);
}

void *watch_save_thread(void *arg) {
    struct watch *w = arg;
    store_thread_begin();
    (void)pthread_mutex_lock(&w->lock);
    while (!w->is_stopping) {
        int64_t wait_ms = 0;
        enum watch_step step = watch_plan_next(&w->plan, clock_mono_ms(), watch_is_usable(w), &wait_ms);
        if (step == WATCH_TAKE_LEASE)
            ask_lease_now(w);
        else if (step == WATCH_SAVE)
            save_now(w);
        else
            watch_wait(w, wait_ms);
    }
    (void)pthread_mutex_unlock(&w->lock);
    release_lease(w);
    store_thread_end();
    return NULL;
}
