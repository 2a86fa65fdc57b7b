/* HyperFlex clusters (platform_store.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "platform_store.h"
#include "platform_tx.h"
#include "store_tx.h"
#include "str.h"

#define COLUMNS "id, vcenter_id, moref, name, is_name_set, hx_uuid, address, extension_key, is_gone, version_no, seen_at_ms"
#define COLUMN_KINDS "ttttitttiii"
#define ORDER " ORDER BY name, id"

void hx_cluster_list_done(struct hx_cluster_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        hx_cluster_done(&list->items[i]);
    free(list->items);
    *list = (struct hx_cluster_list){0};
}

static int add_cluster(const struct db_row *row, void *arg, struct err *err) {
    struct hx_cluster_list *list = arg;
    void *items = list->items;
    struct hx_cluster *hx = db_list_add(&items, &list->count, sizeof(*hx));
    list->items = items;
    if (!hx)
        return err_set(err, ERR_NOMEM, "out of memory");
    hx->id = db_row_dup(row, 0);
    db_row_copy(row, 1, hx->vsphere_cluster.vcenter_id, sizeof(hx->vsphere_cluster.vcenter_id));
    db_row_copy(row, 2, hx->vsphere_cluster.moref, sizeof(hx->vsphere_cluster.moref));
    hx->name = db_row_dup(row, 3);
    hx->is_name_set = db_row_number(row, 4) != 0;
    hx->hx_uuid = db_row_dup(row, 5);
    hx->address = db_row_dup(row, 6);
    hx->extension_key = db_row_dup(row, 7);
    hx->is_gone = db_row_number(row, 8) != 0;
    hx->version_no = db_row_number(row, 9);
    hx->seen_at_ms = db_row_number(row, 10);
    return 0;
}

struct load {
    const char *vcenter_id, *id;
    struct hx_cluster_list list;
};

static int load_of_vcenter(struct db_conn *conn, struct load *call, struct err *err) {
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT " COLUMNS " FROM hx_clusters WHERE vcenter_id = ?" ORDER,
                                       .args = DB_ARGS(db_text(call->vcenter_id)),
                                       .columns = COLUMN_KINDS,
                                       .row = add_cluster,
                                       .arg = &call->list},
                    err);
}

static int load_list(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    hx_cluster_list_done(&call->list);
    if (call->vcenter_id)
        return load_of_vcenter(conn, call, err);
    return db_query(
        conn,
        &(struct db_query){
            .sql = "SELECT " COLUMNS " FROM hx_clusters" ORDER, .columns = COLUMN_KINDS, .row = add_cluster, .arg = &call->list},
        err);
}

int platform_store_list_hx(struct store *store, const char *vcenter_id, struct hx_cluster_list *out, struct err *err) {
    struct load call = {.vcenter_id = vcenter_id};
    int rc = store_read(store, load_list, &call, err);
    if (rc)
        hx_cluster_list_done(&call.list);
    else
        *out = call.list;
    return rc;
}

static int load_one(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    hx_cluster_list_done(&call->list);
    return db_query_one(conn,
                        &(struct db_query){.sql = "SELECT " COLUMNS " FROM hx_clusters WHERE id = ?",
                                           .args = DB_ARGS(db_text(call->id)),
                                           .columns = COLUMN_KINDS,
                                           .row = add_cluster,
                                           .arg = &call->list},
                        "there is no such HX cluster", err);
}

int platform_store_load_hx(struct store *store, const char *id, struct hx_cluster **out, struct err *err) {
    struct load call = {.id = id};
    int rc = store_read(store, load_one, &call, err);
    if (rc)
        hx_cluster_list_done(&call.list);
    else
        *out = call.list.items; /* an array of one is one */
    return rc;
}

struct save {
    const struct platform_seen *seen;
    const struct hx_cluster *items;
    size_t count;
    struct load before;
    unsigned changed;
};

static const struct hx_cluster *find_stored(const struct save *call, const struct object_ref *ref) {
    for (size_t i = 0; i < call->before.list.count; i++)
        if (object_ref_eq(&call->before.list.items[i].vsphere_cluster, ref))
            return &call->before.list.items[i];
    return NULL;
}

static bool is_seen(const struct save *call, const struct object_ref *ref) {
    for (size_t i = 0; i < call->count; i++)
        if (object_ref_eq(&call->items[i].vsphere_cluster, ref))
            return true;
    return false;
}

static int insert(struct store_tx *tx, struct save *call, const struct hx_cluster *hx, struct err *err) {
    call->changed++;
    int rc = db_run(store_tx_conn(tx), "INSERT INTO hx_clusters (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 1, ?)",
                    DB_ARGS(db_text(hx->id), db_text(hx->vsphere_cluster.vcenter_id), db_text(hx->vsphere_cluster.moref),
                            db_text(hx->name), db_number(hx->is_name_set), db_text(hx->hx_uuid), db_text(hx->address),
                            db_text(hx->extension_key), db_number(call->seen->now_ms)),
                    NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, hx->id, err);
}

/* The name as it will be: one that was set stays, unless the new one was set too. */
static const char *merged_name(const struct hx_cluster *stored, const struct hx_cluster *hx) {
    return stored->is_name_set && !hx->is_name_set ? stored->name : hx->name;
}

static bool is_same(const struct hx_cluster *stored, const struct hx_cluster *hx) {
    return !stored->is_gone && str_eq(stored->name, merged_name(stored, hx)) && stored->is_name_set >= hx->is_name_set &&
           (!hx->hx_uuid || str_eq(stored->hx_uuid, hx->hx_uuid)) &&
           (!hx->extension_key || str_eq(stored->extension_key, hx->extension_key));
}

static int refresh(struct store_tx *tx, struct save *call, const struct hx_cluster *stored, const struct hx_cluster *hx,
                   struct err *err) {
    if (is_same(stored, hx))
        return 0;
    call->changed++;
    int rc = db_run(
        store_tx_conn(tx),
        "UPDATE hx_clusters SET name = ?, is_name_set = ?, hx_uuid = COALESCE(?, hx_uuid), extension_key = COALESCE(?, extension_key),"
        " is_gone = 0, seen_at_ms = ?, version_no = version_no + 1 WHERE id = ?",
        DB_ARGS(db_text(merged_name(stored, hx)), db_number(stored->is_name_set || hx->is_name_set), db_text(hx->hx_uuid),
                db_text(hx->extension_key), db_number(call->seen->now_ms), db_text(stored->id)),
        NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, stored->id, err);
}

static int mark_gone(struct store_tx *tx, struct save *call, const struct hx_cluster *stored, struct err *err) {
    if (stored->is_gone || is_seen(call, &stored->vsphere_cluster))
        return 0;
    call->changed++;
    int rc = db_run(store_tx_conn(tx), "UPDATE hx_clusters SET is_gone = 1, version_no = version_no + 1 WHERE id = ?",
                    DB_ARGS(db_text(stored->id)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, stored->id, err);
}

/* Seen again without any change: nothing that others would have to read anew. */
static int touch(struct store_tx *tx, const struct platform_seen *seen, struct err *err) {
    return db_run(store_tx_conn(tx), "UPDATE hx_clusters SET seen_at_ms = ? WHERE vcenter_id = ? AND is_gone = 0",
                  DB_ARGS(db_number(seen->now_ms), db_text(seen->vcenter_id)), NULL, err);
}

static int save(struct store_tx *tx, void *arg, struct err *err) {
    struct save *call = arg;
    call->changed = 0;
    hx_cluster_list_done(&call->before.list);
    int rc = platform_tx_begin(tx, call->seen, err);
    rc = rc ? rc : load_of_vcenter(store_tx_conn(tx), &call->before, err);
    for (size_t i = 0; i < call->count && !rc; i++) {
        const struct hx_cluster *stored = find_stored(call, &call->items[i].vsphere_cluster);
        rc = stored ? refresh(tx, call, stored, &call->items[i], err) : insert(tx, call, &call->items[i], err);
    }
    for (size_t i = 0; call->seen->is_complete && i < call->before.list.count && !rc; i++)
        rc = mark_gone(tx, call, &call->before.list.items[i], err);
    return rc || !call->seen->is_complete ? rc : touch(tx, call->seen, err);
}

int platform_store_save_hx(struct store *store, const struct platform_seen *seen, const struct hx_cluster *items, size_t count,
                           unsigned *changed, struct err *err) {
    struct save call = {.seen = seen, .items = items, .count = count, .before = {.vcenter_id = seen->vcenter_id}};
    for (size_t i = 0; i < count; i++)
        if (!str_eq(items[i].vsphere_cluster.vcenter_id, seen->vcenter_id))
            return err_set(err, ERR_INVALID, "an HX cluster of another vCenter");
    int rc = store_tx(store, save, &call, err);
    hx_cluster_list_done(&call.before.list);
    if (!rc)
        *changed = call.changed;
    return rc;
}

struct update {
    const struct hx_cluster *hx;
    const struct audit_record *audit;
};

static int update(struct store_tx *tx, void *arg, struct err *err) {
    const struct update *call = arg;
    const struct hx_cluster *hx = call->hx;
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx),
                    "UPDATE hx_clusters SET name = ?, is_name_set = ?, hx_uuid = ?, address = ?, version_no = version_no + 1"
                    " WHERE id = ? AND version_no = ?",
                    DB_ARGS(db_text(hx->name), db_number(hx->is_name_set), db_text(hx->hx_uuid), db_text(hx->address),
                            db_text(hx->id), db_number(hx->version_no)),
                    &met, err);
    if (rc)
        return rc;
    if (!met)
        return db_explain_miss(store_tx_conn(tx), "SELECT COUNT(*) FROM hx_clusters WHERE id = ?", hx->id, "HX cluster", err);
    rc = store_tx_note_change(tx, CHANGE_HX_CLUSTER, hx->id, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int platform_store_update_hx(struct store *store, const struct hx_cluster *hx, const struct audit_record *audit,
                             int64_t *version_no, struct err *err) {
    struct update call = {hx, audit};
    int rc = store_tx(store, update, &call, err);
    if (!rc)
        *version_no = hx->version_no + 1;
    return rc;
}
