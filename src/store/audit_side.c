/* What a store holds for the audit trail (audit_side.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_side.h"

#include <stdlib.h>

#include "audit_chain.h"
#include "audit_notes.h"
#include "audit_store.h"
#include "group_commit.h"

int audit_side_init(struct audit_side *side, struct err *err) {
    int rc = audit_chain_new(&side->chain, err);
    (void)pthread_mutex_init(&side->head_lock, NULL);
    if (!rc)
        rc = group_commit_new(&side->group, err);
    return rc ? rc : audit_notes_new(&side->notes, err);
}

void audit_side_done(struct audit_side *side) {
    audit_chain_free(side->chain);
    group_commit_free(side->group);
    audit_notes_free(side->notes);
    free(side->heads.items);
    free(side->name);
    free(side->head_path);
    (void)pthread_mutex_destroy(&side->head_lock);
}

struct audit_chain *store_chain(struct store *store) {
    return store_audit_side(store)->chain;
}

struct group_commit *store_group(struct store *store) {
    return store_audit_side(store)->group;
}

struct audit_notes *store_notes(struct store *store) {
    return store_audit_side(store)->notes;
}

void store_set_audit_listener(struct store *store, void (*fn)(void *arg, const struct audit_record *record), void *arg) {
    struct audit_side *side = store_audit_side(store);
    side->on_line = fn;
    side->on_line_arg = arg;
}

bool store_has_audit_listener(struct store *store) {
    return store_audit_side(store)->on_line != NULL;
}

void store_tell_audit(struct store *store, const struct audit_record *record) {
    const struct audit_side *side = store_audit_side(store);
    if (side->on_line)
        side->on_line(side->on_line_arg, record);
}
