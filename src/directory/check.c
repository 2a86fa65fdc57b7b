/* The check of the change feed: everything that is stored against what the feed has made of it. Layer 3 (directory).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The long comparison goes on beside the feed. What it finds is only suspected: it may have been changed meanwhile. So, with the feed brought up
 * to date and held, each suspect is compared once more, and what the feed names after that is let off. What remains is not there by the
 * feed's doing, and never would be: a defect of ours, or somebody wrote into the database by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "compare.h"
#include "directory_private.h"
#include "metric.h"
#include "str.h"

#define ROUNDS_MAX 64 /* of DIR_SUSPECTS_AT_ONCE */

static struct metric *counter(const char *name, const char *help) {
    return metric_get(METRIC_COUNTER, name, help, NULL, NULL);
}

/* Whatever is not a cluster is loaded as one. */
static bool is_named(const struct change_list *changes, const struct dir_suspect *s) {
    if (changes->is_gap)
        return true;
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *c = &changes->items[i];
        const bool is_below = c->kind == CHANGE_VCENTER || c->kind == CHANGE_VSPHERE_CLUSTER || c->kind == CHANGE_HX_CLUSTER ||
                              c->kind == CHANGE_GRANT || c->kind == CHANGE_SERVICE_ACCOUNT;
        if (s->kind == CHANGE_CLUSTER ? c->kind == CHANGE_CLUSTER && str_eq(c->object_id, s->object_id) : is_below)
            return true;
    }
    return false;
}

/* Lets off what the feed names after the place that memory has come to. */
static int let_off(struct directory *d, struct dir_suspects *suspects, struct err *err) {
    struct change_positions positions = {0};
    bool is_more = true;
    int rc = dir_copy_positions(&d->positions, &positions, err);
    while (!rc && is_more && suspects->count) {
        struct change_list changes = {0};
        size_t kept = 0;
        rc = change_store_load(d->store, &positions, &changes, err);
        is_more = !rc && changes.is_more && !changes.is_gap;
        for (size_t i = 0; !rc && i < suspects->count; i++)
            if (!is_named(&changes, &suspects->items[i]))
                suspects->items[kept++] = suspects->items[i];
        suspects->count = rc ? suspects->count : kept;
        change_list_done(&changes);
    }
    change_positions_done(&positions);
    return rc;
}

/* The differences as changes, so that they take the way of all changes. */
static int as_changes(const struct dir_suspects *suspects, struct change_list *out, struct err *err) {
    out->items = calloc(suspects->count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (; out->count < suspects->count; out->count++) {
        struct change *change = &out->items[out->count];
        change->kind = suspects->items[out->count].kind;
        memcpy(change->object_id, suspects->items[out->count].object_id, sizeof(change->object_id));
    }
    return 0;
}

static int mend(struct directory *d, const struct dir_loading *loading, const struct dir_suspects *suspects, struct err *err) {
    struct change_list changes = {0};
    struct dir_snapshot *fresh = NULL;
    int rc = as_changes(suspects, &changes, err);
    if (!rc)
        rc = dir_load_changes(loading, &changes, &fresh, err);
    if (!rc) {
        dir_publish(d, fresh, loading->basis.wall_ms, loading->basis.mono_ms);
        d->next_due_ms = 0;
        if (dir_tell_others(d, &changes))
            rc = err_set(err, ERR_UNAVAILABLE, "a difference could not be told to others; it is tried again");
    }
    change_list_done(&changes);
    return rc;
}

static void tell(const struct directory *d, const struct dir_suspects *suspects) {
    for (size_t i = 0; i < suspects->count; i++) {
        const struct directory_difference difference = {
            .kind = suspects->items[i].kind, .object_id = suspects->items[i].object_id, .member = suspects->items[i].member};
        if (d->on_difference)
            d->on_difference(d->on_change_arg, &difference);
    }
    metric_add(counter("kaasd_directory_differences_total", "Objects that were not in memory as they are stored; corrected"),
               (int64_t)suspects->count);
}

/* Needs `writer`. */
static int settle_with(struct directory *d, const struct dir_loading *loading, struct dir_suspects *suspects, struct err *err) {
    int rc = dir_compare_again(loading, suspects, err);
    if (!rc && suspects->count)
        rc = let_off(d, suspects, err);
    if (rc || !suspects->count)
        return rc;
    tell(d, suspects);
    return mend(d, loading, suspects, err);
}

static int settle(struct directory *d, struct dir_suspects *suspects, struct err *err) {
    struct dir_watch watch = {0};
    struct dir_loading loading = {0};
    int rc;
    (void)pthread_mutex_lock(&d->writer);
    rc = dir_poll_locked(d, err);
    if (!rc)
        rc = dir_begin_loading(d, &watch, &loading, err);
    if (!rc) {
        rc = settle_with(d, &loading, suspects, err);
        dir_end_loading(&watch, loading.old);
    }
    (void)pthread_mutex_unlock(&d->writer);
    return rc;
}

static int compare(struct directory *d, struct dir_suspects *out, struct err *err) {
    struct dir_watch watch = {0};
    struct dir_loading loading = {0};
    int rc = dir_begin_loading(d, &watch, &loading, err);
    if (rc)
        return rc;
    out->count = 0;
    out->is_more = false;
    if (loading.old)
        rc = dir_compare_all(&loading, out, err);
    dir_end_loading(&watch, loading.old);
    return rc;
}

int directory_check(struct directory *d, unsigned long *differences, struct err *err) {
    _cleanup_free_ struct dir_suspects *suspects = malloc(sizeof(*suspects));
    bool is_more = true;
    int rc = suspects ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    unsigned long found = 0;
    for (unsigned round = 0; !rc && is_more && round < ROUNDS_MAX; round++) {
        rc = compare(d, suspects, err);
        is_more = !rc && suspects->is_more;
        if (!rc && suspects->count)
            rc = settle(d, suspects, err);
        found += rc ? 0 : suspects->count;
    }
    if (rc)
        return rc;
    metric_add(counter("kaasd_directory_checks_total", "Comparisons of all that is in memory with the database"), 1);
    *differences = found;
    return 0;
}
