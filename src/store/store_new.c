/* A store as a whole: the pool with what it holds for the audit log, and what the database need not keep. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store.h"

#include "audit_store.h"
#include "audit_tx.h"
#include "change_store.h"
#include "clock.h"
#include "lease_store.h"
#include "session_tx.h"

int store_new(const struct store_options *options, struct store **out, struct err *err) {
    _cleanup_(audit_side_free) struct audit_side *side = NULL;
    int rc = audit_side_new(session_store_write_group, &side, err);
    rc = rc ? rc : db_pool_new(options, side, out, err);
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

/* -- pruning ------------------------------------------------------------------------------------------------------- */

#define HOUR_MS (3600 * INT64_C(1000))
#define LEASE_MS (600 * INT64_C(1000))
#define CHANGES_KEPT_MS (6 * HOUR_MS)
#define OPERATION_LAST_MS (24 * HOUR_MS) /* what is tried again and again is one operation; of other replicas nobody knows */
#define BATCH 5000U

static int prune_audit(struct store *store, int64_t older_than_ms, struct err *err) {
    struct audit_chain_list chains = {0};
    int rc = audit_store_list_chains(store, &chains, err);
    for (size_t i = 0; i < chains.count && !rc; i++) {
        const struct audit_pruning pruning = {
            .replica_id = chains.items[i].replica_id, .older_than_ms = older_than_ms, .limit = BATCH};
        unsigned long deleted = BATCH;
        while (!rc && deleted == BATCH)
            rc = audit_store_prune(store, &pruning, &deleted, err);
    }
    audit_chain_list_done(&chains);
    return rc;
}

int store_prune(struct store *store, int64_t audit_keep_ms, unsigned *operations_closed, struct err *err) {
    const int64_t now_ms = clock_wall_ms();
    const struct operation_left left = {.begun_before_ms = now_ms - OPERATION_LAST_MS + 1, .now_ms = now_ms};
    unsigned long deleted = BATCH;
    bool is_mine = false;
    int rc = lease_store_acquire(store, "prune", store_replica_name(store), LEASE_MS, &is_mine, err);
    *operations_closed = 0;
    if (rc || !is_mine)
        return rc;
    while (!rc && deleted == BATCH)
        rc = change_store_prune(store, clock_wall_ms() - CHANGES_KEPT_MS, BATCH, &deleted, err);
    if (!rc)
        rc = operation_store_close(store, &left, operations_closed, err);
    if (rc || !audit_keep_ms)
        return rc;
    return prune_audit(store, now_ms - audit_keep_ms, err);
}
