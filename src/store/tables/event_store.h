/* Events that are to be posted in vCenters, and what each vCenter has been told. Layer 2 (store). Common errors: store.h.
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
    VCENTER_EVENT_REMOVED, /* a Kubernetes cluster is on a vSphere cluster no more */
    VCENTER_EVENT_READY,   /* a Kubernetes cluster there became ready; the next two likewise */
    VCENTER_EVENT_DEGRADED,
    VCENTER_EVENT_FAILED,      /* also: became unreachable */
    VCENTER_EVENT_GRANTED,     /* somebody may see or administer clusters there from now on */
    VCENTER_EVENT_WITHDRAWN,   /* that grant was withdrawn */
    VCENTER_EVENT_MAINTENANCE, /* a host with control planes is about to enter maintenance mode */
    VCENTER_EVENT_JOB_BEGUN,   /* a job about a Kubernetes cluster there has begun; the next three: has ended so (job_store.c) */
    VCENTER_EVENT_JOB_DONE,
    VCENTER_EVENT_JOB_FAILED,
    VCENTER_EVENT_JOB_CANCELED,
    VCENTER_EVENT_SUMMARY, /* one event in place of too many */
    VCENTER_EVENT_COUNT
};

/* One event at one vSphere cluster. Texts malloc'ed. */
struct vcenter_event {
    char id[37]; /* the same at each vSphere cluster that the event concerns */
    struct object_ref ref;
    enum vcenter_event_kind kind;
    char *
        name; /* of the Kubernetes cluster, the object of the grant, or the host; NULL in a summary, as are the next ones if not used */
    char *object_id;        /* id of that cluster or object, managed object id of the host */
    char *principal, *role; /* of a grant; the principal as people call it */
    char *reason;           /* of a state, or of a job that failed; of a host: the clusters that have control planes on it */
    char *job;              /* the kind of a job: "cluster.disconnect" */
    int64_t folded;         /* how many events a summary stands for, else 1 */
    int64_t made_at_ms;     /* wall clock */
    int64_t claimed_at_ms;  /* wall clock: when a replica began to post it; it may be in the vCenter already; 0: none did */
    int64_t refused_at_ms;  /* wall clock: when the vCenter refused it for the first time; 0: never */
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

/* -- what vCenters have been told ---------------------------------------------------------------------------------- */

struct cluster_place_list {
    struct cluster_place *items;
    size_t count;
};
void cluster_place_list_done(struct cluster_place_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by cluster_place_list_done. */
int event_store_list_places(struct store *store, struct cluster_place_list *out, struct err *err);

/* *is_new: no events are made for this vCenter yet (event_store_begin). ERR_NOT_FOUND if there is no such vCenter. */
int event_store_is_new(struct store *store, const char *vcenter_id, bool *is_new, struct err *err);
/* Makes events for this vCenter from now on, also about grants. */
int event_store_begin(struct store *store, const char *vcenter_id, int64_t now_ms, struct err *err);
/* Forgets the events that wait for this vCenter. */
int event_store_forget(struct store *store, const char *vcenter_id, struct err *err);
/* Makes no events for any vCenter from now on; forgets waiting events and what vCenters have been told. */
int event_store_end(struct store *store, struct err *err);

/* A change of a cluster_place, and the event about it. */
struct event_news {
    enum event_how { EVENT_PLACE_NEW, EVENT_PLACE_CHANGED, EVENT_PLACE_GONE } how;
    struct cluster_place place;        /* the place after the change */
    enum vcenter_event_kind was;       /* unless it is new: the state that was told last before */
    bool is_silent;                    /* write no event */
    const struct vcenter_event *event; /* borrowed */
};
/* Writes them in one transaction. ERR_CONFLICT if somebody else has written meanwhile: read the places anew. */
int event_store_save_news(struct store *store, const struct event_news *items, size_t count, struct err *err);

/* That a host of its vCenter has begun to enter maintenance mode, as the vCenter told, and our event about that (`made`; borrowed). */
struct event_of_host {
    const struct vcenter_event *made;
    int64_t key, at_ms; /* of vCenter's event */
};
/* Writes it, unless a replica has done so before, or no events are made for this vCenter: then *is_news is false. */
int event_store_save_host(struct store *store, const struct event_of_host *of, bool *is_news, struct err *err);

/* -- what is to be posted ------------------------------------------------------------------------------------------ */

/* The oldest events of a vCenter, `limit` at most: those that somebody began to post come first, then those about hosts, which are no use later, and those that
 * the vCenter refused last. *out (uninitialised) is given back by vcenter_event_list_done. */
int event_store_list(struct store *store, const char *vcenter_id, size_t limit, struct vcenter_event_list *out, struct err *err);
/* Notes that this replica begins to post the event. */
int event_store_claim(struct store *store, const struct vcenter_event *event, int64_t now_ms, struct err *err);
/* Notes that the vCenter refused the event; only the time of the first refusal is kept. */
int event_store_note_refused(struct store *store, const struct vcenter_event *event, int64_t now_ms, struct err *err);
/* Removes an event that was posted or given up. */
int event_store_remove(struct store *store, const struct vcenter_event *event, struct err *err);
/* For each vSphere cluster of the vCenter with several events that no replica began to post: replaces them by one summary. ERR_CONFLICT if another event
 * came meanwhile: then nothing was done. *folded is the number of events that the summaries stand for. */
int event_store_fold(struct store *store, const char *vcenter_id, int64_t now_ms, int64_t *folded, struct err *err);
/* Removes events that were made before this wall-clock time, of all vCenters; *count is how many. */
int event_store_prune(struct store *store, int64_t before_ms, uint64_t *count, struct err *err);
