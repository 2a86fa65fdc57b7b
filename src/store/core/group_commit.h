/* Group commit: entries that arrive while a commit is under way are written together by the next one. Layer 2 (store), internal; knows no SQL.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A thread that comes while nobody writes, writes its entry at once and alone. Threads that come later wait. When the writer has only COMMIT left to do, the
 * first waiting thread writes the entries of all that wait: so the database has work while it commits. A group has no thread of its own, and no thread delays
 * its entry so that others may come. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct group_commit;

#define GROUP_COMMIT_MAX 64 /* written at a time */

/* One entry to write; it lives on the stack of the thread that waits for it. The first three members are set by group_write_fn; the others are
 * used by the module only. */
struct group_entry {
    int rc;
    struct err err;       /* what rc means */
    bool is_to_try_alone; /* it was written together with others, and one of them is at fault */
    enum group_turn { GROUP_WAITS, GROUP_LEADS, GROUP_DONE } turn;
    pthread_cond_t turned;
    struct group_entry *next;
};

/* One turn of writing. */
struct group_lead;

/* Writes these entries and sets rc, err and is_to_try_alone of each. */
typedef void group_write_fn(void *arg, struct group_lead *lead, struct group_entry *const *entries, size_t count);

/* Called by the write function when it has only COMMIT left to do: lets the waiting threads begin the next turn. A second call does nothing. */
void group_commit_pass(struct group_lead *lead);

int group_commit_new(struct group_commit **out, struct err *err); /* ERR_NOMEM; freed by group_commit_free */
void group_commit_free(struct group_commit *group);               /* NULL is allowed; nobody may wait */

/* The number of entries that wait for their turn. */
size_t group_commit_count(struct group_commit *group);

/* Writes the entry, in this thread or with the entries of another one, and returns when that is done. All callers of a group give the same fn and arg. */
void group_commit_run(struct group_commit *group, struct group_entry *entry, group_write_fn *fn, void *arg);
