/* Role mappings. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "role_mapping_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_table.h"
#include "store_tx.h"

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
    struct db_records found;
    int rc = db_table_list(store, &role_mapping_table, " ORDER BY kind, subject_id, privilege", DB_ARGS_NONE, &found, err);
    if (!rc)
        *out = (struct role_mapping_list){found.items, found.count};
    return rc;
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
