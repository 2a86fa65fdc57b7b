/* The live watch of one vCenter: making, starting, ending, asking. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "metric.h"
#include "platform_links.h"
#include "str.h"
#include "vim_follow.h"
#include "watch_mirror.h"
#include "watch_run_private.h"

/* -- life ---------------------------------------------------------------------------------------------------------------------- */

/* Needs the lock. */
static int start_locked(struct watch *w) {
    int rc = pthread_create(&w->reader, NULL, watch_read_thread, w);
    if (rc)
        return rc;
    rc = pthread_create(&w->saver, NULL, watch_save_thread, w);
    if (!rc) {
        (void)pthread_setname_np(w->reader, "watch");
        (void)pthread_setname_np(w->saver, "watch-save");
        w->has_threads = true;
        return 0;
    }
    w->is_stopping = true;
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->reader, NULL);
    (void)pthread_mutex_lock(&w->lock);
    w->is_stopping = false;
    return rc;
}

/* Signals belong to the main thread. */
static int watch_start(struct watch *w, struct err *err) {
    sigset_t all, before;
    int rc = 0;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)pthread_mutex_lock(&w->lock);
    if (!w->has_threads && !w->is_stopping)
        rc = start_locked(w);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? err_set(err, ERR_BUSY, "no thread could be started to watch the vCenter") : 0;
}

static void watch_cancel(struct watch *w) {
    LOCKED(&w->lock);
    w->is_stopping = true;
    if (w->current)
        vim_watch_cancel(w->current);
    (void)pthread_cond_broadcast(&w->changed);
}

static void watch_stop(struct watch *w) {
    bool has_threads;
    watch_cancel(w);
    (void)pthread_mutex_lock(&w->lock);
    has_threads = w->has_threads;
    w->has_threads = false;
    (void)pthread_mutex_unlock(&w->lock);
    if (!has_threads)
        return;
    (void)pthread_join(w->reader, NULL);
    (void)pthread_join(w->saver, NULL);
}

static int watch_make(struct link *link, struct watch **out, struct err *err) {
    struct watch *w = calloc(1, sizeof(*w));
    if (!w)
        return err_set(err, ERR_NOMEM, "out of memory");
    const struct platform_options *options = &link_env(link)->options;
    int rc = vim_follows_new(options->on_followed, options->on_followed_arg, &w->follows, err);
    if (rc) {
        free(w);
        return rc;
    }
    w->link = link;
    (void)pthread_mutex_init(&w->saving, NULL);
    (void)pthread_mutex_init(&w->lock, NULL);
    clock_init_cond(&w->changed);
    *out = w;
    return 0;
}

static void watch_free(struct watch *w) {
    if (!w)
        return;
    watch_stop(w);
    watch_mirror_done(&w->mirror);
    node_target_list_done(&w->targets);
    node_matcher_free(w->matcher);
    watch_nodes_done(&w->saved);
    vim_follows_free(w->follows);
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_mutex_destroy(&w->saving);
    free(w);
}

/* -- what others tell ---------------------------------------------------------------------------------------------------------- */

void watch_wait(struct watch *w, int64_t ms) {
    const struct timespec until = clock_deadline(ms);
    (void)pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

static void watch_note_link(struct watch *w, bool is_registered) {
    LOCKED(&w->lock);
    if (w->current && !is_registered)
        vim_watch_cancel(w->current);
    (void)pthread_cond_broadcast(&w->changed);
}

/* Needs the lock. False: there is no room for one more. */
static bool note_one(struct watch *w, const char *cluster_id) {
    for (size_t i = 0; i < w->noted.count; i++)
        if (str_eq(w->noted.ids[i], cluster_id))
            return true;
    if (w->noted.count == WATCH_CLUSTERS_AT_ONCE)
        return false;
    (void)snprintf(w->noted.ids[w->noted.count++], UUID_TEXT_BYTES, "%s", cluster_id);
    return true;
}

void watch_note_cluster(struct watch *w, const char *cluster_id) {
    LOCKED(&w->lock);
    const bool is_one = cluster_id && note_one(w, cluster_id);
    watch_plan_add(&w->plan, is_one ? WATCH_SAVE_PART : WATCH_SAVE_TARGETS | WATCH_SAVE_NODES);
    (void)pthread_cond_broadcast(&w->changed);
}

static void watch_run_note_at(struct link *link, void *cluster_id) {
    watch_note_cluster(link_watch(link), cluster_id);
}

void watch_note_cluster_everywhere(struct platform *platform, const char *cluster_id) {
    platform_each(platform, watch_run_note_at, (void *)(uintptr_t)cluster_id);
}

/* What is known is doubted: all is told again. Does not block. */
static void watch_restart(struct watch *w) {
    LOCKED(&w->lock);
    if (w->current)
        vim_watch_cancel(w->current);
}

void watch_note_difference(struct watch *w) {
    (void)pthread_mutex_lock(&w->lock);
    w->report.differences++;
    (void)pthread_mutex_unlock(&w->lock);
    metric_add(metric_get(METRIC_WATCH_DIFFERENCES), 1);
    watch_restart(w);
}

struct vim_follows *watch_follows(const struct watch *w) {
    return w->follows;
}

void watch_lock_saving(struct watch *w) {
    (void)pthread_mutex_lock(&w->saving);
}

void watch_unlock_saving(struct watch *w) {
    (void)pthread_mutex_unlock(&w->saving);
}

/* -- what others ask ----------------------------------------------------------------------------------------------------------- */

void watch_get_report(struct watch *w, struct watch_report *out) {
    LOCKED(&w->lock);
    *out = w->report;
    out->is_saving = clock_mono_ms() < w->plan.lease_until_ms;
}

/* Needs the lock. A picture that is being changed will be whole in a moment; one that was cleared may take long. */
static bool wait_for_picture(struct watch *w) {
    int64_t until_ms = clock_mono_ms() + 1000;
    while (w->is_whole && w->is_in_update && !w->is_stopping && clock_mono_ms() < until_ms)
        watch_wait(w, 50);
    return watch_is_usable(w);
}

int watch_get_inventory(struct watch *w, struct watch_inventory *out, struct err *err) {
    LOCKED(&w->lock);
    return wait_for_picture(w) ? watch_mirror_get_inventory(&w->mirror, out, err)
                               : err_set(err, ERR_NOT_FOUND, "the vCenter is not watched at the moment");
}

bool watch_get_path(struct watch *w, const char *moref, struct strbuf *out) {
    LOCKED(&w->lock);
    return watch_mirror_get_path(&w->mirror, moref, out);
}

const struct link_watch_ops watch_link_ops = {
    .make = watch_make,
    .start = watch_start,
    .note_link = watch_note_link,
    .cancel = watch_cancel,
    .stop = watch_stop,
    .free = watch_free,
};
