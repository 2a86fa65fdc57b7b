/* Puts a store together: the pool, and what it holds for the audit log. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "audit_chain.h"
#include "audit_side.h"
#include "cleanup.h"
#include "db_pool.h"
#include "group_commit.h"
#include "store.h"

static void audit_side_free(struct audit_side *side) {
    if (!side)
        return;
    audit_chain_free(side->chain);
    group_commit_free(side->group);
    for (size_t i = 0; i < AUDIT_NOTES_MAX; i++)
        for (size_t j = 0; j < AUDIT_NOTE_TEXTS; j++)
            free(side->notes.notes[i].texts[j]);
    free(side->heads.items);
    free(side->name);
    free(side->head_path);
    (void)pthread_mutex_destroy(&side->notes.lock);
    (void)pthread_mutex_destroy(&side->head_lock);
    free(side);
}
CLEANUP_DEFINE(struct audit_side, audit_side_free);

int store_new(const struct store_options *options, struct store **out, struct err *err) {
    _cleanup_(audit_side_free) struct audit_side *side = calloc(1, sizeof(*side));
    int rc;
    if (!side)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&side->notes.lock, NULL);
    (void)pthread_mutex_init(&side->head_lock, NULL);
    rc = audit_chain_new(&side->chain, err);
    if (rc)
        return rc;
    rc = group_commit_new(&side->group, err);
    if (rc)
        return rc;
    rc = db_pool_new(options, side, out, err);
    if (!rc)
        (void)STEAL(side);
    return rc;
}

void store_free(struct store *store) {
    if (!store)
        return;
    audit_side_free(store_audit_side(store));
    db_pool_free(store);
}
