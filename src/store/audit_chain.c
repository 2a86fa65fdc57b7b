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
static struct timespec deadline_after(int64_t ms) {
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
    const struct timespec deadline = deadline_after(wait_ms);
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
        return err_set(err, ERR_BUSY, "other lines of the audit trail are still being written; try again shortly");
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
        chain->is_break_due = false;
    }
    (void)pthread_mutex_unlock(&chain->lock);
}

bool audit_chain_peek(struct audit_chain *chain, uint64_t *sure_seq, uint8_t *key) {
    bool has_key;
    (void)pthread_mutex_lock(&chain->lock);
    has_key = chain->has_key;
    *sure_seq = chain->sure.has_head ? chain->sure.seq : 0;
    if (key)
        memcpy(key, chain->key, sizeof(chain->key));
    (void)pthread_mutex_unlock(&chain->lock);
    return has_key;
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
    bool is_signed;     /* there is a head, and it is ours */
    uint64_t last_seq;  /* greatest number of a line that is there */
    int64_t has_hashes; /* lines with a hash are there; asked only where there is no head */
};

static int take_row(const struct db_row *row, void *arg, struct err *err) {
    struct found *found = arg;
    size_t n = 0;
    const uint8_t *head = db_row_bytes(row, 1, &n);
    (void)err;
    found->state.seq = (uint64_t)db_row_number(row, 0);
    found->state.has_head = head != NULL;
    found->head_bytes = n;
    if (head && n <= sizeof(found->state.head))
        memcpy(found->state.head, head, n);
    return 0;
}

static int count_hashes(struct db_conn *conn, unsigned replica_id, struct found *found, struct err *err) {
    return db_query(conn,
                    &(struct db_query){.sql = "SELECT EXISTS (SELECT 1 FROM audit WHERE replica_id = ? AND hash IS NOT NULL)",
                                       .args = DB_ARGS(db_number(replica_id)),
                                       .columns = "i",
                                       .row = db_take_number,
                                       .arg = &found->has_hashes},
                    err);
}

static int look(struct db_conn *conn, unsigned replica_id, struct found *found, struct err *err) {
    int64_t last_seq = 0;
    int rc = db_query_one(conn,
                          &(struct db_query){.sql = "SELECT audit_seq, audit_head FROM replicas WHERE id = ? FOR UPDATE",
                                             .args = DB_ARGS(db_number(replica_id)),
                                             .columns = "ib",
                                             .row = take_row,
                                             .arg = found},
                          "this replica is not in the database", err);
    if (!rc)
        rc = db_query(conn,
                      &(struct db_query){.sql = "SELECT MAX(seq) FROM audit WHERE replica_id = ?",
                                         .args = DB_ARGS(db_number(replica_id)),
                                         .columns = "i",
                                         .row = db_take_number,
                                         .arg = &last_seq},
                      err);
    found->last_seq = (uint64_t)last_seq;
    return !rc && !found->state.has_head ? count_hashes(conn, replica_id, found, err) : rc;
}

static bool is_same(const struct audit_state *a, const struct audit_state *b) {
    return a->seq == b->seq && a->has_head == b->has_head && (!a->has_head || !memcmp(a->head, b->head, sizeof(a->head)));
}

static void set_marker(struct audit_marker *out, const char *action, const char *result) {
    out->action = action;
    out->result = result;
}

/* The lines from now on hang on nothing that may have been forged. */
static void mark_break(struct audit_chain *chain, struct found *found) {
    struct audit_marker *out = &chain->marker;
    const char *head = !found->state.has_head ? "without a signed head"
                       : found->is_signed     ? "with the head of another line"
                                              : "with a head that is not ours";
    set_marker(out, AUDIT_ACTION_BREAK, "broken");
    if (chain->was_known)
        (void)snprintf(out->reason, sizeof(out->reason),
                       "the row of this replica had line %" PRIu64
                       " as the last one, %s, though this program had written line %" PRIu64,
                       found->state.seq, head, chain->sure.seq);
    else
        (void)snprintf(out->reason, sizeof(out->reason), "the row of this replica had line %" PRIu64 " as the last one, %s",
                       found->state.seq, head);
    memset(found->state.hash, 0, sizeof(found->state.hash));
    chain->is_break_due = true;
}

/* Nothing is known of before: an older program may have written here, which neither hashes nor signs. */
static void judge_first(struct audit_chain *chain, struct found *found) {
    struct audit_marker *out = &chain->marker;
    const uint64_t last = found->state.seq;
    if (!found->state.has_head && !found->has_hashes) {
        set_marker(out, AUDIT_ACTION_BEGIN, "ok");
        (void)snprintf(out->reason, sizeof(out->reason), "%s", "from here on each line has a hash over the line before");
    } else if (!found->is_signed || found->head.seq > last) {
        mark_break(chain, found);
    } else if (found->head.seq < last) {
        set_marker(out, AUDIT_ACTION_RESUME, "ok");
        (void)snprintf(out->reason, sizeof(out->reason),
                       "lines %" PRIu64 " to %" PRIu64 " have no hash: a program of a release before wrote them",
                       found->head.seq + 1, last);
    }
}

/* What this process wrote and does not know to be committed, or another process of this installation, since two may bear the name of one
 * replica: only who has the key signs a newer head. */
static bool went_on(const struct audit_chain *chain, const struct found *found) {
    return found->is_signed && found->head.seq == found->state.seq && found->head.seq > chain->sure.seq;
}

static void judge(struct audit_chain *chain, struct found *found) {
    const bool is_as_before = chain->was_known && is_same(&found->state, &chain->sure);
    const bool is_first = (!chain->was_known || is_as_before) && !(is_as_before && chain->is_break_due);
    chain->marker.action = NULL;
    if (is_first)
        judge_first(chain, found);
    else if (is_as_before || !went_on(chain, found))
        mark_break(chain, found);
}

int audit_chain_load(struct store_tx *tx, struct audit_chain *chain, struct err *err) {
    const unsigned replica_id = store_tx_replica(tx);
    struct found found = {0};
    int rc = look(store_tx_conn(tx), replica_id, &found, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&chain->lock);
    if (chain->has_key) {
        const struct audit_owner owner = {chain->key, replica_id, AUDIT_END_HEAD};
        found.is_signed = found.state.has_head && audit_mac_check(&owner, found.state.head, found.head_bytes, &found.head);
        if (found.is_signed)
            memcpy(found.state.hash, found.head.hash, sizeof(found.state.hash));
        judge(chain, &found);
    }
    if (chain->floor_seq < found.last_seq)
        chain->floor_seq = found.last_seq;
    if (chain->floor_seq < chain->sure.seq)
        chain->floor_seq = chain->sure.seq;
    chain->sure = chain->known = chain->next = found.state;
    chain->is_known = true;
    chain->was_known = chain->was_known || chain->has_key;
    (void)pthread_mutex_unlock(&chain->lock);
    return 0;
}
