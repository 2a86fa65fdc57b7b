/* Events that are to be posted in vCenters, and what each was told of. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "limits.h"
#include "object_ref.h"
#include "store.h"

/* -- events ---------------------------------------------------------------------------------------------------- */

/* The kinds are those of extension/texts.def. */
enum vcenter_event_kind {
    VCENTER_EVENT_ADDED,   /* a Kubernetes cluster is on a vSphere cluster from now on */
    VCENTER_EVENT_REMOVED, /* and is no more */
    VCENTER_EVENT_READY,   /* three states that somebody may wait for */
    VCENTER_EVENT_DEGRADED,
    VCENTER_EVENT_FAILED,    /* or unreachable */
    VCENTER_EVENT_GRANTED,   /* somebody may see or administer clusters there */
    VCENTER_EVENT_WITHDRAWN, /* and may no more */
    VCENTER_EVENT_SUMMARY,   /* stands for several that were too many */
    VCENTER_EVENT_COUNT
};

/* One event at one vSphere cluster. Texts malloc'ed. */
struct vcenter_event {
    char id[37]; /* the same at each vSphere cluster that the event concerns */
    struct object_ref ref;
    enum vcenter_event_kind kind;
    char
        *name; /* of the Kubernetes cluster, or what the grant is on; NULL in a summary, as the next ones where they do not fit */
    char *object_id;        /* of the same */
    char *principal, *role; /* of a grant; the principal as people call it */
    char *reason;           /* of a state */
    int64_t folded;         /* how many events a summary stands for, else 1 */
    int64_t made_at_ms;     /* wall clock */
    int64_t claimed_at_ms;  /* wall clock: somebody began to post it, so it may be there already; 0: nobody */
    int64_t refused_at_ms;  /* wall clock: the vCenter refused it for the first time; 0: never */
};
void vcenter_event_done(struct vcenter_event *event); /* NULL is allowed */

struct vcenter_event_list {
    struct vcenter_event *items;
    size_t count;
};
void vcenter_event_list_done(struct vcenter_event_list *list); /* NULL is allowed */

/* A Kubernetes cluster on a vSphere cluster, as the vCenter was told of it. */
struct cluster_place {
    char cluster_id[37];
    struct object_ref ref;
    char name[KAAS_NAME_CHARS_MAX * 4 + 1];
    enum vcenter_event_kind told; /* the last state that was told; VCENTER_EVENT_ADDED: none yet */
    int down;                     /* how many of its virtual machines were seen not to work at the last look; -1: not known */
};

/* -- what vCenters were told of ------------------------------------------------------------------------------------ */

struct cluster_place_list {
    struct cluster_place *items;
    size_t count;
};
void cluster_place_list_done(struct cluster_place_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by cluster_place_list_done. */
int event_store_list_places(struct store *store, struct cluster_place_list *out, struct err *err);

/* Has nothing been told to this vCenter so far? ERR_NOT_FOUND if there is no such vCenter. */
int event_store_is_new(struct store *store, const char *vcenter_id, bool *is_new, struct err *err);
/* From now on events are made for it, also about grants. */
int event_store_begin(struct store *store, const char *vcenter_id, int64_t now_ms, struct err *err);
/* No events are made for any vCenter from now on; what waits, and what was told, is forgotten. */
int event_store_end(struct store *store, struct err *err);

/* Something to tell: how the place changes, and the event about it. */
struct event_news {
    enum event_how { EVENT_PLACE_NEW, EVENT_PLACE_CHANGED, EVENT_PLACE_GONE } how;
    struct cluster_place place;        /* as it is from now on */
    enum vcenter_event_kind was;       /* of a change or an end: what was told so far */
    bool is_silent;                    /* without event */
    const struct vcenter_event *event; /* borrowed */
};
/* Writes them in one transaction. ERR_CONFLICT if somebody else has written meanwhile: read the places anew. */
int event_store_save_news(struct store *store, const struct event_news *items, size_t count, struct err *err);

/* -- what is to be posted ------------------------------------------------------------------------------------------ */

/* The oldest events of a vCenter, `limit` at most: those that somebody began to post come first, those that the vCenter refused last. *out
 * (uninitialised) is given back by vcenter_event_list_done. */
int event_store_list(struct store *store, const char *vcenter_id, size_t limit, struct vcenter_event_list *out, struct err *err);
/* Notes that it is being posted from now on. */
int event_store_claim(struct store *store, const struct vcenter_event *event, int64_t now_ms, struct err *err);
/* Notes that the vCenter refused it; of several times the first counts. */
int event_store_note_refused(struct store *store, const struct vcenter_event *event, int64_t now_ms, struct err *err);
/* It is there, or given up. */
int event_store_remove(struct store *store, const struct vcenter_event *event, struct err *err);
/* Puts one summary in the place of all events of a vSphere cluster that nobody began to post, where they are several; for each vSphere cluster of the
 * vCenter. ERR_CONFLICT if another one came in between: nothing was done then. *folded is how many there were. */
int event_store_fold(struct store *store, const char *vcenter_id, int64_t now_ms, int64_t *folded, struct err *err);
/* Removes events that were made before this wall-clock time, of all vCenters; *count is how many. */
int event_store_prune(struct store *store, int64_t before_ms, uint64_t *count, struct err *err);
