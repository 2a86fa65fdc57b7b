/* Directories that people sign in by. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldap_store.h"

#include <stdlib.h>

#include "record_tx.h"

static void ldap_store_row_done(void *record) {
    struct ldap_row *row = record;
    ldap_source_done(&row->source);
    free(row->sealed);
    *row = (struct ldap_row){0};
}

void ldap_row_free(struct ldap_row *row) {
    if (!row)
        return;
    ldap_store_row_done(row);
    free(row);
}

DB_LIST_DEFINE(ldap_row_list, ldap_store_row_done);

static int ldap_read_sealed(const struct db_row *row, size_t first, void *record, struct err *err) {
    struct ldap_row *item = record;
    (void)err;
    item->sealed = db_row_dup_bytes(row, first, &item->sealed_bytes);
    item->source.has_password = item->sealed != NULL;
    return 0;
}

static const struct db_table ldap_table = {.name = "ldap_sources",
                                           .noun = "directory",
                                           .members = ldap_source_members,
                                           .bytes = sizeof(struct ldap_row),
                                           .more = ", sealed",
                                           .more_kinds = "b",
                                           .read_more = ldap_read_sealed,
                                           .done = ldap_store_row_done};

/* -- reading --------------------------------------------------------------------------------------------------------------- */

int ldap_store_list(struct store *store, struct ldap_row_list *out, struct err *err) {
    return db_table_list(store, &ldap_table, " ORDER BY name", DB_ARGS_NONE, &out->items, &out->count, err);
}

int ldap_store_load(struct store *store, const char *name, struct ldap_row **out, struct err *err) {
    return db_table_load(store, &ldap_table, " WHERE name = ?", DB_ARGS(db_text(name)), out, err);
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

static int ldap_write(struct store *store, enum record_how how, const struct ldap_row *row, const struct audit_record *audit,
                      struct err *err) {
    const struct db_more sealed = {"sealed", db_bytes(row->sealed, row->sealed_bytes), NULL};
    return record_store_write(
        store,
        &(struct record_write){
            .table = &ldap_table, .how = how, .record = row, .more = DB_MORE(sealed), .change = CHANGE_LDAP, .audit = audit},
        err);
}

int ldap_store_insert(struct store *store, const struct ldap_row *row, const struct audit_record *audit, struct err *err) {
    int rc = ldap_write(store, RECORD_INSERT, row, audit, err);
    return db_explain(rc, ERR_EXISTS, err, "a directory named %s exists already", row->source.name);
}

int ldap_store_update(struct store *store, const struct ldap_row *row, const struct audit_record *audit, struct err *err) {
    return ldap_write(store, RECORD_UPDATE, row, audit, err);
}

int ldap_store_delete(struct store *store, const struct ldap_removal *removal, struct err *err) {
    return record_store_write(store,
                              &(struct record_write){.table = &ldap_table,
                                                     .how = RECORD_DELETE,
                                                     .key = removal->name,
                                                     .version_no = removal->version_no,
                                                     .change = CHANGE_LDAP,
                                                     .audit = removal->audit},
                              err);
}
