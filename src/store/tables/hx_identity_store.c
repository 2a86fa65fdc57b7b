/* Who an HX cluster is, by what it says of itself. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hx_identity_store.h"

#include <stdio.h>

#include "cluster_tx.h"
#include "hx_connection.h"
#include "lease_store.h"
#include "platform_store.h"
#include "record_tx.h"
#include "secret_store.h"
#include "str.h"

/* What is looked at, under a lock: all but `told` is read anew with each attempt. */
struct identity {
    const struct hx_identity *told;
    const char *older_id;            /* to be merged with; NULL: not to be */
    struct db_records newer, older;  /* one HX cluster each; older: none if nobody else has the uuid */
    struct db_records place, status; /* of the newer one; of the older one */
    struct hx_identity_outcome outcome;
};

static void identity_done(struct identity *i) {
    db_records_done(&hx_cluster_table, &i->newer);
    db_records_done(&hx_cluster_table, &i->older);
    db_records_done(&vsphere_cluster_table, &i->place);
    db_records_done(&hx_status_table, &i->status);
}

static int identity_write(struct store_tx *tx, const struct hx_identity *told, struct err *err) {
    int rc =
        db_run_one(store_tx_conn(tx),
                   "UPDATE hx_clusters SET name = ?, is_name_set = 1, is_name_read = 1, hx_uuid = ?, version_no = version_no + 1"
                   " WHERE id = ?",
                   DB_ARGS(db_text(told->name), db_text(told->uuid), db_text(told->hx_id)), "there is no such HX cluster", err);
    return rc ? rc : record_tx_end(tx, CHANGE_HX_CLUSTER, told->hx_id, told->audit, err);
}

/* -- two that are one -------------------------------------------------------------------------------------------------------- */

/* Runs statements that each have some of the two ids as their arguments: o the older, n the newer one. */
static int identity_run(struct db_conn *conn, const struct identity *i, const char *const (*statements)[2], size_t count,
                        struct err *err) {
    int rc = 0;
    for (size_t k = 0; k < count && !rc; k++) {
        struct db_arg args[4];
        size_t n = 0;
        for (const char *at = statements[k][0]; *at; at++)
            args[n++] = db_text(*at == 'o' ? i->older_id : i->told->hx_id);
        rc = db_run(conn, statements[k][1], (struct db_args){args, n}, NULL, err);
    }
    return rc;
}

/* What refers to the newer one; what stays there goes with it. */
static int identity_take_over(struct store_tx *tx, const struct identity *i, struct err *err) {
    static const char *const statements[][2] = {
        {"no", "UPDATE grants o JOIN grants n ON n.principal_id = o.principal_id AND n.hx_cluster_id = ? AND n.role = 'admin'"
               " SET o.role = n.role WHERE o.hx_cluster_id = ?"},
        {"on",
         "DELETE n FROM grants n JOIN grants o ON n.principal_id = o.principal_id AND o.hx_cluster_id = ? WHERE n.hx_cluster_id = ?"},
        {"oon", "UPDATE grants SET object_id = ?, hx_cluster_id = ? WHERE hx_cluster_id = ?"},
        {"on", "UPDATE IGNORE service_hx_clusters SET hx_cluster_id = ? WHERE hx_cluster_id = ?"},
        {"n", "DELETE FROM service_hx_clusters WHERE hx_cluster_id = ?"},
        {"on", "UPDATE IGNORE hx_peers SET hx_cluster_id = ? WHERE hx_cluster_id = ?"},
        {"on", "UPDATE IGNORE hx_publications SET hx_cluster_id = ? WHERE hx_cluster_id = ?"},
        {"o", "UPDATE hx_publications SET next_at_ms = 0, version_no = version_no + 1 WHERE hx_cluster_id = ?"},
        {"on", "UPDATE hx_aliases SET hx_cluster_id = ? WHERE hx_cluster_id = ?"},
        {"n", "DELETE FROM hx_clusters WHERE id = ?"},
        {"no", "INSERT INTO hx_aliases (id, hx_cluster_id) VALUES (?, ?)"},
    };
    const struct db_args both = DB_ARGS(db_text(i->older_id), db_text(i->told->hx_id));
    int rc = store_tx_note_rows(tx, CHANGE_GRANT, "SELECT id FROM grants WHERE hx_cluster_id IN (?, ?)", both, err);
    if (!rc)
        rc = store_tx_note_rows(tx, CHANGE_SERVICE_ACCOUNT,
                                "SELECT service_id FROM service_hx_clusters WHERE hx_cluster_id IN (?, ?)", both, err);
    return rc ? rc : identity_run(store_tx_conn(tx), i, statements, ARRAY_COUNT(statements), err);
}

static int identity_merge(struct store_tx *tx, const struct identity *i, struct err *err) {
    const struct hx_cluster *newer = i->newer.items;
    int rc = identity_take_over(tx, i, err);
    if (!rc)
        rc = secret_tx_purge(tx, err);
    if (!rc)
        rc = db_run_one(
            store_tx_conn(tx),
            "UPDATE hx_clusters SET vcenter_id = ?, moref = ?, extension_key = ?, address = COALESCE(address, ?), is_gone = 0,"
            " seen_at_ms = ?, name = ?, is_name_set = 1, is_name_read = 1, version_no = version_no + 1 WHERE id = ?",
            DB_ARGS(db_text(newer->vsphere_cluster.vcenter_id), db_text(newer->vsphere_cluster.moref),
                    db_text(newer->extension_key), db_text(newer->address), db_number(newer->seen_at_ms), db_text(i->told->name),
                    db_text(i->older_id)),
            "there is no such HX cluster", err);
    if (!rc)
        rc = store_tx_note_change(tx, CHANGE_HX_CLUSTER, newer->id, err);
    return rc ? rc : record_tx_end(tx, CHANGE_HX_CLUSTER, i->older_id, i->told->audit, err);
}

/* -- deciding ------------------------------------------------------------------------------------------------------------------ */

static int identity_read(struct db_conn *conn, struct identity *i, struct err *err) {
    const struct hx_identity *told = i->told;
    int rc = db_table_query(conn, &hx_cluster_table, " WHERE id = ?", DB_ARGS(db_text(told->hx_id)), &i->newer, err);
    if (!rc && !i->newer.count)
        rc = err_set(err, ERR_NOT_FOUND, "there is no such HX cluster");
    if (!rc)
        rc = db_table_query(conn, &hx_cluster_table, " WHERE hx_uuid = ? AND id <> ?",
                            DB_ARGS(db_text(told->uuid), db_text(told->hx_id)), &i->older, err);
    if (rc || !i->older.count)
        return rc;
    const struct hx_cluster *newer = i->newer.items, *older = i->older.items;
    rc = db_table_query(conn, &vsphere_cluster_table, " WHERE vcenter_id = ? AND moref = ?",
                        DB_ARGS(db_text(newer->vsphere_cluster.vcenter_id), db_text(newer->vsphere_cluster.moref)), &i->place,
                        err);
    return rc ? rc
              : db_table_query(conn, &hx_status_table, " WHERE hx_cluster_id = ?", DB_ARGS(db_text(older->id)), &i->status, err);
}

static int identity_judge(struct db_conn *conn, struct identity *i, struct err *err) {
    const struct hx_cluster *older = i->older.items;
    const struct hx_status *status = i->status.count ? i->status.items : NULL;
    int64_t registered = 0;
    int rc = db_query_number(conn, "SELECT COUNT(*) FROM vcenters WHERE id = ? AND registered_at_ms > 0",
                             DB_ARGS(db_text(older->vsphere_cluster.vcenter_id)), &registered, err);
    if (rc)
        return rc;
    (void)snprintf(i->outcome.older_id, sizeof(i->outcome.older_id), "%s", older->id);
    i->outcome.is_older_read = status && status->remote.state == REMOTE_OK;
    return hx_claim_check(&(struct hx_claim){.newer = i->newer.items,
                                             .place = i->place.count ? i->place.items : NULL,
                                             .older = older,
                                             .is_older_in_vcenter = registered && !older->is_gone,
                                             .older_status = status},
                          err);
}

/* Is it one that has a record of its own, and is connected to in place of this one? Names may have been changed in vCenter since HX took them over, so only what is
 * elsewhere by them counts, and only of a uuid that was not told before. */
static int identity_check_place(struct db_conn *conn, const struct identity *i, struct err *err) {
    const struct hx_identity *told = i->told;
    const struct hx_cluster *newer = i->newer.items;
    struct db_records there = {0};
    if (!told->datacenter || !told->vsphere_cluster || str_eq(newer->hx_uuid, told->uuid))
        return 0;
    int rc = db_table_query(
        conn, &hx_cluster_table,
        " WHERE is_gone = 0 AND EXISTS (SELECT 1 FROM vsphere_clusters v WHERE v.vcenter_id = hx_clusters.vcenter_id"
        " AND v.moref = hx_clusters.moref AND v.is_gone = 0 AND v.datacenter = ? AND v.name = ?)"
        " ORDER BY id = ? DESC, vcenter_id = ? DESC LIMIT 1",
        DB_ARGS(db_text(told->datacenter), db_text(told->vsphere_cluster), db_text(told->hx_id),
                db_text(newer->vsphere_cluster.vcenter_id)),
        &there, err);
    const struct hx_cluster *other = there.items;
    if (!rc && there.count && !str_eq(other->id, told->hx_id)) {
        rc = err_set(err, ERR_EXISTS, "it says that it is on %s/%s, where the HX cluster \"%s\" (%s) is", told->datacenter,
                     told->vsphere_cluster, other->name, other->id);
        (void)err_remedy(err, "give this one its own address (kaasctl hx connect %s), and that one this address", told->hx_id);
    }
    db_records_done(&hx_cluster_table, &there);
    return rc;
}

/* One at a time, and not beside what vCenters tell: both look at all HX clusters. */
static int identity_decide(struct store_tx *tx, void *arg, struct err *err) {
    struct identity *i = arg;
    identity_done(i);
    i->outcome = (struct hx_identity_outcome){.is_older_read = false};
    int rc = lease_tx_check(tx, i->told->fence, err);
    if (!rc)
        rc = store_tx_lock(tx, "platform", err);
    if (!rc)
        rc = identity_read(store_tx_conn(tx), i, err);
    if (rc)
        return rc;
    rc = identity_check_place(store_tx_conn(tx), i, err);
    if (!rc && i->older.count)
        rc = identity_judge(store_tx_conn(tx), i, err);
    if (!rc && i->older_id && !str_eq(i->outcome.older_id, i->older_id))
        rc = err_set(err, ERR_PRECONDITION, "the HX clusters have changed meanwhile");
    if (rc)
        return rc;
    if (!i->older.count)
        return identity_write(tx, i->told, err);
    return i->older_id ? identity_merge(tx, i, err) : 0;
}

static bool identity_is_known(const struct hx_cluster *hx, const struct hx_identity *told) {
    return hx->is_name_read && str_eq(hx->name, told->name) && str_eq(hx->hx_uuid, told->uuid);
}

int hx_identity_store_save(struct store *store, const struct hx_identity *told, struct hx_identity_outcome *out,
                           struct err *err) {
    _cleanup_(hx_cluster_free) struct hx_cluster *hx = NULL;
    struct identity i = {.told = told};
    int rc = platform_store_load_hx(store, told->hx_id, &hx, err);
    if (!rc && !identity_is_known(hx, told))
        rc = store_tx(store, identity_decide, &i, err);
    if (!rc)
        *out = i.outcome;
    identity_done(&i);
    return rc;
}

int hx_identity_store_merge(struct store *store, const struct hx_identity *told, const char *older_id, struct err *err) {
    struct identity i = {.told = told, .older_id = older_id};
    int rc = store_tx(store, identity_decide, &i, err);
    identity_done(&i);
    return rc;
}
