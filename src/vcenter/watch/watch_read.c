/* The live watch of one vCenter: the thread that waits for news. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Connecting is the link's affair: this thread waits until it has been done, and tells the link when the vCenter is lost. */
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "limits.h"
#include "link.h"
#include "metric.h"
#include "names.h"
#include "str.h"
#include "uuid.h"
#include "watch_run_private.h"

#define LASTED_MS 5000       /* a watch that held so long was no failure to begin with */
#define FAILURES_AFTER_ALL 2 /* one that got as far as the whole picture is tried again soon */

static const struct backoff retry = {.first_ms = 1000, .max_ms = 60000, .jitter_percent = 30};

/* Needs the lock. */
static void set_watching(struct watch *w, bool is_watching) {
    w->report.is_watching = is_watching;
    w->report.since_ms = is_watching ? clock_wall_ms() : 0;
}

/* -- what vCenter tells -------------------------------------------------------------------------------------------------------- */

static void tell_permissions(const struct watch *w, const char *user) {
    const struct platform_options *options = &link_env(w->link)->options;
    if (options->on_permissions)
        options->on_permissions(options->on_permissions_arg, link_id(w->link), user);
}

/* The vCenter may have been restarted: as another version, or as another one. Nothing of it is believed before that is known. */
static int on_restarted(void *arg, struct err *err) {
    struct watch *w = arg;
    (void)pthread_mutex_lock(&w->lock);
    watch_mirror_clear(&w->mirror);
    w->is_whole = false;
    w->is_in_update = true;
    w->report.restarts++;
    set_watching(w, false);
    (void)pthread_mutex_unlock(&w->lock);
    metric_add(metric_get(METRIC_WATCH_RESTARTS), 1);
    tell_permissions(w, NULL); /* what happened meanwhile was not told */
    return link_verify(w->link, err);
}

static int on_object(void *arg, const struct vim_watch_object *told, struct err *err) {
    struct watch *w = arg;
    LOCKED(&w->lock);
    w->is_in_update = true;
    return watch_mirror_put(&w->mirror, told, err);
}

static int on_extensions(void *arg, const struct vim_key_list *keys, const struct vim_extension *own, struct err *err) {
    struct watch *w = arg;
    LOCKED(&w->lock);
    w->is_in_update = true;
    return watch_mirror_put_extensions(&w->mirror, keys, own, err);
}

/* May it be our own session whose rights have changed? NULL: anybody's. */
static bool is_about_us(struct watch *w, const char *user) {
    _cleanup_done_(vim_user_session_done) struct vim_user_session own = {0};
    return !user || (!vim_get_own_session(link_client(w->link), &own, NULL) && name_same(own.user_name, user));
}

static int on_permissions(void *arg, const char *user, struct err *err) {
    struct watch *w = arg;
    (void)err;
    metric_add(metric_get(METRIC_WATCH_PERMISSIONS), 1);
    tell_permissions(arg, user);
    if (is_about_us(w, user))
        link_request(w->link, LINK_WORK_VERDICTS);
    return 0;
}

static int on_maintenance(void *arg, const struct vim_watch_maintenance *begun, struct err *err) {
    const struct watch *w = arg;
    const struct platform_options *options = &link_env(w->link)->options;
    (void)err;
    if (options->on_maintenance)
        options->on_maintenance(options->on_maintenance_arg, link_id(w->link), begun);
    return 0;
}

/* Needs the lock. Returns what has changed. */
static unsigned take_changes(struct watch *w) {
    unsigned changed = w->mirror.changed;
    w->mirror.changed = 0;
    if (changed & WATCH_CLUSTERS)
        watch_plan_add(&w->plan, WATCH_SAVE_CLUSTERS);
    if (changed & WATCH_NODES)
        watch_plan_add(&w->plan, WATCH_SAVE_NODES);
    return changed;
}

/* An account may not see what HX has registered just now; an extension's own session sees all. */
static bool may_miss_clusters(struct watch *w) {
    _cleanup_done_(vim_user_session_done) struct vim_user_session own = {0};
    return !vim_get_own_session(link_client(w->link), &own, NULL) && !own.is_extension;
}

static int on_settled(void *arg, struct err *err) {
    struct watch *w = arg;
    unsigned changed;
    (void)err;
    (void)pthread_mutex_lock(&w->lock);
    w->is_in_update = false;
    w->is_whole = true;
    if (!w->report.is_watching)
        set_watching(w, true);
    w->report.updated_at_ms = clock_wall_ms();
    w->report.objects = (unsigned)w->mirror.count;
    w->report.reason[0] = 0;
    changed = take_changes(w);
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    metric_add(metric_get(METRIC_WATCH_UPDATES), 1);
    if (changed & WATCH_RECORD)
        link_request(w->link, LINK_WORK_RECONCILE);
    if (changed & WATCH_CLUSTERS && may_miss_clusters(w))
        link_request(w->link, LINK_WORK_VERDICTS);
    return 0;
}

/* -- waiting ------------------------------------------------------------------------------------------------------------------- */

static bool watch_read_make(struct watch *w, struct vim_watch **out, struct err *err) {
    _cleanup_free_ char *key = link_get_extension_key(w->link);
    const struct vim_watch_options options = {.extension_key = key, .follows = w->follows};
    bool is_stopping;
    if (vim_watch_new(link_client(w->link), &options, out, err))
        return false;
    (void)pthread_mutex_lock(&w->lock);
    is_stopping = w->is_stopping;
    w->current = is_stopping ? NULL : *out;
    (void)pthread_mutex_unlock(&w->lock);
    if (!is_stopping)
        return true;
    vim_watch_free(*out);
    (void)err_set(err, ERR_CANCELED, "the service is stopping");
    return false;
}

static void watch_read_unmake(struct watch *w, struct vim_watch *current) {
    (void)pthread_mutex_lock(&w->lock);
    w->current = NULL;
    set_watching(w, false);
    if (w->is_in_update) /* torn off in the middle */
        w->is_whole = false;
    (void)pthread_mutex_unlock(&w->lock);
    vim_watch_free(current);
}

/* Watches until something goes wrong or nobody wants it any more. */
static int watch_on(struct watch *w, struct err *err) {
    const struct vim_watch_events events = {
        .arg = w,
        .restarted = on_restarted,
        .object = on_object,
        .extensions = on_extensions,
        .permissions = on_permissions,
        .maintenance = on_maintenance,
        .settled = on_settled,
    };
    struct vim_watch *current = NULL;
    int rc = 0;
    if (!watch_read_make(w, &current, err))
        return err->code;
    while (!rc) {
        const int64_t since_ms = clock_mono_ms(); /* its answer does not outweigh what was asked meanwhile and hangs */
        rc = vim_watch_next(current, &events, err);
        if (!rc)
            (void)link_note(w->link, since_ms, 0, NULL);
    }
    watch_read_unmake(w, current);
    return rc;
}

/* Needs the lock. */
static int64_t watch_read_note_end(struct watch *w, int rc, const struct err *err, int64_t began_ms) {
    if (rc == ERR_CANCELED)
        return 0;
    if (clock_mono_ms() - began_ms > LASTED_MS)
        w->failures = 0;
    else if (w->is_whole && w->failures > FAILURES_AFTER_ALL)
        w->failures = FAILURES_AFTER_ALL;
    w->failures++;
    (void)snprintf(w->report.reason, sizeof(w->report.reason), "%s", err->text);
    return backoff_delay_ms(&retry, w->failures, random_u32());
}

/* Needs the lock. Sleeps on when it is only woken. */
static void pause_for(struct watch *w, int64_t ms) {
    int64_t until_ms = clock_mono_ms() + ms;
    while (!w->is_stopping && clock_mono_ms() < until_ms)
        watch_wait(w, until_ms - clock_mono_ms());
}

/* Needs the lock, gives it back meanwhile. That it ended is news, though its call began long ago; a wait that was not answered says that the
 * vCenter has been silent since the answer was due. */
static void watch_once(struct watch *w) {
    int64_t began_ms = clock_mono_ms();
    struct err err = {0};
    int rc;
    (void)pthread_mutex_unlock(&w->lock);
    rc = watch_on(w, &err);
    link_forget_verified(w->link);
    if (rc != ERR_CANCELED) {
        metric_add(metric_get(METRIC_WATCH_FAILURES), 1);
        (void)link_note(w->link, clock_mono_ms() - (rc == ERR_TIMEOUT ? KAAS_VIM_WATCH_MARGIN_MS : 0), rc, &err);
    }
    (void)pthread_mutex_lock(&w->lock);
    pause_for(w, watch_read_note_end(w, rc, &err, began_ms));
}

static bool may_watch(const struct watch *w) {
    return link_get_state(w->link) == REMOTE_OK;
}

void *watch_read_thread(void *arg) {
    struct watch *w = arg;
    store_thread_begin(); /* what the vCenter says of itself is saved from here */
    (void)pthread_mutex_lock(&w->lock);
    while (!w->is_stopping) {
        if (may_watch(w))
            watch_once(w);
        else
            watch_wait(w, WATCH_FULL_MS);
    }
    (void)pthread_mutex_unlock(&w->lock);
    store_thread_end();
    return NULL;
}
