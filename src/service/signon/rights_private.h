/* Insides of the board of rights, shared by rights_board.c and rights_line.c only. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "hashmap.h"
#include "metric.h"
#include "rights_board.h"

#define RIGHTS_IN_FLIGHT_MAX 3U  /* of the four threads of a vCenter's lane: sign-ons find one */
#define RIGHTS_BACKGROUND_MAX 2U /* of those */
#define RIGHTS_BURST_S 1U        /* seconds' worth of questions that may go out at once after a pause */
#define RIGHTS_RETRY_MS 5000     /* after a failed question in the background */
#define RIGHTS_HANG_MS 5000      /* a question under way for so long: the vCenter does not answer */

struct rights_subject {
    struct hashmap_node node;
    struct rights_vcenter *vc;
    char *user_name;
    char *session_key;  /* NULL: asked by name */
    uint64_t name_hash; /* of the name without domain; 0: it has no form we know */
    unsigned refs;
    /* the answer */
    struct shared_objects *objects; /* NULL: never said, or dropped */
    uint64_t dropped;               /* order of the last event about this person */
    bool is_empty_for_sure;         /* "nothing" was said by key, and by name too: the session is alive */
    bool has_ended;
    /* activity */
    bool is_active;
    int64_t used_ms, tried_ms;
    struct rights_subject *active_prev, *active_next;
    /* the line */
    bool is_in_line, is_in_flight;
    struct rights_subject *line_next;
    struct signon_wait *waits;
};

/* What belongs to one vCenter. Lives as long as the board: there are only as many as were ever configured. */
struct rights_vcenter {
    struct rights_vcenter *next;
    struct rights_board *board;
    char id[37];
    pthread_mutex_t lock; /* guards everything below, and the subjects; no call goes out while it is held */
    struct hashmap subjects;
    struct rights_subject *active;
    struct rights_subject *line_first, *line_last;
    unsigned line_count;
    uint64_t dropped_all;  /* order of the last event about everybody */
    uint64_t dropped_some; /* order of the last event about anybody: for people who are not known here yet */
    uint64_t interest,
        widened; /* mark of what matters, and the order of its last change: answers from before say nothing about the rest */
    int64_t refilled_ms, milli_tokens;
    unsigned in_flight;
    int64_t flight_ms[RIGHTS_IN_FLIGHT_MAX]; /* when each question went out; 0: free */
    int64_t outage_ms;                       /* 0: it can be asked */
};

struct rights_board {
    const struct signon_vcenter_ops *ops;
    struct rights_pace pace;
    atomic_bool is_stopped;
    pthread_mutex_t lock; /* guards the list, which only grows */
    struct rights_vcenter *vcenters;
    struct metric *asked_behind, *asked_before, *shared, *dropped, *refused;
};

/* -- rights_board.c: all need the vCenter's lock -- */

/* True if the last answer was asked for after every event about this person. */
bool rights_is_usable(const struct rights_subject *subject);
/* Takes an answer; returns the reference that is not needed any more, to be dropped without the lock. */
struct shared_objects *rights_put_answer(struct rights_subject *subject, struct shared_objects *answer);
/* Marks use. */
void rights_touch(struct rights_subject *subject);
void rights_forget_active(struct rights_subject *subject);
/* The vCenter does not answer now; `is_unreachable` is what its link says. Notes beginning and end of an outage. */
bool rights_note_away(struct rights_vcenter *vc, bool is_unreachable);
