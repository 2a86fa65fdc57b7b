/* Further vCenters of sessions (session_store.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "db_stmt.h"
#include "session_tx.h"
#include "store_tx.h"

#define SESSION_VCENTER_GONE "this vCenter was not added to the session"

/* Rows come in the order of the sessions, so one walk over both is enough. */
struct session_vcenter_reading {
    struct session_list *list;
    size_t at;
};

static struct session *find_session(struct session_vcenter_reading *reading, const char *sid) {
    while (reading->at < reading->list->count && strcmp(reading->list->items[reading->at].sid, sid) < 0)
        reading->at++;
    if (reading->at == reading->list->count || strcmp(reading->list->items[reading->at].sid, sid) != 0)
        return NULL;
    return &reading->list->items[reading->at];
}

static int take_vcenter(const struct db_row *row, void *arg, struct err *err) {
    struct session *s = find_session(arg, db_row_text(row, 0));
    struct session_vcenter *item;
    void *items;
    if (!s || s->vcenters_count >= SESSION_VCENTERS_MAX - 1)
        return 0; /* a session made between the two queries: its own change brings it */
    items = s->vcenters;
    item = db_list_add(&items, &s->vcenters_count, sizeof(*item));
    s->vcenters = items;
    if (!item)
        return err_set(err, ERR_NOMEM, "out of memory");
    db_row_copy(row, 1, item->vcenter_id, sizeof(item->vcenter_id));
    item->user_name = db_row_dup(row, 3);
    item->session_key = db_row_dup(row, 4);
    item->added_at_ms = db_row_number(row, 5);
    if (source_parse(db_row_text(row, 2), &item->source))
        return 0;
    return err_set(err, ERR_SCHEMA, "a session has an unknown source");
}

static int session_vcenter_read(struct db_conn *conn, struct session_vcenter_reading *reading, int64_t now_ms, struct err *err) {
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT v.sid, v.vcenter_id, v.source, v.vc_user, v.vc_session_key, v.added_at_ms"
                                              " FROM session_vcenters v JOIN sessions s ON s.sid = v.sid"
                                              " WHERE s.revoked_at_ms = 0 AND s.ends_at_ms > ? ORDER BY v.sid, v.vcenter_id",
                                       .args = DB_ARGS(db_number(now_ms)),
                                       .columns = "ttttti",
                                       .row = take_vcenter,
                                       .arg = reading},
                    err);
}

int session_read_vcenters(struct db_conn *conn, struct session_list *list, const char *sid, int64_t now_ms, struct err *err) {
    struct session_vcenter_reading reading = {.list = list};
    if (!sid)
        return session_vcenter_read(conn, &reading, now_ms, err);
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT sid, vcenter_id, source, vc_user, vc_session_key, added_at_ms"
                                              " FROM session_vcenters WHERE sid = ? ORDER BY vcenter_id",
                                       .args = DB_ARGS(db_text(sid)),
                                       .columns = "ttttti",
                                       .row = take_vcenter,
                                       .arg = &reading},
                    err);
}

/* Writing to the session's row lets one addition at a time pass, so the count below is certain. */
static int shorten_session(struct db_conn *conn, const struct session_addition *a, struct err *err) {
    int rc = db_run_one(
        conn, "UPDATE sessions SET ends_at_ms = LEAST(ends_at_ms, ?) WHERE sid = ? AND revoked_at_ms = 0 AND ends_at_ms > ?",
        DB_ARGS(db_number(a->ends_at_ms), db_text(a->sid), db_number(a->vcenter->added_at_ms)), "the session has ended", err);
    if (rc == ERR_NOT_FOUND && err)
        err->code = ERR_SESSION_ENDED;
    return rc == ERR_NOT_FOUND ? ERR_SESSION_ENDED : rc;
}

static int session_vcenter_check_room(struct db_conn *conn, const struct session_addition *a, struct err *err) {
    int64_t others = 0;
    int rc = db_query_number(conn, "SELECT COUNT(*) FROM session_vcenters WHERE sid = ? AND vcenter_id <> ?",
                             DB_ARGS(db_text(a->sid), db_text(a->vcenter->vcenter_id)), &others, err);
    if (!rc && others >= SESSION_VCENTERS_MAX - 1)
        rc = err_set(err, ERR_CONFLICT, "a session may speak for at most %d vCenters", SESSION_VCENTERS_MAX);
    return rc;
}

static int session_vcenter_add(struct store_tx *tx, void *arg, struct err *err) {
    const struct session_addition *a = arg;
    const struct session_vcenter *v = a->vcenter;
    struct db_conn *conn = store_tx_conn(tx);
    int rc = shorten_session(conn, a, err);
    if (!rc)
        rc = session_vcenter_check_room(conn, a, err);
    if (!rc)
        rc = db_run(conn, "DELETE FROM session_vcenters WHERE sid = ? AND vcenter_id = ?",
                    DB_ARGS(db_text(a->sid), db_text(v->vcenter_id)), NULL, err);
    if (!rc)
        rc = db_run(conn,
                    "INSERT INTO session_vcenters (sid, vcenter_id, source, vc_user, vc_session_key, added_at_ms)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    DB_ARGS(db_text(a->sid), db_text(v->vcenter_id), db_text(source_name(v->source)), db_text(v->user_name),
                            db_text(v->session_key), db_number(v->added_at_ms)),
                    NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SESSION, a->sid, err);
}

int session_store_add_vcenter(struct store *store, const struct session_addition *addition, struct err *err) {
    struct session_addition borrowed = *addition;
    return store_tx(store, session_vcenter_add, &borrowed, err);
}

struct session_vcenter_removal {
    const char *sid, *vcenter_id;
};

static int session_vcenter_remove_one(struct store_tx *tx, void *arg, struct err *err) {
    const struct session_vcenter_removal *call = arg;
    int rc = db_run_one(store_tx_conn(tx), "DELETE FROM session_vcenters WHERE sid = ? AND vcenter_id = ?",
                        DB_ARGS(db_text(call->sid), db_text(call->vcenter_id)), SESSION_VCENTER_GONE, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SESSION, call->sid, err);
}

int session_store_remove_vcenter(struct store *store, const char *sid, const char *vcenter_id, struct err *err) {
    struct session_vcenter_removal call = {.sid = sid, .vcenter_id = vcenter_id};
    return store_tx(store, session_vcenter_remove_one, &call, err);
}

static int session_vcenter_note_session(const struct db_row *row, void *arg, struct err *err) {
    return store_tx_note_change(arg, CHANGE_SESSION, db_row_text(row, 0), err);
}

int session_tx_forget_vcenter(struct store_tx *tx, const char *vcenter_id, struct err *err) {
    int rc = db_query(store_tx_conn(tx),
                      &(struct db_query){.sql = "SELECT sid FROM session_vcenters WHERE vcenter_id = ? FOR UPDATE",
                                         .args = DB_ARGS(db_text(vcenter_id)),
                                         .columns = "t",
                                         .row = session_vcenter_note_session,
                                         .arg = tx},
                      err);
    return rc ? rc
              : db_run(store_tx_conn(tx), "DELETE FROM session_vcenters WHERE vcenter_id = ?", DB_ARGS(db_text(vcenter_id)), NULL,
                       err);
}
