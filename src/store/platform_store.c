/* vSphere clusters. HyperFlex clusters are in hx_cluster_store.c. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform_store.h"

#include <stdlib.h>
#include <string.h>

#include "db_stmt.h"
#include "platform_tx.h"
#include "store_tx.h"
#include "str.h"
#include "uuid.h"

#define SELECT_VSPHERE "SELECT vcenter_id, moref, datacenter, name, is_gone FROM vsphere_clusters"
#define ORDER " ORDER BY vcenter_id, moref"
#define COLUMN_KINDS "tttti"

void vsphere_cluster_list_done(struct vsphere_cluster_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        vsphere_cluster_done(&list->items[i]);
    free(list->items);
    *list = (struct vsphere_cluster_list){0};
}

static int add_cluster(const struct db_row *row, void *arg, struct err *err) {
    struct vsphere_cluster_list *list = arg;
    void *items = list->items;
    struct vsphere_cluster *c = db_list_add(&items, &list->count, sizeof(*c));
    list->items = items;
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory");
    db_row_copy(row, 0, c->ref.vcenter_id, sizeof(c->ref.vcenter_id));
    db_row_copy(row, 1, c->ref.moref, sizeof(c->ref.moref));
    c->datacenter = db_row_dup(row, 2);
    c->name = db_row_dup(row, 3);
    c->is_gone = db_row_number(row, 4) != 0;
    return 0;
}

struct load {
    const char *vcenter_id;
    const struct object_ref *ref;
    struct vsphere_cluster_list list;
};

static int load_of_vcenter(struct db_conn *conn, struct load *call, struct err *err) {
    return db_query(conn,
                    &(struct db_query){.sql = SELECT_VSPHERE " WHERE vcenter_id = ?" ORDER,
                                       .args = DB_ARGS(db_text(call->vcenter_id)),
                                       .columns = COLUMN_KINDS,
                                       .row = add_cluster,
                                       .arg = &call->list},
                    err);
}

static int load_list(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    vsphere_cluster_list_done(&call->list);
    if (call->vcenter_id)
        return load_of_vcenter(conn, call, err);
    return db_query(
        conn, &(struct db_query){.sql = SELECT_VSPHERE ORDER, .columns = COLUMN_KINDS, .row = add_cluster, .arg = &call->list},
        err);
}

int platform_store_list_vsphere(struct store *store, const char *vcenter_id, struct vsphere_cluster_list *out, struct err *err) {
    struct load call = {.vcenter_id = vcenter_id};
    int rc = store_read(store, load_list, &call, err);
    if (rc)
        vsphere_cluster_list_done(&call.list);
    else
        *out = call.list;
    return rc;
}

static int load_one(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    vsphere_cluster_list_done(&call->list);
    return db_query_one(conn,
                        &(struct db_query){.sql = SELECT_VSPHERE " WHERE vcenter_id = ? AND moref = ?",
                                           .args = DB_ARGS(db_text(call->ref->vcenter_id), db_text(call->ref->moref)),
                                           .columns = COLUMN_KINDS,
                                           .row = add_cluster,
                                           .arg = &call->list},
                        "there is no such vSphere cluster", err);
}

int platform_store_load_vsphere(struct store *store, const struct object_ref *ref, struct vsphere_cluster *out, struct err *err) {
    struct load call = {.ref = ref};
    int rc = store_read(store, load_one, &call, err);
    if (rc) {
        vsphere_cluster_list_done(&call.list);
        return rc;
    }
    *out = call.list.items[0];
    free(call.list.items);
    return 0;
}

int platform_tx_begin(struct store_tx *tx, const struct platform_seen *seen, struct err *err) {
    int64_t count = 0;
    int rc = store_tx_lock(tx, "platform", err);
    rc = rc ? rc
            : db_query(store_tx_conn(tx),
                       &(struct db_query){.sql = "SELECT COUNT(*) FROM vcenters WHERE id = ?",
                                          .args = DB_ARGS(db_text(seen->vcenter_id)),
                                          .columns = "i",
                                          .row = db_take_number,
                                          .arg = &count},
                       err);
    if (rc)
        return rc;
    return count ? 0 : err_set(err, ERR_NOT_FOUND, "there is no such vCenter");
}

struct save {
    const struct platform_seen *seen;
    const struct vsphere_cluster *items;
    size_t count;
    struct load before;
    unsigned changed;
};

static const struct vsphere_cluster *find_stored(const struct save *call, const struct object_ref *ref) {
    for (size_t i = 0; i < call->before.list.count; i++)
        if (object_ref_eq(&call->before.list.items[i].ref, ref))
            return &call->before.list.items[i];
    return NULL;
}

static bool is_seen(const struct save *call, const struct object_ref *ref) {
    for (size_t i = 0; i < call->count; i++)
        if (object_ref_eq(&call->items[i].ref, ref))
            return true;
    return false;
}

static bool is_same(const struct vsphere_cluster *a, const struct vsphere_cluster *b) {
    return str_eq(a->datacenter, b->datacenter) && str_eq(a->name, b->name) && !a->is_gone;
}

static int note(struct store_tx *tx, const struct object_ref *ref, struct err *err) {
    char id[UUID_TEXT_BYTES + MOREF_BYTES];
    (void)snprintf(id, sizeof(id), "%s/%s", ref->vcenter_id, ref->moref);
    return store_tx_note_change(tx, CHANGE_VSPHERE_CLUSTER, id, err);
}

static int save_item(struct store_tx *tx, struct save *call, const struct vsphere_cluster *c, struct err *err) {
    const struct vsphere_cluster *stored = find_stored(call, &c->ref);
    if (stored && is_same(stored, c))
        return 0;
    int rc = db_run(
        store_tx_conn(tx),
        "INSERT INTO vsphere_clusters (vcenter_id, moref, datacenter, name, is_gone, seen_at_ms) VALUES (?, ?, ?, ?, 0, ?)"
        " ON DUPLICATE KEY UPDATE datacenter = VALUES(datacenter), name = VALUES(name), is_gone = 0, seen_at_ms = VALUES(seen_at_ms)",
        DB_ARGS(db_text(c->ref.vcenter_id), db_text(c->ref.moref), db_text(c->datacenter), db_text(c->name),
                db_number(call->seen->now_ms)),
        NULL, err);
    call->changed++;
    return rc ? rc : note(tx, &c->ref, err);
}

static int mark_gone(struct store_tx *tx, struct save *call, const struct vsphere_cluster *stored, struct err *err) {
    if (stored->is_gone || is_seen(call, &stored->ref))
        return 0;
    call->changed++;
    int rc = db_run(store_tx_conn(tx), "UPDATE vsphere_clusters SET is_gone = 1 WHERE vcenter_id = ? AND moref = ?",
                    DB_ARGS(db_text(stored->ref.vcenter_id), db_text(stored->ref.moref)), NULL, err);
    return rc ? rc : note(tx, &stored->ref, err);
}

/* Seen again without any change: nothing that others would have to read anew. */
static int touch(struct store_tx *tx, const struct platform_seen *seen, struct err *err) {
    return db_run(store_tx_conn(tx), "UPDATE vsphere_clusters SET seen_at_ms = ? WHERE vcenter_id = ? AND is_gone = 0",
                  DB_ARGS(db_number(seen->now_ms), db_text(seen->vcenter_id)), NULL, err);
}

static int save(struct store_tx *tx, void *arg, struct err *err) {
    struct save *call = arg;
    call->changed = 0;
    vsphere_cluster_list_done(&call->before.list);
    int rc = platform_tx_begin(tx, call->seen, err);
    rc = rc ? rc : load_of_vcenter(store_tx_conn(tx), &call->before, err);
    for (size_t i = 0; i < call->count && !rc; i++)
        rc = save_item(tx, call, &call->items[i], err);
    for (size_t i = 0; call->seen->is_complete && i < call->before.list.count && !rc; i++)
        rc = mark_gone(tx, call, &call->before.list.items[i], err);
    return rc || !call->seen->is_complete ? rc : touch(tx, call->seen, err);
}

int platform_store_save_vsphere(struct store *store, const struct platform_seen *seen, const struct vsphere_cluster *items,
                                size_t count, unsigned *changed, struct err *err) {
    struct save call = {.seen = seen, .items = items, .count = count, .before = {.vcenter_id = seen->vcenter_id}};
    for (size_t i = 0; i < count; i++)
        if (!str_eq(items[i].ref.vcenter_id, seen->vcenter_id))
            return err_set(err, ERR_INVALID, "a vSphere cluster of another vCenter");
    int rc = store_tx(store, save, &call, err);
    vsphere_cluster_list_done(&call.before.list);
    if (!rc)
        *changed = call.changed;
    return rc;
}
