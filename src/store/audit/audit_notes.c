/* Refusals that are noted and written later (audit_notes.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_store.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_side.h"
#include "clock.h"
#include "net_addr.h"
#include "str.h"

#define ADDRESS 8U /* the place among them */
#define NOTES_REASON_BYTES 96
#define NOTES_SPAN_MS 60000

static void notes_forget(struct audit_note *note) {
    for (size_t i = 0; i < AUDIT_NOTE_TEXTS; i++)
        free(note->texts[i]);
    *note = (struct audit_note){0};
}

/* The members of an event in one order; the last two do not tell kinds apart. */
static void notes_list_members(const struct audit_event *e, const char *out[AUDIT_NOTE_TEXTS]) {
    const char *const members[AUDIT_NOTE_TEXTS] = {e->action,  e->principal_id, e->principal_name, e->acting_id,
                                                   e->source,  e->object_kind,  e->object_id,      e->object_name,
                                                   e->address, e->result,       e->request_id,     e->reason};
    memcpy(out, members, sizeof(members));
}

static struct audit_event event_of(const struct audit_note *n) {
    return (struct audit_event){.action = n->texts[0],
                                .principal_id = n->texts[1],
                                .principal_name = n->texts[2],
                                .acting_id = n->texts[3],
                                .source = n->texts[4],
                                .object_kind = n->texts[5],
                                .object_id = n->texts[6],
                                .object_name = n->texts[7],
                                .address = n->texts[ADDRESS],
                                .result = n->texts[9],
                                .request_id = n->texts[10],
                                .reason = n->texts[11]};
}

/* Addresses of one party are alike: else one host could make as many kinds as it has addresses. */
static bool notes_is_same(size_t member, const char *a, const char *b) {
    return str_eq(a, b) || (member == ADDRESS && a && b && net_party(a) == net_party(b));
}

static bool notes_is_alike(const struct audit_note *note, const char *const members[AUDIT_NOTE_TEXTS]) {
    for (size_t i = 0; i < AUDIT_NOTE_TEXTS - 2; i++)
        if (!notes_is_same(i, note->texts[i], members[i]))
            return false;
    return true;
}

static struct audit_note *notes_find(struct audit_notes *box, const char *const members[AUDIT_NOTE_TEXTS],
                                     struct audit_note **room) {
    for (size_t i = 0; i < AUDIT_NOTES_MAX; i++) {
        struct audit_note *note = &box->notes[i];
        if (note->is_used && notes_is_alike(note, members))
            return note;
        if (!note->is_used && !*room)
            *room = note;
    }
    return NULL;
}

static bool notes_fill(struct audit_note *note, const char *const members[AUDIT_NOTE_TEXTS]) {
    bool is_whole = true;
    for (size_t i = 0; i < AUDIT_NOTE_TEXTS; i++) {
        note->texts[i] = str_dup(members[i]);
        is_whole = is_whole && (!members[i] || note->texts[i]);
    }
    note->is_used = is_whole;
    note->at_ms = clock_wall_ms();
    note->since_ms = clock_mono_ms();
    if (!is_whole)
        notes_forget(note);
    return is_whole;
}

void audit_store_note(struct store *store, const struct audit_event *event) {
    struct audit_notes *box = &store_audit_side(store)->notes;
    const char *members[AUDIT_NOTE_TEXTS];
    struct audit_note *room = NULL, *same;
    notes_list_members(event, members);
    (void)pthread_mutex_lock(&box->lock);
    same = notes_find(box, members, &room);
    if (same)
        same->more++;
    else if (!room || !notes_fill(room, members))
        box->left_out++;
    (void)pthread_mutex_unlock(&box->lock);
}

/* -- writing ------------------------------------------------------------------------------------------------------------------- */

/* What one round writes; texts are copies, since notes go on changing. */
struct round {
    struct audit_note copies[AUDIT_NOTES_MAX + 1];
    char reasons[AUDIT_NOTES_MAX + 1][NOTES_REASON_BYTES];
    struct audit_record records[AUDIT_NOTES_MAX + 1];
    size_t count;
    uint64_t left_out;
};

static bool audit_notes_is_over(const struct audit_note *note) {
    return clock_mono_ms() - note->since_ms >= NOTES_SPAN_MS;
}

static void audit_notes_add_copy(struct round *round, const struct audit_note *note) {
    struct audit_note *copy = &round->copies[round->count];
    const char *members[AUDIT_NOTE_TEXTS];
    const struct audit_event event = event_of(note);
    notes_list_members(&event, members);
    if (!notes_fill(copy, members))
        return;
    round->records[round->count] =
        (struct audit_record){.at_ms = note->is_told ? clock_wall_ms() : note->at_ms, .event = event_of(copy)};
    if (note->is_told) {
        (void)snprintf(round->reasons[round->count], NOTES_REASON_BYTES, "%" PRIu64 " more like this within a minute",
                       note->more);
        round->records[round->count].event.reason = round->reasons[round->count];
        round->records[round->count].event.request_id = NULL;
    }
    round->count++;
}

static bool notes_is_due(const struct audit_note *note) {
    return note->is_used && (!note->is_told || audit_notes_is_over(note));
}

/* A note whose minute has passed without another like it is done with. */
static void notes_collect(struct audit_notes *box, struct round *round) {
    for (size_t i = 0; i < AUDIT_NOTES_MAX; i++) {
        struct audit_note *note = &box->notes[i];
        if (!notes_is_due(note))
            continue;
        if (note->is_told && !note->more) {
            notes_forget(note);
            continue;
        }
        note->is_taken = true;
        note->taken = note->is_told ? note->more : 0;
        audit_notes_add_copy(round, note);
    }
    if (!box->left_out || clock_mono_ms() - box->left_out_told_ms < NOTES_SPAN_MS)
        return;
    round->left_out = box->left_out;
    (void)snprintf(round->reasons[round->count], NOTES_REASON_BYTES, "%" PRIu64 " refusals more, of too many kinds to name them",
                   box->left_out);
    round->records[round->count] = audit_record_make(
        NULL, &(struct audit_event){.action = "audit.left_out", .object_kind = "audit", .reason = round->reasons[round->count]});
    round->count++;
}

static void settle_note(struct audit_note *note, bool is_written) {
    if (!note->is_taken)
        return;
    note->is_taken = false;
    if (!is_written)
        return;
    note->more -= note->taken; /* what came meanwhile is told after another minute */
    note->taken = 0;
    note->is_told = true;
    if (audit_notes_is_over(note))
        note->since_ms = clock_mono_ms();
}

static void notes_settle(struct audit_notes *box, const struct round *round, bool is_written) {
    for (size_t i = 0; i < AUDIT_NOTES_MAX; i++)
        settle_note(&box->notes[i], is_written);
    if (!is_written || !round->left_out)
        return;
    box->left_out -= round->left_out;
    box->left_out_told_ms = clock_mono_ms();
}

static bool has_due(struct audit_notes *box) {
    bool is_any = box->left_out != 0;
    for (size_t i = 0; i < AUDIT_NOTES_MAX && !is_any; i++)
        is_any = notes_is_due(&box->notes[i]);
    return is_any;
}

static void round_free(struct round *round) {
    for (size_t i = 0; round && i < AUDIT_NOTES_MAX + 1; i++)
        notes_forget(&round->copies[i]);
    free(round);
}

int audit_store_write_notes(struct store *store, struct err *err) {
    struct audit_notes *box = &store_audit_side(store)->notes;
    struct round *round = NULL;
    int rc;
    (void)pthread_mutex_lock(&box->lock);
    if (has_due(box))
        round = calloc(1, sizeof(*round));
    if (round)
        notes_collect(box, round);
    (void)pthread_mutex_unlock(&box->lock);
    if (!round)
        return 0;
    rc = audit_store_append_batch(store, round->records, round->count, err);
    (void)pthread_mutex_lock(&box->lock);
    notes_settle(box, round, rc == 0);
    (void)pthread_mutex_unlock(&box->lock);
    round_free(round);
    return rc;
}
