/* What a store holds for the audit log: the chain, those who write at the same time, notes, the state folder, the listener. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit.h"
#include "audit_mac.h"
#include "db_pool.h"

struct audit_chain;
struct group_commit;

/* What this process has noted of other chains. All-zero: nothing. */
struct audit_heads_done {
    struct audit_head_done {
        unsigned replica_id;
        uint64_t seq;
    } * items;
    size_t count;
    int64_t noted_ms, look_ms; /* monotonic: the last note; the next look */
};

/* Refusals that are noted (audit_store_note). */
#define AUDIT_NOTES_MAX 128 /* kinds */
#define AUDIT_NOTE_TEXTS 12U
struct audit_note {
    char *texts[AUDIT_NOTE_TEXTS]; /* in the order of notes_list_members(); the reason is not compared */
    int64_t at_ms;                 /* wall clock: of the first */
    int64_t since_ms;              /* monotonic: of the first */
    uint64_t more;                 /* like it, not told of yet */
    uint64_t taken;                /* of them, what the round under way tells */
    bool is_used, is_told;         /* told: the first is written */
    bool is_taken;                 /* the round under way tells something of it */
};

struct audit_notes {
    pthread_mutex_t lock; /* guards all below; nothing blocks while it is held */
    struct audit_note notes[AUDIT_NOTES_MAX];
    uint64_t left_out; /* found no room */
    int64_t left_out_told_ms;
};

struct audit_side {
    struct audit_chain *chain;
    struct group_commit *group;
    struct audit_notes notes;
    struct audit_heads_done heads;       /* of the job that notes them */
    char *name, *head_path;              /* of the replica; of the file in its state folder. NULL: it has none */
    pthread_mutex_t head_lock;           /* of the file, and guards the next */
    uint8_t head_saved[AUDIT_END_BYTES]; /* what stands there */
    void (*on_line)(void *arg, const struct audit_record *record); /* NULL: nobody listens */
    void *on_line_arg;
};
