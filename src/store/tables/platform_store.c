/* vSphere and HyperFlex clusters. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_table.h"
#include "store_tx.h"
#include "str.h"
#include "uuid.h"

#define VSPHERE_ORDER " ORDER BY vcenter_id, moref"

static const struct db_table vsphere_table = {.name = "vsphere_clusters",
                                              .noun = "vSphere cluster",
                                              .members = vsphere_cluster_members,
                                              .bytes = sizeof(struct vsphere_cluster)};

void vsphere_cluster_list_done(struct vsphere_cluster_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        vsphere_cluster_done(&list->items[i]);
    free(list->items);
    *list = (struct vsphere_cluster_list){0};
}

int platform_store_list_vsphere(struct store *store, const char *vcenter_id, struct vsphere_cluster_list *out, struct err *err) {
    return db_table_list(store, &vsphere_table, vcenter_id ? " WHERE vcenter_id = ?" VSPHERE_ORDER : VSPHERE_ORDER,
                         vcenter_id ? DB_ARGS(db_text(vcenter_id)) : DB_ARGS_NONE, &out->items, &out->count, err);
}

int platform_store_load_vsphere(struct store *store, const struct object_ref *ref, struct vsphere_cluster *out, struct err *err) {
    _cleanup_free_ void *found = NULL;
    int rc = db_table_load(store, &vsphere_table, " WHERE vcenter_id = ? AND moref = ?",
                           DB_ARGS(db_text(ref->vcenter_id), db_text(ref->moref)), &found, err);
    if (!rc)
        memcpy(out, found, sizeof(*out));
    return rc;
}

/* Lets one save at a time pass and checks that the vCenter exists. */
static int platform_begin(struct store_tx *tx, const struct platform_seen *seen, struct err *err) {
    int64_t count = 0;
    int rc = store_tx_lock(tx, "platform", err);
    rc = rc ? rc
            : db_query_number(store_tx_conn(tx), "SELECT COUNT(*) FROM vcenters WHERE id = ?", DB_ARGS(db_text(seen->vcenter_id)),
                              &count, err);
    if (rc)
        return rc;
    return count ? 0 : err_set(err, ERR_NOT_FOUND, "there is no such vCenter");
}

struct vsphere_save {
    const struct platform_seen *seen;
    const struct vsphere_cluster *items;
    size_t count;
    struct vsphere_cluster_list before;
    unsigned changed;
};

static const struct vsphere_cluster *vsphere_find_stored(const struct vsphere_save *call, const struct object_ref *ref) {
    for (size_t i = 0; i < call->before.count; i++)
        if (object_ref_eq(&call->before.items[i].ref, ref))
            return &call->before.items[i];
    return NULL;
}

static bool vsphere_is_seen(const struct vsphere_save *call, const struct object_ref *ref) {
    for (size_t i = 0; i < call->count; i++)
        if (object_ref_eq(&call->items[i].ref, ref))
            return true;
    return false;
}

static bool vsphere_is_same(const struct vsphere_cluster *a, const struct vsphere_cluster *b) {
    return str_eq(a->datacenter, b->datacenter) && str_eq(a->name, b->name) && !a->is_gone;
}

static int vsphere_note(struct store_tx *tx, const struct object_ref *ref, struct err *err) {
    char id[UUID_TEXT_BYTES + MOREF_BYTES];
    (void)snprintf(id, sizeof(id), "%s/%s", ref->vcenter_id, ref->moref);
    return store_tx_note_change(tx, CHANGE_VSPHERE_CLUSTER, id, err);
}

static int platform_store_save_item(struct store_tx *tx, struct vsphere_save *call, const struct vsphere_cluster *c,
                                    struct err *err) {
    const struct vsphere_cluster *stored = vsphere_find_stored(call, &c->ref);
    if (stored && vsphere_is_same(stored, c))
        return 0;
    int rc = db_run(
        store_tx_conn(tx),
        "INSERT INTO vsphere_clusters (vcenter_id, moref, datacenter, name, is_gone, seen_at_ms) VALUES (?, ?, ?, ?, 0, ?)"
        " ON DUPLICATE KEY UPDATE datacenter = VALUES(datacenter), name = VALUES(name), is_gone = 0, seen_at_ms = VALUES(seen_at_ms)",
        DB_ARGS(db_text(c->ref.vcenter_id), db_text(c->ref.moref), db_text(c->datacenter), db_text(c->name),
                db_number(call->seen->now_ms)),
        NULL, err);
    call->changed++;
    return rc ? rc : vsphere_note(tx, &c->ref, err);
}

static int vsphere_mark_gone(struct store_tx *tx, struct vsphere_save *call, const struct vsphere_cluster *stored,
                             struct err *err) {
    if (stored->is_gone || vsphere_is_seen(call, &stored->ref))
        return 0;
    call->changed++;
    int rc = db_run(store_tx_conn(tx), "UPDATE vsphere_clusters SET is_gone = 1 WHERE vcenter_id = ? AND moref = ?",
                    DB_ARGS(db_text(stored->ref.vcenter_id), db_text(stored->ref.moref)), NULL, err);
    return rc ? rc : vsphere_note(tx, &stored->ref, err);
}

/* Seen again without any change: nothing that others would have to read anew. */
static int vsphere_touch(struct store_tx *tx, const struct platform_seen *seen, struct err *err) {
    return db_run(store_tx_conn(tx), "UPDATE vsphere_clusters SET seen_at_ms = ? WHERE vcenter_id = ? AND is_gone = 0",
                  DB_ARGS(db_number(seen->now_ms), db_text(seen->vcenter_id)), NULL, err);
}

static int vsphere_save(struct store_tx *tx, void *arg, struct err *err) {
    struct vsphere_save *call = arg;
    call->changed = 0;
    vsphere_cluster_list_done(&call->before);
    struct db_records before = {0};
    int rc = platform_begin(tx, call->seen, err);
    if (!rc)
        rc = db_table_query(store_tx_conn(tx), &vsphere_table, " WHERE vcenter_id = ?" VSPHERE_ORDER,
                            DB_ARGS(db_text(call->seen->vcenter_id)), &before, err);
    call->before = (struct vsphere_cluster_list){before.items, before.count};
    for (size_t i = 0; i < call->count && !rc; i++)
        rc = platform_store_save_item(tx, call, &call->items[i], err);
    for (size_t i = 0; call->seen->is_complete && i < call->before.count && !rc; i++)
        rc = vsphere_mark_gone(tx, call, &call->before.items[i], err);
    return rc || !call->seen->is_complete ? rc : vsphere_touch(tx, call->seen, err);
}

int platform_store_save_vsphere(struct store *store, const struct platform_seen *seen, const struct vsphere_cluster *items,
                                size_t count, unsigned *changed, struct err *err) {
    struct vsphere_save call = {.seen = seen, .items = items, .count = count};
    for (size_t i = 0; i < count; i++)
        if (!str_eq(items[i].ref.vcenter_id, seen->vcenter_id))
            return err_set(err, ERR_INVALID, "a vSphere cluster of another vCenter");
    int rc = store_tx(store, vsphere_save, &call, err);
    vsphere_cluster_list_done(&call.before);
    if (!rc)
        *changed = call.changed;
    return rc;
}

/* -- HyperFlex clusters ------------------------------------------------------------------------- */

#define HX_ORDER " ORDER BY name, id"

static const struct db_table hx_table = {
    .name = "hx_clusters", .noun = "HX cluster", .members = hx_cluster_members, .bytes = sizeof(struct hx_cluster)};

void hx_cluster_list_done(struct hx_cluster_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        hx_cluster_done(&list->items[i]);
    free(list->items);
    *list = (struct hx_cluster_list){0};
}

int platform_store_list_hx(struct store *store, const char *vcenter_id, struct hx_cluster_list *out, struct err *err) {
    return db_table_list(store, &hx_table, vcenter_id ? " WHERE vcenter_id = ?" HX_ORDER : HX_ORDER,
                         vcenter_id ? DB_ARGS(db_text(vcenter_id)) : DB_ARGS_NONE, &out->items, &out->count, err);
}

int platform_store_load_hx(struct store *store, const char *id, struct hx_cluster **out, struct err *err) {
    return db_table_load(store, &hx_table, " WHERE id = ?", DB_ARGS(db_text(id)), out, err);
}

struct hx_save {
    const struct platform_seen *seen;
    const struct hx_cluster *items;
    size_t count;
    struct hx_cluster_list before;
    unsigned changed;
};

static const struct hx_cluster *hx_find_stored(const struct hx_save *call, const struct object_ref *ref) {
    for (size_t i = 0; i < call->before.count; i++)
        if (object_ref_eq(&call->before.items[i].vsphere_cluster, ref))
            return &call->before.items[i];
    return NULL;
}

static bool hx_is_seen(const struct hx_save *call, const struct object_ref *ref) {
    for (size_t i = 0; i < call->count; i++)
        if (object_ref_eq(&call->items[i].vsphere_cluster, ref))
            return true;
    return false;
}

static int hx_insert(struct store_tx *tx, struct hx_save *call, const struct hx_cluster *hx, struct err *err) {
    call->changed++;
    struct hx_cluster row = *hx;
    row.is_gone = false;
    row.seen_at_ms = call->seen->now_ms;
    int rc = db_table_insert(store_tx_conn(tx), &hx_table, &row, DB_MORE_NONE, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, hx->id, err);
}

/* The name as it will be: one that was set stays, unless the new one was set too. */
static const char *merged_name(const struct hx_cluster *stored, const struct hx_cluster *hx) {
    return stored->is_name_set && !hx->is_name_set ? stored->name : hx->name;
}

static bool hx_is_same(const struct hx_cluster *stored, const struct hx_cluster *hx) {
    return !stored->is_gone && str_eq(stored->name, merged_name(stored, hx)) && stored->is_name_set >= hx->is_name_set &&
           (!hx->hx_uuid || str_eq(stored->hx_uuid, hx->hx_uuid)) &&
           (!hx->extension_key || str_eq(stored->extension_key, hx->extension_key));
}

static int platform_store_refresh(struct store_tx *tx, struct hx_save *call, const struct hx_cluster *stored,
                                  const struct hx_cluster *hx, struct err *err) {
    if (hx_is_same(stored, hx))
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

static int hx_mark_gone(struct store_tx *tx, struct hx_save *call, const struct hx_cluster *stored, struct err *err) {
    if (stored->is_gone || hx_is_seen(call, &stored->vsphere_cluster))
        return 0;
    call->changed++;
    int rc = db_run(store_tx_conn(tx), "UPDATE hx_clusters SET is_gone = 1, version_no = version_no + 1 WHERE id = ?",
                    DB_ARGS(db_text(stored->id)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, stored->id, err);
}

/* Seen again without any change: nothing that others would have to read anew. */
static int hx_touch(struct store_tx *tx, const struct platform_seen *seen, struct err *err) {
    return db_run(store_tx_conn(tx), "UPDATE hx_clusters SET seen_at_ms = ? WHERE vcenter_id = ? AND is_gone = 0",
                  DB_ARGS(db_number(seen->now_ms), db_text(seen->vcenter_id)), NULL, err);
}

static int hx_save(struct store_tx *tx, void *arg, struct err *err) {
    struct hx_save *call = arg;
    call->changed = 0;
    hx_cluster_list_done(&call->before);
    struct db_records before = {0};
    int rc = platform_begin(tx, call->seen, err);
    if (!rc)
        rc = db_table_query(store_tx_conn(tx), &hx_table, " WHERE vcenter_id = ?" HX_ORDER,
                            DB_ARGS(db_text(call->seen->vcenter_id)), &before, err);
    call->before = (struct hx_cluster_list){before.items, before.count};
    for (size_t i = 0; i < call->count && !rc; i++) {
        const struct hx_cluster *stored = hx_find_stored(call, &call->items[i].vsphere_cluster);
        rc = stored ? platform_store_refresh(tx, call, stored, &call->items[i], err) : hx_insert(tx, call, &call->items[i], err);
    }
    for (size_t i = 0; call->seen->is_complete && i < call->before.count && !rc; i++)
        rc = hx_mark_gone(tx, call, &call->before.items[i], err);
    return rc || !call->seen->is_complete ? rc : hx_touch(tx, call->seen, err);
}

int platform_store_save_hx(struct store *store, const struct platform_seen *seen, const struct hx_cluster *items, size_t count,
                           unsigned *changed, struct err *err) {
    struct hx_save call = {.seen = seen, .items = items, .count = count};
    for (size_t i = 0; i < count; i++)
        if (!str_eq(items[i].vsphere_cluster.vcenter_id, seen->vcenter_id))
            return err_set(err, ERR_INVALID, "an HX cluster of another vCenter");
    int rc = store_tx(store, hx_save, &call, err);
    hx_cluster_list_done(&call.before);
    if (!rc)
        *changed = call.changed;
    return rc;
}

struct hx_update {
    const struct hx_cluster *hx;
    const struct audit_record *audit;
};

static int hx_update(struct store_tx *tx, void *arg, struct err *err) {
    const struct hx_update *call = arg;
    const struct hx_cluster *hx = call->hx;
    int rc = db_table_update(store_tx_conn(tx), &hx_table, hx, DB_MORE_NONE, err);
    rc = rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, hx->id, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int platform_store_update_hx(struct store *store, const struct hx_cluster *hx, const struct audit_record *audit,
                             int64_t *version_no, struct err *err) {
    struct hx_update call = {hx, audit};
    int rc = store_tx(store, hx_update, &call, err);
    if (!rc)
        *version_no = hx->version_no + 1;
    return rc;
}
