/* Permission grants and role mappings. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "grant_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_table.h"
#include "object_ref.h"
#include "store_tx.h"

#define GRANT_ORDER " ORDER BY principal_id, object_kind, object_id"

static const struct db_table grant_table = {
    .name = "grants", .noun = "grant", .members = grant_members, .bytes = sizeof(struct grant)};

void grant_list_done(struct grant_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        grant_done(&list->items[i]);
    free(list->items);
    *list = (struct grant_list){0};
}

static int grant_list_rows(struct store *store, const char *rest, struct db_args args, struct grant_list *out, struct err *err) {
    return db_table_list(store, &grant_table, rest, args, &out->items, &out->count, err);
}

int grant_store_list(struct store *store, struct grant_list *out, struct err *err) {
    return grant_list_rows(store, GRANT_ORDER, DB_ARGS_NONE, out, err);
}

int grant_store_load(struct store *store, const char *id, struct grant *out, struct err *err) {
    _cleanup_free_ void *found = NULL;
    int rc = db_table_load(store, &grant_table, " WHERE id = ?", DB_ARGS(db_text(id)), &found, err);
    if (!rc)
        memcpy(out, found, sizeof(*out));
    return rc;
}

struct grant_write {
    const struct grant *grant;
    struct object_ref ref; /* for a vSphere cluster */
    int64_t now_ms;
    const struct audit_record *audit;
};

static int grant_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct grant_write *call = arg;
    const struct grant *g = call->grant;
    const bool is_vsphere = g->object == GRANT_VSPHERE_CLUSTER;
    struct grant row = *g;
    row.created_at_ms = call->now_ms;
    int rc = db_table_insert(store_tx_conn(tx), &grant_table, &row,
                             DB_MORE({"cluster_id", db_text(g->object == GRANT_CLUSTER ? g->object_id : NULL), NULL},
                                     {"vcenter_id", db_text(is_vsphere ? call->ref.vcenter_id : NULL), NULL},
                                     {"moref", db_text(is_vsphere ? call->ref.moref : NULL), NULL},
                                     {"hx_cluster_id", db_text(g->object == GRANT_HX_CLUSTER ? g->object_id : NULL), NULL}),
                             err);
    db_explain(rc, ERR_EXISTS, err, "there is a grant for this principal on this object already");
    db_explain(rc, ERR_CONFLICT, err, "there is no %s \"%s\" to grant on", grant_object_name(g->object), g->object_id);
    rc = rc ? rc : store_tx_note_change(tx, CHANGE_GRANT, g->id, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int grant_store_insert(struct store *store, const struct grant *g, int64_t now_ms, const struct audit_record *audit,
                       struct err *err) {
    struct grant_write call = {.grant = g, .now_ms = now_ms, .audit = audit};
    int rc = g->object == GRANT_VSPHERE_CLUSTER ? grant_vsphere_ref(g->object_id, &call.ref, err) : 0;
    return rc ? rc : store_tx(store, grant_insert, &call, err);
}

struct grant_removal {
    const char *id;
    const struct audit_record *audit;
};

static int remove_grant(struct store_tx *tx, void *arg, struct err *err) {
    const struct grant_removal *call = arg;
    int rc = db_run_one(store_tx_conn(tx), "DELETE FROM grants WHERE id = ?", DB_ARGS(db_text(call->id)),
                        "there is no such grant", err);
    rc = rc ? rc : store_tx_note_change(tx, CHANGE_GRANT, call->id, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int grant_store_delete(struct store *store, const char *id, const struct audit_record *audit, struct err *err) {
    struct grant_removal call = {id, audit};
    return store_tx(store, remove_grant, &call, err);
}

/* -- role mappings ------------------------------------------------------------------------------------------------- */

static const struct db_table role_mapping_table = {
    .name = "role_mappings", .noun = "role mapping", .members = role_mapping_members, .bytes = sizeof(struct role_mapping)};

void role_mapping_list_done(struct role_mapping_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        role_mapping_done(&list->items[i]);
    free(list->items);
    *list = (struct role_mapping_list){0};
}

int role_mapping_store_list(struct store *store, struct role_mapping_list *out, struct err *err) {
    return db_table_list(store, &role_mapping_table, " ORDER BY kind, subject_id, privilege", DB_ARGS_NONE, &out->items,
                         &out->count, err);
}

int role_mapping_store_load(struct store *store, const char *id, struct role_mapping *out, struct err *err) {
    _cleanup_free_ void *found = NULL;
    int rc = db_table_load(store, &role_mapping_table, " WHERE id = ?", DB_ARGS(db_text(id)), &found, err);
    if (!rc)
        memcpy(out, found, sizeof(*out));
    return rc;
}

struct role_mapping_write {
    const struct role_mapping *mapping;
    const struct audit_record *audit;
};

static int role_mapping_finish(struct store_tx *tx, const char *id, const struct audit_record *audit, struct err *err) {
    int rc = store_tx_note_change(tx, CHANGE_ROLE_MAPPING, id, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static int role_mapping_check_room(struct store_tx *tx, struct err *err) {
    int64_t count = 0;
    int rc = db_query_number(store_tx_conn(tx), "SELECT COUNT(*) FROM role_mappings", DB_ARGS_NONE, &count, err);
    if (!rc && count >= ROLE_MAPPINGS_MAX)
        rc = err_set(err, ERR_CONFLICT, "there may be no more than %u role mappings", ROLE_MAPPINGS_MAX);
    return rc;
}

static int role_mapping_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct role_mapping_write *call = arg;
    const struct role_mapping *m = call->mapping;
    int rc = role_mapping_check_room(tx, err);
    if (rc)
        return rc;
    rc = db_table_insert(store_tx_conn(tx), &role_mapping_table, m, DB_MORE_NONE, err);
    db_explain(rc, ERR_EXISTS, err, "there is a role mapping for \"%s\" already", m->subject_id);
    return rc ? rc : role_mapping_finish(tx, m->id, call->audit, err);
}

int role_mapping_store_insert(struct store *store, const struct role_mapping *m, const struct audit_record *audit,
                              struct err *err) {
    return store_tx(store, role_mapping_insert, &(struct role_mapping_write){m, audit}, err);
}

static int role_mapping_update(struct store_tx *tx, void *arg, struct err *err) {
    const struct role_mapping_write *call = arg;
    int rc = db_table_update(store_tx_conn(tx), &role_mapping_table, call->mapping, DB_MORE_NONE, err);
    return rc ? rc : role_mapping_finish(tx, call->mapping->id, call->audit, err);
}

int role_mapping_store_update(struct store *store, const struct role_mapping *m, const struct audit_record *audit,
                              struct err *err) {
    return store_tx(store, role_mapping_update, &(struct role_mapping_write){m, audit}, err);
}

static int role_mapping_remove_one(struct store_tx *tx, void *arg, struct err *err) {
    const struct role_mapping_removal *call = arg;
    int rc = db_table_delete(store_tx_conn(tx), &role_mapping_table, call->id, call->version_no, err);
    return rc ? rc : role_mapping_finish(tx, call->id, call->audit, err);
}

int role_mapping_store_delete(struct store *store, const struct role_mapping_removal *removal, struct err *err) {
    struct role_mapping_removal call = *removal;
    return store_tx(store, role_mapping_remove_one, &call, err);
}
