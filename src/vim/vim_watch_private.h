/* Inside of a watch: what it has made at the server, and the operations it consists of. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "vim_client.h"
#include "vim_property.h"
#include "vim_watch.h"

#define VIM_WATCH_VERSION_BYTES 256
#define VIM_WATCH_PAGE_COUNT 100 /* events in a page */

/* How vCenter tells us of events. */
enum vim_watch_source {
    VIM_SOURCE_NONE,   /* not at all: refused, or there is no event manager */
    VIM_SOURCE_PAGE,   /* by a collector of just the classes that we want */
    VIM_SOURCE_LATEST, /* by the newest event of all, which may pass unseen when another follows at once */
};

/* What was made at the server, with session `session_no`. Empty ids: nothing. */
struct vim_watch_site {
    uint64_t session_no;
    char collector[VIM_VIEW_BYTES];
    char clusters[VIM_VIEW_BYTES], machines[VIM_VIEW_BYTES]; /* views */
    char events[VIM_VIEW_BYTES];
    enum vim_watch_source source;
};

struct vim_watch {
    struct vim_client *client;
    struct vim_context *ctx;
    char *extension_key; /* NULL: none */
    unsigned max_wait_s, max_object_updates;
    struct vim_watch_site site;
    bool is_made;      /* `site` is complete */
    bool is_whole;     /* a first picture has been told up to its end */
    bool is_reachable; /* the last call got an answer */
    char version[VIM_WATCH_VERSION_BYTES];
    size_t object_count;
    int last_event;         /* greatest key told or passed over; 0: there was none */
    int64_t not_before_ms;  /* when to ask next */
    int64_t lost_ms;        /* when what we made was lost last; 0: never */
    pthread_mutex_t lock;   /* guards is_canceled */
    pthread_cond_t changed; /* is_canceled was set */
    bool is_canceled;
};

/* One answer on its way to those who are told. */
struct vim_watch_answer {
    struct vim_watch *watch;
    const struct vim_watch_events *events;
    bool is_truncated, has_news;
    bool is_list_stale; /* a part of the extension list changed: read it again */
};

/* Operations (vim_op_fn). Make: removes what is left of `site`, then makes collector, views and filters; arg is the watch.
 * Clean: removes a struct vim_watch_site, errors ignored. Wait: one WaitForUpdatesEx; arg is a struct vim_watch_answer. */
int vim_watch_op_make(struct vim_context *ctx, void *arg, struct err *err);
int vim_watch_op_clean(struct vim_context *ctx, void *arg, struct err *err);
int vim_watch_op_wait(struct vim_context *ctx, void *arg, struct err *err);

/* Hands out what a changed property of an event source tells. */
int vim_watch_tell_events(const struct vim_watch_answer *answer, const struct vim25__PropertyChange *change, struct err *err);

/* Passes over all events in a property value of gSOAP type `type`. */
void vim_watch_skip_events(struct vim_watch *watch, int type, const void *value);
