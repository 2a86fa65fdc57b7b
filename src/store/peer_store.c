/* Controllers of HX clusters that kaasd signs in to. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "peer_store.h"

#include <stdlib.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "store_tx.h"
#include "str.h"

#define COLUMNS                                                                                                              \
    "hx_cluster_id, url, spn, principal, ca_pem, sha256, created_at_ms, updated_at_ms, version_no, state, since_ms, reason," \
    " detail, remedy, signed_in_as, checked_at_ms, duration_ms"
#define COLUMN_KINDS "ttttttiiitittttii"
#define GONE "there is no such peer"
#define COUNT_SQL "SELECT COUNT(*) FROM hx_peers WHERE hx_cluster_id = ?"

/* -- reading --------------------------------------------------------------------------------------------------------------- */

static void read_result(const struct db_row *row, struct hx_peer_result *result) {
    db_row_copy(row, 11, result->reason, sizeof(result->reason));
    db_row_copy(row, 12, result->detail, sizeof(result->detail));
    db_row_copy(row, 13, result->remedy, sizeof(result->remedy));
    db_row_copy(row, 14, result->signed_in_as, sizeof(result->signed_in_as));
    result->checked_at_ms = db_row_number(row, 15);
    result->duration_ms = db_row_number(row, 16);
}

static int add_peer(const struct db_row *row, void *arg, struct err *err) {
    struct hx_peer_list *list = arg;
    void *items = list->items;
    struct hx_peer *peer = db_list_add(&items, &list->count, sizeof(*peer));
    list->items = items;
    if (!peer)
        return err_set(err, ERR_NOMEM, "out of memory");
    char **const texts[] = {&peer->hx_id, &peer->url, &peer->spn, &peer->principal, &peer->ca_pem, &peer->sha256};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        *texts[i] = db_row_dup(row, i);
    peer->created_at_ms = db_row_number(row, 6);
    peer->updated_at_ms = db_row_number(row, 7);
    peer->version_no = db_row_number(row, 8);
    peer->since_ms = db_row_number(row, 10);
    read_result(row, &peer->result);
    if (!hx_peer_state_parse(db_row_text(row, 9), &peer->result.state))
        return err_set(err, ERR_SCHEMA, "a peer is in an unknown state");
    return 0;
}

static int list_all(struct db_conn *conn, void *arg, struct err *err) {
    hx_peer_list_done(arg);
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT " COLUMNS " FROM hx_peers ORDER BY hx_cluster_id",
                                       .columns = COLUMN_KINDS,
                                       .row = add_peer,
                                       .arg = arg},
                    err);
}

int peer_store_list(struct store *store, struct hx_peer_list *out, struct err *err) {
    struct hx_peer_list list = {0};
    int rc = store_read(store, list_all, &list, err);
    if (rc)
        hx_peer_list_done(&list);
    else
        *out = list;
    return rc;
}

struct load {
    const char *hx_id;
    struct hx_peer_list list;
};

static int load_locked(struct db_conn *conn, struct load *call, struct err *err) {
    hx_peer_list_done(&call->list);
    return db_query_one(conn,
                        &(struct db_query){.sql = "SELECT " COLUMNS " FROM hx_peers WHERE hx_cluster_id = ? FOR UPDATE",
                                           .args = DB_ARGS(db_text(call->hx_id)),
                                           .columns = COLUMN_KINDS,
                                           .row = add_peer,
                                           .arg = &call->list},
                        GONE, err);
}

static int load(struct db_conn *conn, void *arg, struct err *err) {
    struct load *call = arg;
    hx_peer_list_done(&call->list);
    return db_query_one(conn,
                        &(struct db_query){.sql = "SELECT " COLUMNS " FROM hx_peers WHERE hx_cluster_id = ?",
                                           .args = DB_ARGS(db_text(call->hx_id)),
                                           .columns = COLUMN_KINDS,
                                           .row = add_peer,
                                           .arg = &call->list},
                        GONE, err);
}

int peer_store_load(struct store *store, const char *hx_id, struct hx_peer **out, struct err *err) {
    struct load call = {.hx_id = hx_id};
    int rc = store_read(store, load, &call, err);
    if (rc)
        hx_peer_list_done(&call.list);
    else
        *out = call.list.items; /* an array of one is one */
    return rc;
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

struct put {
    const struct hx_peer *peer;
    const struct audit_record *audit;
};

static int insert(struct store_tx *tx, const struct hx_peer *p, struct err *err) {
    int rc =
        db_run(store_tx_conn(tx),
               "INSERT INTO hx_peers (hx_cluster_id, url, spn, principal, ca_pem, sha256, created_at_ms, updated_at_ms,"
               " version_no, state, since_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 'unknown', ?)",
               DB_ARGS(db_text(p->hx_id), db_text(p->url), db_text(p->spn), db_text(p->principal), db_text(p->ca_pem),
                       db_text(p->sha256), db_number(p->updated_at_ms), db_number(p->updated_at_ms), db_number(p->updated_at_ms)),
               NULL, err);
    db_explain(rc, ERR_EXISTS, err, "somebody else has just set the peer of this HX cluster");
    return db_explain(rc, ERR_CONFLICT, err, "the HX cluster is not there any more");
}

static int replace(struct store_tx *tx, const struct hx_peer *p, struct err *err) {
    uint64_t met = 0;
    int rc =
        db_run(store_tx_conn(tx),
               "UPDATE hx_peers SET url = ?, spn = ?, principal = ?, ca_pem = ?, sha256 = ?, updated_at_ms = ?,"
               " version_no = version_no + 1, state = 'unknown', since_ms = ?, reason = NULL, detail = NULL, remedy = NULL,"
               " signed_in_as = NULL, checked_at_ms = 0, duration_ms = 0 WHERE hx_cluster_id = ? AND version_no = ?",
               DB_ARGS(db_text(p->url), db_text(p->spn), db_text(p->principal), db_text(p->ca_pem), db_text(p->sha256),
                       db_number(p->updated_at_ms), db_number(p->updated_at_ms), db_text(p->hx_id), db_number(p->version_no)),
               &met, err);
    return rc || met ? rc : db_explain_miss(store_tx_conn(tx), COUNT_SQL, p->hx_id, "peer", err);
}

static int put(struct store_tx *tx, void *arg, struct err *err) {
    const struct put *call = arg;
    int rc = call->peer->version_no ? replace(tx, call->peer, err) : insert(tx, call->peer, err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int peer_store_put(struct store *store, const struct hx_peer *peer, const struct audit_record *audit, struct err *err) {
    struct put call = {peer, audit};
    return store_tx(store, put, &call, err);
}

static int remove_peer(struct store_tx *tx, void *arg, struct err *err) {
    const struct peer_removal *call = arg;
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx), "DELETE FROM hx_peers WHERE hx_cluster_id = ? AND (? = 0 OR version_no = ?)",
                    DB_ARGS(db_text(call->hx_id), db_number(call->version_no), db_number(call->version_no)), &met, err);
    if (!rc && !met)
        return db_explain_miss(store_tx_conn(tx), COUNT_SQL, call->hx_id, "peer", err);
    return rc ? rc : audit_tx_append(tx, call->audit, 1, err);
}

int peer_store_delete(struct store *store, const struct peer_removal *removal, struct err *err) {
    return store_tx(store, remove_peer, (void *)(uintptr_t)removal, err);
}

/* -- what came of it ------------------------------------------------------------------------------------------------------- */

struct save {
    const struct hx_peer *peer;
    const struct audit_record *audit;
    bool is_news;
};

static const char *or_null(const char *text) {
    return *text ? text : NULL;
}

static int write_result(struct store_tx *tx, const struct hx_peer *p, int64_t since_ms, struct err *err) {
    const struct hx_peer_result *r = &p->result;
    return db_run(store_tx_conn(tx),
                  "UPDATE hx_peers SET state = ?, since_ms = ?, reason = ?, detail = ?, remedy = ?, signed_in_as = ?,"
                  " checked_at_ms = ?, duration_ms = ? WHERE hx_cluster_id = ? AND version_no = ?",
                  DB_ARGS(db_text(hx_peer_state_name(r->state)), db_number(since_ms), db_text(or_null(r->reason)),
                          db_text(or_null(r->detail)), db_text(or_null(r->remedy)), db_text(or_null(r->signed_in_as)),
                          db_number(r->checked_at_ms), db_number(r->duration_ms), db_text(p->hx_id), db_number(p->version_no)),
                  NULL, err);
}

static int save_over(struct store_tx *tx, struct save *call, const struct hx_peer *was, struct err *err) {
    const struct hx_peer_result *now = &call->peer->result;
    int rc;
    if (was->version_no != call->peer->version_no)
        return 0;
    call->is_news = was->result.state != now->state || !str_eq(was->result.reason, now->reason);
    rc = write_result(tx, call->peer, call->is_news ? now->checked_at_ms : was->since_ms, err);
    return rc || !call->is_news ? rc : audit_tx_append(tx, call->audit, 1, err);
}

static int save(struct store_tx *tx, void *arg, struct err *err) {
    struct save *call = arg;
    struct load seen = {.hx_id = call->peer->hx_id};
    int rc = load_locked(store_tx_conn(tx), &seen, err);
    call->is_news = false;
    for (size_t i = 0; !rc && i < seen.list.count; i++)
        rc = save_over(tx, call, &seen.list.items[i], err);
    hx_peer_list_done(&seen.list);
    return rc;
}

int peer_store_save_result(struct store *store, const struct hx_peer *peer, const struct audit_record *audit, bool *is_news,
                           struct err *err) {
    struct save call = {.peer = peer, .audit = audit};
    int rc = store_tx(store, save, &call, err);
    if (!rc)
        *is_news = call.is_news;
    return rc;
}
