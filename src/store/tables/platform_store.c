/* vSphere and HyperFlex clusters. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform_store.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "cluster_tx.h"
#include "record_tx.h"
#include "str.h"
#include "uuid.h"

#define VSPHERE_ORDER " ORDER BY vcenter_id, moref"
#define HX_ORDER " ORDER BY name, id"

const struct db_table vsphere_cluster_table = {.name = "vsphere_clusters",
                                               .noun = "vSphere cluster",
                                               .members = vsphere_cluster_members,
                                               .bytes = sizeof(struct vsphere_cluster)};

/* Where it is read stands with its connection. */
static int hx_read_connection(const struct db_row *row, size_t first, void *record, struct err *err) {
    (void)err;
    struct hx_cluster *hx = record;
    hx->connection_address = db_row_dup(row, first);
    hx->connection_port = (unsigned)db_row_number(row, first + 1);
    return 0;
}

const struct db_table hx_cluster_table = {.name = "hx_clusters",
                                          .noun = "HX cluster",
                                          .members = hx_cluster_members,
                                          .bytes = sizeof(struct hx_cluster),
                                          .more =
                                              ", (SELECT c.address FROM hx_connections c WHERE c.hx_cluster_id = hx_clusters.id)"
                                              ", (SELECT c.port FROM hx_connections c WHERE c.hx_cluster_id = hx_clusters.id)",
                                          .more_kinds = "ti",
                                          .read_more = hx_read_connection};

DB_LIST_DEFINE(vsphere_cluster_list, vsphere_cluster_done);
DB_LIST_DEFINE(hx_cluster_list, hx_cluster_done);

int platform_store_list_vsphere(struct store *store, const char *vcenter_id, struct vsphere_cluster_list *out, struct err *err) {
    return db_table_list(store, &vsphere_cluster_table, vcenter_id ? " WHERE vcenter_id = ?" VSPHERE_ORDER : VSPHERE_ORDER,
                         vcenter_id ? DB_ARGS(db_text(vcenter_id)) : DB_ARGS_NONE, &out->items, &out->count, err);
}

int platform_store_list_hx(struct store *store, const char *vcenter_id, struct hx_cluster_list *out, struct err *err) {
    return db_table_list(store, &hx_cluster_table, vcenter_id ? " WHERE vcenter_id = ?" HX_ORDER : HX_ORDER,
                         vcenter_id ? DB_ARGS(db_text(vcenter_id)) : DB_ARGS_NONE, &out->items, &out->count, err);
}

int platform_store_load_vsphere(struct store *store, const struct object_ref *ref, struct vsphere_cluster *out, struct err *err) {
    _cleanup_free_ void *found = NULL;
    int rc = db_table_load(store, &vsphere_cluster_table, " WHERE vcenter_id = ? AND moref = ?",
                           DB_ARGS(db_text(ref->vcenter_id), db_text(ref->moref)), &found, err);
    if (!rc)
        memcpy(out, found, sizeof(*out));
    return rc;
}

int platform_store_list_hx_aliases(struct store *store, struct hx_alias_list *out, struct err *err) {
    static const struct db_table table = {
        .name = "hx_aliases", .noun = "alias", .members = hx_alias_members, .bytes = sizeof(struct hx_alias)};
    return db_table_list(store, &table, " ORDER BY id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int platform_store_load_hx(struct store *store, const char *id, struct hx_cluster **out, struct err *err) {
    return db_table_load(store, &hx_cluster_table, " WHERE id = ?", DB_ARGS(db_text(id)), out, err);
}

/* -- saving what was seen: either kind, by its row --------------------------------------------------------------------------- */

struct platform_kind {
    const struct db_table *table;
    size_t ref_at; /* of the object_ref by which what is seen and what is stored are one */
    bool (*is_gone)(const void *stored);
    /* Writes and notes what is seen, if it differs; `stored` is NULL for a new one. *is_written tells. */
    int (*save)(struct store_tx *tx, int64_t now_ms, const void *stored, const void *seen, bool *is_written, struct err *err);
    int (*mark_gone)(struct store_tx *tx, const void *stored, struct err *err);
    void (*names)(const void *seen, const char *out[4]); /* what others call it; NULL behind the last */
    const char *touch; /* seen again without any change: nothing that others would have to read anew */
};

struct platform_save {
    const struct platform_kind *kind;
    const struct platform_seen *seen;
    const void *items;
    size_t count;
    unsigned changed;
};

/* Records of one vCenter in order of their managed object ids: there may be very many of either side. */
struct platform_index {
    struct placed {
        const char *moref;
        const void *record;
    } * items;
    size_t count;
};

static const char *platform_moref(const struct platform_kind *kind, const void *record) {
    return ((const struct object_ref *)(const void *)((const char *)record + kind->ref_at))->moref;
}

static int platform_compare_placed(const void *a, const void *b) {
    return strcmp(((const struct placed *)a)->moref, ((const struct placed *)b)->moref);
}

static int platform_index_make(const struct platform_kind *kind, const void *records, size_t count, struct platform_index *out,
                               struct err *err) {
    out->items = calloc(count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const char *record = (const char *)records + i * kind->table->bytes;
        out->items[out->count++] = (struct placed){platform_moref(kind, record), record};
    }
    if (count > 1)
        qsort(out->items, count, sizeof(*out->items), platform_compare_placed);
    return 0;
}

static void platform_index_done(struct platform_index *index) {
    free(index->items);
}

/* The one with this managed object id, or NULL. */
static const void *platform_index_find(const struct platform_index *index, const char *moref) {
    const struct placed wanted = {.moref = moref}, *found = index->count ? bsearch(&wanted, index->items, index->count,
                                                                                   sizeof(wanted), platform_compare_placed)
                                                                         : NULL;
    return found ? found->record : NULL;
}

/* Returns what is left of the error. */
static int platform_note_refused(const struct platform_save *call, const char *item, struct err *why) {
    const struct object_ref *ref = (const void *)(item + call->kind->ref_at);
    const char *names[4] = {NULL};
    call->kind->names(item, names);
    return refused_rows_note(call->seen->refused, ref->moref, names, why);
}

static int platform_save_all(struct store_tx *tx, struct platform_save *call, const struct db_records *before, struct err *err) {
    const struct platform_kind *kind = call->kind;
    _cleanup_done_(platform_index_done) struct platform_index stored = {0}, seen = {0};
    int rc = platform_index_make(kind, before->items, before->count, &stored, err);
    rc = rc ? rc : platform_index_make(kind, call->items, call->count, &seen, err);
    for (size_t i = 0; i < call->count && !rc; i++) {
        const char *item = (const char *)call->items + i * kind->table->bytes;
        bool is_written = false;
        struct err why = {0};
        rc =
            kind->save(tx, call->seen->now_ms, platform_index_find(&stored, platform_moref(kind, item)), item, &is_written, &why);
        call->changed += is_written && !rc;
        if (rc)
            rc = err_move(err, platform_note_refused(call, item, &why), &why);
    }
    for (size_t i = 0; call->seen->is_complete && i < before->count && !rc; i++) {
        const char *was = (const char *)before->items + i * kind->table->bytes;
        if (kind->is_gone(was) || platform_index_find(&seen, platform_moref(kind, was)))
            continue;
        call->changed++;
        rc = kind->mark_gone(tx, was, err);
    }
    if (rc || !call->seen->is_complete)
        return rc;
    return db_run(store_tx_conn(tx), kind->touch, DB_ARGS(db_number(call->seen->now_ms), db_text(call->seen->vcenter_id)), NULL,
                  err);
}

/* Lets one save at a time pass. */
static int platform_save(struct store_tx *tx, void *arg, struct err *err) {
    struct platform_save *call = arg;
    struct db_records before = {0};
    call->changed = 0;
    if (call->seen->refused)
        *call->seen->refused = (struct refused_rows){0};
    int rc = store_tx_lock(tx, "platform", err);
    rc = rc ? rc : db_table_check(store_tx_conn(tx), &vcenter_table, call->seen->vcenter_id, err);
    rc = rc ? rc
            : db_table_query(store_tx_conn(tx), call->kind->table, " WHERE vcenter_id = ?",
                             DB_ARGS(db_text(call->seen->vcenter_id)), &before, err);
    rc = rc ? rc : platform_save_all(tx, call, &before, err);
    db_records_done(call->kind->table, &before);
    return rc;
}

static int platform_store_save(struct store *store, struct platform_save *call, unsigned *changed, struct err *err) {
    for (size_t i = 0; i < call->count; i++) {
        const char *item = (const char *)call->items + i * call->kind->table->bytes;
        if (!str_eq(((const struct object_ref *)(const void *)(item + call->kind->ref_at))->vcenter_id, call->seen->vcenter_id))
            return err_set(err, ERR_INVALID, "a %s of another vCenter", call->kind->table->noun);
    }
    int rc = store_tx(store, platform_save, call, err);
    if (!rc)
        *changed = call->changed;
    return rc;
}

/* -- vSphere clusters -------------------------------------------------------------------------------------------------------- */

static int vsphere_note(struct store_tx *tx, const struct object_ref *ref, struct err *err) {
    char id[UUID_TEXT_BYTES + MOREF_BYTES];
    (void)snprintf(id, sizeof(id), "%s/%s", ref->vcenter_id, ref->moref);
    return store_tx_note_change(tx, CHANGE_VSPHERE_CLUSTER, id, err);
}

static bool vsphere_is_gone(const void *stored) {
    return ((const struct vsphere_cluster *)stored)->is_gone;
}

static int vsphere_save(struct store_tx *tx, int64_t now_ms, const void *stored, const void *seen, bool *is_written,
                        struct err *err) {
    const struct vsphere_cluster *was = stored, *c = seen;
    if (was && !was->is_gone && str_eq(was->datacenter, c->datacenter) && str_eq(was->datacenter_moref, c->datacenter_moref) &&
        str_eq(was->name, c->name))
        return 0;
    *is_written = true;
    int rc = db_run(store_tx_conn(tx),
                    "INSERT INTO vsphere_clusters (vcenter_id, moref, datacenter_moref, datacenter, name, is_gone, seen_at_ms)"
                    " VALUES (?, ?, ?, ?, ?, 0, ?) ON DUPLICATE KEY UPDATE datacenter_moref = VALUES(datacenter_moref),"
                    " datacenter = VALUES(datacenter), name = VALUES(name), is_gone = 0, seen_at_ms = VALUES(seen_at_ms)",
                    DB_ARGS(db_text(c->ref.vcenter_id), db_text(c->ref.moref), db_text(c->datacenter_moref),
                            db_text(c->datacenter), db_text(c->name), db_number(now_ms)),
                    NULL, err);
    return rc ? rc : vsphere_note(tx, &c->ref, err);
}

static int vsphere_mark_gone(struct store_tx *tx, const void *stored, struct err *err) {
    const struct vsphere_cluster *was = stored;
    int rc = db_run(store_tx_conn(tx), "UPDATE vsphere_clusters SET is_gone = 1 WHERE vcenter_id = ? AND moref = ?",
                    DB_ARGS(db_text(was->ref.vcenter_id), db_text(was->ref.moref)), NULL, err);
    return rc ? rc : vsphere_note(tx, &was->ref, err);
}

static void vsphere_names(const void *seen, const char *out[4]) {
    const struct vsphere_cluster *c = seen;
    out[0] = c->name;
    out[1] = c->datacenter;
}

int platform_store_save_vsphere(struct store *store, const struct platform_seen *seen, const struct vsphere_cluster *items,
                                size_t count, unsigned *changed, struct err *err) {
    static const struct platform_kind kind = {&vsphere_cluster_table,
                                              offsetof(struct vsphere_cluster, ref),
                                              vsphere_is_gone,
                                              vsphere_save,
                                              vsphere_mark_gone,
                                              vsphere_names,
                                              "UPDATE vsphere_clusters SET seen_at_ms = ? WHERE vcenter_id = ? AND is_gone = 0"};
    return platform_store_save(store, &(struct platform_save){&kind, seen, items, count, 0}, changed, err);
}

/* -- HyperFlex clusters ------------------------------------------------------------------------- */

static bool hx_is_gone(const void *stored) {
    return ((const struct hx_cluster *)stored)->is_gone;
}

static int hx_save(struct store_tx *tx, int64_t now_ms, const void *stored, const void *seen, bool *is_written, struct err *err) {
    const struct hx_cluster *was = stored, *hx = seen;
    if (!was) {
        struct hx_cluster row = *hx;
        row.is_gone = false;
        row.seen_at_ms = now_ms;
        *is_written = true;
        int rc = db_table_insert(store_tx_conn(tx), &hx_cluster_table, &row, DB_MORE_NONE, err);
        return rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, hx->id, err);
    }
    /* a name that was set stays, unless the new one was set too */
    const char *name = was->is_name_set && !hx->is_name_set ? was->name : hx->name;
    if (!was->is_gone && str_eq(was->name, name) && was->is_name_set >= hx->is_name_set &&
        (!hx->hx_uuid || str_eq(was->hx_uuid, hx->hx_uuid)) &&
        (!hx->extension_key || str_eq(was->extension_key, hx->extension_key)))
        return 0;
    *is_written = true;
    int rc = db_run(
        store_tx_conn(tx),
        "UPDATE hx_clusters SET name = ?, is_name_set = ?, hx_uuid = COALESCE(?, hx_uuid), extension_key = COALESCE(?, extension_key),"
        " is_gone = 0, seen_at_ms = ?, version_no = version_no + 1 WHERE id = ?",
        DB_ARGS(db_text(name), db_number(was->is_name_set || hx->is_name_set), db_text(hx->hx_uuid), db_text(hx->extension_key),
                db_number(now_ms), db_text(was->id)),
        NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, was->id, err);
}

static int hx_mark_gone(struct store_tx *tx, const void *stored, struct err *err) {
    const struct hx_cluster *was = stored;
    int rc = db_run(store_tx_conn(tx), "UPDATE hx_clusters SET is_gone = 1, version_no = version_no + 1 WHERE id = ?",
                    DB_ARGS(db_text(was->id)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_HX_CLUSTER, was->id, err);
}

static void hx_names(const void *seen, const char *out[4]) {
    out[0] = ((const struct hx_cluster *)seen)->name;
}

int platform_store_save_hx(struct store *store, const struct platform_seen *seen, const struct hx_cluster *items, size_t count,
                           unsigned *changed, struct err *err) {
    static const struct platform_kind kind = {&hx_cluster_table,
                                              offsetof(struct hx_cluster, vsphere_cluster),
                                              hx_is_gone,
                                              hx_save,
                                              hx_mark_gone,
                                              hx_names,
                                              "UPDATE hx_clusters SET seen_at_ms = ? WHERE vcenter_id = ? AND is_gone = 0"};
    return platform_store_save(store, &(struct platform_save){&kind, seen, items, count, 0}, changed, err);
}

int platform_store_update_hx(struct store *store, const struct hx_cluster *hx, const struct audit_record *audit,
                             int64_t *version_no, struct err *err) {
    int rc = record_store_write(
        store,
        &(struct record_write){
            .table = &hx_cluster_table, .how = RECORD_UPDATE, .record = hx, .change = CHANGE_HX_CLUSTER, .audit = audit},
        err);
    if (!rc)
        *version_no = hx->version_no + 1;
    return rc;
}
