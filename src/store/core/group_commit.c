/* Group commit (group_commit.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "group_commit.h"

#include <stdlib.h>

struct group_commit {
    pthread_mutex_t lock; /* guards all below, and turn and next of the entries */
    struct group_entry *first, *last;
    bool has_leader; /* if there is one that has not begun yet, it is the first */
};

int group_commit_new(struct group_commit **out, struct err *err) {
    struct group_commit *group = calloc(1, sizeof(*group));
    if (!group)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&group->lock, NULL);
    *out = group;
    return 0;
}

void group_commit_free(struct group_commit *group) {
    if (!group)
        return;
    (void)pthread_mutex_destroy(&group->lock);
    free(group);
}

static void group_append(struct group_commit *group, struct group_entry *entry) {
    entry->next = NULL;
    if (group->last)
        group->last->next = entry;
    else
        group->first = entry;
    group->last = entry;
}

static size_t take_batch(struct group_commit *group, struct group_entry **batch) {
    size_t count = 0;
    while (group->first && count < GROUP_COMMIT_MAX) {
        batch[count++] = group->first;
        group->first = group->first->next;
    }
    if (!group->first)
        group->last = NULL;
    return count;
}

static void group_commit_turn(struct group_entry *entry, enum group_turn to) {
    entry->turn = to;
    (void)pthread_cond_signal(&entry->turned);
}

size_t group_commit_count(struct group_commit *group) {
    size_t count = 0;
    (void)pthread_mutex_lock(&group->lock);
    for (const struct group_entry *entry = group->first; entry; entry = entry->next)
        count++;
    (void)pthread_mutex_unlock(&group->lock);
    return count;
}

struct group_lead {
    struct group_commit *group;
    bool has_passed;
};

/* Under the lock. */
static void group_pass(struct group_lead *lead) {
    struct group_commit *group = lead->group;
    if (lead->has_passed)
        return;
    lead->has_passed = true;
    group->has_leader = group->first != NULL;
    if (group->first)
        group_commit_turn(group->first, GROUP_LEADS);
}

void group_commit_pass(struct group_lead *lead) {
    (void)pthread_mutex_lock(&lead->group->lock);
    group_pass(lead);
    (void)pthread_mutex_unlock(&lead->group->lock);
}

/* Called and left under the lock. Once an entry is done its owner may be gone, so this is the last that is done with it. */
static void lead_turn(struct group_commit *group, group_write_fn *fn, void *arg) {
    struct group_lead lead = {.group = group};
    struct group_entry *batch[GROUP_COMMIT_MAX];
    size_t count = take_batch(group, batch);
    (void)pthread_mutex_unlock(&group->lock);
    fn(arg, &lead, batch, count);
    (void)pthread_mutex_lock(&group->lock);
    group_pass(&lead);
    for (size_t i = 0; i < count; i++)
        group_commit_turn(batch[i], GROUP_DONE);
}

void group_commit_run(struct group_commit *group, struct group_entry *entry, group_write_fn *fn, void *arg) {
    (void)pthread_cond_init(&entry->turned, NULL);
    (void)pthread_mutex_lock(&group->lock);
    group_append(group, entry);
    entry->turn = group->has_leader ? GROUP_WAITS : GROUP_LEADS;
    group->has_leader = true;
    while (entry->turn == GROUP_WAITS)
        (void)pthread_cond_wait(&entry->turned, &group->lock);
    if (entry->turn == GROUP_LEADS)
        lead_turn(group, fn, arg);
    (void)pthread_mutex_unlock(&group->lock);
    (void)pthread_cond_destroy(&entry->turned);
}
