/* The end of the chain of this replica's audit lines (audit_chain.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "db_stmt.h"
#include "secret.h"
#include "store_tx.h"
#include "str.h"

int audit_chain_new(struct audit_chain **out, struct err *err) {
    struct audit_chain *chain = calloc(1, sizeof(*chain));
    pthread_condattr_t attributes;
    if (!chain)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&chain->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&chain->given, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    *out = chain;
    return 0;
}

void audit_chain_free(struct audit_chain *chain) {
    if (!chain)
        return;
    (void)pthread_cond_destroy(&chain->given);
    (void)pthread_mutex_destroy(&chain->lock);
    secret_wipe(chain->key, sizeof(chain->key));
    free(chain);
}

/* The real clock, also when tests fake the others: it bounds a wait on a condition. */
static struct timespec chain_deadline_after(int64_t ms) {
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

int audit_chain_take(struct audit_chain *chain, int64_t wait_ms, struct err *err) {
    const struct timespec deadline = chain_deadline_after(wait_ms);
    bool is_mine;
    (void)pthread_mutex_lock(&chain->lock);
    while (chain->is_taken && pthread_cond_timedwait(&chain->given, &chain->lock, &deadline) != ETIMEDOUT)
        continue;
    is_mine = !chain->is_taken;
    if (is_mine && chain->is_doubtful)
        chain->is_known = chain->is_doubtful = false;
    chain->is_taken = true;
    (void)pthread_mutex_unlock(&chain->lock);
    if (!is_mine)
        return err_set(err, ERR_BUSY, "other lines of the audit log are still being written; try again shortly");
    chain->next = chain->known;
    return 0;
}

void audit_chain_give(struct audit_chain *chain, bool is_sent) {
    if (is_sent && chain->next.seq != chain->known.seq) {
        chain->known = chain->next;
        chain->marker.action = NULL;
    }
    (void)pthread_mutex_lock(&chain->lock);
    chain->is_taken = false;
    (void)pthread_cond_signal(&chain->given);
    (void)pthread_mutex_unlock(&chain->lock);
}

void audit_chain_confirm(struct audit_chain *chain, const struct audit_state *sent, bool is_committed) {
    (void)pthread_mutex_lock(&chain->lock);
    if (!is_committed) {
        chain->is_doubtful = true;
    } else if (sent->seq > chain->sure.seq) {
        chain->sure = *sent;
    }
    (void)pthread_mutex_unlock(&chain->lock);
}

bool audit_chain_peek(struct audit_chain *chain, struct audit_state *sure, uint8_t *key) {
    bool has_key;
    (void)pthread_mutex_lock(&chain->lock);
    has_key = chain->has_key;
    *sure = chain->sure;
    if (key)
        memcpy(key, chain->key, sizeof(chain->key));
    (void)pthread_mutex_unlock(&chain->lock);
    return has_key;
}

void audit_chain_trust(struct audit_chain *chain, const struct audit_state *sure, uint64_t floor_seq) {
    if (audit_chain_take(chain, INT32_MAX, NULL))
        return;
    (void)pthread_mutex_lock(&chain->lock);
    chain->sure = sure ? *sure : (struct audit_state){0};
    chain->was_known = sure != NULL;
    (void)pthread_mutex_unlock(&chain->lock);
    chain->floor_seq = floor_seq;
    chain->is_known = false;
    audit_chain_give(chain, false);
}

void audit_chain_set_key(struct audit_chain *chain, const uint8_t key[AUDIT_KEY_BYTES]) {
    if (audit_chain_take(chain, INT32_MAX, NULL))
        return;
    (void)pthread_mutex_lock(&chain->lock);
    memcpy(chain->key, key, AUDIT_KEY_BYTES);
    chain->has_key = true;
    (void)pthread_mutex_unlock(&chain->lock);
    chain->is_known = false;
    audit_chain_give(chain, false);
}

/* -- what the database says -------------------------------------------------------------------------------------------------- */

struct found {
    struct audit_state state;
    struct audit_end head; /* of a good signature */
    size_t head_bytes;
    bool is_signed;    /* there is a head, and it is ours */
    uint64_t last_seq; /* greatest number of a line that is there */
};

static int chain_take_row(const struct db_row *row, void *arg, struct err *err) {
    struct found *found = arg;
    const uint8_t *head = db_row_bytes(row, 1, &found->head_bytes);
    (void)err;
    found->state.seq = (uint64_t)db_row_number(row, 0);
    found->state.has_head = head != NULL;
    if (head && found->head_bytes <= sizeof(found->state.head))
        memcpy(found->state.head, head, found->head_bytes);
    return 0;
}

static int chain_look(struct db_conn *conn, unsigned replica_id, struct found *found, struct err *err) {
    int64_t last_seq = 0;
    int rc =
        db_query_one(conn, "SELECT audit_seq, audit_head FROM replicas WHERE id = ? FOR UPDATE", DB_ARGS(db_number(replica_id)),
                     "ib", chain_take_row, found, "this replica is not in the database", err);
    if (rc)
        return rc;
    rc = db_query_number(conn, "SELECT MAX(seq) FROM audit WHERE replica_id = ?", DB_ARGS(db_number(replica_id)), &last_seq, err);
    found->last_seq = (uint64_t)last_seq;
    return rc;
}

static bool chain_is_same(const struct audit_state *a, const struct audit_state *b) {
    return a->seq == b->seq && a->has_head == b->has_head && (!a->has_head || !memcmp(a->head, b->head, sizeof(a->head)));
}

/* The lines from now on hang on nothing that may have been forged. */
static void mark_break(struct audit_chain *chain, struct found *found) {
    struct audit_marker *out = &chain->marker;
    const char *head = !found->state.has_head ? "without a signed head"
                       : found->is_signed     ? "with the head of another line"
                                              : "with a head that is not ours";
    *out = (struct audit_marker){.action = AUDIT_ACTION_BREAK, .result = "broken"};
    if (chain->was_known)
        (void)snprintf(out->reason, sizeof(out->reason),
                       "the row of this replica had line %" PRIu64
                       " as the last one, %s, though this program had written line %" PRIu64,
                       found->state.seq, head, chain->sure.seq);
    else
        (void)snprintf(out->reason, sizeof(out->reason), "the row of this replica had line %" PRIu64 " as the last one, %s",
                       found->state.seq, head);
    memset(found->state.hash, 0, sizeof(found->state.hash));
}

/* A newer head than the known one is of what this process wrote and does not know to be committed, or of another process of this installation,
 * since two may bear the name of one replica: only who has the key signs it. */
static bool is_right(const struct audit_chain *chain, const struct found *found) {
    const bool is_sound = found->is_signed && found->head.seq == found->state.seq;
    return is_sound && (!chain->was_known || found->head.seq > chain->sure.seq || chain_is_same(&found->state, &chain->sure));
}

/* What was found wrong takes the place of what is known only with the line that says so. */
static void chain_judge(struct audit_chain *chain, struct found *found) {
    chain->marker.action = NULL;
    if (!is_right(chain, found)) {
        mark_break(chain, found);
        return;
    }
    chain->sure = found->state;
    if (!found->state.seq)
        chain->marker = (struct audit_marker){AUDIT_ACTION_BEGIN, "ok", "from here on each line has a hash over the line before"};
}

int audit_chain_load(struct store_tx *tx, struct audit_chain *chain, struct err *err) {
    const unsigned replica_id = store_tx_replica(tx);
    struct found found = {0};
    int rc = chain_look(store_tx_conn(tx), replica_id, &found, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&chain->lock);
    if (chain->has_key) {
        const struct audit_owner owner = {chain->key, replica_id, AUDIT_END_HEAD};
        found.is_signed = found.state.has_head && audit_mac_check(&owner, found.state.head, found.head_bytes, &found.head);
        if (found.is_signed)
            memcpy(found.state.hash, found.head.hash, sizeof(found.state.hash));
        chain_judge(chain, &found);
    }
    if (chain->floor_seq < found.last_seq)
        chain->floor_seq = found.last_seq;
    if (chain->floor_seq < chain->sure.seq)
        chain->floor_seq = chain->sure.seq;
    chain->known = chain->next = found.state;
    chain->is_known = true;
    chain->was_known = chain->was_known || chain->has_key;
    (void)pthread_mutex_unlock(&chain->lock);
    return 0;
}

/* -- what the database has of any chain ------------------------------------------------------------------------------------------ */

struct ends_reading {
    const uint8_t *key;
    unsigned replica_id;
    struct audit_ends ends;
};

static int take_ends(const struct db_row *row, void *arg, struct err *err) {
    struct ends_reading *r = arg;
    const struct audit_owner of_head = {r->key, r->replica_id, AUDIT_END_HEAD};
    const struct audit_owner of_anchor = {r->key, r->replica_id, AUDIT_END_ANCHOR};
    size_t head_bytes = 0, anchor_bytes = 0;
    const uint8_t *head = db_row_bytes(row, 1, &head_bytes), *anchor = db_row_bytes(row, 2, &anchor_bytes);
    (void)err;
    r->ends =
        (struct audit_ends){.last_seq = (uint64_t)db_row_number(row, 0), .has_head = head != NULL, .has_anchor = anchor != NULL};
    r->ends.is_head_ok = audit_mac_check(&of_head, head, head_bytes, &r->ends.head);
    r->ends.is_anchor_ok = audit_mac_check(&of_anchor, anchor, anchor_bytes, &r->ends.anchor);
    return 0;
}

int audit_read_ends(struct db_conn *conn, unsigned replica_id, const uint8_t key[AUDIT_KEY_BYTES], struct audit_ends *out,
                    struct err *err) {
    struct ends_reading reading = {.key = key, .replica_id = replica_id};
    int rc = db_query_one(conn, "SELECT audit_seq, audit_head, audit_anchor FROM replicas WHERE id = ?",
                          DB_ARGS(db_number(replica_id)), "ibb", take_ends, &reading, "there is no such replica", err);
    if (!rc)
        *out = reading.ends;
    return rc;
}

struct hash_reading {
    uint8_t *hash;
    bool is_there;
};

static int take_hash(const struct db_row *row, void *arg, struct err *err) {
    struct hash_reading *r = arg;
    size_t n = 0;
    const uint8_t *hash = db_row_bytes(row, 0, &n);
    (void)err;
    r->is_there = hash && n == AUDIT_HASH_BYTES;
    if (r->is_there)
        memcpy(r->hash, hash, n);
    return 0;
}

int audit_read_hash(struct db_conn *conn, unsigned replica_id, uint64_t seq, uint8_t hash[AUDIT_HASH_BYTES], bool *is_there,
                    struct err *err) {
    struct hash_reading reading = {.hash = hash};
    int rc = db_query(conn, "SELECT hash FROM audit WHERE replica_id = ? AND seq = ?",
                      DB_ARGS(db_number(replica_id), db_number((int64_t)seq)), "b", take_hash, &reading, err);
    if (!rc)
        *is_there = reading.is_there;
    return rc;
}

const uint8_t *audit_row_line(const struct db_row *row, unsigned replica_id, struct audit_image *out) {
    size_t n = 0;
    const uint8_t *hash = db_row_bytes(row, 2 + AUDIT_TEXTS, &n);
    *out = (struct audit_image){.replica_id = replica_id, .seq = (uint64_t)db_row_number(row, 0), .at_ms = db_row_number(row, 1)};
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        out->texts[i].data = db_row_bytes(row, 2 + i, &out->texts[i].bytes);
    return hash && n == AUDIT_HASH_BYTES ? hash : NULL;
}

bool audit_row_is(const struct db_row *row, const char *action) {
    return str_eq(db_row_text(row, 2 + AUDIT_ACTION), action);
}

/* -- what replicas have noted of others ------------------------------------------------------------------------------------------ */

static bool audit_chain_parse_entry(const char *text, size_t n, struct audit_noted *out) {
    char copy[AUDIT_NOTED_TEXT_BYTES];
    char *seq, *hash;
    int64_t id = 0, number = 0;
    if (n >= sizeof(copy))
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    seq = strchr(copy, ':');
    hash = seq ? strchr(seq + 1, ':') : NULL;
    if (!hash)
        return false;
    *seq++ = *hash++ = '\0';
    if (!str_to_i64(copy, 0, UINT16_MAX, &id) || !str_to_i64(seq, 0, INT64_MAX, &number) ||
        !str_unhex(hash, out->hash, sizeof(out->hash)))
        return false;
    out->replica_id = (unsigned)id;
    out->seq = (uint64_t)number;
    return true;
}

struct noted_reading {
    audit_noted_fn *fn;
    void *arg;
};

static int audit_chain_take_note(const struct db_row *row, void *arg, struct err *err) {
    const struct noted_reading *reading = arg;
    struct audit_noted noted = {.by_replica = (unsigned)db_row_number(row, 0), .by_seq = (uint64_t)db_row_number(row, 1)};
    const char *text = db_row_text(row, 2);
    int rc = 0;
    while (text && *text && !rc) {
        const size_t n = strcspn(text, " ");
        if (audit_chain_parse_entry(text, n, &noted))
            rc = reading->fn(reading->arg, &noted, err);
        text += n + (text[n] == ' ');
    }
    return rc;
}

int audit_read_noted(struct db_conn *conn, audit_noted_fn *fn, void *arg, struct err *err) {
    struct noted_reading reading = {fn, arg};
    return db_query(conn,
                    "SELECT replica_id, seq, reason FROM audit WHERE object_id = '" AUDIT_HEADS_ID
                    "' AND action = '" AUDIT_ACTION_HEADS "'",
                    DB_ARGS_NONE, "iit", audit_chain_take_note, &reading, err);
}
