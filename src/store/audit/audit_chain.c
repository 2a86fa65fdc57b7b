/* The chain of audit lines: hashes, ends, and what this process and the database know of it (audit_chain.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digest.h"
#include "secret.h"
#include "str.h"

/* -- hashes and signatures ------------------------------------------------------------------------------------------------------- */

#define LINE_WORD "kaas audit line 1"
#define TEXTS_BYTES_MAX \
    9600U /* all texts at their longest, four bytes for each character (sql/0019_audit.sql, sql/0085_audit_chain.sql) */
#define LINE_BYTES_MAX (TEXTS_BYTES_MAX + 256U)
#define NO_MORE_TEXTS 0xFFU

_Static_assert(AUDIT_END_BYTES == 8 + 2 * AUDIT_HASH_BYTES, "number, hash, signature");
_Static_assert(AUDIT_HASH_BYTES == DIGEST_SHA256_BYTES, "hashes are of SHA-256");

struct writer {
    uint8_t bytes[LINE_BYTES_MAX];
    size_t len;
};

/* What does not fit was never written like that: columns are shorter. The length that goes before it still tells the two apart. */
static void mac_put(struct writer *w, const void *data, size_t n) {
    size_t room = sizeof(w->bytes) - w->len;
    n = n < room ? n : room;
    if (n)
        memcpy(w->bytes + w->len, data, n);
    w->len += n;
}

static void mac_spell(uint64_t number, uint8_t out[8]) {
    for (size_t i = 0; i < 8; i++)
        out[i] = (uint8_t)(number >> (56 - 8 * i));
}

static void mac_put_number(struct writer *w, uint64_t number) {
    uint8_t bytes[8];
    mac_spell(number, bytes);
    mac_put(w, bytes, sizeof(bytes));
}

void audit_mac_line(const uint8_t key[AUDIT_KEY_BYTES], const struct audit_image *line, const uint8_t before[AUDIT_HASH_BYTES],
                    uint8_t out[AUDIT_HASH_BYTES]) {
    struct writer w;
    uint8_t tag;
    w.len = 0;
    mac_put(&w, LINE_WORD, sizeof(LINE_WORD));
    mac_put(&w, before, AUDIT_HASH_BYTES);
    mac_put_number(&w, line->replica_id);
    mac_put_number(&w, line->seq);
    mac_put_number(&w, (uint64_t)line->at_ms);
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        const struct db_arg *text = &line->texts.items[i];
        if (!text->data)
            continue;
        tag = (uint8_t)i;
        mac_put(&w, &tag, 1);
        mac_put_number(&w, text->bytes);
        mac_put(&w, text->data, text->bytes);
    }
    tag = NO_MORE_TEXTS;
    mac_put(&w, &tag, 1);
    digest_hmac_sha256(key, AUDIT_KEY_BYTES, w.bytes, w.len, out);
}

static void mac_sign(const struct audit_owner *owner, const uint8_t *plain, uint8_t *out) {
    static const char head_word[] = "kaas audit head 1", anchor_word[] = "kaas audit base 1";
    uint8_t bytes[sizeof(head_word) + 2 + 8 + AUDIT_HASH_BYTES];
    _Static_assert(sizeof(head_word) == sizeof(anchor_word), "both words are of one length");
    memcpy(bytes, owner->kind == AUDIT_END_HEAD ? head_word : anchor_word, sizeof(head_word));
    bytes[sizeof(head_word)] = (uint8_t)(owner->replica_id >> 8); /* SMALLINT in the database */
    bytes[sizeof(head_word) + 1] = (uint8_t)owner->replica_id;
    memcpy(bytes + sizeof(head_word) + 2, plain, 8 + AUDIT_HASH_BYTES);
    digest_hmac_sha256(owner->key, AUDIT_KEY_BYTES, bytes, sizeof(bytes), out);
}

void audit_mac_sign(const struct audit_owner *owner, const struct audit_end *end, uint8_t out[AUDIT_END_BYTES]) {
    mac_spell(end->seq, out);
    memcpy(out + 8, end->hash, AUDIT_HASH_BYTES);
    mac_sign(owner, out, out + 8 + AUDIT_HASH_BYTES);
}

bool audit_mac_check(const struct audit_owner *owner, const uint8_t *bytes, size_t n, struct audit_end *out) {
    uint8_t wanted[AUDIT_HASH_BYTES];
    if (!bytes || n != AUDIT_END_BYTES)
        return false;
    mac_sign(owner, bytes, wanted);
    if (!secret_eq(wanted, sizeof(wanted), bytes + 8 + AUDIT_HASH_BYTES, AUDIT_HASH_BYTES))
        return false;
    out->seq = 0;
    for (size_t i = 0; i < 8; i++)
        out->seq = out->seq << 8 | bytes[i];
    memcpy(out->hash, bytes + 8, AUDIT_HASH_BYTES);
    return true;
}

/* -- the chain of this process --------------------------------------------------------------------------------------------------- */

void audit_chain_init(struct audit_chain *chain) {
    pthread_condattr_t attributes;
    (void)pthread_mutex_init(&chain->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&chain->given, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void audit_chain_done(struct audit_chain *chain) {
    (void)pthread_cond_destroy(&chain->given);
    (void)pthread_mutex_destroy(&chain->lock);
    secret_wipe(chain->key, sizeof(chain->key));
}

int audit_chain_take(struct audit_chain *chain, int64_t wait_ms, struct err *err) {
    struct timespec deadline;
    bool is_mine;
    (void)clock_gettime(CLOCK_MONOTONIC,
                        &deadline); /* the real clock, also when tests fake the others: it bounds a wait on a condition */
    deadline.tv_sec += (time_t)(wait_ms / 1000);
    deadline.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
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

static int chain_look(struct db_conn *conn, unsigned replica_id, struct found *found, struct err *err) {
    const struct db_args replica = DB_ARGS(db_number(replica_id));
    int rc = db_query_row(conn, "SELECT audit_seq, audit_head FROM replicas WHERE id = ? FOR UPDATE", replica,
                          DB_INTO(DB_TO(found->state.seq), DB_TO_BYTES(found->state.head, &found->head_bytes)),
                          "this replica is not in the database", err);
    found->state.has_head = found->head_bytes != DB_NULL;
    return rc ? rc
              : db_query_row(conn, "SELECT MAX(seq) FROM audit WHERE replica_id = ?", replica, DB_INTO(DB_TO(found->last_seq)),
                             NULL, err);
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
    int rc = chain_look(store_tx_last_conn(tx), replica_id, &found, err);
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

int audit_read_ends(struct db_conn *conn, unsigned replica_id, const uint8_t key[AUDIT_KEY_BYTES], struct audit_ends *out,
                    struct err *err) {
    const struct audit_owner of_head = {key, replica_id, AUDIT_END_HEAD}, of_anchor = {key, replica_id, AUDIT_END_ANCHOR};
    struct audit_ends ends = {0};
    uint8_t head[AUDIT_END_BYTES], anchor[AUDIT_END_BYTES];
    size_t head_bytes = DB_NULL, anchor_bytes = DB_NULL;
    int rc = db_query_row(conn, "SELECT audit_seq, audit_head, audit_anchor FROM replicas WHERE id = ?",
                          DB_ARGS(db_number(replica_id)),
                          DB_INTO(DB_TO(ends.last_seq), DB_TO_BYTES(head, &head_bytes), DB_TO_BYTES(anchor, &anchor_bytes)),
                          "there is no such replica", err);
    if (rc)
        return rc;
    ends.has_head = head_bytes != DB_NULL;
    ends.has_anchor = anchor_bytes != DB_NULL;
    ends.is_head_ok = audit_mac_check(&of_head, head, head_bytes, &ends.head);
    ends.is_anchor_ok = audit_mac_check(&of_anchor, anchor, anchor_bytes, &ends.anchor);
    *out = ends;
    return 0;
}

int audit_read_hash(struct db_conn *conn, unsigned replica_id, uint64_t seq, uint8_t hash[AUDIT_HASH_BYTES], bool *is_there,
                    struct err *err) {
    uint8_t read[AUDIT_HASH_BYTES];
    size_t bytes = DB_NULL;
    int rc = db_query_row(conn, "SELECT hash FROM audit WHERE replica_id = ? AND seq = ?",
                          DB_ARGS(db_number(replica_id), db_number((int64_t)seq)), DB_INTO(DB_TO_BYTES(read, &bytes)), NULL, err);
    if (rc)
        return rc;
    *is_there = bytes == sizeof(read);
    if (*is_there)
        memcpy(hash, read, sizeof(read));
    return 0;
}

const uint8_t *audit_row_line(const struct db_row *row, unsigned replica_id, struct audit_image *out) {
    size_t n = 0;
    *out = (struct audit_image){.replica_id = replica_id, .seq = (uint64_t)db_row_number(row, 0), .at_ms = db_row_number(row, 1)};
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        const void *data = db_row_bytes(row, 2 + i, &n);
        out->texts.items[i] = db_bytes(data, n);
    }
    const uint8_t *hash = db_row_bytes(row, 2 + AUDIT_TEXTS, &n);
    return n == AUDIT_HASH_BYTES ? hash : NULL;
}

bool audit_row_is(const struct db_row *row, const char *action) {
    return str_eq(db_row_text(row, 2 + AUDIT_ACTION), action);
}

/* -- what replicas have noted of others ------------------------------------------------------------------------------------------ */

/* "replica:line:hash" */
static bool audit_chain_parse_entry(const char *text, size_t n, struct audit_noted *out) {
    char copy[AUDIT_NOTED_TEXT_BYTES];
    char *rest = copy;
    int64_t id = 0, seq = 0;
    if (n >= sizeof(copy))
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    const char *replica = strsep(&rest, ":"), *line = strsep(&rest, ":");
    if (!rest || !str_to_i64(replica, 0, UINT16_MAX, &id) || !str_to_i64(line, 0, INT64_MAX, &seq) ||
        !str_unhex(rest, out->hash, sizeof(out->hash)))
        return false;
    out->replica_id = (unsigned)id;
    out->seq = (uint64_t)seq;
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
