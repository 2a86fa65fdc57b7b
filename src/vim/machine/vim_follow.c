/* Following tasks and machines. Layer 2 (vim). SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "str.h"
#include "uuid.h"
#include "vim_client.h"
#include "vim_follow_private.h"
#include "vim_guest_state_private.h"
#include "vim_task_private.h"

#define MACHINE "VirtualMachine"
#define LIST_VIEW "ListView"

/* One that is followed. */
struct vim_followed {
    char moref[VIM_MOREF_BYTES], whom[UUID_TEXT_BYTES];
    bool is_machine;
    bool is_viewed;   /* it was put into the view */
    int64_t asked_ms; /* monotonic: when somebody has looked last */
    union {
        struct vim_task task;
        struct vim_guest_state guest;
    } now;
};

struct vim_follows {
    vim_follow_fn *news;
    void *arg;
    pthread_mutex_t lock; /* guards all below; never held during a call to the vCenter */
    struct vim_followed *items;
    size_t count, reserved;
    char view[VIM_VIEW_BYTES]; /* "": there is no watch */
};

int vim_follows_new(vim_follow_fn *news, void *arg, struct vim_follows **out, struct err *err) {
    struct vim_follows *follows = calloc(1, sizeof(*follows));
    if (!follows)
        return err_set(err, ERR_NOMEM, "out of memory");
    follows->news = news;
    follows->arg = arg;
    (void)pthread_mutex_init(&follows->lock, NULL);
    *out = follows;
    return 0;
}

void vim_follows_free(struct vim_follows *follows) {
    if (!follows)
        return;
    (void)pthread_mutex_destroy(&follows->lock);
    free(follows->items);
    free(follows);
}

/* -- the book ---------------------------------------------------------------------------------------------------------------- */

/* Needs the lock. */
static struct vim_followed *vim_follows_find(const struct vim_follows *follows, const char *moref) {
    for (size_t i = 0; i < follows->count; i++)
        if (str_eq(follows->items[i].moref, moref))
            return &follows->items[i];
    return NULL;
}

/* Needs the lock. */
static void vim_follows_drop(struct vim_follows *follows, size_t i) {
    follows->items[i] = follows->items[--follows->count];
}

/* Nothing is known, or it is gone. */
static void vim_followed_reset(struct vim_followed *item, bool is_gone) {
    if (item->is_machine) {
        item->now.guest = (struct vim_guest_state){.is_told = is_gone, .is_gone = is_gone};
        (void)snprintf(item->now.guest.moref, VIM_MOREF_BYTES, "%s", item->moref);
    } else {
        item->now.task = (struct vim_task){.phase = is_gone ? VIM_TASK_GONE : VIM_TASK_UNKNOWN};
        (void)snprintf(item->now.task.moref, VIM_MOREF_BYTES, "%s", item->moref);
    }
}

/* Needs the lock. */
static struct vim_followed *vim_follows_add(struct vim_follows *follows, const char *moref, bool is_machine, struct err *err) {
    struct vim_followed *grown = realloc(follows->items, (follows->count + 1) * sizeof(*grown));
    if (grown)
        follows->items = grown;
    if (!grown || follows->count >= VIM_FOLLOWS_MAX) {
        (void)err_set(err, grown ? ERR_BUSY : ERR_NOMEM, grown ? "too much is waited for at this vCenter" : "out of memory");
        return NULL;
    }
    struct vim_followed *item = &follows->items[follows->count++];
    *item = (struct vim_followed){.is_machine = is_machine};
    (void)snprintf(item->moref, sizeof(item->moref), "%s", moref);
    vim_followed_reset(item, false);
    return item;
}

/* -- the view at the server -------------------------------------------------------------------------------------------------- */

/* What is to come into the view, and what is to leave it. */
struct vim_follow_change {
    char view[VIM_VIEW_BYTES];
    struct vim_follow_name {
        char moref[VIM_MOREF_BYTES];
        bool is_machine;
    } * add, *drop;
    size_t add_count, drop_count;
    struct vim_follows *follows;
};

static void vim_follow_change_done(struct vim_follow_change *change) {
    free(change->add);
    free(change->drop);
}

static void vim_follow_name(struct vim_follow_name *to, const struct vim_followed *item) {
    (void)snprintf(to->moref, sizeof(to->moref), "%s", item->moref);
    to->is_machine = item->is_machine;
}

/* Needs the lock. What the view does not have yet, and what nobody looks at any more. */
static int vim_follow_change_make(struct vim_follows *follows, struct vim_follow_change *change, struct err *err) {
    const int64_t old_ms = clock_mono_ms() - VIM_FOLLOW_IDLE_MS;
    *change = (struct vim_follow_change){.follows = follows};
    memcpy(change->view, follows->view, sizeof(change->view));
    change->add = calloc(follows->count + 1, sizeof(*change->add));
    change->drop = calloc(follows->count + 1, sizeof(*change->drop));
    if (!change->add || !change->drop)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = follows->count; i-- > 0;) {
        struct vim_followed *item = &follows->items[i];
        if (item->asked_ms < old_ms) {
            if (item->is_viewed)
                vim_follow_name(&change->drop[change->drop_count++], item);
            vim_follows_drop(follows, i);
        } else if (!item->is_viewed && change->view[0]) {
            vim_follow_name(&change->add[change->add_count++], item);
            item->is_viewed = true;
        }
    }
    return 0;
}

static struct vim25__ManagedObjectReference *vim_in_names(struct vim_context *ctx, const struct vim_follow_name *names,
                                                          size_t count, int *out_count) {
    struct vim25__ManagedObjectReference *out = vim_in_alloc(ctx, count, sizeof(*out));
    *out_count = out ? (int)count : 0;
    for (size_t i = 0; out && i < count; i++) {
        const struct vim25__ManagedObjectReference *ref =
            vim_in_ref(ctx, names[i].is_machine ? MACHINE : VIM_TASK, names[i].moref);
        if (ref)
            out[i] = *ref;
    }
    return out;
}

/* What vCenter does not find is gone. */
static void vim_follow_note_gone(struct vim_follows *follows, const char *moref) {
    char whom[UUID_TEXT_BYTES] = "";
    (void)pthread_mutex_lock(&follows->lock);
    struct vim_followed *item = vim_follows_find(follows, moref);
    if (item) {
        vim_followed_reset(item, true);
        memcpy(whom, item->whom, sizeof(whom));
    }
    (void)pthread_mutex_unlock(&follows->lock);
    if (whom[0] && follows->news)
        follows->news(follows->arg, whom);
}

static int vim_follow_op_change(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_follow_change *change = arg;
    VIM_REQUEST(ctx, ModifyListView, LIST_VIEW, change->view);
    request.add = vim_in_names(ctx, change->add, change->add_count, &request.__sizeadd);
    request.remove = vim_in_names(ctx, change->drop, change->drop_count, &request.__sizeremove);
    int rc = VIM_CALL(ctx, ModifyListView, &request, &response, err);
    for (int i = 0; !rc && i < response.__sizereturnval; i++)
        vim_follow_note_gone(change->follows, response.returnval[i].__item ? response.returnval[i].__item : "");
    return rc;
}

/* What could not be put into the view is tried again; a view that is gone went with its watch, which begins anew. */
static int vim_follow_change_end(struct vim_follow_change *change, int rc, const struct err *why, struct err *err) {
    LOCKED(&change->follows->lock);
    for (size_t i = 0; rc && i < change->add_count; i++) {
        struct vim_followed *item = vim_follows_find(change->follows, change->add[i].moref);
        if (item)
            item->is_viewed = false;
    }
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, why);
}

static int vim_follows_update(struct vim_follows *follows, struct vim_client *client, struct err *err) {
    struct vim_follow_change change;
    struct err why = {0};
    (void)pthread_mutex_lock(&follows->lock);
    int rc = vim_follow_change_make(follows, &change, err);
    (void)pthread_mutex_unlock(&follows->lock);
    if (!rc && change.view[0] && (change.add_count || change.drop_count)) {
        rc = vim_client_run_as_us(client, vim_follow_op_change, &change, &why);
        rc = vim_follow_change_end(&change, rc, &why, err);
    }
    vim_follow_change_done(&change);
    return rc;
}

/* -- those who wait ---------------------------------------------------------------------------------------------------------- */

/* Notes that somebody looks; *is_new: it is not in the view, and might be. */
static int vim_follows_look(struct vim_follows *follows, const char *moref, bool is_machine, const char *whom, bool *is_new,
                            struct err *err) {
    LOCKED(&follows->lock);
    struct vim_followed *item = vim_follows_find(follows, moref);
    if (!item)
        item = vim_follows_add(follows, moref, is_machine, err);
    if (!item)
        return err ? err->code : ERR_NOMEM;
    (void)snprintf(item->whom, sizeof(item->whom), "%s", whom);
    item->asked_ms = clock_mono_ms();
    *is_new = !item->is_viewed && follows->view[0];
    return 0;
}

static int vim_follow(struct vim_follows *follows, struct vim_client *client, const char *moref, bool is_machine,
                      const char *whom, struct vim_followed *out, struct err *err) {
    struct err why = {0};
    bool is_new = false;
    int rc = vim_follows_look(follows, moref, is_machine, whom, &is_new, &why);
    if (!rc && is_new)
        rc = vim_follows_update(follows, client, &why);
    if (rc)
        return err_move(err, rc, &why);
    LOCKED(&follows->lock);
    const struct vim_followed *item = vim_follows_find(follows, moref);
    if (item)
        *out = *item;
    return item ? 0 : err_set(err, ERR_BUSY, "%s is not followed any more", moref);
}

int vim_follow_task(struct vim_follows *follows, struct vim_client *client, const char *moref, const char *whom,
                    struct vim_task *out, struct err *err) {
    struct vim_followed item;
    int rc = vim_follow(follows, client, moref, false, whom, &item, err);
    if (!rc)
        *out = item.now.task;
    return rc;
}

int vim_follow_machine(struct vim_follows *follows, struct vim_client *client, const char *moref, const char *whom,
                       struct vim_guest_state *out, struct err *err) {
    struct vim_followed item;
    int rc = vim_follow(follows, client, moref, true, whom, &item, err);
    if (!rc)
        *out = item.now.guest;
    return rc;
}

/* It leaves the view with the next change. */
void vim_unfollow(struct vim_follows *follows, const char *moref) {
    LOCKED(&follows->lock);
    struct vim_followed *item = vim_follows_find(follows, moref);
    if (item)
        item->asked_ms = INT64_MIN;
}

static bool vim_followed_is_under_way(const struct vim_followed *item) {
    return !item->is_machine && item->asked_ms != INT64_MIN && item->now.task.phase <= VIM_TASK_RUNNING;
}

bool vim_follows_reserve(struct vim_follows *follows, size_t max) {
    LOCKED(&follows->lock);
    size_t count = follows->reserved;
    for (size_t i = 0; i < follows->count; i++)
        count += vim_followed_is_under_way(&follows->items[i]);
    follows->reserved += count < max;
    return count < max;
}

void vim_follows_unreserve(struct vim_follows *follows) {
    LOCKED(&follows->lock);
    follows->reserved--;
}

/* -- the watch --------------------------------------------------------------------------------------------------------------- */

/* From the view, which is left out, to what is in it. */
static void vim_in_list_view(struct vim_context *ctx, struct vim25__ObjectSpec *out) {
    struct vim25__TraversalSpec *into = vim_in_alloc(ctx, 1, sizeof(*into));
    enum xsd__boolean *yes = vim_in_alloc(ctx, 1, sizeof(*yes));
    if (!into || !yes)
        return;
    *yes = xsd__boolean__true_;
    into->type = vim_in_text(ctx, LIST_VIEW, "a type");
    into->path = vim_in_text(ctx, "view", "a path");
    out->skip = yes;
    out->__type = SOAP_TYPE_vim25__TraversalSpec;
    out->selectSet = into;
}

static int vim_follows_make_filter(struct vim_context *ctx, const char *collector, struct vim_follow_site *site,
                                   struct err *err) {
    static const char *const machine_paths[] = {VIM_GUEST_PATHS, NULL};
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, LIST_VIEW, site->view, 2);
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_in_paths(ctx, &spec->propSet[0], VIM_TASK, vim_task_paths);
    vim_in_paths(ctx, &spec->propSet[1], MACHINE, machine_paths);
    vim_in_list_view(ctx, &spec->objectSet[0]);
    VIM_REQUEST(ctx, CreateFilter, "PropertyCollector", collector, .spec = spec, .partialUpdates = xsd__boolean__false_);
    int rc = VIM_CALL(ctx, CreateFilter, &request, &response, err);
    return rc ? rc : vim_keep_id(ctx, response.returnval, "the filter", site->filter, err);
}

/* Needs the lock. Everything is told again, to the view that is there now. */
static void vim_follows_void(struct vim_follows *follows, const char *view) {
    (void)snprintf(follows->view, sizeof(follows->view), "%s", view);
    for (size_t i = 0; i < follows->count; i++) {
        follows->items[i].is_viewed = false;
        vim_followed_reset(&follows->items[i], false);
    }
}

/* The view first, then its filter, then what is in it: as long as somebody waits for the collector, no filter comes to it. */
int vim_follows_begin(struct vim_follows *follows, struct vim_context *ctx, const char *collector, struct vim_follow_site *site,
                      struct err *err) {
    struct vim_follow_change change;
    VIM_REQUEST(ctx, CreateListView, "ViewManager", ctx->content.view_manager);
    int rc = VIM_CALL(ctx, CreateListView, &request, &response, err);
    rc = rc ? rc : vim_keep_id(ctx, response.returnval, "the view", site->view, err);
    rc = rc ? rc : vim_follows_make_filter(ctx, collector, site, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&follows->lock);
    vim_follows_void(follows, site->view);
    rc = vim_follow_change_make(follows, &change, err);
    (void)pthread_mutex_unlock(&follows->lock);
    rc = rc || !change.add_count ? rc : vim_follow_op_change(ctx, &change, err);
    vim_follow_change_done(&change);
    return rc;
}

void vim_follows_end(struct vim_follows *follows) {
    LOCKED(&follows->lock);
    vim_follows_void(follows, "");
}

void vim_follows_clean(struct vim_context *ctx, const struct vim_follow_site *site) {
    const struct vim_fault fault = ctx->fault;
    if (ctx->err.code || str_empty(site->view)) /* no connection; nothing */
        return;
    VIM_REQUEST(ctx, DestroyView, LIST_VIEW, site->view);
    (void)VIM_CALL(ctx, DestroyView, &request, &response, NULL);
    ctx->fault = fault;
}

/* -- what is told ------------------------------------------------------------------------------------------------------------ */

/* Takes over what is told of one; true if those who wait want to know. Only a running task's progress is no news. */
static bool vim_followed_take(struct vim_followed *item, const struct vim25__ObjectUpdate *update) {
    const enum vim_task_phase before = item->now.task.phase;
    if (str_eq(update->kind, "leave")) {
        vim_followed_reset(item, true);
        return true;
    }
    for (int i = 0; i < update->__sizechangeSet; i++) {
        const struct vim25__PropertyChange *change = &update->changeSet[i];
        if (change->name && item->is_machine)
            vim_guest_state_take(&item->now.guest, change->name, change->__type, change->val);
        else if (change->name)
            vim_task_take(&item->now.task, change->name, change->__type, change->val);
    }
    if (item->is_machine)
        item->now.guest.is_told = true;
    return item->is_machine || item->now.task.phase != before;
}

void vim_follows_tell(struct vim_follows *follows, const struct vim25__ObjectUpdate *update) {
    char whom[UUID_TEXT_BYTES] = "";
    (void)pthread_mutex_lock(&follows->lock);
    struct vim_followed *item = update->obj && update->obj->__item ? vim_follows_find(follows, update->obj->__item) : NULL;
    if (item && vim_followed_take(item, update))
        memcpy(whom, item->whom, sizeof(whom));
    (void)pthread_mutex_unlock(&follows->lock);
    if (whom[0] && follows->news)
        follows->news(follows->arg, whom);
}
