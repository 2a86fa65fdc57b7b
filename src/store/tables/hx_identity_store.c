/* Who an HX cluster is, by what it says of itself. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hx_identity_store.h"

#include "cluster_tx.h"
#include "platform_store.h"
#include "record_tx.h"
#include "str.h"

static bool identity_is_known(const struct hx_cluster *hx, const struct hx_identity *told) {
    return hx->is_name_read && str_eq(hx->name, told->name) && str_eq(hx->hx_uuid, told->uuid);
}

static int identity_write(struct store_tx *tx, const struct hx_identity *told, struct err *err) {
    int rc =
        db_run_one(store_tx_conn(tx),
                   "UPDATE hx_clusters SET name = ?, is_name_set = 1, is_name_read = 1, hx_uuid = ?, version_no = version_no + 1"
                   " WHERE id = ?",
                   DB_ARGS(db_text(told->name), db_text(told->uuid), db_text(told->hx_id)), "there is no such HX cluster", err);
    return rc ? rc : record_tx_end(tx, CHANGE_HX_CLUSTER, told->hx_id, told->audit, err);
}

/* One at a time, and not beside what vCenters tell: both look at all HX clusters. */
static int identity_save(struct store_tx *tx, void *arg, struct err *err) {
    int rc = store_tx_lock(tx, "platform", err);
    return rc ? rc : identity_write(tx, arg, err);
}

int hx_identity_store_save(struct store *store, const struct hx_identity *told, struct err *err) {
    _cleanup_(hx_cluster_free) struct hx_cluster *hx = NULL;
    struct hx_identity call = *told;
    int rc = platform_store_load_hx(store, told->hx_id, &hx, err);
    if (rc || identity_is_known(hx, told))
        return rc;
    return store_tx(store, identity_save, &call, err);
}
