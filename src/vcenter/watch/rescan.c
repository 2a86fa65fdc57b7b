/* A full read of the inventory, and whether the watch knows the same. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later */
#include "rescan.h"

#include <time.h>

#include "clock.h"
#include "vim_extension.h"
#include "watch_mirror.h"
#include "watch_run.h"

#define TRIES_COUNT 3
#define PAUSE_MS 300 /* what changed between the two answers has been told by then */

static int rescan_on_restarted(void *mirror, struct err *err) {
    (void)err;
    watch_mirror_clear(mirror);
    return 0;
}

static int rescan_on_object(void *mirror, const struct vim_watch_object *told, struct err *err) {
    return watch_mirror_put(mirror, told, err);
}

/* The view that is read goes with its session, and the link may make itself a new one meanwhile: then once more. */
static int read_clusters(struct link *link, struct watch_mirror *mirror, struct err *err) {
    const struct vim_watch_events events = {.arg = mirror, .restarted = rescan_on_restarted, .object = rescan_on_object};
    struct err why = {0};
    int rc = vim_read_clusters(link_client(link), &events, &why);
    if (rc == ERR_NOT_FOUND) {
        err_clear(&why);
        rc = vim_read_clusters(link_client(link), &events, &why);
    }
    return err_move(err, rc, &why);
}

static int read_inventory(struct link *link, struct watch_inventory *out, struct err *err) {
    const int64_t since_ms = clock_mono_ms();
    _cleanup_done_(watch_mirror_done) struct watch_mirror mirror = {.count = 0};
    _cleanup_done_(vim_key_list_done) struct vim_key_list keys = {0};
    int rc = read_clusters(link, &mirror, err);
    if (!rc)
        rc = vim_list_extension_keys(link_client(link), &keys, err);
    (void)link_note(link, since_ms, rc, err);
    watch_inventory_done(out);
    if (!rc)
        rc = watch_mirror_put_extensions(&mirror, &keys, NULL, err);
    return rc ? rc : watch_mirror_get_inventory(&mirror, out, err);
}

enum comparison { NOT_WATCHED, SAME, DIFFERENT };

static enum comparison rescan_compare(struct link *link, const struct watch_inventory *read) {
    _cleanup_done_(watch_inventory_done) struct watch_inventory known = {.count = 0};
    enum comparison comparison = NOT_WATCHED;
    if (!watch_get_inventory(link_watch(link), &known, NULL))
        comparison = watch_inventory_same(read, &known) ? SAME : DIFFERENT;
    return comparison;
}

/* Reads until both agree, a few times: what changes just now is seen by one before the other. */
static int rescan_read_and_compare(struct link *link, struct watch_inventory *out, enum comparison *comparison, struct err *err) {
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
    for (int tries = 1;; tries++) {
        int rc = read_inventory(link, out, err);
        if (rc)
            return rc;
        *comparison = rescan_compare(link, out);
        if (*comparison != DIFFERENT || tries == TRIES_COUNT)
            return 0;
        (void)nanosleep(&pause, NULL);
    }
}

/* What the watch knows is never older than what it has saved; what was read here may be. */
static int save_newest(struct link *link, struct watch_inventory *read, enum comparison comparison, struct discovery_result *out,
                       struct err *err) {
    _cleanup_done_(watch_inventory_done) struct watch_inventory known = {.count = 0};
    const struct watch_inventory *newest = read;
    int rc;
    watch_lock_saving(link_watch(link));
    if (comparison == SAME && !watch_get_inventory(link_watch(link), &known, NULL))
        newest = &known;
    rc = discovery_save(link, newest, out, err);
    watch_unlock_saving(link_watch(link));
    return rc;
}

int rescan_run(struct link *link, struct discovery_result *out, struct err *err) {
    struct watch_inventory read = {.count = 0};
    enum comparison comparison = NOT_WATCHED;
    int rc = rescan_read_and_compare(link, &read, &comparison, err);
    if (!rc)
        rc = save_newest(link, &read, comparison, out, err);
    watch_inventory_done(&read);
    if (!rc && comparison == DIFFERENT) {
        if (out)
            out->differs_from_watch = true;
        watch_note_difference(link_watch(link));
    }
    return rc;
}
