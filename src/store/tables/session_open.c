/* New sessions with their lines in the audit log: one transaction of two round trips, which several share when they come at once. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Statement by statement it would be nine round trips for each, which cost more than all else that a sign-on does. A compound statement is prepared like any
 * other: https://mariadb.com/kb/en/begin-end/, https://mariadb.com/kb/en/prepare-statement/. Its texts are made once, one for each number of rows. */
#include "session_open.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "clock.h"
#include "db_stmt.h"
#include "group_commit.h"
#include "session_tx.h"
#include "store_tx.h"
#include "str.h"
#include "strbuf.h"

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
static void session_rows_write_text(struct strbuf *out, size_t rows, bool has_credential, bool begins) {
    strbuf_adds(out, begins ? "BEGIN NOT ATOMIC START TRANSACTION; " : "BEGIN NOT ATOMIC ");
    add_condition(out, rows);
    if (has_credential) {
        strbuf_adds(out, "INSERT INTO used_proofs (digest, until_ms) VALUES ");
        add_rows(out, rows, CREDENTIAL_ARGS);
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

static const char *session_rows_text(size_t rows, bool has_credential, bool begins) {
    (void)pthread_once(&texts_once, make_texts);
    return texts[rows - 1][(has_credential ? 1 : 0) + (begins ? 2 : 0)];
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

static void add_credential(struct arguments *to, const struct session_once *once) {
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
        add_credential(to, rows->items[i].opening.once);
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
        rc = audit_tx_tell(tx, rows->items[i].opening.line, 1, err);
    return rc;
}

int session_rows_write(struct store_tx *tx, const struct session_new *items, size_t count, bool begins, struct err *err) {
    const bool has_credential = items[0].opening.once != NULL;
    const size_t wanted = 1 + count * (has_credential ? 4 : 3);
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
        rc = db_run(store_tx_conn(tx), session_rows_text(count, has_credential, begins), (struct db_args){args.items, args.count},
                    &written, err);
    if (!rc && !written)
        return SESSION_ROWS_FULL;
    if (!rc)
        rc = audit_tx_end_step(tx, &rows.steps[count - 1], written == wanted);
    return rc ? rc : tell_lines(tx, &rows, err);
}

/* -- opening: who comes at once is written together --------------------------------------------------------------- */

/* Lines that stand for themselves (refusals) are written along with sessions: on a Galera cluster each transaction costs a round of all nodes.
 * Where a principal has as many sessions as it may, nothing is written, and all is done once more in a transaction that ends old ones first. */

#define SESSION_OPEN_REASON_BYTES 160
#define SETTLE_TRIES 3 /* the row of the replica is another one than was known; with one process for each it never is twice */

/* What one caller wants written. */
struct opening {
    struct group_entry entry;               /* first: the group knows this part only */
    struct session_new row;                 /* without a session: the line alone */
    bool is_to_try_alone;                   /* it was written together with others, and one of them is at fault */
    char reason[SESSION_OPEN_REASON_BYTES]; /* why others end for it */
};

/* What is written in one transaction. */
struct session_open_batch {
    struct opening *const *items;
    size_t count;
    struct group_lead *lead; /* NULL: it is nobody's turn */
    bool makes_room;         /* old sessions end for those of the batch */
};

/* From `from` on, as many as one statement takes; sessions stand first. */
static size_t take_alike(const struct session_open_batch *batch, size_t from, struct session_new out[SESSION_ROWS_MAX]) {
    size_t n = 0;
    while (n < SESSION_ROWS_MAX && from + n < batch->count) {
        const struct session_new *row = &batch->items[from + n]->row;
        if (!row->opening.session || (n && !row->opening.once != !out[0].opening.once))
            break;
        out[n++] = *row;
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

static int add_lines(const struct opening *call, const struct session_ends *ends, struct end_lines *out, struct err *err) {
    for (size_t i = 0; i < ends->count; i++) {
        struct audit_record *line = db_list_add(&out->items, &out->count, sizeof(*line), err);
        if (!line)
            return ERR_NOMEM;
        *line = *call->row.opening.line;
        line->event.action = "session.end";
        line->event.source = source_name(ends->items[i].source);
        line->event.object_kind = line->event.object_id = line->event.object_name = NULL;
        line->event.result = err_slug(ERR_SESSION_ENDED);
        line->event.reason = call->reason;
    }
    return 0;
}

/* One by one: those of one principal in a batch may be more than it may have. */
static int write_with_room(struct store_tx *tx, struct opening *call, struct end_lines *lines, struct err *err) {
    const struct session_opening *opening = &call->row.opening;
    struct session_new row = call->row;
    struct session_ends ends = {0};
    int rc = opening->live_max ? session_tx_make_room(tx, opening->session, opening->live_max, &ends, err) : 0;
    (void)snprintf(call->reason, sizeof(call->reason),
                   "signed in again with %u sessions under way, as many as auth.sessions_per_principal allows",
                   opening->live_max);
    if (!rc)
        rc = add_lines(call, &ends, lines, err);
    free(ends.items);
    row.opening.live_max = 0; /* there is room */
    return rc ? rc : session_rows_write(tx, &row, 1, false, err);
}

/* -- writing --------------------------------------------------------------------------------------------------------------------- */

/* The sessions of the batch; *done is their number. */
static int write_sessions(struct store_tx *tx, const struct session_open_batch *batch, struct end_lines *ended, size_t *done,
                          struct err *err) {
    struct session_new rows[SESSION_ROWS_MAX];
    size_t n;
    int rc = 0;
    while (!rc && (n = take_alike(batch, *done, rows)) != 0) {
        n = batch->makes_room ? 1 : n;
        rc = batch->makes_room ? write_with_room(tx, batch->items[*done], ended, err)
                               : session_rows_write(tx, rows, n, *done == 0, err);
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
    rc = write_sessions(tx, batch, &ended, &done, err);
    for (; done < batch->count && !rc; done++)
        rc = audit_tx_append(tx, batch->items[done]->row.opening.line, 1, err);
    if (!rc)
        rc = audit_tx_append(tx, ended.items, ended.count, err);
    free(ended.items);
    return rc;
}

static int session_open_run_batch(struct store *store, struct session_open_batch *batch, struct err *err) {
    int rc = AUDIT_TX_UNSETTLED;
    if (!batch->items[0]->row.opening.session)
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

static int write_alone(struct store *store, struct opening *call, struct err *err) {
    return session_open_run_batch(store, &(struct session_open_batch){.items = &call, .count = 1}, err);
}

/* Where the database is away or busy, all of them hear so. What else failed may be one's own fault: each tries alone then. */
static bool session_open_is_for_all(int rc) {
    return !rc || rc == ERR_DATABASE || rc == ERR_BUSY || rc == ERR_NOMEM;
}

/* Sessions first: the statement that writes them begins the transaction. */
static void session_open_sort_in(struct group_entry *const *entries, size_t count, struct opening **out) {
    size_t n = 0;
    for (unsigned is_line = 0; is_line < 2; is_line++) {
        for (size_t i = 0; i < count; i++) {
            struct opening *call = (struct opening *)(void *)entries[i];
            if (!call->row.opening.session == (is_line != 0))
                out[n++] = call;
        }
    }
}

static void write_group(void *arg, struct group_lead *lead, struct group_entry *const *entries, size_t count) {
    struct opening *items[GROUP_COMMIT_MAX] = {NULL};
    struct session_open_batch batch = {.items = items, .count = count, .lead = lead};
    struct err why = {0};
    int rc;
    session_open_sort_in(entries, count, items);
    rc = session_open_run_batch(arg, &batch, &why);
    for (size_t i = 0; i < count; i++) {
        items[i]->is_to_try_alone = count > 1 && !session_open_is_for_all(rc);
        entries[i]->rc = rc;
        entries[i]->err = why;
    }
}

static int write_opening(struct store *store, struct opening *call, struct err *err) {
    group_commit_run(store_audit_side(store)->group, &call->entry, write_group, store);
    if (call->is_to_try_alone)
        return write_alone(store, call, err);
    return err_move(err, call->entry.rc, &call->entry.err);
}

int session_store_open(struct store *store, const struct session_opening *opening, struct err *err) {
    _cleanup_free_ char *group_ids = NULL;
    struct opening call = {.row = {.opening = *opening}};
    int rc = group_set_pack(&opening->session->groups, &group_ids, err);
    call.row.group_ids = group_ids;
    return rc ? rc : write_opening(store, &call, err);
}

int audit_store_append(struct store *store, const struct audit_record *record, struct err *err) {
    struct opening call = {.row = {.opening = {.line = record}}};
    return write_opening(store, &call, err);
}
