/* Controllers of HX clusters that kaasd signs in to. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "peer_store.h"

#include "lease_store.h"

#include <stdlib.h>

#include "audit_tx.h"
#include "record_tx.h"
#include "str.h"

static const struct db_table peer_table = {
    .name = "hx_peers", .noun = "peer", .members = hx_peer_members, .bytes = sizeof(struct hx_peer)};

/* -- reading --------------------------------------------------------------------------------------------------------------- */

int peer_store_list(struct store *store, struct hx_peer_list *out, struct err *err) {
    return db_table_list(store, &peer_table, " ORDER BY hx_cluster_id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int peer_store_load(struct store *store, const char *hx_id, struct hx_peer **out, struct err *err) {
    return db_table_load(store, &peer_table, " WHERE hx_cluster_id = ?", DB_ARGS(db_text(hx_id)), out, err);
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

int peer_store_put(struct store *store, const struct hx_peer *peer, const struct audit_record *audit, struct err *err) {
    struct hx_peer row = *peer;
    const struct record_write write = {.table = &peer_table,
                                       .how = row.version_no ? RECORD_UPDATE : RECORD_INSERT,
                                       .record = &row,
                                       .change = CHANGE_KIND_COUNT,
                                       .audit = audit};
    row.result = (struct hx_peer_result){.state = HX_PEER_UNKNOWN}; /* of what is configured anew nothing came yet */
    row.since_ms = row.created_at_ms = row.updated_at_ms;           /* an update leaves the creation time */
    int rc = record_store_write(store, &write, err);
    db_explain(rc, ERR_EXISTS, err, "somebody else has just set the peer of this HX cluster");
    return db_explain(rc, ERR_CONFLICT, err, "the HX cluster is not there any more");
}

int peer_store_delete(struct store *store, const struct peer_removal *removal, struct err *err) {
    return record_store_write(store,
                              &(struct record_write){.table = &peer_table,
                                                     .how = RECORD_DELETE,
                                                     .key = removal->hx_id,
                                                     .version_no = removal->version_no,
                                                     .change = CHANGE_KIND_COUNT,
                                                     .audit = removal->audit},
                              err);
}

/* -- what came of it ------------------------------------------------------------------------------------------------------- */

struct peer_save {
    const struct lease_fence *fence;
    const struct hx_peer *peer;
    const struct audit_record *audit;
    bool is_news;
};

static struct db_arg text_or_null(const char *text) {
    return db_text(*text ? text : NULL);
}

static int peer_store_save_over(struct store_tx *tx, struct peer_save *call, const struct hx_peer *was, struct err *err) {
    const struct hx_peer *p = call->peer;
    const struct hx_peer_result *now = &p->result;
    if (was->version_no != p->version_no)
        return 0;
    call->is_news = was->result.state != now->state || !str_eq(was->result.reason, now->reason);
    int rc = db_run(
        store_tx_conn(tx),
        "UPDATE hx_peers SET state = ?, since_ms = ?, reason = ?, detail = ?, remedy = ?, signed_in_as = ?,"
        " checked_at_ms = ?, duration_ms = ? WHERE hx_cluster_id = ? AND version_no = ?",
        DB_ARGS(db_text(hx_peer_state_name(now->state)), db_number(call->is_news ? now->checked_at_ms : was->since_ms),
                text_or_null(now->reason), text_or_null(now->detail), text_or_null(now->remedy), text_or_null(now->signed_in_as),
                db_number(now->checked_at_ms), db_number(now->duration_ms), db_text(p->hx_id), db_number(p->version_no)),
        NULL, err);
    return rc || !call->is_news ? rc : audit_tx_append(tx, call->audit, 1, err);
}

static int peer_save(struct store_tx *tx, void *arg, struct err *err) {
    struct peer_save *call = arg;
    struct db_records seen = {0};
    int rc = lease_tx_check(tx, call->fence, err);
    if (!rc)
        rc = db_table_query(store_tx_conn(tx), &peer_table, " WHERE hx_cluster_id = ? FOR UPDATE",
                            DB_ARGS(db_text(call->peer->hx_id)), &seen, err);
    call->is_news = false;
    if (!rc)
        rc = seen.count ? peer_store_save_over(tx, call, seen.items, err) : err_set(err, ERR_NOT_FOUND, "there is no such peer");
    db_records_done(&peer_table, &seen);
    return rc;
}

int peer_store_save_result(struct store *store, const struct hx_peer *peer, const struct audit_record *audit,
                           const struct lease_fence *fence, bool *is_news, struct err *err) {
    struct peer_save call = {.peer = peer, .audit = audit, .fence = fence};
    int rc = store_tx(store, peer_save, &call, err);
    if (!rc)
        *is_news = call.is_news;
    return rc;
}
