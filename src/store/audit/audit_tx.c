/* Audit lines as part of a greater transaction. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_tx.h"

#include <stdlib.h>
#include <string.h>

#include "audit_side.h"
#include "db_stmt.h"
#include "store_tx.h"

/* The first `chars_max` characters of a text, and only as far as it is UTF-8 by its lead bytes: the rest is cut. */
static struct db_arg audit_tx_cut_text(const char *text, size_t chars_max) {
    struct db_arg arg = db_text(text);
    size_t at = 0;
    for (size_t chars = 0; text && text[at] && chars < chars_max; chars++) {
        at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
    }
    if (text)
        arg.bytes = at;
    return arg;
}

/* Column sizes as in sql/0019_audit.sql and sql/0085_audit_chain.sql. */
struct audit_texts audit_texts_of(const struct audit_event *e) {
    return (struct audit_texts){.items = {
                                    [AUDIT_ACTION] = audit_tx_cut_text(e->action ? e->action : "", 60),
                                    [AUDIT_PRINCIPAL_ID] = audit_tx_cut_text(e->principal_id, 400),
                                    [AUDIT_PRINCIPAL_NAME] = audit_tx_cut_text(e->principal_name, 400),
                                    [AUDIT_SOURCE] = audit_tx_cut_text(e->source, 20),
                                    [AUDIT_OBJECT_KIND] = audit_tx_cut_text(e->object_kind, 40),
                                    [AUDIT_OBJECT_ID] = audit_tx_cut_text(e->object_id, 128),
                                    [AUDIT_OBJECT_NAME] = audit_tx_cut_text(e->object_name, 255),
                                    [AUDIT_ADDRESS] = audit_tx_cut_text(e->address, 64),
                                    [AUDIT_REQUEST_ID] = audit_tx_cut_text(e->request_id, 64),
                                    [AUDIT_RESULT] = audit_tx_cut_text(e->result, 40),
                                    [AUDIT_REASON] = audit_tx_cut_text(e->reason, 500),
                                    [AUDIT_ACTING_ID] = audit_tx_cut_text(e->acting_id, 400),
                                }};
}

/* -- its part in a transaction ------------------------------------------------------------------------------------------------- */

/* What one attempt of a transaction has to do with the audit log. */
struct audit_part {
    const struct audit_side *side;
    bool has_chain, has_sent;
    struct audit_state sent;    /* the chain after this attempt, if it is committed */
    struct audit_record *lines; /* for the listener */
    size_t lines_count;
};

static void part_before_commit(void *arg) {
    struct audit_part *part = arg;
    struct audit_chain *chain = part->side->chain;
    if (!part->has_chain)
        return;
    part->sent = chain->next;
    part->has_sent = chain->next.seq != chain->known.seq;
    part->has_chain = false;
    audit_chain_give(chain, true);
}

/* Whoever ran into an error before COMMIT was undone, or will be as soon as the server notices. */
static void part_after_attempt(void *arg, bool is_committed) {
    struct audit_part *part = arg;
    if (part->has_chain)
        audit_chain_give(part->side->chain, false);
    if (part->has_sent)
        audit_chain_confirm(part->side->chain, &part->sent, is_committed);
    part->has_chain = part->has_sent = false;
}

static void audit_tx_part_done(void *arg, bool is_committed) {
    struct audit_part *part = arg;
    for (size_t i = 0; i < part->lines_count && is_committed; i++)
        part->side->on_line(part->side->on_line_arg, &part->lines[i]);
    free(part->lines);
    free(part);
}

static const struct store_tx_hooks part_hooks = {part_before_commit, part_after_attempt, audit_tx_part_done};

static struct audit_chain *chain_of(const struct store_tx *tx) {
    return store_audit_side(store_tx_store(tx))->chain;
}

/* Takes the chain for the statements of this attempt; again, it changes nothing. ERR_BUSY. */
static int take_chain(struct store_tx *tx, struct err *err) {
    struct audit_part *part = store_tx_hooked(tx, &part_hooks);
    int rc;
    if (!part) {
        part = calloc(1, sizeof(*part));
        if (!part)
            return err_set(err, ERR_NOMEM, "out of memory");
        part->side = store_audit_side(store_tx_store(tx));
        store_tx_hook(tx, &part_hooks, part);
    }
    if (part->has_chain)
        return 0;
    rc = audit_chain_take(part->side->chain, db_pool_call_timeout_ms(store_tx_store(tx)), err);
    part->has_chain = !rc;
    return rc;
}

int audit_tx_tell(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err) {
    struct audit_part *part = store_tx_hooked(tx, &part_hooks);
    for (size_t i = 0; i < count && part->side->on_line; i++) {
        struct audit_record *line = db_list_add(&part->lines, &part->lines_count, sizeof(*line), err);
        if (!line)
            return ERR_NOMEM;
        *line = records[i];
    }
    return 0;
}

/* -- the next line of the chain ------------------------------------------------------------------------------------------------ */

struct advance {
    const struct audit_chain *chain;
    unsigned replica_id;
    int64_t at_ms;
};

/* Moves the state on by one line; its hash stands there then. Signing is left to the last line of a transaction. */
static void audit_tx_advance(const struct advance *how, const struct audit_texts *texts, struct audit_state *state) {
    struct audit_image image = {.replica_id = how->replica_id, .at_ms = how->at_ms};
    const uint64_t floor_seq = how->chain->floor_seq;
    uint8_t hash[AUDIT_HASH_BYTES];
    state->seq = (state->seq > floor_seq ? state->seq : floor_seq) + 1;
    if (!how->chain->has_key)
        return;
    image.seq = state->seq;
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        image.texts[i].data = texts->items[i].data;
        image.texts[i].bytes = texts->items[i].bytes;
    }
    audit_mac_line(how->chain->key, &image, state->hash, hash);
    memcpy(state->hash, hash, sizeof(hash));
}

static void audit_sign(const struct audit_chain *chain, unsigned replica_id, struct audit_state *state) {
    const struct audit_owner owner = {chain->key, replica_id, AUDIT_END_HEAD};
    struct audit_end end = {.seq = state->seq};
    if (!chain->has_key)
        return;
    memcpy(end.hash, state->hash, sizeof(end.hash));
    audit_mac_sign(&owner, &end, state->head);
    state->has_head = true;
}

static struct db_arg head_arg(const struct audit_state *state) {
    return db_bytes(state->has_head ? state->head : NULL, sizeof(state->head));
}

static int audit_tx_save_state(struct store_tx *tx, const struct audit_state *before, const struct audit_state *after,
                               struct err *err) {
    uint64_t met = 0;
    int rc = db_run(store_tx_conn(tx),
                    "UPDATE replicas SET audit_seq = ?, audit_head = ? WHERE id = ? AND audit_seq = ? AND audit_head <=> ?",
                    DB_ARGS(db_number((int64_t)after->seq), head_arg(after), db_number(store_tx_replica(tx)),
                            db_number((int64_t)before->seq), head_arg(before)),
                    &met, err);
    return rc ? rc : met ? 0 : AUDIT_TX_UNSETTLED;
}

/* -- lines as part of a transaction -------------------------------------------------------------------------------------------- */

struct numbered {
    const struct audit_record *records;
    size_t count;
    struct audit_state *states; /* after each of them */
};

static int audit_insert(struct store_tx *tx, const struct numbered *lines, size_t i, struct err *err) {
    const struct audit_record *record = &lines->records[i];
    const struct audit_texts texts = audit_texts_of(&record->event);
    const struct db_arg *t = texts.items;
    const bool has_hash = chain_of(tx)->has_key;
    return db_run(
        store_tx_conn(tx),
        "INSERT INTO audit (replica_id, seq, at_ms, action, principal_id, principal_name, source, object_kind, object_id, object_name,"
        " address, request_id, result, reason, acting_id, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        DB_ARGS(db_number(store_tx_replica(tx)), db_number((int64_t)lines->states[i].seq), db_number(record->at_ms),
                t[AUDIT_ACTION], t[AUDIT_PRINCIPAL_ID], t[AUDIT_PRINCIPAL_NAME], t[AUDIT_SOURCE], t[AUDIT_OBJECT_KIND],
                t[AUDIT_OBJECT_ID], t[AUDIT_OBJECT_NAME], t[AUDIT_ADDRESS], t[AUDIT_REQUEST_ID], t[AUDIT_RESULT], t[AUDIT_REASON],
                t[AUDIT_ACTING_ID], db_bytes(has_hash ? lines->states[i].hash : NULL, AUDIT_HASH_BYTES)),
        NULL, err);
}

static int write_numbered(struct store_tx *tx, const struct numbered *lines, struct err *err) {
    struct audit_chain *chain = chain_of(tx);
    struct audit_state state = chain->next;
    int rc;
    for (size_t i = 0; i < lines->count; i++) {
        const struct audit_texts texts = audit_texts_of(&lines->records[i].event);
        const struct advance how = {chain, store_tx_replica(tx), lines->records[i].at_ms};
        audit_tx_advance(&how, &texts, &state);
        lines->states[i] = state;
    }
    audit_sign(chain, store_tx_replica(tx), &state);
    rc = audit_tx_save_state(tx, &chain->next, &state, err);
    for (size_t i = 0; i < lines->count && !rc; i++)
        rc = audit_insert(tx, lines, i, err);
    if (!rc)
        chain->next = state;
    return rc;
}

static int audit_write_lines(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err) {
    struct numbered lines = {.records = records, .count = count, .states = calloc(count, sizeof(*lines.states))};
    int rc = lines.states ? write_numbered(tx, &lines, err) : err_set(err, ERR_NOMEM, "out of memory");
    free(lines.states);
    return rc ? rc : audit_tx_tell(tx, records, count, err);
}

static int write_marker(struct store_tx *tx, const struct audit_chain *chain, struct err *err) {
    const struct audit_record record = audit_record_make(NULL, &(struct audit_event){.action = chain->marker.action,
                                                                                     .object_kind = "audit",
                                                                                     .result = chain->marker.result,
                                                                                     .reason = chain->marker.reason});
    return audit_write_lines(tx, &record, 1, err);
}

/* Whatever the holder has written already began with the marker. */
static bool needs_marker(const struct audit_chain *chain) {
    return chain->marker.action && chain->next.seq == chain->known.seq;
}

int audit_tx_settle(struct store_tx *tx, struct err *err) {
    int rc = take_chain(tx, err);
    struct audit_chain *chain = chain_of(tx);
    if (!rc && !chain->is_known)
        rc = audit_chain_load(tx, chain, err);
    return !rc && needs_marker(chain) ? write_marker(tx, chain, err) : rc;
}

/* The row of the replica may be another one than was known: then it is locked when it has been read, and stays as it is. */
int audit_tx_append(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err) {
    int rc;
    if (!records || !count)
        return 0;
    rc = audit_tx_settle(tx, err);
    if (!rc)
        rc = audit_write_lines(tx, records, count, err);
    if (rc != AUDIT_TX_UNSETTLED)
        return rc;
    chain_of(tx)->is_known = false;
    rc = audit_tx_settle(tx, err);
    if (!rc)
        rc = audit_write_lines(tx, records, count, err);
    return rc == AUDIT_TX_UNSETTLED ? err_set(err, ERR_BUSY, "the row of this replica changes all the time") : rc;
}

/* -- one line as part of a statement --------------------------------------------------------------------------------------------- */

static void audit_tx_fill_step(const struct audit_chain *chain, struct audit_step *step) {
    step->old_seq = db_number((int64_t)step->before.seq);
    step->old_head = head_arg(&step->before);
    step->new_seq = db_number((int64_t)step->after.seq);
    step->new_head = head_arg(&step->after);
    step->hash = db_bytes(chain->has_key ? step->after.hash : NULL, AUDIT_HASH_BYTES);
}

int audit_tx_begin_steps(struct store_tx *tx, const struct audit_record *const *records, size_t count, struct audit_step *out,
                         struct err *err) {
    int rc = take_chain(tx, err);
    const struct audit_chain *chain = chain_of(tx);
    struct audit_state state;
    if (rc)
        return rc;
    if (!chain->is_known || needs_marker(chain))
        return AUDIT_TX_UNSETTLED;
    state = chain->next;
    for (size_t i = 0; i < count; i++) {
        const struct advance how = {chain, store_tx_replica(tx), records[i]->at_ms};
        out[i].texts = audit_texts_of(&records[i]->event);
        out[i].before = state;
        audit_tx_advance(&how, &out[i].texts, &state);
        if (i + 1 == count)
            audit_sign(chain, store_tx_replica(tx), &state);
        out[i].after = state;
        audit_tx_fill_step(chain, &out[i]);
    }
    return 0;
}

int audit_tx_end_step(struct store_tx *tx, const struct audit_step *last, bool is_written) {
    struct audit_chain *chain = chain_of(tx);
    if (is_written)
        chain->next = last->after;
    else
        chain->is_known = false;
    return is_written ? 0 : AUDIT_TX_UNSETTLED;
}

static int audit_settle(struct store_tx *tx, void *arg, struct err *err) {
    (void)arg;
    return audit_tx_settle(tx, err);
}

int audit_store_settle(struct store *store, struct err *err) {
    return store_tx(store, audit_settle, NULL, err);
}
