/* Directories that people sign in by. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldap_store.h"

#include <stdlib.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "store_tx.h"

#define COLUMNS                                                                                                          \
    "name, kind, urls, ca_file, ca_pem, search_base, user_filter, group_base, group_filter, bind_kind, bind_dn, keytab," \
    " principal, realms, is_disabled, sealed, created_at_ms, updated_at_ms, version_no"
#define COLUMN_KINDS "ttttttttttttttibiii"
#define GONE "there is no such directory"

static void row_done(struct ldap_row *row) {
    ldap_source_done(&row->source);
    free(row->sealed);
    *row = (struct ldap_row){0};
}

void ldap_row_free(struct ldap_row *row) {
    if (!row)
        return;
    row_done(row);
    free(row);
}

void ldap_row_list_done(struct ldap_row_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        row_done(&list->items[i]);
    free(list->items);
    *list = (struct ldap_row_list){0};
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

static void read_texts(const struct db_row *row, struct ldap_source *s) {
    char **const texts[] = {&s->name,       &s->urls,         &s->ca_file, &s->ca_pem, &s->search_base, &s->user_filter,
                            &s->group_base, &s->group_filter, &s->bind_dn, &s->keytab, &s->principal,   &s->realms};
    static const size_t columns[] = {0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13};
    _Static_assert(ARRAY_COUNT(texts) == ARRAY_COUNT(columns), "one column for each text");
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        *texts[i] = db_row_dup(row, columns[i]);
}

static int add_source(const struct db_row *row, void *arg, struct err *err) {
    struct ldap_row_list *list = arg;
    void *items = list->items;
    struct ldap_row *item = db_list_add(&items, &list->count, sizeof(*item));
    list->items = items;
    if (!item)
        return err_set(err, ERR_NOMEM, "out of memory");
    read_texts(row, &item->source);
    item->source.is_disabled = db_row_number(row, 14) != 0;
    item->sealed = db_row_dup_bytes(row, 15, &item->sealed_bytes);
    item->source.has_password = item->sealed != NULL;
    item->source.created_at_ms = db_row_number(row, 16);
    item->source.updated_at_ms = db_row_number(row, 17);
    item->source.version_no = db_row_number(row, 18);
    if (!ldap_kind_parse(db_row_text(row, 1), &item->source.kind) || !ldap_bind_parse(db_row_text(row, 9), &item->source.bind))
        return err_set(err, ERR_SCHEMA, "a directory is of an unknown kind");
    return 0;
}

static int list_all(struct db_conn *conn, void *arg, struct err *err) {
    ldap_row_list_done(arg);
    return db_query(
        conn,
        &(struct db_query){
            .sql = "SELECT " COLUMNS " FROM ldap_sources ORDER BY name", .columns = COLUMN_KINDS, .row = add_source, .arg = arg},
        err);
}

int ldap_store_list(struct store *store, struct ldap_row_list *out, struct err *err) {
    struct ldap_row_list list = {0};
    int rc = store_read(store, list_all, &list, err);
    if (rc)
        ldap_row_list_done(&list);
    else
        *out = list;
    return rc;
}

struct load {
    const char *name;
    struct ldap_row_list list;
};

static int load(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    ldap_row_list_done(&call->list);
    return db_query_one(conn,
                        &(struct db_query){.sql = "SELECT " COLUMNS " FROM ldap_sources WHERE name = ?",
                                           .args = DB_ARGS(db_text(call->name)),
                                           .columns = COLUMN_KINDS,
                                           .row = add_source,
                                           .arg = &call->list},
                        GONE, err);
}

int ldap_store_load(struct store *store, const char *name, struct ldap_row **out, struct err *err) {
    struct load call = {.name = name};
    int rc = store_read(store, load, &call, err);
    if (rc)
        ldap_row_list_done(&call.list);
    else
        *out = call.list.items; /* an array of one is one */
    return rc;
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

struct write {
    const struct ldap_row *row;
    const struct audit_record *audit;
};

/* What ends each write. */
static int note(struct store_tx *tx, const char *name, const struct audit_record *audit, struct err *err) {
    int rc = store_tx_note_change(tx, CHANGE_LDAP, name, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static int insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct write *call = arg;
    const struct ldap_source *s = &call->row->source;
    int rc = db_run(store_tx_conn(tx),
                    "INSERT INTO ldap_sources (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
                    DB_ARGS(db_text(s->name), db_text(ldap_kind_name(s->kind)), db_text(s->urls), db_text(s->ca_file),
                            db_text(s->ca_pem), db_text(s->search_base), db_text(s->user_filter), db_text(s->group_base),
                            db_text(s->group_filter), db_text(ldap_bind_name(s->bind)), db_text(s->bind_dn), db_text(s->keytab),
                            db_text(s->principal), db_text(s->realms), db_number(s->is_disabled),
                            db_bytes(call->row->sealed, call->row->sealed_bytes), db_number(s->created_at_ms),
                            db_number(s->updated_at_ms)),
                    NULL, err);
    db_explain(rc, ERR_EXISTS, err, "a directory named %s exists already", s->name);
    return rc ? rc : note(tx, s->name, call->audit, err);
}

int ldap_store_insert(struct store *store, const struct ldap_row *row, const struct audit_record *audit, struct err *err) {
    struct write call = {row, audit};
    return store_tx(store, insert, &call, err);
}

static int update(struct store_tx *tx, void *arg, struct err *err) {
    const struct write *call = arg;
    const struct ldap_source *s = &call->row->source;
    uint64_t met = 0;
    int rc = db_run(
        store_tx_conn(tx),
        "UPDATE ldap_sources SET kind = ?, urls = ?, ca_file = ?, ca_pem = ?, search_base = ?, user_filter = ?, group_base = ?,"
        " group_filter = ?, bind_kind = ?, bind_dn = ?, keytab = ?, principal = ?, realms = ?, is_disabled = ?, sealed = ?,"
        " updated_at_ms = ?, version_no = version_no + 1 WHERE name = ? AND version_no = ?",
        DB_ARGS(db_text(ldap_kind_name(s->kind)), db_text(s->urls), db_text(s->ca_file), db_text(s->ca_pem),
                db_text(s->search_base), db_text(s->user_filter), db_text(s->group_base), db_text(s->group_filter),
                db_text(ldap_bind_name(s->bind)), db_text(s->bind_dn), db_text(s->keytab), db_text(s->principal),
                db_text(s->realms), db_number(s->is_disabled), db_bytes(call->row->sealed, call->row->sealed_bytes),
                db_number(s->updated_at_ms), db_text(s->name), db_number(s->version_no)),
        &met, err);
    if (!rc && !met)
        return db_explain_miss(store_tx_conn(tx), "SELECT COUNT(*) FROM ldap_sources WHERE name = ?", s->name, "directory", err);
    return rc ? rc : note(tx, s->name, call->audit, err);
}

int ldap_store_update(struct store *store, const struct ldap_row *row, const struct audit_record *audit, struct err *err) {
    struct write call = {row, audit};
    return store_tx(store, update, &call, err);
}

static int remove_source(struct store_tx *tx, void *arg, struct err *err) {
    const struct ldap_removal *call = arg;
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx), "DELETE FROM ldap_sources WHERE name = ? AND (? = 0 OR version_no = ?)",
                    DB_ARGS(db_text(call->name), db_number(call->version_no), db_number(call->version_no)), &met, err);
    if (!rc && !met)
        return db_explain_miss(store_tx_conn(tx), "SELECT COUNT(*) FROM ldap_sources WHERE name = ?", call->name, "directory",
                               err);
    return rc ? rc : note(tx, call->name, call->audit, err);
}

int ldap_store_delete(struct store *store, const struct ldap_removal *removal, struct err *err) {
    return store_tx(store, remove_source, (void *)(uintptr_t)removal, err);
}
