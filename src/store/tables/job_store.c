/* Jobs, their steps and their lines. Layer 2 (store). SPDX-License-Identifier: GPL-3.0-or-later */
#include "job_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "clock.h"
#include "db_table.h"
#include "record_tx.h"
#include "store_tx.h"
#include "uuid.h"

static const struct db_table job_table = {.name = "jobs", .noun = "job", .members = job_members, .bytes = sizeof(struct job)};
static const struct db_table job_step_table = {
    .name = "job_steps", .noun = "step", .members = job_step_members, .bytes = sizeof(struct job_step)};
static const struct db_table job_line_table = {
    .name = "job_lines", .noun = "line", .members = job_line_members, .bytes = sizeof(struct job_line)};

#define IS_ACTIVE "state IN ('queued', 'running', 'undoing')"
/* One job at a time for each object; of a kind that is about no one object, one. */
#define ACTIVE_KEY "CONCAT(COALESCE(object_kind, kind), ':', COALESCE(object_id, ''))"

/* -- what people do --------------------------------------------------------------------------------------------------------- */

static int job_explain_key(int rc, struct err *err) {
    return db_explain(rc, ERR_EXISTS, err, "another job is at work on it");
}

static int job_insert_steps(struct store_tx *tx, const char *id, const struct job_step_list *steps, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < steps->count && !rc; i++)
        rc = db_table_insert(store_tx_conn(tx), &job_step_table, &steps->items[i], DB_MORE({"job_id", db_text(id), NULL}), err);
    return rc;
}

/* -- events ------------------------------------------------------------------------------------------------------------------ */

/* Where the Kubernetes cluster is that a job is about: as it was declared, and as the vCenters were told. */
static int job_note_places(struct db_conn *conn, const char *id, struct err *err) {
    static const char *const statements[] = {
        "INSERT IGNORE INTO job_places (job_id, vcenter_id, moref) SELECT j.id, p.vcenter_id, p.moref FROM jobs j"
        " JOIN cluster_placements p ON p.cluster_id = j.object_id WHERE j.id = ? AND j.object_kind = 'cluster'",
        "INSERT IGNORE INTO job_places (job_id, vcenter_id, moref) SELECT j.id, p.vcenter_id, p.moref FROM jobs j"
        " JOIN cluster_places p ON p.cluster_id = j.object_id WHERE j.id = ? AND j.object_kind = 'cluster'",
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && !rc; i++)
        rc = db_run(conn, statements[i], DB_ARGS(db_text(id)), NULL, err);
    return rc;
}

/* The events (event_store.h) about a job's begin or end, at each of these vSphere clusters. There are none for a vCenter that events are not made for. */
static int job_add_events(struct db_conn *conn, const char *id, const char *kind, const char *reason, struct err *err) {
    char event[UUID_TEXT_BYTES];
    uuid_new(event);
    int rc = job_note_places(conn, id, err);
    return rc ? rc
              : db_run(
                    conn,
                    "INSERT INTO vcenter_events (id, vcenter_id, moref, kind, name, object_id, job, reason, folded, made_at_ms)"
                    " SELECT ?, v.id, p.moref, ?, j.object_name, j.object_id, j.kind, LEFT(?, 1000), 1, ? FROM jobs j"
                    " JOIN job_places p ON p.job_id = j.id"
                    " JOIN vcenters v ON v.id = p.vcenter_id AND v.registered_at_ms > 0 AND v.events_since_ms > 0"
                    " WHERE j.id = ?",
                    DB_ARGS(db_text(event), db_text(kind), db_text(reason), db_number(clock_wall_ms()), db_text(id)), NULL, err);
}

static const char *job_event_of(enum job_state state) {
    return state == JOB_DONE ? "job_done" : state == JOB_FAILED ? "job_failed" : "job_canceled";
}

/* -- beginning --------------------------------------------------------------------------------------------------------------- */

static int job_begin_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct job_begin *begin = arg;
    struct job row = *begin->job;
    struct db_conn *conn = store_tx_conn(tx);
    row.owner = NULL;
    row.state = JOB_QUEUED;
    row.started_at_ms = row.ended_at_ms = row.generation = 0;
    int rc = db_query_number(conn, "SELECT " DB_NOW_MS, DB_ARGS_NONE, &row.created_at_ms, err);
    rc = rc ? rc
            : db_table_insert(conn, &job_table, &row,
                              DB_MORE({"lease_until_ms", db_number(0), NULL}, {"lines_count", db_number(0), NULL}), err);
    rc = rc ? rc : db_run(conn, "UPDATE jobs SET active_key = " ACTIVE_KEY " WHERE id = ?", DB_ARGS(db_text(row.id)), NULL, err);
    rc = job_explain_key(rc, err);
    rc = rc ? rc : job_insert_steps(tx, row.id, begin->steps, err);
    rc = rc ? rc : job_add_events(conn, row.id, "job_begun", NULL, err);
    rc = rc ? rc : operation_tx_begin(tx, row.id, begin->audit, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_JOB, row.id, err);
}

int job_store_begin(struct store *store, const struct job_begin *begin, struct err *err) {
    struct job_begin borrowed = *begin;
    return store_tx(store, job_begin_in_tx, &borrowed, err);
}

int job_store_find_active(struct store *store, const char *object_kind, const char *object_id, char *id, struct err *err) {
    char found[UUID_TEXT_BYTES] = "";
    int rc =
        store_query_row(store, "SELECT id FROM jobs WHERE active_key = CONCAT(?, ':', ?)",
                        DB_ARGS(db_text(object_kind), db_text(object_id ? object_id : "")), DB_INTO(DB_TO(found)), NULL, err);
    memcpy(id, found, sizeof(found));
    return rc;
}

/* What an administrator does to a job that is there. */
struct job_order {
    const char *id, *sql, *refusal;
    bool is_retry;
    const struct audit_record *audit;
};

static int job_explain_refusal(struct db_conn *conn, const struct job_order *order, struct err *err) {
    char state[JOB_STATE_BYTES] = "";
    int rc = db_query_row(conn, "SELECT state FROM jobs WHERE id = ?", DB_ARGS(db_text(order->id)), DB_INTO(DB_TO(state)),
                          "there is no such job", err);
    return rc ? rc : err_set(err, ERR_CONFLICT, "the job is %s: %s", state, order->refusal);
}

/* Steps that are done stay done; all others begin anew, with what they had decided. */
static int job_reset_steps(struct db_conn *conn, const char *id, struct err *err) {
    return db_run(conn,
                  "UPDATE job_steps SET state = 'pending', started_at_ms = 0, ended_at_ms = 0, tries = 0, percent = -1,"
                  " reason = NULL, remedy = NULL WHERE job_id = ? AND state <> 'done'",
                  DB_ARGS(db_text(id)), NULL, err);
}

static int job_order_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct job_order *order = arg;
    struct db_conn *conn = store_tx_conn(tx);
    uint64_t met = 0;
    int rc = db_run(conn, order->sql, DB_ARGS(db_text(order->id)), &met, err);
    rc = job_explain_key(rc, err);
    if (!rc && !met)
        return job_explain_refusal(conn, order, err);
    if (!rc && order->is_retry)
        rc = job_reset_steps(conn, order->id, err);
    return rc ? rc : record_tx_end(tx, CHANGE_JOB, order->id, order->audit, err);
}

int job_store_cancel(struct store *store, const char *id, const struct audit_record *audit, struct err *err) {
    struct job_order order = {
        .id = id,
        .sql = "UPDATE jobs SET is_cancel_asked = TRUE, active_key = " ACTIVE_KEY ","
               " state = IF(state = 'failed', 'queued', state), ended_at_ms = 0"
               " WHERE id = ? AND state IN ('queued', 'running', 'failed') AND NOT (is_cancel_asked AND state <> 'failed')",
        .refusal = "there is nothing left to cancel",
        .audit = audit,
    };
    return store_tx(store, job_order_in_tx, &order, err);
}

int job_store_retry(struct store *store, const char *id, const struct audit_record *audit, struct err *err) {
    struct job_order order = {
        .id = id,
        .sql = "UPDATE jobs SET is_cancel_asked = FALSE, active_key = " ACTIVE_KEY ", state = 'queued', reason = NULL,"
               " remedy = NULL, ended_at_ms = 0 WHERE id = ? AND state IN ('failed', 'canceled')",
        .refusal = "only one that has failed or was canceled is tried again",
        .is_retry = true,
        .audit = audit,
    };
    return store_tx(store, job_order_in_tx, &order, err);
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

int job_store_list(struct store *store, const struct job_query *query, struct job_list *out, struct err *err) {
    const struct db_arg object = db_text(query->object_id), kind = db_text(query->kind), state = db_text(query->state),
                        before = db_number(query->before_ms);
    return db_table_list(store, &job_table,
                         " WHERE (? IS NULL OR object_id = ?) AND (? IS NULL OR kind = ?) AND (? IS NULL OR state = ?)"
                         " AND (? = 0 OR created_at_ms < ? OR (created_at_ms = ? AND id < ?))"
                         " ORDER BY created_at_ms DESC, id DESC LIMIT ?",
                         DB_ARGS(object, object, kind, kind, state, state, before, before, before, db_text(query->before_id),
                                 db_number(query->limit)),
                         &out->items, &out->count, err);
}

int job_store_load(struct store *store, const char *id, struct job **out, struct job_step_list *steps, struct err *err) {
    struct job *job = NULL;
    int rc = db_table_load(store, &job_table, " WHERE id = ?", DB_ARGS(db_text(id)), &job, err);
    if (!rc && steps)
        rc = db_table_list(store, &job_step_table, " WHERE job_id = ? ORDER BY no", DB_ARGS(db_text(id)), &steps->items,
                           &steps->count, err);
    if (rc)
        job_free(job);
    else
        *out = job;
    return rc;
}

int job_store_list_lines(struct store *store, const char *id, unsigned after, unsigned limit, struct job_line_list *out,
                         struct err *err) {
    return db_table_list(store, &job_line_table, " WHERE job_id = ? AND seq > ? ORDER BY seq LIMIT ?",
                         DB_ARGS(db_text(id), db_number(after), db_number(limit)), &out->items, &out->count, err);
}

/* -- what replicas do --------------------------------------------------------------------------------------------------------- */

void job_dues_done(struct job_dues *dues) {
    if (dues)
        free(dues->items);
    if (dues)
        *dues = (struct job_dues){0};
}

static int job_add_due(const struct db_row *row, void *arg, struct err *err) {
    struct job_dues *dues = arg;
    struct job_due *due = db_list_add(&dues->items, &dues->count, sizeof(*due), err);
    if (!due)
        return ERR_NOMEM;
    db_row_copy(row, 0, due->id, sizeof(due->id));
    due->generation = db_row_number(row, 1);
    due->is_ours = db_row_number(row, 2) != 0;
    due->is_held = db_row_number(row, 3) != 0;
    due->is_cancel_asked = db_row_number(row, 4) != 0;
    db_row_copy(row, 5, due->kind, sizeof(due->kind));
    return 0;
}

int job_store_list_active(struct store *store, struct job_dues *out, struct err *err) {
    *out = (struct job_dues){0};
    int rc =
        store_query(store,
                    "SELECT id, generation, COALESCE(owner = ?, FALSE), lease_until_ms > " DB_NOW_MS ", is_cancel_asked, kind"
                    " FROM jobs WHERE " IS_ACTIVE " ORDER BY created_at_ms, id",
                    DB_ARGS(db_text(store_replica_name(store))), "tiiiit", job_add_due, out, err);
    if (rc)
        job_dues_done(out);
    return rc;
}

struct job_taking {
    const struct job_due *due;
    int64_t ttl_ms, now_ms;
    const char *owner;
};

static int job_take_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    struct job_taking *call = arg;
    struct db_conn *conn = store_tx_conn(tx);
    const struct db_arg owner = db_text(call->owner), id = db_text(call->due->id);
    uint64_t met = 0;
    int rc = db_run(conn,
                    "UPDATE jobs SET owner = ?, generation = generation + 1, lease_until_ms = " DB_NOW_MS " + ?,"
                    " started_at_ms = IF(started_at_ms = 0, " DB_NOW_MS ", started_at_ms),"
                    " state = IF(state = 'queued', 'running', state)"
                    " WHERE id = ? AND generation = ? AND " IS_ACTIVE " AND (owner = ? OR lease_until_ms <= " DB_NOW_MS ")",
                    DB_ARGS(owner, db_number(call->ttl_ms), id, db_number(call->due->generation), owner), &met, err);
    if (!rc && !met)
        return err_set(err, ERR_BUSY, "another replica works on the job");
    rc = rc ? rc : db_query_number(conn, "SELECT " DB_NOW_MS, DB_ARGS_NONE, &call->now_ms, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_JOB, call->due->id, err);
}

int job_store_take(struct store *store, const struct job_due *due, int64_t ttl_ms, struct job_hold *out, int64_t *now_ms,
                   struct err *err) {
    struct job_taking call = {.due = due, .ttl_ms = ttl_ms, .owner = store_replica_name(store)};
    int rc = store_tx(store, job_take_in_tx, &call, err);
    if (rc)
        return rc;
    *out = (struct job_hold){.generation = due->generation + 1};
    (void)snprintf(out->id, sizeof(out->id), "%s", due->id);
    *now_ms = call.now_ms;
    return 0;
}

int job_store_renew(struct store *store, int64_t ttl_ms, struct err *err) {
    return store_run(store,
                     "UPDATE jobs SET lease_until_ms = " DB_NOW_MS " + ? WHERE owner = ? AND " IS_ACTIVE
                     " AND lease_until_ms > " DB_NOW_MS,
                     DB_ARGS(db_number(ttl_ms), db_text(store_replica_name(store))), NULL, err);
}

int job_store_give_back(struct store *store, struct err *err) {
    return store_run(store, "UPDATE jobs SET lease_until_ms = 0 WHERE owner = ? AND " IS_ACTIVE,
                     DB_ARGS(db_text(store_replica_name(store))), NULL, err);
}

/* The hold is proven and prolonged by the statement that counts the line. */
static int job_write_row(struct db_conn *conn, const struct job_write *w, struct err *err) {
    const struct db_arg until = db_number(w->ttl_ms), lines = db_number(w->line != NULL), id = db_text(w->hold->id),
                        generation = db_number(w->hold->generation);
    uint64_t met = 0;
    int rc;
    if (!w->is_state)
        rc = db_run(conn,
                    "UPDATE jobs SET lease_until_ms = " DB_NOW_MS " + ?, lines_count = lines_count + ?"
                    " WHERE id = ? AND generation = ?",
                    DB_ARGS(until, lines, id, generation), &met, err);
    else
        rc = db_run(conn,
                    "UPDATE jobs SET lease_until_ms = IF(?, 0, " DB_NOW_MS " + ?), lines_count = lines_count + ?, state = ?,"
                    " reason = LEFT(?, 600), remedy = LEFT(?, 300), active_key = IF(?, NULL, active_key),"
                    " ended_at_ms = IF(?, " DB_NOW_MS ", 0) WHERE id = ? AND generation = ?",
                    DB_ARGS(db_number(!job_state_is_active(w->state)), until, lines, db_text(job_state_words[w->state]),
                            db_text(w->reason), db_text(w->remedy), db_number(!job_state_is_active(w->state)),
                            db_number(!job_state_is_active(w->state)), id, generation),
                    &met, err);
    return rc || met ? rc : err_set(err, ERR_PRECONDITION, "another replica has taken the job over");
}

static int job_write_step(struct db_conn *conn, const struct job_write *w, struct err *err) {
    const struct job_step *s = w->step;
    return db_run(conn,
                  "UPDATE job_steps SET state = ?, started_at_ms = ?, ended_at_ms = ?, tries = ?, percent = ?,"
                  " reason = LEFT(?, 600), remedy = LEFT(?, 300), data = ? WHERE job_id = ? AND no = ?",
                  DB_ARGS(db_text(job_step_state_words[s->state]), db_number(s->started_at_ms), db_number(s->ended_at_ms),
                          db_number(s->tries), db_number(s->percent), db_text(s->reason), db_text(s->remedy), db_text(s->data),
                          db_text(w->hold->id), db_number(s->no)),
                  NULL, err);
}

static int job_write_line(struct db_conn *conn, const struct job_write *w, struct err *err) {
    return db_run(conn,
                  "INSERT INTO job_lines (job_id, seq, at_ms, step_no, text) SELECT id, lines_count, ?, ?, LEFT(?, 600) FROM jobs"
                  " WHERE id = ? AND lines_count <= ?",
                  DB_ARGS(db_number(w->at_ms), db_number(w->step ? (int64_t)w->step->no : -1), db_text(w->line),
                          db_text(w->hold->id), db_number(JOB_LINES_MAX)),
                  NULL, err);
}

static int job_write_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct job_write *w = arg;
    struct db_conn *conn = store_tx_conn(tx);
    int rc = job_write_row(conn, w, err);
    rc = rc || !w->step ? rc : job_write_step(conn, w, err);
    rc = rc || !w->line ? rc : job_write_line(conn, w, err);
    if (!rc && w->is_state && !job_state_is_active(w->state))
        rc = job_add_events(conn, w->hold->id, job_event_of(w->state), w->reason, err);
    rc = rc ? rc : store_tx_note_change(tx, CHANGE_JOB, w->hold->id, err);
    const struct operation_end end = {w->hold->id, w->audit};
    return rc || !w->audit ? rc : operation_tx_end(tx, &end, err);
}

int job_store_write(struct store *store, const struct job_write *write, struct err *err) {
    struct job_write borrowed = *write;
    return store_tx(store, job_write_in_tx, &borrowed, err);
}

int job_store_prune(struct store *store, int64_t before_ms, unsigned limit, uint64_t *removed, struct err *err) {
    return store_run(store, "DELETE FROM jobs WHERE NOT " IS_ACTIVE " AND ended_at_ms < ? ORDER BY ended_at_ms LIMIT ?",
                     DB_ARGS(db_number(before_ms), db_number(limit)), removed, err);
}
