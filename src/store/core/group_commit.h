/* Group commit: what arrives while a commit is under way is written together by the next one. Layer 2 (store), internal; knows no SQL.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who comes while nobody writes, writes at once and alone. Who comes later waits; when the writer has nothing but COMMIT left to do, the first of those
 * who wait writes for all of them: so the database, too, has something to do while it commits. There is no thread of its own, and nobody waits for others to come. */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "err.h"

struct group_commit;

#define GROUP_COMMIT_MAX 64 /* written at a time */

/* One thing to write; lives on the stack of who waits for it. Members are the module's own, but for rc and err. */
struct group_entry {
    int rc;         /* set by group_write_fn */
    struct err err; /* what rc means */
    enum group_turn { GROUP_WAITS, GROUP_LEADS, GROUP_DONE } turn;
    pthread_cond_t turned;
    struct group_entry *next;
};

/* A turn of writing. */
struct group_lead;

/* Writes these and sets rc and err of each. */
typedef void group_write_fn(void *arg, struct group_lead *lead, struct group_entry *const *entries, size_t count);

/* The writer waits for the end only: those who came meanwhile may begin. Again, it changes nothing. */
void group_commit_pass(struct group_lead *lead);

int group_commit_new(struct group_commit **out, struct err *err); /* ERR_NOMEM; freed by group_commit_free */
void group_commit_free(struct group_commit *group);               /* NULL is allowed; nobody may wait */

/* How many wait for their turn. */
size_t group_commit_count(struct group_commit *group);

/* Has the entry written, by this thread or another, and waits for that. All callers of a group give the same fn and arg. */
void group_commit_run(struct group_commit *group, struct group_entry *entry, group_write_fn *fn, void *arg);
