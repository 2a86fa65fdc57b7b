/* Which vCenters are being watched. Layer 3 (directory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

void dir_watch_done(struct dir_watch *watch) {
    free(watch->items);
    *watch = (struct dir_watch){0};
}

int dir_watch_copy(const struct dir_watch *from, struct dir_watch *out, struct err *err) {
    struct dir_watch copy = *from;
    copy.items = calloc(from->count + 1, sizeof(*copy.items));
    if (!copy.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (from->count)
        memcpy(copy.items, from->items, from->count * sizeof(*copy.items));
    *out = copy;
    return 0;
}

static struct dir_watched *find(const struct dir_watch *watch, const char *vcenter_id) {
    for (size_t i = 0; i < watch->count; i++)
        if (str_eq(watch->items[i].vcenter_id, vcenter_id))
            return &watch->items[i];
    return NULL;
}

int dir_watch_set(struct dir_watch *watch, const char *vcenter_id, bool is_watched, int64_t now_ms, struct err *err) {
    struct dir_watched *item = find(watch, vcenter_id);
    if (!item) {
        struct dir_watched *items = reallocarray(watch->items, watch->count + 1, sizeof(*items));
        if (!items)
            return err_set(err, ERR_NOMEM, "out of memory");
        watch->items = items;
        item = &items[watch->count++];
        *item = (struct dir_watched){.since_ms = watch->started_ms};
        (void)snprintf(item->vcenter_id, sizeof(item->vcenter_id), "%s", vcenter_id);
    }
    if (item->is_watched && !is_watched)
        item->since_ms = now_ms;
    item->is_watched = is_watched;
    return 0;
}

bool dir_watch_counts(const struct dir_watch *watch, const char *vcenter_id, int64_t now_ms) {
    const struct dir_watched *item = find(watch, vcenter_id);
    if (item && item->is_watched)
        return true;
    return now_ms - (item ? item->since_ms : watch->started_ms) <= KAAS_OBSERVED_EVIDENCE_MS;
}

uint64_t dir_watch_mark(const struct dir_watch *watch, int64_t now_ms) {
    uint64_t mark = now_ms - watch->started_ms <= KAAS_OBSERVED_EVIDENCE_MS;
    for (size_t i = 0; i < watch->count; i++)
        mark = mark * 31 + 1 + dir_watch_counts(watch, watch->items[i].vcenter_id, now_ms);
    return mark;
}
