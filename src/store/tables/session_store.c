/* Sessions and their further vCenters. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * New ones come with their lines in the audit log: one transaction of two round trips, which several share when they come at once. Statement by
 * statement it would be nine round trips for each, which cost more than all else that a sign-on does. A compound statement is prepared like any other:
 * https://mariadb.com/kb/en/begin-end/, https://mariadb.com/kb/en/prepare-statement/. Its texts are made once, one for each number of rows. */
#include "session_store.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "clock.h"
#include "code_store.h"
#include "db_stmt.h"
#include "session_tx.h"
#include "store_tx.h"
#include "str.h"
#include "strbuf.h"

#define COLUMNS                                                                                                                     \
    "sid, principal_id, principal_name, full_name, role, source, vcenter_id, vc_user, vc_session_key, jti, old_jti, rotated_at_ms," \
    " created_at_ms, ends_at_ms, revoked_at_ms, must_change_password, way, directory, directory_mark, acting_id, service_id,"       \
    " group_ids"
#define COLUMN_KINDS "tttttttttttiiiiitttttt"
/* A local user's role, and whether the account is there and good and its password too, is the users table's word at the time of reading: what
 * was true at the sign-on may have changed, and a session may have been written just behind the end of its user. The key of the join is read by
 * the primary key of users. */
#define FROM_SESSIONS \
    " FROM sessions s LEFT JOIN users u ON u.id = IF(s.principal_id LIKE 'local:%', SUBSTRING(s.principal_id, 7), NULL)"
#define IS_WITHOUT_USER "COALESCE(u.is_disabled, s.principal_id LIKE 'local:%')"
#define SELECT_SESSIONS                                                                                                           \
    "SELECT s.sid, s.principal_id, s.principal_name, s.full_name, COALESCE(u.role, s.role), s.source, s.vcenter_id, s.vc_user,"   \
    " s.vc_session_key, s.jti, s.old_jti, s.rotated_at_ms, s.created_at_ms, s.ends_at_ms,"                                        \
    " IF(s.revoked_at_ms = 0 AND " IS_WITHOUT_USER ", s.created_at_ms, s.revoked_at_ms),"                                         \
    " COALESCE(u.must_change_password, s.must_change_password), s.way, s.directory, s.directory_mark, s.acting_id, s.service_id," \
    " s.group_ids" FROM_SESSIONS
#define HANDLE "LEFT(SHA2(s.sid, 256), 16)"
#define SESSION_GONE "there is no such session"
#define SESSION_SQL_BYTES_MAX 512
#define ENDS_AT_ONCE 100 /* for one new session: of more, the next one ends some, too */

DB_LIST_DEFINE(session_list, session_done);

static bool is_known_before(enum source source) {
    return source <= SOURCE_VC_PASSWORD;
}

/* How a way of signing in stands in the two columns about it: `source` has only words that the release before knows, since that does not start on a session it cannot
 * read; `way` has the word itself where that is another one (else NULL). */
static const char *session_source(enum source source) {
    return source_name(is_known_before(source) ? source : SOURCE_LOCAL);
}

static const char *session_way(enum source source) {
    return is_known_before(source) ? NULL : source_name(source);
}

static int read_who(const struct db_row *row, struct principal *who, struct err *err) {
    const char *way = db_row_text(row, 16);
    who->id = db_row_dup(row, 1);
    who->name = db_row_dup(row, 2);
    who->full_name = db_row_dup(row, 3);
    who->vcenter_id = db_row_dup(row, 6);
    who->vc_user = db_row_dup(row, 7);
    who->vc_session_key = db_row_dup(row, 8);
    who->directory = db_row_dup(row, 17);
    who->acting_id = db_row_dup(row, 19);
    who->service_id = db_row_dup(row, 20);
    if (role_parse(db_row_text(row, 4), &who->role) && source_parse(way ? way : db_row_text(row, 5), &who->source))
        return 0;
    return err_set(err, ERR_SCHEMA, "a session has an unknown role or source");
}

static int session_add(const struct db_row *row, void *arg, struct err *err) {
    struct session_list *list = arg;
    struct session *s = db_list_add(&list->items, &list->count, sizeof(*s), err);
    if (!s)
        return ERR_NOMEM;
    db_row_copy(row, 0, s->sid, sizeof(s->sid));
    db_row_copy(row, 9, s->jti, sizeof(s->jti));
    db_row_copy(row, 10, s->old_jti, sizeof(s->old_jti));
    s->rotated_at_ms = db_row_number(row, 11);
    s->created_at_ms = db_row_number(row, 12);
    s->ends_at_ms = db_row_number(row, 13);
    s->revoked_at_ms = db_row_number(row, 14);
    s->must_change_password = db_row_number(row, 15) != 0;
    s->directory_mark = db_row_dup(row, 18);
    if (group_set_unpack(db_row_text(row, 21), &s->groups, err))
        return err_set(err, ERR_SCHEMA, "a session has groups of an unknown form");
    return read_who(row, &s->who, err);
}

/* -- reading ------------------------------------------------------------------------------------------------------------------ */

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
    if (!s || s->vcenters_count >= SESSION_VCENTERS_MAX - 1)
        return 0; /* a session made between the two queries: its own change brings it */
    item = db_list_add(&s->vcenters, &s->vcenters_count, sizeof(*item), err);
    if (!item)
        return ERR_NOMEM;
    db_row_copy(row, 1, item->vcenter_id, sizeof(item->vcenter_id));
    item->user_name = db_row_dup(row, 3);
    item->session_key = db_row_dup(row, 4);
    item->added_at_ms = db_row_number(row, 5);
    if (source_parse(db_row_text(row, 2), &item->source))
        return 0;
    return err_set(err, ERR_SCHEMA, "a session has an unknown source");
}

/* What is read at once: the sessions, and their further vCenters. */
struct session_load {
    const char *sessions, *vcenters; /* statements, both in the order of the sids */
    struct db_args session_args, vcenter_args;
    struct session_list list;
};

static int session_load(struct db_conn *conn, void *arg, struct err *err) {
    struct session_load *call = arg;
    struct session_vcenter_reading reading = {.list = &call->list};
    int rc;
    session_list_done(&call->list);
    rc = db_query(conn, call->sessions, call->session_args, COLUMN_KINDS, session_add, &call->list, err);
    if (rc || !call->list.count)
        return rc;
    return db_query(conn, call->vcenters, call->vcenter_args, "ttttti", take_vcenter, &reading, err);
}

static int session_run_load(struct store *store, struct session_load *call, struct session_list *out, struct err *err) {
    int rc = store_read(store, session_load, call, err);
    if (rc)
        session_list_done(&call->list);
    else
        *out = call->list;
    return rc;
}

#define SELECT_VCENTERS "SELECT v.sid, v.vcenter_id, v.source, v.vc_user, v.vc_session_key, v.added_at_ms FROM session_vcenters v"
#define SIDS_8 "?, ?, ?, ?, ?, ?, ?, ?"
#define SIDS_64 SIDS_8 ", " SIDS_8 ", " SIDS_8 ", " SIDS_8 ", " SIDS_8 ", " SIDS_8 ", " SIDS_8 ", " SIDS_8
#define LOAD(marks, count)                                                                    \
    {                                                                                         \
        SELECT_SESSIONS " WHERE s.sid IN (" marks ") ORDER BY s.sid",                         \
            SELECT_VCENTERS " WHERE v.sid IN (" marks ") ORDER BY v.sid, v.vcenter_id", count \
    }

int session_store_load_some(struct store *store, const char *const *sids, size_t count, struct session_list *out,
                            struct err *err) {
    static const struct {
        const char *sessions, *vcenters;
        size_t room;
    } texts[] = {LOAD("?", 1), LOAD(SIDS_8, 8), LOAD(SIDS_64, SESSION_LOAD_MAX)};
    struct db_arg items[SESSION_LOAD_MAX];
    size_t at = 0;
    while (texts[at].room < count)
        at++;
    for (size_t i = 0; i < texts[at].room; i++)
        items[i] = db_text(i < count ? sids[i] : NULL);
    const struct db_args args = {items, texts[at].room};
    return session_run_load(
        store,
        &(struct session_load){
            .sessions = texts[at].sessions, .vcenters = texts[at].vcenters, .session_args = args, .vcenter_args = args},
        out, err);
}

int session_store_load(struct store *store, const char *sid, struct session **out, struct err *err) {
    struct session_list list;
    int rc = session_store_load_some(store, &sid, 1, &list, err);
    if (rc)
        return rc;
    if (!list.count)
        return err_set(err, ERR_NOT_FOUND, SESSION_GONE);
    *out = list.items; /* an array of one is one */
    return 0;
}

int session_store_list_active(struct store *store, int64_t now_ms, size_t limit, struct session_list *out, struct err *err) {
    struct session_load call = {
        .sessions = SELECT_SESSIONS
        " JOIN (SELECT sid FROM sessions WHERE revoked_at_ms = 0 AND ends_at_ms > ? ORDER BY role = 'admin' DESC,"
        " GREATEST(created_at_ms, rotated_at_ms) DESC LIMIT ?) wanted ON wanted.sid = s.sid"
        " WHERE NOT " IS_WITHOUT_USER " ORDER BY s.sid",
        .vcenters = SELECT_VCENTERS " JOIN sessions s ON s.sid = v.sid"
                                    " WHERE s.revoked_at_ms = 0 AND s.ends_at_ms > ? ORDER BY v.sid, v.vcenter_id",
        .session_args = DB_ARGS(db_number(now_ms), db_number((int64_t)limit)),
        .vcenter_args = DB_ARGS(db_number(now_ms)),
    };
    return session_run_load(store, &call, out, err);
}

int session_store_list(struct store *store, const struct session_query *query, struct session_list *out, struct err *err) {
    const struct session_query *q = query;
    struct session_list list = {0};
    int rc = store_query(store,
                         SELECT_SESSIONS " WHERE s.revoked_at_ms = 0 AND s.ends_at_ms > ? AND NOT " IS_WITHOUT_USER
                                         " AND (? IS NULL OR s.principal_id = ? OR LOWER(s.principal_name) = LOWER(?))"
                                         " AND (? IS NULL OR " HANDLE " = ?)"
                                         " AND (? IS NULL OR s.principal_name > ? OR (s.principal_name = ? AND " HANDLE " > ?))"
                                         " ORDER BY s.principal_name, " HANDLE " LIMIT ?",
                         DB_ARGS(db_number(q->now_ms), db_text(q->principal), db_text(q->principal), db_text(q->principal),
                                 db_text(q->handle), db_text(q->handle), db_text(q->after_name), db_text(q->after_name),
                                 db_text(q->after_name), db_text(q->after_handle), db_number(q->limit)),
                         COLUMN_KINDS, session_add, &list, err);
    if (rc)
        session_list_done(&list);
    else
        *out = list;
    return rc;
}

/* -- changing ----------------------------------------------------------------------------------------------------------------- */

/* Why an exchange met no row. */
static int explain_rotation(struct db_conn *conn, const struct session_rotation *r, struct err *err) {
    int64_t live = 0;
    int rc = db_query_number(conn, "SELECT COUNT(*) FROM sessions WHERE sid = ? AND revoked_at_ms = 0 AND ends_at_ms > ?",
                             DB_ARGS(db_text(r->sid), db_number(r->now_ms)), &live, err);
    if (rc)
        return rc;
    return live ? err_set(err, ERR_PRECONDITION, "this token was exchanged already")
                : err_set(err, ERR_SESSION_ENDED, "the session has ended; sign in again");
}

static int session_rotate(struct store_tx *tx, void *arg, struct err *err) {
    const struct session_rotation *r = arg;
    uint64_t met = 0;
    int rc = db_run(
        store_tx_conn(tx),
        "UPDATE sessions SET old_jti = jti, jti = ?, rotated_at_ms = ? WHERE sid = ? AND jti = ? AND revoked_at_ms = 0 AND ends_at_ms > ?",
        DB_ARGS(db_text(r->new_jti), db_number(r->now_ms), db_text(r->sid), db_text(r->jti), db_number(r->now_ms)), &met, err);
    if (rc)
        return rc;
    return met ? store_tx_note_change(tx, CHANGE_SESSION, r->sid, err) : explain_rotation(store_tx_conn(tx), r, err);
}

int session_store_rotate(struct store *store, const struct session_rotation *rotation, struct err *err) {
    struct session_rotation borrowed = *rotation;
    return store_tx(store, session_rotate, &borrowed, err);
}

struct renewal {
    const struct session_news *news;
    const char *group_ids;
};

static int update_person(struct store_tx *tx, void *arg, struct err *err) {
    const struct renewal *call = arg;
    const struct session_news *news = call->news;
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx),
                    "UPDATE sessions SET directory_mark = ?, group_ids = ? WHERE sid = ? AND revoked_at_ms = 0"
                    " AND NOT (directory_mark <=> ? AND group_ids <=> ?)",
                    DB_ARGS(db_text(news->directory_mark), db_text(call->group_ids), db_text(news->sid),
                            db_text(news->directory_mark), db_text(call->group_ids)),
                    &met, err);
    return rc || !met ? rc : store_tx_note_change(tx, CHANGE_SESSION, news->sid, err);
}

int session_store_update_person(struct store *store, const struct session_news *news, struct err *err) {
    _cleanup_free_ char *group_ids = NULL;
    struct renewal call = {.news = news};
    int rc = group_set_pack(news->groups, &group_ids, err);
    call.group_ids = group_ids;
    return rc ? rc : store_tx(store, update_person, &call, err);
}

struct revocation {
    const char *id;
    int64_t now_ms;
    const struct audit_record *line; /* NULL: none */
};

static int revoke_one(struct store_tx *tx, void *arg, struct err *err) {
    const struct revocation *call = arg;
    int rc =
        db_run_one(store_tx_conn(tx), "UPDATE sessions SET revoked_at_ms = IF(revoked_at_ms = 0, ?, revoked_at_ms) WHERE sid = ?",
                   DB_ARGS(db_number(call->now_ms), db_text(call->id)), SESSION_GONE, err);
    if (!rc)
        rc = code_tx_forget(tx, call->id, err);
    if (!rc)
        rc = store_tx_note_change(tx, CHANGE_SESSION, call->id, err);
    return rc ? rc : audit_tx_append(tx, call->line, 1, err);
}

int session_store_revoke(struct store *store, const char *sid, int64_t now_ms, const struct audit_record *line, struct err *err) {
    struct revocation call = {.id = sid, .now_ms = now_ms, .line = line};
    return store_tx(store, revoke_one, &call, err);
}

int session_tx_end(struct store_tx *tx, const char *whose, struct db_args args, int64_t now_ms, struct err *err) {
    char sql[SESSION_SQL_BYTES_MAX];
    struct db_arg items[1 + SESSION_TX_ARGS_MAX] = {db_number(now_ms)};
    assert(args.count <= SESSION_TX_ARGS_MAX);
    memcpy(items + 1, args.items, args.count * sizeof(*items));
    (void)snprintf(sql, sizeof(sql), "SELECT sid FROM sessions WHERE revoked_at_ms = 0 AND %s FOR UPDATE", whose);
    int rc = store_tx_note_rows(tx, CHANGE_SESSION, sql, args, err);
    if (rc)
        return rc;
    (void)snprintf(sql, sizeof(sql),
                   "DELETE login_codes FROM login_codes JOIN sessions ON sessions.sid = login_codes.sid"
                   " WHERE revoked_at_ms = 0 AND %s",
                   whose);
    rc = db_run(store_tx_conn(tx), sql, args, NULL, err);
    if (rc)
        return rc;
    (void)snprintf(sql, sizeof(sql), "UPDATE sessions SET revoked_at_ms = ? WHERE revoked_at_ms = 0 AND %s", whose);
    return db_run(store_tx_conn(tx), sql, (struct db_args){items, 1 + args.count}, NULL, err);
}

int session_tx_forget_vcenter(struct store_tx *tx, const char *vcenter_id, struct err *err) {
    const struct db_args id = DB_ARGS(db_text(vcenter_id));
    int rc = store_tx_note_rows(tx, CHANGE_SESSION, "SELECT sid FROM session_vcenters WHERE vcenter_id = ? FOR UPDATE", id, err);
    return rc ? rc : db_run(store_tx_conn(tx), "DELETE FROM session_vcenters WHERE vcenter_id = ?", id, NULL, err);
}

int session_store_purge(struct store *store, int64_t before_ms, unsigned limit, unsigned long *deleted, struct err *err) {
    uint64_t count = 0;
    int rc = store_run(
        store, "DELETE FROM sessions WHERE ends_at_ms < ? OR (revoked_at_ms > 0 AND revoked_at_ms < ?) ORDER BY sid LIMIT ?",
        DB_ARGS(db_number(before_ms), db_number(before_ms), db_number(limit)), &count, err);
    if (!rc)
        *deleted = (unsigned long)count;
    return rc;
}

/* -- further vCenters of sessions ---------------------------------------------------------------- */

#define SESSION_VCENTER_GONE "this vCenter was not added to the session"

/* Writing to the session's row lets one addition at a time pass, so the count below is certain. */
static int shorten_session(struct db_conn *conn, const struct session_addition *a, struct err *err) {
    uint64_t met = 0;
    int rc = db_run(
        conn, "UPDATE sessions SET ends_at_ms = LEAST(ends_at_ms, ?) WHERE sid = ? AND revoked_at_ms = 0 AND ends_at_ms > ?",
        DB_ARGS(db_number(a->ends_at_ms), db_text(a->sid), db_number(a->vcenter->added_at_ms)), &met, err);
    return rc || met ? rc : err_set(err, ERR_SESSION_ENDED, "the session has ended");
}

static int session_vcenter_add(struct store_tx *tx, void *arg, struct err *err) {
    const struct session_addition *a = arg;
    const struct session_vcenter *v = a->vcenter;
    struct db_conn *conn = store_tx_conn(tx);
    int64_t others = 0;
    int rc = shorten_session(conn, a, err);
    if (!rc)
        rc = db_query_number(conn, "SELECT COUNT(*) FROM session_vcenters WHERE sid = ? AND vcenter_id <> ?",
                             DB_ARGS(db_text(a->sid), db_text(v->vcenter_id)), &others, err);
    if (!rc && others >= SESSION_VCENTERS_MAX - 1)
        rc = err_set(err, ERR_CONFLICT, "a session may speak for at most %d vCenters", SESSION_VCENTERS_MAX);
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

/* -- new ones: making room ---------------------------------------------------------------------------------------------------- */

/* Which sessions of a principal are counted together: those that the person has opened; those through one program that acts for the person; and each time
 * apart those by the key of a session, which proves nothing. Arguments: id, acting_id, is it by a key. */
#define IS_ALIKE "principal_id = ? AND acting_id <=> ? AND (way <=> 'vcenter-key') = ?"

/* Sessions that end to make room, an array that is freed by who had them found. */
struct session_ends {
    struct session_end {
        char sid[37];
        enum source source;
    } * items;
    size_t count;
};

static int session_store_add_end(const struct db_row *row, void *arg, struct err *err) {
    struct session_ends *ends = arg;
    struct session_end *end = db_list_add(&ends->items, &ends->count, sizeof(*end), err);
    if (!end)
        return ERR_NOMEM;
    db_row_copy(row, 0, end->sid, sizeof(end->sid));
    if (source_parse(db_row_text(row, 1), &end->source))
        return 0;
    return err_set(err, ERR_SCHEMA, "a session has an unknown source");
}

/* Makes room for a new session of this principal, so that it has others_max beside it at most; those that end are noted. FOR UPDATE: what another transaction of this
 * server ends meanwhile is not chosen once more; on another node of a Galera cluster one of the two is undone and chooses again. */
static int make_room(struct store_tx *tx, const struct session *s, size_t others_max, struct session_ends *out, struct err *err) {
    struct session_ends ends = {0};
    int rc =
        db_query(store_tx_conn(tx),
                 "SELECT sid, COALESCE(way, source) FROM sessions WHERE " IS_ALIKE " AND revoked_at_ms = 0 AND ends_at_ms > ?"
                 " ORDER BY GREATEST(created_at_ms, rotated_at_ms) DESC, sid LIMIT ? OFFSET ? FOR UPDATE",
                 DB_ARGS(db_text(s->who.id), db_text(s->who.acting_id), db_number(s->who.source == SOURCE_VC_KEY),
                         db_number(s->created_at_ms), db_number(ENDS_AT_ONCE), db_number((int64_t)others_max)),
                 "tt", session_store_add_end, &ends, err);
    for (size_t i = 0; i < ends.count && !rc; i++) {
        rc = db_run(store_tx_conn(tx), "UPDATE sessions SET revoked_at_ms = ? WHERE sid = ?",
                    DB_ARGS(db_number(s->created_at_ms), db_text(ends.items[i].sid)), NULL, err);
        if (!rc)
            rc = code_tx_forget(tx, ends.items[i].sid, err);
        if (!rc)
            rc = store_tx_note_change(tx, CHANGE_SESSION, ends.items[i].sid, err);
    }
    if (rc)
        free(ends.items);
    else
        *out = ends;
    return rc;
}

#define TEXT_BYTES_MAX 4096U
#define KINDS 4U /* with a credential or without, beginning the transaction or not */
#define ROOM_ARGS 5U
#define CREDENTIAL_ARGS 2U
#define SESSION_ARGS 22U
#define REPLICA_ARGS 5U
#define CHANGE_ARGS 5U
#define AUDIT_ARGS 16U
#define SESSION_ROWS_ARGS_MAX \
    (REPLICA_ARGS + SESSION_ROWS_MAX * (ROOM_ARGS + CREDENTIAL_ARGS + SESSION_ARGS + CHANGE_ARGS + AUDIT_ARGS))

_Static_assert(SESSION_ROWS_ARGS_MAX <= DB_ARGS_MAX, "a statement takes as many");

/* -- new ones: the statement -------------------------------------------------------------------------------------------------------------- */

static pthread_once_t texts_once = PTHREAD_ONCE_INIT;
static char texts[SESSION_ROWS_MAX][KINDS][TEXT_BYTES_MAX];

static void add_rows(struct strbuf *out, size_t rows, unsigned args) {
    for (size_t i = 0; i < rows; i++) {
        strbuf_adds(out, i ? ", (" : "(");
        for (unsigned j = 0; j < args; j++)
            strbuf_adds(out, j ? ", ?" : "?");
        strbuf_adds(out, ")");
    }
    strbuf_adds(out, "; ");
}

/* The numbers of the changes end with the one that the row of the replica got; this connection knows it. */
static void add_changes(struct strbuf *out, size_t rows) {
    strbuf_adds(out, "INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms, tx_id) VALUES ");
    for (size_t i = 0; i < rows; i++)
        strbuf_addf(out, "%s(?, LAST_INSERT_ID() - %zu, ?, ?, ?, ?)", i ? ", " : "", rows - 1 - i);
    strbuf_adds(out, "; ");
}

/* Nothing is written where the principal of a row has more live sessions than leave room for it. A SELECT of its own: as part of IF it would lock what it
 * reads, and so wait for rows while this process holds the audit chain. What is being committed meanwhile is not counted: the next one ends what is too many. */
static void add_condition(struct strbuf *out, size_t rows) {
    for (size_t i = 0; i < rows; i++)
        strbuf_addf(out,
                    "%s(SELECT 1 FROM sessions WHERE " IS_ALIKE " AND revoked_at_ms = 0 AND ends_at_ms > ?"
                    " LIMIT 1 OFFSET ?) IS NULL",
                    i ? " AND " : "SELECT ");
    strbuf_adds(out, " INTO has_room; IF has_room THEN ");
}

/* The row of the replica is written late, since it is locked from then on, and only if it is as it was known. */
static void session_rows_write_text(struct strbuf *out, size_t rows, bool has_credential, bool begins) {
    strbuf_addf(out, "BEGIN NOT ATOMIC DECLARE has_room INT; %s", begins ? "START TRANSACTION; " : "");
    add_condition(out, rows);
    if (has_credential) {
        strbuf_adds(out, "INSERT INTO used_proofs (digest, until_ms) VALUES ");
        add_rows(out, rows, CREDENTIAL_ARGS);
    }
    strbuf_adds(out, "INSERT INTO sessions (" COLUMNS ") VALUES ");
    add_rows(out, rows, SESSION_ARGS);
    strbuf_addf(out,
                "UPDATE replicas SET seq = LAST_INSERT_ID(seq + %zu), audit_seq = ?, audit_head = ?"
                " WHERE id = ? AND audit_seq = ? AND audit_head <=> ?; IF ROW_COUNT() = 1 THEN ",
                rows);
    add_changes(out, rows);
    strbuf_adds(out, "INSERT INTO audit (replica_id, seq, at_ms, action, principal_id, principal_name, source, object_kind,"
                     " object_id, object_name, address, request_id, result, reason, acting_id, hash) VALUES ");
    add_rows(out, rows, AUDIT_ARGS);
    strbuf_adds(out, "END IF; END IF; END");
}

static void make_texts(void) {
    for (size_t rows = 1; rows <= SESSION_ROWS_MAX; rows++) {
        for (unsigned kind = 0; kind < KINDS; kind++) {
            _cleanup_strbuf_ struct strbuf text;
            strbuf_init(&text, TEXT_BYTES_MAX - 1);
            session_rows_write_text(&text, rows, kind & 1, kind & 2);
            if (!text.failed) /* else it stays empty: that is an error of the statement, and the next one says so */
                memcpy(texts[rows - 1][kind], text.data, text.len + 1);
        }
    }
}

static const char *session_rows_text(size_t rows, bool has_credential, bool begins) {
    (void)pthread_once(&texts_once, make_texts);
    return texts[rows - 1][(has_credential ? 1 : 0) + (begins ? 2 : 0)];
}

/* -- its arguments ------------------------------------------------------------------------------------------------------------ */

struct arguments {
    struct db_arg items[SESSION_ROWS_ARGS_MAX];
    size_t count;
};

static void session_rows_add(struct arguments *to, const struct db_arg *items, size_t count) {
    memcpy(to->items + to->count, items, count * sizeof(*items));
    to->count += count;
}
#define ADD(to, ...)                                           \
    session_rows_add(to, (const struct db_arg[]){__VA_ARGS__}, \
                     sizeof((const struct db_arg[]){__VA_ARGS__}) / sizeof(struct db_arg))

/* As IS_ALIKE. */
static bool session_rows_is_alike(const struct principal *a, const struct principal *b) {
    return str_eq(a->id, b->id) && str_eq(a->acting_id, b->acting_id) &&
           (a->source == SOURCE_VC_KEY) == (b->source == SOURCE_VC_KEY);
}

/* Other rows of this statement need room, too. Where any number is allowed, NULL finds none. */
static int add_room(struct arguments *to, const struct session_new *items, size_t count, size_t i) {
    const struct session_opening *opening = &items[i].opening;
    const struct session *s = opening->session;
    int64_t others_max = opening->live_max;
    for (size_t j = 0; j < count; j++)
        others_max -= session_rows_is_alike(&items[j].opening.session->who, &s->who);
    if (opening->live_max && others_max < 0)
        return SESSION_ROWS_FULL;
    ADD(to, db_text(opening->live_max ? s->who.id : NULL), db_text(s->who.acting_id), db_number(s->who.source == SOURCE_VC_KEY),
        db_number(s->created_at_ms), db_number(opening->live_max ? others_max : 0));
    return 0;
}

static void session_rows_add_one(struct arguments *to, const struct session_new *item) {
    const struct session *s = item->opening.session;
    const struct principal *who = &s->who;
    ADD(to, db_text(s->sid), db_text(who->id), db_text(who->name), db_text(who->full_name), db_text(role_name(who->role)),
        db_text(session_source(who->source)), db_text(who->vcenter_id), db_text(who->vc_user), db_text(who->vc_session_key),
        db_text(s->jti), db_text(s->old_jti), db_number(s->rotated_at_ms), db_number(s->created_at_ms), db_number(s->ends_at_ms),
        db_number(item->has_no_room ? s->created_at_ms : s->revoked_at_ms), db_number(s->must_change_password),
        db_text(session_way(who->source)), db_text(who->directory), db_text(s->directory_mark), db_text(who->acting_id),
        db_text(who->service_id), db_text(item->group_ids));
}

static void add_audit(struct arguments *to, struct db_arg replica, const struct session_new *item,
                      const struct audit_step *step) {
    const struct db_arg *a = step->texts.items;
    ADD(to, replica, step->new_seq, db_number(item->opening.line->at_ms), a[AUDIT_ACTION], a[AUDIT_PRINCIPAL_ID],
        a[AUDIT_PRINCIPAL_NAME], a[AUDIT_SOURCE], a[AUDIT_OBJECT_KIND], a[AUDIT_OBJECT_ID], a[AUDIT_OBJECT_NAME],
        a[AUDIT_ADDRESS], a[AUDIT_REQUEST_ID], a[AUDIT_RESULT], a[AUDIT_REASON], a[AUDIT_ACTING_ID], step->hash);
}

struct rows {
    const struct session_new *items;
    size_t count;
    struct audit_step steps[SESSION_ROWS_MAX];
};

/* The mark stands in the last row of the log. */
static void add_logs(struct arguments *to, struct store_tx *tx, const struct rows *rows) {
    const struct db_arg replica = db_number(store_tx_replica(tx)), kind = db_text(change_kind_name(CHANGE_SESSION));
    const int64_t now_ms = clock_wall_ms();
    const char *mark = store_tx_mark(tx, now_ms);
    for (size_t i = 0; i < rows->count; i++)
        ADD(to, replica, kind, db_text(rows->items[i].opening.session->sid), db_number(now_ms),
            db_text(i + 1 == rows->count ? mark : NULL));
    for (size_t i = 0; i < rows->count; i++)
        add_audit(to, replica, &rows->items[i], &rows->steps[i]);
}

static int session_rows_add_all(struct arguments *to, struct store_tx *tx, const struct rows *rows) {
    const struct audit_step *first = &rows->steps[0], *last = &rows->steps[rows->count - 1];
    for (size_t i = 0; i < rows->count; i++)
        if (add_room(to, rows->items, rows->count, i))
            return SESSION_ROWS_FULL;
    for (size_t i = 0; i < rows->count && rows->items[0].opening.once; i++)
        ADD(to, db_bytes(rows->items[i].opening.once->digest, SESSION_ONCE_BYTES),
            db_number(rows->items[i].opening.once->until_ms));
    for (size_t i = 0; i < rows->count; i++)
        session_rows_add_one(to, &rows->items[i]);
    ADD(to, last->new_seq, last->new_head, db_number(store_tx_replica(tx)), first->old_seq, first->old_head);
    add_logs(to, tx, rows);
    return 0;
}

int session_rows_write(struct store_tx *tx, const struct session_new *items, size_t count, bool begins, struct err *err) {
    const bool has_credential = items[0].opening.once != NULL;
    const size_t looked = 1, wanted = looked + 1 + count * (has_credential ? 4 : 3); /* the SELECT counts as a row */
    struct rows rows = {.items = items, .count = count};
    const struct audit_record *lines[SESSION_ROWS_MAX];
    struct arguments args;
    uint64_t written = 0;
    args.count = 0;
    for (size_t i = 0; i < count; i++)
        lines[i] = items[i].opening.line;
    int rc = audit_tx_begin_steps(tx, lines, count, rows.steps, err);
    if (!rc)
        rc = session_rows_add_all(&args, tx, &rows);
    if (rc)
        return rc;
    rc = db_run(store_tx_last_conn(tx), session_rows_text(count, has_credential, begins),
                (struct db_args){args.items, args.count}, &written, err);
    if (rc || written <= looked)
        return rc ? rc : SESSION_ROWS_FULL;
    rc = audit_tx_end_step(tx, &rows.steps[count - 1], written == wanted);
    for (size_t i = 0; i < count && !rc; i++)
        rc = audit_tx_tell(tx, lines[i], err);
    return rc;
}

/* -- new ones: one alone, without line and credential ------------------------------------------------------------------------------ */

struct insertion {
    struct session_new row;
    unsigned live_max;
};

static int session_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct insertion *call = arg;
    const struct session *s = call->row.opening.session;
    struct session_ends ends = {0};
    struct arguments args = {.count = 0};
    int rc = call->live_max ? make_room(tx, s, call->live_max - 1, &ends, err) : 0;
    free(ends.items);
    if (rc)
        return rc;
    session_rows_add_one(&args, &call->row);
    rc = db_run(store_tx_conn(tx),
                "INSERT INTO sessions (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (struct db_args){args.items, args.count}, NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SESSION, s->sid, err);
}

int session_store_insert(struct store *store, const struct session *s, unsigned live_max, struct err *err) {
    _cleanup_free_ char *group_ids = NULL;
    struct insertion call = {.row = {.opening = {.session = s}}, .live_max = live_max};
    int rc = group_set_pack(&s->groups, &group_ids, err);
    call.row.group_ids = group_ids;
    return rc ? rc : store_tx(store, session_insert, &call, err);
}

/* -- opening: who comes at once is written together --------------------------------------------------------------- */

/* Lines that stand for themselves (refusals) are written along with sessions: on a Galera cluster each transaction costs a round of all nodes.
 * Where a principal has as many sessions as it may, nothing is written, and all is done once more in a transaction that ends old ones first. */

#define SESSION_OPEN_REASON_BYTES 160
#define SETTLE_TRIES 3 /* the row of the replica is another one than was known; with one process for each it never is twice */

/* What one caller wants written. */
struct opening {
    struct audit_append append;
    struct session_new row;
    char reason[SESSION_OPEN_REASON_BYTES]; /* why others end for it */
};

/* What is written in one transaction. */
struct session_open_batch {
    struct opening *const *items;
    size_t count;
    const struct audit_record *const *lines; /* those that stand for themselves */
    size_t lines_count;
    struct group_lead *lead; /* NULL: it is nobody's turn */
    bool makes_room;         /* old sessions end for those of the batch */
};

/* The n-th of those in the batch, from `from` up to `until`, that are counted together with this session; NULL: there are not as many. */
static const struct session *find_alike(const struct session_open_batch *batch, const struct session *like, size_t from,
                                        size_t until, size_t n) {
    for (size_t i = from; i < until; i++) {
        const struct session *s = batch->items[i]->row.opening.session;
        if (session_rows_is_alike(&s->who, &like->who) && !n--)
            return s;
    }
    return NULL;
}

/* From `from` on, as many as one statement takes. */
static size_t take_alike(const struct session_open_batch *batch, size_t from, struct session_new out[SESSION_ROWS_MAX]) {
    size_t n = 0;
    while (n < SESSION_ROWS_MAX && from + n < batch->count) {
        struct session_new row = batch->items[from + n]->row;
        const struct session_opening *opening = &row.opening;
        if (n && !opening->once != !out[0].opening.once)
            break;
        if (batch->makes_room && opening->live_max) {
            row.has_no_room = find_alike(batch, opening->session, from + n + 1, batch->count, opening->live_max - 1) != NULL;
            row.opening.live_max = 0; /* there is room */
        }
        out[n++] = row;
    }
    return n;
}

static void pass_on(void *arg) {
    group_commit_pass(arg);
}

static const struct store_tx_hooks lead_hooks = {.before_commit = pass_on};

/* -- making room --------------------------------------------------------------------------------------------------------------- */

/* Lines about sessions that end, behind those of the batch. Texts are borrowed from it. */
struct end_lines {
    struct audit_record *items;
    size_t count;
};

static int add_end_line(const struct opening *call, enum source source, struct end_lines *out, struct err *err) {
    struct audit_record *line = db_list_add(&out->items, &out->count, sizeof(*line), err);
    if (!line)
        return ERR_NOMEM;
    *line = *call->row.opening.line;
    line->event.action = "session.end";
    line->event.source = source_name(source);
    line->event.object_kind = line->event.object_id = line->event.object_name = NULL;
    line->event.result = err_slug(ERR_SESSION_ENDED);
    line->event.reason = call->reason;
    return 0;
}

/* Room for the one at this place. Of those before it that it is counted with, as many as there may be beside it take the place of sessions that there were;
 * where they are more, the first ones end for the last ones (has_no_room). */
static int make_room_for(struct store_tx *tx, const struct session_open_batch *batch, size_t at, struct end_lines *lines,
                         struct err *err) {
    struct opening *call = batch->items[at];
    const struct session_opening *opening = &call->row.opening;
    const struct session *ended = NULL;
    struct session_ends ends = {0};
    size_t before = 0;
    int rc;
    while (find_alike(batch, opening->session, 0, at, before))
        before++;
    if (before >= opening->live_max)
        ended = find_alike(batch, opening->session, 0, at, before - opening->live_max);
    (void)snprintf(call->reason, sizeof(call->reason),
                   "signed in again with %u sessions under way, as many as auth.sessions_per_principal allows",
                   opening->live_max);
    if (ended)
        return add_end_line(call, ended->who.source, lines, err);
    rc = make_room(tx, opening->session, opening->live_max - 1 - before, &ends, err);
    for (size_t i = 0; i < ends.count && !rc; i++)
        rc = add_end_line(call, ends.items[i].source, lines, err);
    free(ends.items);
    return rc;
}

/* For all of the batch before the first is written: whoever has the audit chain waits for no row any more. */
static int make_room_for_all(struct store_tx *tx, const struct session_open_batch *batch, struct end_lines *lines,
                             struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < batch->count && !rc; i++)
        if (batch->items[i]->row.opening.live_max)
            rc = make_room_for(tx, batch, i, lines, err);
    return rc;
}

/* -- writing --------------------------------------------------------------------------------------------------------------------- */

/* The sessions of the batch; *done is their number. */
static int write_sessions(struct store_tx *tx, const struct session_open_batch *batch, size_t *done, struct err *err) {
    struct session_new rows[SESSION_ROWS_MAX];
    size_t n;
    int rc = 0;
    while (!rc && (n = take_alike(batch, *done, rows)) != 0) {
        rc = session_rows_write(tx, rows, n, *done == 0 && !batch->makes_room, err);
        *done += n;
    }
    return rc;
}

static int write_batch(struct store_tx *tx, void *arg, struct err *err) {
    const struct session_open_batch *batch = arg;
    struct end_lines ended = {0};
    size_t done = 0;
    int rc;
    if (batch->lead)
        store_tx_hook(tx, &lead_hooks, batch->lead);
    rc = batch->makes_room ? make_room_for_all(tx, batch, &ended, err) : 0;
    for (size_t i = 0; i < batch->lines_count && !rc; i++)
        rc = audit_tx_append(tx, batch->lines[i], 1, err);
    if (!rc)
        rc = audit_tx_append(tx, ended.items, ended.count, err);
    if (!rc) /* these come first in the audit log, all the same */
        rc = write_sessions(tx, batch, &done, err);
    free(ended.items);
    return rc;
}

static int session_open_run_batch(struct store *store, struct session_open_batch *batch, struct err *err) {
    int rc = AUDIT_TX_UNSETTLED;
    if (!batch->count)
        return store_tx(store, write_batch, batch, err);
    for (unsigned i = 0; i < SETTLE_TRIES && rc == AUDIT_TX_UNSETTLED; i++) {
        rc = batch->makes_room ? SESSION_ROWS_FULL : store_tx_compound(store, write_batch, batch, err);
        batch->makes_room = rc == SESSION_ROWS_FULL;
        if (batch->makes_room)
            rc = store_tx(store, write_batch, batch, err);
        if (rc == AUDIT_TX_UNSETTLED) {
            int settled = audit_store_settle(store, err);
            rc = settled ? settled : rc;
        }
    }
    return rc == AUDIT_TX_UNSETTLED ? err_set(err, ERR_BUSY, "the row of this replica changes all the time") : rc;
}

/* Where the database is away or busy, all of them hear so. What else failed may be one's own fault: each tries alone then. */
static bool session_store_is_for_all(int rc) {
    return !rc || rc == ERR_DATABASE || rc == ERR_BUSY || rc == ERR_NOMEM;
}

void session_store_write_group(void *store, struct group_lead *lead, struct group_entry *const *entries, size_t count) {
    struct opening *items[GROUP_COMMIT_MAX] = {NULL};
    const struct audit_record *lines[GROUP_COMMIT_MAX] = {NULL};
    struct session_open_batch batch = {.items = items, .lines = lines, .lead = lead};
    struct err why = {0};
    int rc;
    for (size_t i = 0; i < count; i++) {
        const struct audit_append *append = (const void *)entries[i];
        if (append->more)
            items[batch.count++] = append->more;
        else
            lines[batch.lines_count++] = append->line;
    }
    rc = session_open_run_batch(store, &batch, &why);
    for (size_t i = 0; i < count; i++) {
        entries[i]->rc = rc;
        entries[i]->err = why;
        entries[i]->is_to_try_alone = count > 1 && !session_store_is_for_all(rc);
    }
}

int session_store_open(struct store *store, const struct session_opening *opening, struct err *err) {
    _cleanup_free_ char *group_ids = NULL;
    struct opening call = {.append = {.line = opening->line}, .row = {.opening = *opening}}, *const only = &call;
    struct group_entry *entry = &call.append.entry;
    int rc = group_set_pack(&opening->session->groups, &group_ids, err);
    if (rc)
        return rc;
    call.row.group_ids = group_ids;
    call.append.more = &call;
    group_commit_run(store_audit_side(store)->group, entry, session_store_write_group, store);
    if (entry->is_to_try_alone)
        return session_open_run_batch(store, &(struct session_open_batch){.items = &only, .count = 1}, err);
    return err_move(err, entry->rc, &entry->err);
}
