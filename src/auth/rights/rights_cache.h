/* Rights that vCenters gave people: one record per (vCenter, person), shared by all sessions of that person, with the last answer; and the queue in which
 * the vCenter is asked again. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A *subject* is a person as a vCenter is asked about it: by session key after a cookie, else by user name. Subjects used a moment ago are *active*: they
 * are asked about again in the background before their answer gets old, the oldest answer first. A request waits only when there is no usable answer; its
 * question then goes before the background. All questions to one vCenter, of both kinds, go out at a bounded rate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "worker_pool.h"
#include "object_ref.h"

struct rights_cache;
struct rights_subject;
struct signon_asker;

#define SIGNON_RIGHTS_TICK_MS 200 /* see signon_rights_tick */

/* When a vCenter was asked; its answer counts from then. `order` is the place among all questions and events of this process: what was
 * asked before an event says nothing about the time after it. */
struct asked_at {
    int64_t wall_ms, mono_ms;
    uint64_t order;
};
struct asked_at asked_now(void);

/* A set of vSphere clusters as a vCenter stated it; never changes; shared by reference count. */
struct shared_objects;
/* Takes the set over; NULL without memory (then it is freed). */
struct shared_objects *shared_objects_new(struct object_set *take, struct asked_at asked);
struct shared_objects *shared_objects_ref(struct shared_objects *objects);
void shared_objects_unref(struct shared_objects *objects); /* NULL is allowed */
const struct object_set *shared_objects_get(const struct shared_objects *objects);

/* A wait for an answer. Must live until run was called. */
struct signon_wait {
    worker_fn *run; /* called once, by any thread: run(arg, is_canceled) */
    void *arg;
    int64_t deadline_ms; /* monotonic; run is called soon after it at the latest */
    int rc;              /* set when run is called: 0, or the code in err */
    struct err err;
    struct rights_subject *subject; /* private to rights_cache.c */
    struct signon_wait *next;       /* private to rights_cache.c */
};

struct rights_pace {
    int64_t fresh_ms; /* an answer older than this is asked for again, if anybody needs it */
    unsigned per_s;   /* questions to one vCenter; RIGHTS_BURST_S seconds' worth may go out at once after a pause */
};

/* Makes an empty cache; `asker`, which must live as long, asks the vCenters. NULL without memory. */
struct rights_cache *rights_cache_new(const struct signon_asker *asker, const struct rights_pace *pace);
void rights_cache_free(struct rights_cache *cache); /* all subjects must have been given back; NULL is allowed */

/* A person at a vCenter. Borrowed. */
struct rights_person {
    const char *vcenter_id;
    const char *user_name;   /* as vCenter stores it */
    const char *session_key; /* NULL: questions go by user name */
};
/* The subject for this person, made if there is none, with one reference for the caller. NULL without memory. */
struct rights_subject *rights_subject_get(struct rights_cache *cache, const struct rights_person *person);
void rights_subject_ref(struct rights_subject *subject);
void rights_subject_unref(struct rights_subject *subject); /* NULL is allowed */
CLEANUP_DEFINE(struct rights_subject, rights_subject_unref);

/* What is known of a subject. */
struct rights_known {
    struct shared_objects *objects; /* one reference for the caller; NULL: there was no answer yet, or it was dropped */
    int64_t as_of_ms;               /* wall clock */
    int64_t age_ms;                 /* -1: no answer */
    bool is_narrow;                 /* since it was asked for, further vSphere clusters have got Kubernetes or HX clusters */
    bool is_away;                   /* the vCenter cannot be asked now */
    int64_t outage_ms;              /* monotonic: when is_away was first noticed; identifies the outage */
    bool has_ended;                 /* the vCenter session by whose key rights are asked has ended for good */
};
/* Reads the subject from memory. `is_used`: it is in use and kept fresh for a while. Does not block. */
void rights_subject_read(struct rights_subject *subject, bool is_used, struct rights_known *out);
const char *rights_subject_vcenter(const struct rights_subject *subject);
const char *rights_subject_user(const struct rights_subject *subject);

/* Gives the subject an answer that the vCenter gave elsewhere (at sign-on); takes over the reference. Without effect if there is a newer answer or an event
 * came after the question. */
void rights_subject_offer(struct rights_subject *subject, struct shared_objects *answer);

/* Has the vCenter asked, and wait->run called when it has answered (see signon_wait_rights). Does not block. ERR_RIGHTS_UNKNOWN with retry_after_s when too
 * many wait, ERR_CANCELED after rights_cache_stop: then run is not called. */
int rights_subject_wait(struct rights_subject *subject, struct signon_wait *wait, struct err *err);

/* Makes all answers about these people to questions asked until now unusable. See signon_drop_rights. */
void rights_cache_drop(struct rights_cache *cache, const char *vcenter_id, const char *user_name);

/* Sends questions that are due and ends waits that took too long. Call it every SIGNON_RIGHTS_TICK_MS. Does not block. */
void rights_cache_tick(struct rights_cache *cache);

/* Ends all waits; no vCenter is asked from then on. */
void rights_cache_stop(struct rights_cache *cache);
