/* Live watching: life of a watch, and the loop around its calls. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Filters and versions end with the session they were made in. So the watch notes with which session it was built, and is built
 * anew when that is not the client's any more, whoever logged in again. */
#include "vim_watch.h"

#include <string.h>

#include "clock.h"
#include "secret.h"
#include "str.h"
#include "vim_watch_private.h"

#define ANSWERS_COUNT_MAX 20000U /* of one update */
#define SPACING_MS 50            /* between two questions; lets changes that come together be told together */
#define EMPTY_SPACING_MS 1000    /* the same after an answer without news, should the server not have waited */
#define LOSS_SPACING_MS 10000    /* losses that follow closer are made good at the pace of empty answers */
#define OBJECTS_COUNT_UPDATE_MAX 10000U

/* ---- life ---- */

static int vim_watch_check_options(const struct vim_watch_options *o, struct err *err) {
    if (o->max_wait_s > KAAS_VIM_WATCH_WAIT_S_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "vCenter cannot be made to wait for more than %d s", KAAS_VIM_WATCH_WAIT_S_MAX);
    if (o->max_object_updates > OBJECTS_COUNT_UPDATE_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "an answer of vCenter may hold at most %u objects", OBJECTS_COUNT_UPDATE_MAX);
    return 0;
}

int vim_watch_new(struct vim_client *client, const struct vim_watch_options *options, struct vim_watch **out, struct err *err) {
    _cleanup_(vim_watch_free) struct vim_watch *w = NULL;
    int ret = vim_watch_check_options(options, err);
    if (ret)
        return ret;
    w = calloc(1, sizeof(*w));
    if (!w)
        return err_set(err, ERR_NOMEM, "out of memory");
    w->client = client;
    w->max_wait_s = options->max_wait_s ? options->max_wait_s : KAAS_VIM_WATCH_WAIT_S;
    w->max_object_updates = options->max_object_updates ? options->max_object_updates : KAAS_VIM_WATCH_OBJECTS_COUNT;
    (void)pthread_mutex_init(&w->lock, NULL);
    clock_init_cond(&w->changed);
    w->extension_key = str_dup(options->extension_key);
    if (options->extension_key && !w->extension_key)
        return err_set(err, ERR_NOMEM, "out of memory");
    ret = vim_context_new(&client->route, &w->ctx, err);
    if (ret)
        return ret;
    vim_client_put_beside(client, w->ctx);
    *out = STEAL(w);
    return 0;
}

/* On a connection of the pool, since our own may be cancelled; and with the very session it was made in, so that nobody logs in
 * just to clean up. */
static void clean_up(struct vim_watch *w) {
    _cleanup_secret_ char *cookie = NULL;
    struct vim_run run = {.identity = VIM_AS_GIVEN, .fn = vim_watch_op_clean, .arg = &w->site};
    if (!w->site.collector[0] || !w->is_reachable)
        return;
    (void)pthread_mutex_lock(&w->client->lock);
    if (w->client->cookie && w->client->session_no == w->site.session_no && !w->client->is_canceled)
        cookie = str_dup(w->client->cookie);
    (void)pthread_mutex_unlock(&w->client->lock);
    run.cookie = cookie;
    if (cookie)
        (void)vim_client_run(w->client, &run, NULL);
}

void vim_watch_free(struct vim_watch *w) {
    if (!w)
        return;
    if (w->ctx) {
        clean_up(w);
        vim_client_take_beside(w->client, w->ctx);
        vim_context_free(w->ctx);
    }
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_cond_destroy(&w->changed);
    free(w->extension_key);
    free(w);
}

void vim_watch_cancel(struct vim_watch *w) {
    (void)pthread_mutex_lock(&w->lock);
    w->is_canceled = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    vim_context_cancel(w->ctx);
}

/* ---- pace ---- */

/* Waits until the next question may be asked; a cancel ends it. */
static void keep_pace(struct vim_watch *w) {
    int64_t ms = w->not_before_ms - clock_mono_ms();
    const struct timespec until = clock_deadline(ms > 0 ? ms : 0);
    (void)pthread_mutex_lock(&w->lock);
    for (int rc = 0; ms > 0 && !rc && !w->is_canceled;)
        rc = pthread_cond_timedwait(&w->changed, &w->lock, &until);
    (void)pthread_mutex_unlock(&w->lock);
}

static bool vim_watch_is_canceled(struct vim_watch *w) {
    bool answer;
    (void)pthread_mutex_lock(&w->lock);
    answer = w->is_canceled;
    (void)pthread_mutex_unlock(&w->lock);
    return answer || __atomic_load_n(&w->ctx->is_canceled, __ATOMIC_SEQ_CST);
}

/* ---- calls ---- */

static int vim_watch_run(struct vim_watch *w, vim_op_fn *fn, void *arg, struct err *err) {
    struct vim_run op = {.identity = VIM_AS_US, .fn = fn, .arg = arg};
    int ret = vim_client_run_on(w->client, w->ctx, &op, err);
    if (ret != ERR_CANCELED)
        w->is_reachable = ret != ERR_TIMEOUT && ret != ERR_UNREACHABLE && ret != ERR_TLS;
    return ret;
}

/* Makes what the watch consists of, unless that is there and of the session that the client has now. */
static int vim_watch_make(struct vim_watch *w, const struct vim_watch_events *events, struct err *err) {
    bool has_cookie;
    uint64_t no;
    int ret;
    if (vim_watch_is_canceled(w)) /* not to log in again just to be told so */
        return err_set(err, ERR_CANCELED, "the watch of vCenter %s was ended", w->client->peer);
    ret = vim_ensure_session(w->client, err);
    if (ret)
        return ret;
    no = vim_client_current_session(w->client, &has_cookie);
    if (w->site.session_no != no) {
        memset(&w->site, 0, sizeof(w->site)); /* gone with its session */
        w->site.session_no = no;
        w->is_made = false;
    }
    if (w->is_made)
        return 0;
    w->is_whole = false;
    w->version[0] = '\0';
    w->object_count = 0;
    w->last_event = 0;
    ret = vim_watch_run(w, vim_watch_op_make, w, err);
    if (ret)
        return ret;
    w->is_made = true;
    return events->restarted ? events->restarted(events->arg, err) : 0;
}

/* One answer. */
static int vim_watch_ask(struct vim_watch *w, struct vim_watch_answer *answer, struct err *err) {
    bool had_news = answer->has_news;
    int64_t asked_ms;
    int ret;
    keep_pace(w);
    asked_ms = clock_mono_ms();
    answer->is_truncated = answer->has_news = answer->is_list_stale = false;
    ret = vim_watch_run(w, vim_watch_op_wait, answer, err);
    w->not_before_ms = answer->is_truncated ? 0 : asked_ms + (answer->has_news ? SPACING_MS : EMPTY_SPACING_MS);
    answer->has_news |= had_news;
    return ret;
}

static int tell_settled(struct vim_watch *w, const struct vim_watch_answer *answer, struct err *err) {
    if (!answer->has_news)
        return 0;
    w->is_whole = true;
    return answer->events->settled ? answer->events->settled(answer->events->arg, err) : 0;
}

static int vim_watch_try_next(struct vim_watch *w, const struct vim_watch_events *events, struct err *err) {
    struct vim_watch_answer answer = {.watch = w, .events = events};
    int ret;
    memset(&w->ctx->fault, 0, sizeof(w->ctx->fault)); /* of the call before */
    ret = vim_watch_make(w, events, err);
    for (unsigned i = 0; !ret && i <= ANSWERS_COUNT_MAX; i++) {
        if (i == ANSWERS_COUNT_MAX)
            return err_set(err, ERR_TOO_LARGE, "%s does not come to an end with its changes", w->client->peer);
        ret = vim_watch_ask(w, &answer, err);
        if (!answer.is_truncated)
            break;
    }
    return ret ? ret : tell_settled(w, &answer, err);
}

/* The failure means just that what we made is gone. */
static bool vim_watch_is_lost(const struct vim_watch *w) {
    enum vim_fault_kind kind = w->ctx->fault.kind;
    return kind == VIM_FAULT_NOT_AUTHENTICATED || kind == VIM_FAULT_STALE || kind == VIM_FAULT_OBJECT_GONE ||
           kind == VIM_FAULT_CANCELED;
}

int vim_watch_next(struct vim_watch *w, const struct vim_watch_events *events, struct err *err) {
    struct err first = {0};
    int ret = vim_watch_try_next(w, events, &first);
    if (ret && vim_watch_is_lost(w)) {
        w->is_made = false;
        ret =
            w->ctx->fault.kind == VIM_FAULT_NOT_AUTHENTICATED ? vim_client_renew_session(w->client, w->site.session_no, err) : 0;
        if (!ret)
            ret = vim_watch_try_next(w, events, err);
    } else {
        (void)err_move(err, ret, &first);
    }
    if (ret)
        w->is_made = false;
    return ret;
}
