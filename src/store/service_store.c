/* Service accounts. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "service_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_table.h"
#include "store_tx.h"
#include "str.h"

static void account_done(void *record) {
    service_account_done(record);
}

static const struct db_table service_table = {.name = "service_accounts",
                                              .noun = "service account",
                                              .members = service_account_members,
                                              .bytes = sizeof(struct service_account),
                                              .done = account_done};

void service_list_done(struct service_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        service_account_done(&list->items[i]);
    free(list->items);
    *list = (struct service_list){0};
}

/* -- reading: three queries of one snapshot, all in the order of the id -------------------------------------------------------- */

struct service_load {
    const char *id; /* NULL: all */
    struct service_list list;
    size_t at; /* where the rows of certificates or HX clusters have come to */
};

static struct service_account *service_account_of(struct service_load *load, const char *id) {
    while (load->at < load->list.count && strcmp(load->list.items[load->at].id, id) < 0)
        load->at++;
    return load->at < load->list.count && str_eq(load->list.items[load->at].id, id) ? &load->list.items[load->at] : NULL;
}

static int add_certificate(const struct db_row *row, void *arg, struct err *err) {
    struct service_account *a = service_account_of(arg, db_row_text(row, 0));
    struct service_certificate c = {.not_after_ms = db_row_number(row, 2)};
    db_row_copy(row, 1, c.sha256, sizeof(c.sha256));
    return a ? service_account_add_certificate(a, &c, err) : 0;
}

static int add_hx_cluster(const struct db_row *row, void *arg, struct err *err) {
    struct service_account *a = service_account_of(arg, db_row_text(row, 0));
    return a ? service_account_add_hx_cluster(a, db_row_text(row, 1), err) : 0;
}

static int query(struct store_tx *tx, struct service_load *load, struct db_query query, struct err *err) {
    load->at = 0;
    query.args = load->id ? DB_ARGS(db_text(load->id)) : DB_ARGS_NONE;
    query.arg = load;
    return db_query(store_tx_conn(tx), &query, err);
}

#define BOTH(sql, column, order) (load->id ? sql " WHERE " column " = ?" order : sql order)

static int service_load_all(struct store_tx *tx, void *arg, struct err *err) {
    struct service_load *load = arg;
    struct db_records found = {0};
    int rc;
    service_list_done(&load->list);
    rc = db_table_query(store_tx_conn(tx), &service_table, load->id ? " WHERE id = ?" : " ORDER BY id",
                        load->id ? DB_ARGS(db_text(load->id)) : DB_ARGS_NONE, &found, err);
    load->list = (struct service_list){found.items, found.count};
    if (!rc)
        rc = query(tx, load,
                   (struct db_query){.sql = BOTH("SELECT service_id, sha256, not_after_ms FROM service_certificates",
                                                 "service_id", " ORDER BY service_id, sha256"),
                                     .columns = "tti",
                                     .row = add_certificate},
                   err);
    return rc ? rc
              : query(tx, load,
                      (struct db_query){.sql = BOTH("SELECT service_id, hx_cluster_id FROM service_hx_clusters", "service_id",
                                                    " ORDER BY service_id, hx_cluster_id"),
                                        .columns = "tt",
                                        .row = add_hx_cluster},
                      err);
}

static int service_load_some(struct store *store, struct service_load *load, struct err *err) {
    int rc = store_tx_snapshot(store, service_load_all, load, err);
    if (rc)
        service_list_done(&load->list);
    return rc;
}

int service_store_list(struct store *store, struct service_list *out, struct err *err) {
    struct service_load load = {0};
    int rc = service_load_some(store, &load, err);
    if (!rc)
        *out = load.list;
    return rc;
}

int service_store_load(struct store *store, const char *id, struct service_account **out, struct err *err) {
    struct service_load load = {.id = id};
    int rc = service_load_some(store, &load, err);
    if (!rc && !load.list.count)
        rc = err_set(err, ERR_NOT_FOUND, "there is no such service account");
    if (!rc)
        *out = load.list.items; /* an array of one is one */
    return rc;
}

/* -- writing ---------------------------------------------------------------------------------------------------------------- */

struct service_write {
    const struct service_account *account;
    struct service_change change;
};

static int service_taken(int rc, const struct service_account *a, struct err *err) {
    return db_explain(rc, ERR_EXISTS, err, "the name \"%s\", or a proof of it, belongs to another service account", a->name);
}

static int write_certificates(struct store_tx *tx, const struct service_account *a, struct err *err) {
    int rc =
        db_run(store_tx_conn(tx), "DELETE FROM service_certificates WHERE service_id = ?", DB_ARGS(db_text(a->id)), NULL, err);
    for (size_t i = 0; !rc && i < a->certificates_count; i++) {
        const struct service_certificate *c = &a->certificates[i];
        rc = db_run(store_tx_conn(tx), "INSERT INTO service_certificates (sha256, service_id, not_after_ms) VALUES (?, ?, ?)",
                    DB_ARGS(db_text(c->sha256), db_text(a->id), db_number(c->not_after_ms)), NULL, err);
        db_explain(rc, ERR_EXISTS, err, "the certificate %s belongs to another service account", c->sha256);
    }
    return rc;
}

static int write_hx_clusters(struct store_tx *tx, const struct service_account *a, struct err *err) {
    int rc =
        db_run(store_tx_conn(tx), "DELETE FROM service_hx_clusters WHERE service_id = ?", DB_ARGS(db_text(a->id)), NULL, err);
    for (size_t i = 0; !rc && i < a->hx_clusters_count; i++)
        rc = db_run(store_tx_conn(tx), "INSERT INTO service_hx_clusters (service_id, hx_cluster_id) VALUES (?, ?)",
                    DB_ARGS(db_text(a->id), db_text(a->hx_clusters[i])), NULL, err);
    return rc;
}

static int service_finish(struct store_tx *tx, const char *id, const struct audit_record *audit, struct err *err) {
    int rc = store_tx_note_change(tx, CHANGE_SERVICE_ACCOUNT, id, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static int service_check_room(struct store_tx *tx, struct err *err) {
    int64_t count = 0;
    int rc = db_query_number(store_tx_conn(tx), "SELECT COUNT(*) FROM service_accounts", DB_ARGS_NONE, &count, err);
    if (rc || count < (int64_t)SERVICE_ACCOUNTS_COUNT_MAX)
        return rc;
    return err_set(err, ERR_CONFLICT, "there are %u service accounts already", SERVICE_ACCOUNTS_COUNT_MAX);
}

static int service_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct service_write *call = arg;
    const struct service_account *a = call->account;
    int rc = service_check_room(tx, err);
    if (rc)
        return rc;
    rc = db_table_insert(store_tx_conn(tx), &service_table, a, DB_MORE_NONE, err);
    rc = service_taken(rc, a, err);
    rc = rc ? rc : write_certificates(tx, a, err);
    rc = rc ? rc : write_hx_clusters(tx, a, err);
    return rc ? rc : service_finish(tx, a->id, call->change.audit, err);
}

int service_store_insert(struct store *store, const struct service_account *a, const struct audit_record *audit,
                         struct err *err) {
    struct service_write call = {.account = a, .change = {.audit = audit}};
    return store_tx(store, service_insert, &call, err);
}

/* -- ending sessions -------------------------------------------------------------------------------------------------------- */

struct service_ending {
    const char *id;
    int64_t now_ms;
    bool own, delegated;
};

static int service_note_session(const struct db_row *row, void *arg, struct err *err) {
    return store_tx_note_change(arg, CHANGE_SESSION, db_row_text(row, 0), err);
}

#define THEIRS \
    " WHERE service_id = ? AND revoked_at_ms = 0 AND ((? = 1 AND acting_id IS NULL) OR (? = 1 AND acting_id IS NOT NULL))"

static int service_end_sessions(struct store_tx *tx, const struct service_ending *e, struct err *err) {
    int rc;
    if (!e->own && !e->delegated)
        return 0;
    rc = db_query(store_tx_conn(tx),
                  &(struct db_query){.sql = "SELECT sid FROM sessions" THEIRS " FOR UPDATE",
                                     .args = DB_ARGS(db_text(e->id), db_number(e->own), db_number(e->delegated)),
                                     .columns = "t",
                                     .row = service_note_session,
                                     .arg = tx},
                  err);
    return rc ? rc
              : db_run(store_tx_conn(tx), "UPDATE sessions SET revoked_at_ms = ?" THEIRS,
                       DB_ARGS(db_number(e->now_ms), db_text(e->id), db_number(e->own), db_number(e->delegated)), NULL, err);
}

static int service_update(struct store_tx *tx, void *arg, struct err *err) {
    const struct service_write *call = arg;
    const struct service_account *a = call->account;
    const struct service_ending ending = {a->id, a->updated_at_ms, call->change.ends_own, call->change.ends_delegated};
    int rc = db_table_update(store_tx_conn(tx), &service_table, a, DB_MORE_NONE, err);
    rc = service_taken(rc, a, err);
    rc = rc ? rc : write_certificates(tx, a, err);
    rc = rc ? rc : write_hx_clusters(tx, a, err);
    rc = rc ? rc : service_end_sessions(tx, &ending, err);
    return rc ? rc : service_finish(tx, a->id, call->change.audit, err);
}

int service_store_update(struct store *store, const struct service_account *a, const struct service_change *change,
                         int64_t *version_no, struct err *err) {
    struct service_write call = {.account = a, .change = *change};
    int rc = store_tx(store, service_update, &call, err);
    if (!rc)
        *version_no = a->version_no + 1;
    return rc;
}

/* -- noting an end, removing ------------------------------------------------------------------------------------------------ */

struct noting {
    const char *id;
    const struct service_certificate *certificate;
};

static int service_note_certificate(struct store_tx *tx, void *arg, struct err *err) {
    const struct noting *call = arg;
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx),
                    "UPDATE service_certificates SET not_after_ms = ? WHERE sha256 = ? AND service_id = ? AND not_after_ms = 0",
                    DB_ARGS(db_number(call->certificate->not_after_ms), db_text(call->certificate->sha256), db_text(call->id)),
                    &met, err);
    return rc || !met ? rc : store_tx_note_change(tx, CHANGE_SERVICE_ACCOUNT, call->id, err);
}

int service_store_note_certificate(struct store *store, const char *id, const struct service_certificate *certificate,
                                   struct err *err) {
    struct noting call = {id, certificate};
    return store_tx(store, service_note_certificate, &call, err);
}

static int remove_account(struct store_tx *tx, void *arg, struct err *err) {
    const struct service_removal *what = arg;
    const struct service_ending ending = {what->id, what->now_ms, true, true};
    int rc = db_table_delete(store_tx_conn(tx), &service_table, what->id, what->version_no, err);
    rc = rc ? rc : service_end_sessions(tx, &ending, err);
    return rc ? rc : service_finish(tx, what->id, what->audit, err);
}

int service_store_delete(struct store *store, const struct service_removal *removal, struct err *err) {
    struct service_removal call = *removal;
    return store_tx(store, remove_account, &call, err);
}
