/* vCenters. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_table.h"
#include "session_tx.h"
#include "store_tx.h"

static int read_pin(const struct db_row *row, size_t first, void *record, struct err *err) {
    struct vcenter *vc = record;
    size_t bytes = 0;
    const void *pin = db_row_bytes(row, first, &bytes);
    if (!pin)
        return 0;
    if (bytes != sizeof(vc->pin_sha256))
        return err_set(err, ERR_SCHEMA, "the pin of a vCenter has %zu bytes", bytes);
    memcpy(vc->pin_sha256, pin, bytes);
    vc->has_pin = true;
    return 0;
}

static const struct db_table vcenter_table = {.name = "vcenters",
                                              .noun = "vCenter",
                                              .members = vcenter_members,
                                              .bytes = sizeof(struct vcenter),
                                              .more = ", pin_sha256",
                                              .more_kinds = "b",
                                              .read_more = read_pin};

void vcenter_list_done(struct vcenter_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        vcenter_done(&list->items[i]);
    free(list->items);
    *list = (struct vcenter_list){0};
}

int vcenter_store_list(struct store *store, struct vcenter_list *out, struct err *err) {
    struct db_records found;
    int rc = db_table_list(store, &vcenter_table, " ORDER BY name, id", DB_ARGS_NONE, &found, err);
    if (!rc)
        *out = (struct vcenter_list){found.items, found.count};
    return rc;
}

int vcenter_store_load(struct store *store, const char *id, struct vcenter **out, struct err *err) {
    void *found;
    int rc = db_table_load(store, &vcenter_table, " WHERE id = ?", DB_ARGS(db_text(id)), &found, err);
    if (!rc)
        *out = found;
    return rc;
}

static struct db_more pin_of(const struct vcenter *vc) {
    return (struct db_more){"pin_sha256", db_bytes(vc->has_pin ? vc->pin_sha256 : NULL, sizeof(vc->pin_sha256)), NULL};
}

struct vcenter_write {
    const struct vcenter *vc;
    const struct audit_record *audit;
};

/* What ends each write. */
static int vcenter_note(struct store_tx *tx, const char *id, const struct audit_record *audit, struct err *err) {
    int rc = store_tx_note_change(tx, CHANGE_VCENTER, id, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static int vcenter_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct vcenter_write *call = arg;
    const struct vcenter *vc = call->vc;
    int rc = db_table_insert(store_tx_conn(tx), &vcenter_table, vc, DB_MORE(pin_of(vc)), err);
    db_explain(rc, ERR_EXISTS, err, "the vCenter with instance UUID %s is known already", vc->id);
    return rc ? rc : vcenter_note(tx, vc->id, call->audit, err);
}

int vcenter_store_insert(struct store *store, const struct vcenter *vc, const struct audit_record *audit, struct err *err) {
    struct vcenter_write call = {vc, audit};
    return store_tx(store, vcenter_insert, &call, err);
}

static int vcenter_update(struct store_tx *tx, void *arg, struct err *err) {
    const struct vcenter_write *call = arg;
    int rc = db_table_update(store_tx_conn(tx), &vcenter_table, call->vc, DB_MORE(pin_of(call->vc)), err);
    return rc ? rc : vcenter_note(tx, call->vc->id, call->audit, err);
}

int vcenter_store_update(struct store *store, const struct vcenter *vc, const struct audit_record *audit, int64_t *version_no,
                         struct err *err) {
    struct vcenter_write call = {vc, audit};
    int rc = store_tx(store, vcenter_update, &call, err);
    if (!rc)
        *version_no = vc->version_no + 1;
    return rc;
}

struct vcenter_removal {
    const char *id;
    int64_t now_ms;
    const struct audit_record *audit;
};

static int note_cluster(const struct db_row *row, void *arg, struct err *err) {
    return store_tx_note_change(arg, CHANGE_CLUSTER, db_row_text(row, 0), err);
}

/* What is seen of nodes there goes with it (ON DELETE CASCADE): where their clusters are must be found out anew. */
static int note_seen_clusters(struct store_tx *tx, const char *id, struct err *err) {
    return db_query(
        store_tx_conn(tx),
        &(struct db_query){.sql = "SELECT DISTINCT n.cluster_id FROM node_observations o JOIN nodes n ON n.id = o.node_id"
                                  " WHERE o.vcenter_id = ?",
                           .args = DB_ARGS(db_text(id)),
                           .columns = "t",
                           .row = note_cluster,
                           .arg = tx},
        err);
}

static int remove_vcenter(struct store_tx *tx, void *arg, struct err *err) {
    const struct vcenter_removal *call = arg;
    unsigned revoked = 0;
    int rc = note_seen_clusters(tx, call->id, err);
    if (rc)
        return rc;
    rc = db_run_one(store_tx_conn(tx), "DELETE FROM vcenters WHERE id = ?", DB_ARGS(db_text(call->id)),
                    "there is no such vCenter", err);
    if (db_explain(rc, ERR_CONFLICT, err, "Kubernetes clusters are still placed on this vCenter") == ERR_CONFLICT)
        err_remedy(err, "remove these clusters first, or change their placement");
    rc = rc ? rc : session_tx_revoke(tx, SESSION_TX_VCENTER, call->id, call->now_ms, &revoked, err);
    return rc ? rc : vcenter_note(tx, call->id, call->audit, err);
}

int vcenter_store_delete(struct store *store, const char *id, int64_t now_ms, const struct audit_record *audit, struct err *err) {
    struct vcenter_removal call = {id, now_ms, audit};
    return store_tx(store, remove_vcenter, &call, err);
}
