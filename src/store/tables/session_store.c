/* Sessions, their further vCenters, and credentials that work once. New ones at sign-on are written by session_open.c. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "session_tx.h"
#include "store_tx.h"
#include "str.h"

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
#define ENDS_AT_ONCE 100 /* for one new session: of more, the next one ends some, too */

void session_list_done(struct session_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        session_done(&list->items[i]);
    free(list->items);
    *list = (struct session_list){0};
}

static bool is_known_before(enum source source) {
    return source <= SOURCE_VC_PASSWORD;
}

const char *session_tx_source(enum source source) {
    return source_name(is_known_before(source) ? source : SOURCE_LOCAL);
}

const char *session_tx_way(enum source source) {
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

/* -- new ones ----------------------------------------------------------------------------------------------------------------- */

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

/* FOR UPDATE: what another transaction of this server ends meanwhile is not chosen once more; on another node of a Galera cluster one of the two is
 * undone and chooses again. */
int session_tx_make_room(struct store_tx *tx, const struct session *s, unsigned live_max, struct session_ends *out,
                         struct err *err) {
    struct session_ends ends = {0};
    int rc = db_query(store_tx_conn(tx),
                      "SELECT sid, COALESCE(way, source) FROM sessions WHERE " SESSION_TX_ALIKE
                      " AND revoked_at_ms = 0 AND ends_at_ms > ?"
                      " ORDER BY GREATEST(created_at_ms, rotated_at_ms) DESC, sid LIMIT ? OFFSET ? FOR UPDATE",
                      DB_ARGS(db_text(s->who.id), db_text(s->who.acting_id), db_number(s->who.source == SOURCE_VC_KEY),
                              db_number(s->created_at_ms), db_number(ENDS_AT_ONCE), db_number((int64_t)live_max - 1)),
                      "tt", session_store_add_end, &ends, err);
    for (size_t i = 0; i < ends.count && !rc; i++) {
        rc = db_run(store_tx_conn(tx), "UPDATE sessions SET revoked_at_ms = ? WHERE sid = ?",
                    DB_ARGS(db_number(s->created_at_ms), db_text(ends.items[i].sid)), NULL, err);
        if (!rc)
            rc = store_tx_note_change(tx, CHANGE_SESSION, ends.items[i].sid, err);
    }
    if (rc)
        free(ends.items);
    else
        *out = ends;
    return rc;
}

struct insertion {
    const struct session *session;
    const char *group_ids;
    unsigned live_max;
};

static int session_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct insertion *call = arg;
    const struct session *s = call->session;
    const struct principal *who = &s->who;
    struct session_ends ends = {0};
    int rc = call->live_max ? session_tx_make_room(tx, s, call->live_max, &ends, err) : 0;
    free(ends.items);
    if (rc)
        return rc;
    rc = db_run(store_tx_conn(tx),
                "INSERT INTO sessions (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                DB_ARGS(db_text(s->sid), db_text(who->id), db_text(who->name), db_text(who->full_name),
                        db_text(role_name(who->role)), db_text(session_tx_source(who->source)), db_text(who->vcenter_id),
                        db_text(who->vc_user), db_text(who->vc_session_key), db_text(s->jti), db_text(s->old_jti),
                        db_number(s->rotated_at_ms), db_number(s->created_at_ms), db_number(s->ends_at_ms),
                        db_number(s->revoked_at_ms), db_number(s->must_change_password), db_text(session_tx_way(who->source)),
                        db_text(who->directory), db_text(s->directory_mark), db_text(who->acting_id), db_text(who->service_id),
                        db_text(call->group_ids)),
                NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SESSION, s->sid, err);
}

int session_store_insert(struct store *store, const struct session *s, unsigned live_max, struct err *err) {
    _cleanup_free_ char *group_ids = NULL;
    struct insertion call = {.session = s, .live_max = live_max};
    int rc = group_set_pack(&s->groups, &group_ids, err);
    call.group_ids = group_ids;
    return rc ? rc : store_tx(store, session_insert, &call, err);
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
    int64_t differs = 0;
    int rc = db_query_number(store_tx_conn(tx),
                             "SELECT COUNT(*) FROM sessions WHERE sid = ? AND revoked_at_ms = 0"
                             " AND NOT (directory_mark <=> ? AND group_ids <=> ?) FOR UPDATE",
                             DB_ARGS(db_text(news->sid), db_text(news->directory_mark), db_text(call->group_ids)), &differs, err);
    if (rc || !differs)
        return rc;
    rc = db_run(store_tx_conn(tx), "UPDATE sessions SET directory_mark = ?, group_ids = ? WHERE sid = ?",
                DB_ARGS(db_text(news->directory_mark), db_text(call->group_ids), db_text(news->sid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SESSION, news->sid, err);
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
        rc = store_tx_note_change(tx, CHANGE_SESSION, call->id, err);
    return rc ? rc : audit_tx_append(tx, call->line, 1, err);
}

int session_store_revoke(struct store *store, const char *sid, int64_t now_ms, const struct audit_record *line, struct err *err) {
    struct revocation call = {.id = sid, .now_ms = now_ms, .line = line};
    return store_tx(store, revoke_one, &call, err);
}

static int session_note(const struct db_row *row, void *arg, struct err *err) {
    return store_tx_note_change(arg, CHANGE_SESSION, db_row_text(row, 0), err);
}

struct owner_sql {
    const char *list, *revoke;
};

/* Statements are known by the address of their text, so each owner has its own. */
static const struct owner_sql owner_sql[] = {
    [SESSION_TX_PRINCIPAL] = {"SELECT sid FROM sessions WHERE principal_id = ? AND revoked_at_ms = 0 FOR UPDATE",
                              "UPDATE sessions SET revoked_at_ms = ? WHERE principal_id = ? AND revoked_at_ms = 0"},
    [SESSION_TX_VCENTER] = {"SELECT sid FROM sessions WHERE vcenter_id = ? AND revoked_at_ms = 0 FOR UPDATE",
                            "UPDATE sessions SET revoked_at_ms = ? WHERE vcenter_id = ? AND revoked_at_ms = 0"},
};

int session_tx_revoke(struct store_tx *tx, enum session_tx_owner owner, const char *owner_id, int64_t now_ms, unsigned *count,
                      struct err *err) {
    uint64_t met = 0;
    int rc = db_query(store_tx_conn(tx), owner_sql[owner].list, DB_ARGS(db_text(owner_id)), "t", session_note, tx, err);
    if (!rc)
        rc = db_run(store_tx_conn(tx), owner_sql[owner].revoke, DB_ARGS(db_number(now_ms), db_text(owner_id)), &met, err);
    if (!rc && owner == SESSION_TX_VCENTER)
        rc = session_tx_forget_vcenter(tx, owner_id, err);
    if (!rc)
        *count = (unsigned)met;
    return rc;
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
    int rc = db_query(store_tx_conn(tx), "SELECT sid FROM session_vcenters WHERE vcenter_id = ? FOR UPDATE",
                      DB_ARGS(db_text(vcenter_id)), "t", session_vcenter_note_session, tx, err);
    return rc ? rc
              : db_run(store_tx_conn(tx), "DELETE FROM session_vcenters WHERE vcenter_id = ?", DB_ARGS(db_text(vcenter_id)), NULL,
                       err);
}

/* -- credentials that work once ----------------------------------------------------------------------------------------- */

/* The key of the table decides: of two replicas that write the same digest one is refused, on a Galera cluster at its COMMIT, which is then run again and meets
 * the row. */

int replay_store_note(struct store *store, const uint8_t digest[REPLAY_DIGEST_BYTES], int64_t until_ms, struct err *err) {
    int rc = store_run(store, "INSERT INTO used_proofs (digest, until_ms) VALUES (?, ?)",
                       DB_ARGS(db_bytes(digest, REPLAY_DIGEST_BYTES), db_number(until_ms)), NULL, err);
    return db_explain(rc, ERR_EXISTS, err, "this credential was used before");
}

int replay_store_purge(struct store *store, int64_t now_ms, unsigned limit, unsigned long *deleted, struct err *err) {
    uint64_t count = 0;
    int rc = store_run(store, "DELETE FROM used_proofs WHERE until_ms < ? ORDER BY until_ms, digest LIMIT ?",
                       DB_ARGS(db_number(now_ms), db_number(limit)), &count, err);
    if (!rc)
        *deleted = (unsigned long)count;
    return rc;
}
