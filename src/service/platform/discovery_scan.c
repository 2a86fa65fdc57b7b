/* A full read of the inventory, and whether the watch knows the same. Layer 4 (service/platform). SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "discovery.h"
#include "str.h"
#include "watch_run.h"

#define TRIES_COUNT 3
#define PAUSE_MS 300 /* what changed between the two answers has been told by then */

struct inventory {
    struct vim_cluster_list clusters;
    struct vim_key_list keys;
};

static void inventory_done(struct inventory *inventory) {
    vim_cluster_list_done(&inventory->clusters);
    vim_key_list_done(&inventory->keys);
}

static int by_moref(const void *a, const void *b) {
    const struct vim_cluster *x = a, *y = b;
    return strcmp(x->moref, y->moref);
}

static int by_text(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

void discovery_sort_keys(struct vim_key_list *keys) {
    if (keys->count)
        qsort(keys->items, keys->count, sizeof(char *), by_text);
}

/* The view that is read goes with its session, and the link may make itself a new one meanwhile: then once more. */
static int read_clusters(struct link *link, struct vim_cluster_list *out, struct err *err) {
    struct err why = {0};
    int rc = vim_read_clusters(link_client(link), out, &why);
    if (rc == ERR_NOT_FOUND) {
        err_clear(&why);
        rc = vim_read_clusters(link_client(link), out, &why);
    }
    return err_move(err, rc, &why);
}

static int read_inventory(struct link *link, struct inventory *out, struct err *err) {
    const int64_t since_ms = clock_mono_ms();
    struct inventory found = {{0}, {0}};
    int rc = read_clusters(link, &found.clusters, err);
    if (!rc)
        rc = vim_list_extension_keys(link_client(link), &found.keys, err);
    if (link_note(link, since_ms, rc, err)) {
        inventory_done(&found);
        return rc;
    }
    if (found.clusters.count)
        qsort(found.clusters.items, found.clusters.count, sizeof(struct vim_cluster), by_moref);
    discovery_sort_keys(&found.keys);
    inventory_done(out);
    *out = found;
    return 0;
}

static bool is_same(const struct inventory *a, const struct inventory *b) {
    if (a->clusters.count != b->clusters.count || a->keys.count != b->keys.count)
        return false;
    for (size_t i = 0; i < a->clusters.count; i++) {
        const struct vim_cluster *x = &a->clusters.items[i], *y = &b->clusters.items[i];
        if (!str_eq(x->moref, y->moref) || !str_eq(x->name, y->name) || !str_eq(x->datacenter, y->datacenter))
            return false;
    }
    for (size_t i = 0; i < a->keys.count; i++)
        if (!str_eq(a->keys.items[i], b->keys.items[i]))
            return false;
    return true;
}

enum verdict { NOT_WATCHED, SAME, DIFFERENT };

static enum verdict compare(struct link *link, const struct inventory *read) {
    struct inventory known = {{0}, {0}};
    enum verdict verdict = NOT_WATCHED;
    if (!watch_get_inventory(link_watch(link), &known.clusters, &known.keys, NULL))
        verdict = is_same(read, &known) ? SAME : DIFFERENT;
    inventory_done(&known);
    return verdict;
}

/* Reads until both agree, a few times: what changes just now is seen by one before the other. */
static int read_and_compare(struct link *link, struct inventory *out, enum verdict *verdict, struct err *err) {
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    int rc = read_inventory(link, out, err);
    if (rc)
        return rc;
    *verdict = compare(link, out);
    for (int i = 1; !rc && *verdict == DIFFERENT && i < TRIES_COUNT; i++) {
        (void)nanosleep(&pause, NULL);
        rc = read_inventory(link, out, err);
        if (!rc)
            *verdict = compare(link, out);
    }
    return rc;
}

/* What the watch knows is never older than what it has saved; what was read here may be. */
static int save_newest(struct link *link, struct inventory *read, enum verdict verdict, struct discovery_result *out,
                       struct err *err) {
    struct inventory known = {{0}, {0}};
    const struct inventory *newest = read;
    int rc;
    watch_lock_saving(link_watch(link));
    if (verdict == SAME && !watch_get_inventory(link_watch(link), &known.clusters, &known.keys, NULL))
        newest = &known;
    rc = discovery_save(link, &(struct discovery_input){.clusters = &newest->clusters, .keys = &newest->keys}, out, err);
    watch_unlock_saving(link_watch(link));
    inventory_done(&known);
    return rc;
}

int discovery_run(struct link *link, struct discovery_result *out, struct err *err) {
    struct inventory read = {{0}, {0}};
    enum verdict verdict = NOT_WATCHED;
    int rc = read_and_compare(link, &read, &verdict, err);
    if (!rc)
        rc = save_newest(link, &read, verdict, out, err);
    inventory_done(&read);
    if (!rc && verdict == DIFFERENT) {
        if (out)
            out->differs_from_watch = true;
        watch_note_difference(link_watch(link));
    }
    return rc;
}
