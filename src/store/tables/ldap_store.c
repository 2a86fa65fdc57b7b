/* Directories that people sign in by. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldap_store.h"

#include <stdlib.h>

#include "audit_tx.h"
#include "db_table.h"
#include "store_tx.h"

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

void ldap_row_list_done(struct ldap_row_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        ldap_store_row_done(&list->items[i]);
    free(list->items);
    *list = (struct ldap_row_list){0};
}

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

struct ldap_write {
    const struct ldap_row *row;
    const struct audit_record *audit;
};

/* What ends each write. */
static int ldap_note(struct store_tx *tx, const char *name, const struct audit_record *audit, struct err *err) {
    int rc = store_tx_note_change(tx, CHANGE_LDAP, name, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static struct db_more sealed_of(const struct ldap_row *row) {
    return (struct db_more){"sealed", db_bytes(row->sealed, row->sealed_bytes), NULL};
}

static int ldap_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct ldap_write *call = arg;
    const struct ldap_row *row = call->row;
    int rc = db_table_insert(store_tx_conn(tx), &ldap_table, row, DB_MORE(sealed_of(row)), err);
    db_explain(rc, ERR_EXISTS, err, "a directory named %s exists already", row->source.name);
    return rc ? rc : ldap_note(tx, row->source.name, call->audit, err);
}

int ldap_store_insert(struct store *store, const struct ldap_row *row, const struct audit_record *audit, struct err *err) {
    struct ldap_write call = {row, audit};
    return store_tx(store, ldap_insert, &call, err);
}

static int ldap_update(struct store_tx *tx, void *arg, struct err *err) {
    const struct ldap_write *call = arg;
    const struct ldap_row *row = call->row;
    int rc = db_table_update(store_tx_conn(tx), &ldap_table, row, DB_MORE(sealed_of(row)), err);
    return rc ? rc : ldap_note(tx, row->source.name, call->audit, err);
}

int ldap_store_update(struct store *store, const struct ldap_row *row, const struct audit_record *audit, struct err *err) {
    struct ldap_write call = {row, audit};
    return store_tx(store, ldap_update, &call, err);
}

static int remove_source(struct store_tx *tx, void *arg, struct err *err) {
    const struct ldap_removal *call = arg;
    int rc = db_table_delete(store_tx_conn(tx), &ldap_table, call->name, call->version_no, err);
    return rc ? rc : ldap_note(tx, call->name, call->audit, err);
}

int ldap_store_delete(struct store *store, const struct ldap_removal *removal, struct err *err) {
    return store_tx(store, remove_source, (void *)(uintptr_t)removal, err);
}
