/* Work that links do when asked or from time to time: kinds, and how it went. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A piece of work is a bit: asked for twice before it runs, it is done once. Functions are plugged in per kind (platform_set_work), asked
 * for with link_request, and run one after the other in the link's lane, only while the link is connected; what is asked for earlier waits.
 * A run that fails is tried again with back-off (1 s to 60 s) until it succeeds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct link;

enum link_work {
    LINK_WORK_IDENTITY = 1U << 0,  /* what vCenter says about itself is read and compared again */
    LINK_WORK_RESCAN = 1U << 1,    /* full read of the inventory, compared with what the watch knows */
    LINK_WORK_RECONCILE = 1U << 2, /* our extension record is brought to what it should be */
    LINK_WORK_RENEW = 1U << 3,     /* the login certificate: its age, a rotation that was left half done */
    LINK_WORK_SWEEP = 1U << 4,     /* sessions of ours that nobody holds any more are ended */
};
#define LINK_WORK_COUNT 5

/* Runs in the link's lane and may block. 0: done. ERR_CANCELED: nothing to do any more (the vCenter was unregistered): not tried again.
 * Other errors: tried again; `err` is shown in the vCenter's status and in health. It must call link_begin_admin itself where it must
 * not meet a registration, and return ERR_BUSY when that says no. */
typedef int link_work_fn(struct link *link, struct err *err);

struct link_work_kind {
    unsigned bit;       /* of enum link_work */
    const char *name;   /* for metrics, logs, health: "reconcile"; static */
    link_work_fn *run;  /* NULL: no such work; requests for it are dropped */
    bool at_connect;    /* asked for by itself each time the link becomes connected */
    int64_t period_ms;  /* asked for by itself so long after the last good run, less up to a tenth at random; 0: never */
    bool is_for_health; /* a failure is shown as a warning in health */
};

/* How a piece of work stands at one link. */
struct link_work_state {
    const char *name;         /* static; NULL: no such kind */
    bool is_wanted;           /* asked for and not done yet */
    int64_t done_at_ms;       /* wall clock of the last good run; 0: never */
    int64_t failing_since_ms; /* wall clock; 0: it does not fail */
    unsigned failures;        /* in a row */
    struct err err;           /* of the last run, if it failed */
};
