/* Another key for the audit log, where the one of the database is lost. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nobody can tell any more whether the lines are what was written. They are taken as they stand, and hashed under the new key, so that changes from now
 * on are found. What the walk of a verification would have told without hashes stays so: numbers that are missing, and lines audit.break. */
#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "clock.h"
#include "seal.h"
#include "secret.h"
#include "strbuf.h"
#include "uuid.h"

#define PAGE_LINES 500U
#define SEALED_BYTES_MAX 255U

struct renewed_line {
    uint64_t seq;
    uint8_t hash[AUDIT_HASH_BYTES];
    bool is_note;
};

struct renewal {
    const uint8_t *key;
    unsigned replica_id;
    uint8_t before[AUDIT_HASH_BYTES]; /* of the line before */
    uint64_t last_seq;
    struct renewed_line lines[PAGE_LINES];
    unsigned count;
};

/* A note of other chains' hashes says nothing any more. */
static int renew_line(const struct db_row *row, void *arg, struct err *err) {
    struct renewal *r = arg;
    struct renewed_line *out = &r->lines[r->count++];
    struct audit_image line;
    (void)err;
    (void)audit_row_line(row, r->replica_id, &line);
    *out = (struct renewed_line){.seq = line.seq, .is_note = audit_row_is(row, AUDIT_ACTION_HEADS)};
    if (out->is_note)
        line.texts.items[AUDIT_REASON] = db_text(NULL);
    if (audit_row_is(row, AUDIT_ACTION_BREAK))
        memset(r->before, 0, sizeof(r->before));
    audit_mac_line(r->key, &line, r->before, out->hash);
    memcpy(r->before, out->hash, sizeof(r->before));
    r->last_seq = line.seq;
    return 0;
}

static int renew_page(struct db_conn *conn, struct renewal *r, struct err *err) {
    r->count = 0;
    int rc = db_query(conn, "SELECT " AUDIT_LINE_COLUMNS " FROM audit WHERE replica_id = ? AND seq > ? ORDER BY seq LIMIT ?",
                      DB_ARGS(db_number(r->replica_id), db_number((int64_t)r->last_seq), db_number(PAGE_LINES)), AUDIT_LINE_KINDS,
                      renew_line, r, err);
    for (unsigned i = 0; i < r->count && !rc; i++)
        rc = db_run(conn, "UPDATE audit SET hash = ?, reason = IF(?, NULL, reason) WHERE replica_id = ? AND seq = ?",
                    DB_ARGS(db_bytes(r->lines[i].hash, AUDIT_HASH_BYTES), db_number(r->lines[i].is_note),
                            db_number(r->replica_id), db_number((int64_t)r->lines[i].seq)),
                    NULL, err);
    return rc;
}

static int sign_ends(struct db_conn *conn, const struct renewal *r, uint64_t anchor_seq, struct err *err) {
    const struct audit_end last = {.seq = r->last_seq}, old = {.seq = anchor_seq};
    struct audit_end end = last;
    uint8_t head[AUDIT_END_BYTES], anchor[AUDIT_END_BYTES];
    memcpy(end.hash, r->before, sizeof(end.hash));
    audit_mac_sign(&(struct audit_owner){r->key, r->replica_id, AUDIT_END_HEAD}, &end, head);
    audit_mac_sign(&(struct audit_owner){r->key, r->replica_id, AUDIT_END_ANCHOR}, &old, anchor);
    return db_run(
        conn, "UPDATE replicas SET audit_head = ?, audit_anchor = ? WHERE id = ?",
        DB_ARGS(db_bytes(head, sizeof(head)), db_bytes(anchor_seq ? anchor : NULL, sizeof(anchor)), db_number(r->replica_id)),
        NULL, err);
}

/* Where older lines went by age, or all of them, the chain begins behind them. */
static int renew_chain(struct db_conn *conn, const uint8_t *key, unsigned replica_id, uint64_t *lines, struct err *err) {
    struct renewal *r = calloc(1, sizeof(*r));
    int64_t first = 0, row_seq = 0;
    int rc = r ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    rc = rc ? rc
            : db_query_row(
                  conn,
                  "SELECT r.audit_seq, (SELECT MIN(seq) FROM audit a WHERE a.replica_id = r.id) FROM replicas r WHERE r.id = ?",
                  DB_ARGS(db_number(replica_id)), DB_INTO(DB_TO(row_seq), DB_TO(first)), "there is no such replica", err);
    if (!rc) {
        *r = (struct renewal){.key = key, .replica_id = replica_id};
        const uint64_t anchor_seq = first ? (uint64_t)first - 1 : (uint64_t)row_seq;
        r->last_seq = anchor_seq;
        do {
            rc = renew_page(conn, r, err);
            *lines += r->count;
        } while (!rc && r->count);
        rc = rc ? rc : sign_ends(conn, r, anchor_seq, err);
    }
    free(r);
    return rc;
}

struct renewed_ids {
    unsigned *items;
    size_t count;
};

static int renew_take_id(const struct db_row *row, void *arg, struct err *err) {
    struct renewed_ids *ids = arg;
    unsigned *id = db_list_add(&ids->items, &ids->count, sizeof(*id), err);
    if (!id)
        return ERR_NOMEM;
    *id = (unsigned)db_row_number(row, 0);
    return 0;
}

static int renew_chains(struct db_conn *conn, const uint8_t *key, uint64_t *lines, struct err *err) {
    struct renewed_ids ids = {0};
    int rc = db_query(conn, "SELECT id FROM replicas ORDER BY id", DB_ARGS_NONE, "i", renew_take_id, &ids, err);
    *lines = 0;
    for (size_t i = 0; i < ids.count && !rc; i++)
        rc = renew_chain(conn, key, ids.items[i], lines, err);
    free(ids.items);
    return rc;
}

int audit_tx_renew_key(struct store_tx *tx, struct seal *seal, uint64_t *lines, struct err *err) {
    struct db_conn *conn = store_tx_conn(tx);
    _cleanup_strbuf_ struct strbuf sealed;
    uint8_t key[AUDIT_KEY_BYTES], mark[AUDIT_HASH_BYTES];
    strbuf_init(&sealed, SEALED_BYTES_MAX);
    random_bytes(key, sizeof(key));
    audit_sign_rows(key, mark);
    int rc = seal_seal(seal, AUDIT_KEY_PURPOSE, key, sizeof(key), &sealed, err);
    rc = rc ? rc : db_run(conn, "DELETE FROM audit_keys WHERE id = ?", DB_ARGS(db_text(AUDIT_KEY_ID)), NULL, err);
    rc = rc ? rc
            : db_run(conn, "INSERT INTO audit_keys (id, sealed, created_at_ms, rows_signed) VALUES (?, ?, ?, ?)",
                     DB_ARGS(db_text(AUDIT_KEY_ID), db_bytes(sealed.data, sealed.len), db_number(clock_wall_ms()),
                             db_bytes(mark, sizeof(mark))),
                     NULL, err);
    rc = rc ? rc : renew_chains(conn, key, lines, err);
    if (!rc)
        audit_chain_set_key(&store_audit_side(store_tx_store(tx))->chain, key);
    secret_wipe(key, sizeof(key));
    return rc;
}
