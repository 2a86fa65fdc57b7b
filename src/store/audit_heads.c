/* Notes of where other chains end (audit_heads.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_chain.h"
#include "audit_side.h"
#include "clock.h"
#include "db_stmt.h"
#include "secret.h"
#include "store_tx.h"
#include "str.h"

#define LOOK_EVERY_MS 10000
#define NOTE_EVERY_MS 3600000
#define HEADS_REASON_BYTES 501U /* what the column holds */

/* -- writing them ---------------------------------------------------------------------------------------------------------------- */

/* The end of another replica's chain. */
struct other {
    unsigned replica_id;
    struct audit_end end;
    bool is_new, is_changed; /* to this process */
};

struct looking {
    const struct audit_heads_done *done;
    unsigned own_id;
    uint8_t key[AUDIT_KEY_BYTES];
    struct other *items;
    size_t count;
    bool is_due;
};

static const struct audit_head_done *find_done(const struct audit_heads_done *done, unsigned replica_id) {
    for (size_t i = 0; i < done->count; i++)
        if (done->items[i].replica_id == replica_id)
            return &done->items[i];
    return NULL;
}

/* What is not signed is not noted: it would bear witness against the chain when that is put right again. */
static int take_other(const struct db_row *row, void *arg, struct err *err) {
    struct looking *l = arg;
    const unsigned replica_id = (unsigned)db_row_number(row, 0);
    const struct audit_head_done *done = find_done(l->done, replica_id);
    const struct audit_owner owner = {l->key, replica_id, AUDIT_END_HEAD};
    struct audit_end end;
    size_t n = 0;
    const uint8_t *head = db_row_bytes(row, 1, &n);
    struct other *other;
    if (!audit_mac_check(&owner, head, n, &end))
        return 0;
    other = db_list_add(&l->items, &l->count, sizeof(*other), err);
    if (!other)
        return ERR_NOMEM;
    *other = (struct other){replica_id, end, !done, !done || done->seq != end.seq};
    return 0;
}

/* Notes of notes would go on for ever. */
static int is_worth_a_note(struct db_conn *conn, const struct looking *l, const struct other *other, int64_t *out,
                           struct err *err) {
    const struct audit_head_done *done = find_done(l->done, other->replica_id);
    *out = other->is_new;
    if (!done || !other->is_changed)
        return 0;
    return db_query_number(conn,
                           "SELECT EXISTS (SELECT 1 FROM audit WHERE replica_id = ? AND seq > ? AND action <> "
                           "'" AUDIT_ACTION_HEADS "')",
                           DB_ARGS(db_number(other->replica_id), db_number((int64_t)done->seq)), out, err);
}

static int heads_look(struct db_conn *conn, void *arg, struct err *err) {
    struct looking *l = arg;
    int rc;
    l->count = 0;
    l->is_due = false;
    rc = db_query(conn, "SELECT id, audit_head FROM replicas WHERE id > 0 AND id <> ? ORDER BY id", DB_ARGS(db_number(l->own_id)),
                  "ib", take_other, l, err);
    for (size_t i = 0; i < l->count && !rc && !l->is_due; i++) {
        int64_t is_worth = 0;
        rc = is_worth_a_note(conn, l, &l->items[i], &is_worth, err);
        l->is_due = is_worth != 0;
    }
    return rc;
}

static int append_note(struct store *store, const char *reason, struct err *err) {
    const struct audit_record record = audit_record_make(
        NULL, &(struct audit_event){
                  .action = AUDIT_ACTION_HEADS, .object_kind = "audit", .object_id = AUDIT_HEADS_ID, .reason = reason});
    return audit_store_append(store, &record, err);
}

static int write_notes(struct store *store, const struct looking *l, struct err *err) {
    char reason[HEADS_REASON_BYTES] = "", hash[2 * AUDIT_NOTED_BYTES + 1];
    size_t len = 0;
    int rc = 0;
    for (size_t i = 0; i < l->count && !rc; i++) {
        const struct other *other = &l->items[i];
        if (!other->is_changed)
            continue;
        if (len + AUDIT_NOTED_TEXT_BYTES > sizeof(reason)) {
            rc = append_note(store, reason, err);
            len = 0;
        }
        str_hex(other->end.hash, AUDIT_NOTED_BYTES, hash);
        len += (size_t)snprintf(reason + len, sizeof(reason) - len, "%s%u:%" PRIu64 ":%s", len ? " " : "", other->replica_id,
                                other->end.seq, hash);
    }
    return rc ? rc : append_note(store, reason, err);
}

static int heads_remember(struct audit_heads_done *done, const struct looking *l, struct err *err) {
    struct audit_head_done *items = calloc(l->count, sizeof(*items));
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < l->count; i++)
        items[i] = (struct audit_head_done){l->items[i].replica_id, l->items[i].end.seq};
    free(done->items);
    done->items = items;
    done->count = l->count;
    done->noted_ms = clock_mono_ms();
    return 0;
}

int audit_store_note_heads(struct store *store, bool is_end, struct err *err) {
    struct audit_heads_done *done = &store_audit_side(store)->heads;
    struct looking l = {.done = done, .own_id = store_get_replica(store)};
    struct audit_state sure;
    const int64_t now_ms = clock_mono_ms();
    int rc;
    if ((!is_end && now_ms < done->look_ms) || !audit_chain_peek(store_audit_side(store)->chain, &sure, l.key))
        return 0;
    done->look_ms = now_ms + LOOK_EVERY_MS;
    rc = store_read(store, heads_look, &l, err);
    bool is_new = false;
    for (size_t i = 0; i < l.count; i++)
        is_new = is_new || l.items[i].is_new;
    if (!rc && l.is_due && (is_new || is_end || now_ms - done->noted_ms >= NOTE_EVERY_MS)) {
        rc = write_notes(store, &l, err);
        if (!rc)
            rc = heads_remember(done, &l, err);
    }
    free(l.items);
    secret_wipe(l.key, sizeof(l.key));
    return rc;
}

/* -- rows that have none yet ------------------------------------------------------------------------------------------------------ */

struct new_rows {
    uint8_t key[AUDIT_KEY_BYTES];
    unsigned *ids;
    size_t count;
};

static int heads_take_id(const struct db_row *row, void *arg, struct err *err) {
    struct new_rows *rows = arg;
    unsigned *id = db_list_add(&rows->ids, &rows->count, sizeof(*id), err);
    if (!id)
        return ERR_NOMEM;
    *id = (unsigned)db_row_number(row, 0);
    return 0;
}

static int drop_noted(void *arg, const struct audit_noted *noted, struct err *err) {
    struct new_rows *rows = arg;
    (void)err;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->ids[i] == noted->replica_id)
            rows->ids[i] = rows->ids[--rows->count];
    return 0;
}

static int sign_rows(struct store_tx *tx, void *arg, struct err *err) {
    struct new_rows *rows = arg;
    const struct audit_end end = {0};
    uint8_t head[AUDIT_END_BYTES];
    int rc;
    rows->count = 0;
    rc = db_query(store_tx_conn(tx),
                  "SELECT id FROM replicas WHERE audit_head IS NULL AND audit_seq = 0"
                  " AND NOT EXISTS (SELECT 1 FROM audit WHERE replica_id = id)",
                  DB_ARGS_NONE, "i", heads_take_id, rows, err);
    if (!rc && rows->count)
        rc = audit_read_noted(store_tx_conn(tx), drop_noted, rows, err);
    for (size_t i = 0; i < rows->count && !rc; i++) {
        audit_mac_sign(&(struct audit_owner){rows->key, rows->ids[i], AUDIT_END_HEAD}, &end, head);
        rc = db_run(store_tx_conn(tx), "UPDATE replicas SET audit_head = ? WHERE id = ? AND audit_head IS NULL AND audit_seq = 0",
                    DB_ARGS(db_bytes(head, sizeof(head)), db_number(rows->ids[i])), NULL, err);
    }
    return rc;
}

int audit_store_sign_new(struct store *store, struct err *err) {
    struct new_rows rows = {.count = 0};
    struct audit_state sure;
    int rc = audit_chain_peek(store_audit_side(store)->chain, &sure, rows.key)
                 ? store_tx(store, sign_rows, &rows, err)
                 : err_set(err, ERR_UNAVAILABLE, "the key of the audit trail has not been read yet");
    free(rows.ids);
    secret_wipe(rows.key, sizeof(rows.key));
    return rc;
}
