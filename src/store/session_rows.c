/* Rows of new sessions and their lines in the audit trail (session_rows.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Statement by statement it would be nine round trips for each, which cost more than all else that a sign-on does. A compound statement is prepared like any
 * other: https://mariadb.com/kb/en/begin-end/, https://mariadb.com/kb/en/prepare-statement/. Its texts are made once, one for each number of rows. */
#include "session_rows.h"

#include <pthread.h>
#include <string.h>

#include "audit_tx.h"
#include "clock.h"
#include "db_stmt.h"
#include "session_tx.h"
#include "str.h"
#include "strbuf.h"

#define TEXT_BYTES_MAX 4096U
#define KINDS 4U /* with a proof or without, beginning the transaction or not */
#define ROOM_ARGS 5U
#define PROOF_ARGS 2U
#define SESSION_ARGS 22U
#define REPLICA_ARGS 5U
#define CHANGE_ARGS 5U
#define AUDIT_ARGS 16U
#define SESSION_ROWS_ARGS_MAX \
    (REPLICA_ARGS + SESSION_ROWS_MAX * (ROOM_ARGS + PROOF_ARGS + SESSION_ARGS + CHANGE_ARGS + AUDIT_ARGS))

_Static_assert(SESSION_ROWS_ARGS_MAX <= DB_ARGS_MAX, "a statement takes as many");

/* -- the texts -------------------------------------------------------------------------------------------------------------- */

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

/* Nothing is written where the principal of a row has more live sessions than leave room for it. */
static void add_condition(struct strbuf *out, size_t rows) {
    for (size_t i = 0; i < rows; i++)
        strbuf_addf(out,
                    "%s(SELECT 1 FROM sessions WHERE " SESSION_TX_ALIKE " AND revoked_at_ms = 0 AND ends_at_ms > ?"
                    " LIMIT 1 OFFSET ?) IS NULL",
                    i ? " AND " : "IF ");
    strbuf_adds(out, " THEN ");
}

/* The row of the replica is written late, since it is locked from then on, and only if it is as it was known. */
static void session_rows_write_text(struct strbuf *out, size_t rows, bool has_proof, bool begins) {
    strbuf_adds(out, begins ? "BEGIN NOT ATOMIC START TRANSACTION; " : "BEGIN NOT ATOMIC ");
    add_condition(out, rows);
    if (has_proof) {
        strbuf_adds(out, "INSERT INTO used_proofs (digest, until_ms) VALUES ");
        add_rows(out, rows, PROOF_ARGS);
    }
    strbuf_adds(out, "INSERT INTO sessions (sid, principal_id, principal_name, full_name, role, source, vcenter_id, vc_user,"
                     " vc_session_key, jti, old_jti, rotated_at_ms, created_at_ms, ends_at_ms, revoked_at_ms,"
                     " must_change_password, way, directory, directory_mark, acting_id, service_id, group_ids) VALUES ");
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

static const char *text_of(size_t rows, bool has_proof, bool begins) {
    (void)pthread_once(&texts_once, make_texts);
    return texts[rows - 1][(has_proof ? 1 : 0) + (begins ? 2 : 0)];
}

/* -- the arguments ------------------------------------------------------------------------------------------------------------ */

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

/* As SESSION_TX_ALIKE. */
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

static void add_proof(struct arguments *to, const struct session_once *once) {
    ADD(to, db_bytes(once->digest, SESSION_ONCE_BYTES), db_number(once->until_ms));
}

static void session_rows_add_one(struct arguments *to, const struct session_new *item) {
    const struct session *s = item->opening.session;
    const struct principal *who = &s->who;
    ADD(to, db_text(s->sid), db_text(who->id), db_text(who->name), db_text(who->full_name), db_text(role_name(who->role)),
        db_text(session_tx_source(who->source)), db_text(who->vcenter_id), db_text(who->vc_user), db_text(who->vc_session_key),
        db_text(s->jti), db_text(s->old_jti), db_number(s->rotated_at_ms), db_number(s->created_at_ms), db_number(s->ends_at_ms),
        db_number(s->revoked_at_ms), db_number(s->must_change_password), db_text(session_tx_way(who->source)),
        db_text(who->directory), db_text(s->directory_mark), db_text(who->acting_id), db_text(who->service_id),
        db_text(item->group_ids));
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
        add_proof(to, rows->items[i].opening.once);
    for (size_t i = 0; i < rows->count; i++)
        session_rows_add_one(to, &rows->items[i]);
    ADD(to, last->new_seq, last->new_head, db_number(store_tx_replica(tx)), first->old_seq, first->old_head);
    add_logs(to, tx, rows);
    return 0;
}

/* -- writing -------------------------------------------------------------------------------------------------------------------- */

static int tell_lines(struct store_tx *tx, const struct rows *rows, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < rows->count && !rc; i++)
        rc = store_tx_tell_lines(tx, rows->items[i].opening.line, 1, err);
    return rc;
}

int session_rows_write(struct store_tx *tx, const struct session_new *items, size_t count, bool begins, struct err *err) {
    const bool has_proof = items[0].opening.once != NULL;
    const size_t wanted = 1 + count * (has_proof ? 4 : 3);
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
    if (!rc)
        rc =
            db_run(store_tx_conn(tx), text_of(count, has_proof, begins), (struct db_args){args.items, args.count}, &written, err);
    if (!rc && !written)
        return SESSION_ROWS_FULL;
    if (!rc)
        rc = audit_tx_end_step(tx, &rows.steps[count - 1], written == wanted);
    return rc ? rc : tell_lines(tx, &rows, err);
}
