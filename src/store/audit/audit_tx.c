/* Audit lines as part of a greater transaction (audit_tx.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_tx.h"

#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "secret.h"
#include "str.h"

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

/* Where an event has each text, and how many characters its column holds (sql/0019_audit.sql, sql/0085_audit_chain.sql). */
static const struct {
    size_t at, chars_max;
} audit_columns[AUDIT_TEXTS] = {
    [AUDIT_ACTION] = {offsetof(struct audit_event, action), 60},
    [AUDIT_PRINCIPAL_ID] = {offsetof(struct audit_event, principal_id), 400},
    [AUDIT_PRINCIPAL_NAME] = {offsetof(struct audit_event, principal_name), 400},
    [AUDIT_SOURCE] = {offsetof(struct audit_event, source), 20},
    [AUDIT_OBJECT_KIND] = {offsetof(struct audit_event, object_kind), 40},
    [AUDIT_OBJECT_ID] = {offsetof(struct audit_event, object_id), 128},
    [AUDIT_OBJECT_NAME] = {offsetof(struct audit_event, object_name), 255},
    [AUDIT_ADDRESS] = {offsetof(struct audit_event, address), 64},
    [AUDIT_REQUEST_ID] = {offsetof(struct audit_event, request_id), 64},
    [AUDIT_RESULT] = {offsetof(struct audit_event, result), 40},
    [AUDIT_REASON] = {offsetof(struct audit_event, reason), 500},
    [AUDIT_ACTING_ID] = {offsetof(struct audit_event, acting_id), 400},
};

const char *audit_text_get(const struct audit_event *event, enum audit_text text) {
    return *(const char *const *)(const void *)((const char *)event + audit_columns[text].at);
}

void audit_text_set(struct audit_event *event, enum audit_text text, const char *value) {
    *(const char **)(void *)((char *)event + audit_columns[text].at) = value;
}

struct audit_texts audit_texts_of(const struct audit_event *event) {
    struct audit_texts texts;
    for (unsigned i = 0; i < AUDIT_TEXTS; i++)
        texts.items[i] = audit_tx_cut_text(audit_text_get(event, i), audit_columns[i].chars_max);
    if (!event->action)
        texts.items[AUDIT_ACTION] = db_text("");
    return texts;
}

/* -- what a store holds ---------------------------------------------------------------------------------------------------------- */

int audit_side_new(group_write_fn *write_group, struct audit_side **out, struct err *err) {
    _cleanup_(audit_side_free) struct audit_side *side = calloc(1, sizeof(*side));
    if (!side)
        return err_set(err, ERR_NOMEM, "out of memory");
    side->write_group = write_group;
    audit_chain_init(&side->chain);
    (void)pthread_mutex_init(&side->notes.lock, NULL);
    (void)pthread_mutex_init(&side->head_lock, NULL);
    int rc = group_commit_new(&side->group, err);
    if (rc)
        return rc;
    *out = STEAL(side);
    return 0;
}

void audit_side_free(struct audit_side *side) {
    if (!side)
        return;
    audit_chain_done(&side->chain);
    group_commit_free(side->group);
    for (size_t i = 0; i < AUDIT_NOTES_MAX; i++)
        for (size_t j = 0; j < AUDIT_TEXTS; j++)
            free(side->notes.notes[i].texts[j]);
    free(side->heads.items);
    free(side->name);
    free(side->head_path);
    (void)pthread_mutex_destroy(&side->notes.lock);
    (void)pthread_mutex_destroy(&side->head_lock);
    free(side);
}

/* -- its part in a transaction ------------------------------------------------------------------------------------------------- */

/* What one attempt of a transaction has to do with the audit log. */
struct audit_part {
    struct audit_side *side;
    bool has_chain, has_sent;
    struct audit_state sent; /* the chain after this attempt, if it is committed */
    struct audit_lines {
        struct audit_record *items;
        size_t count;
    } due, told;  /* to be written at the end; for the listener */
    char **names; /* of objects, which lines borrow */
    size_t names_count;
};

static int audit_write_due(struct store_tx *tx, void *arg, struct err *err);

static void part_before_commit(void *arg) {
    struct audit_part *part = arg;
    struct audit_chain *chain = &part->side->chain;
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
        audit_chain_give(&part->side->chain, false);
    if (part->has_sent)
        audit_chain_confirm(&part->side->chain, &part->sent, is_committed);
    part->has_chain = part->has_sent = false;
}

static void audit_tx_part_done(void *arg, bool is_committed) {
    struct audit_part *part = arg;
    for (size_t i = 0; i < part->told.count && is_committed; i++)
        part->side->on_line(part->side->on_line_arg, &part->told.items[i]);
    for (size_t i = 0; i < part->names_count; i++)
        free(part->names[i]);
    free(part->names);
    free(part->due.items);
    free(part->told.items);
    free(part);
}

static const struct store_tx_hooks part_hooks = {audit_write_due, part_before_commit, part_after_attempt, audit_tx_part_done};

static struct audit_chain *chain_of(const struct store_tx *tx) {
    return &store_audit_side(store_tx_store(tx))->chain;
}

/* NULL: ERR_NOMEM. */
static struct audit_part *part_of(struct store_tx *tx, struct err *err) {
    struct audit_part *part = store_tx_hooked(tx, &part_hooks);
    if (part)
        return part;
    part = calloc(1, sizeof(*part));
    if (!part) {
        (void)err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    part->side = store_audit_side(store_tx_store(tx));
    store_tx_hook(tx, &part_hooks, part);
    return part;
}

/* Takes the chain for the statements of this attempt; again, it changes nothing. ERR_BUSY. */
static int take_chain(struct store_tx *tx, struct err *err) {
    struct audit_part *part = part_of(tx, err);
    if (!part)
        return ERR_NOMEM;
    if (part->has_chain)
        return 0;
    int rc = audit_chain_take(&part->side->chain, db_pool_call_timeout_ms(store_tx_store(tx)), err);
    part->has_chain = !rc;
    if (rc)
        db_pool_tell_lock(store_tx_store(tx), "audit_chain_timeout", "the audit chain of this process");
    return rc;
}

static int audit_tx_add_line(struct audit_lines *to, const struct audit_record *record, struct err *err) {
    struct audit_record *line = db_list_add(&to->items, &to->count, sizeof(*line), err);
    if (!line)
        return ERR_NOMEM;
    *line = *record;
    return 0;
}

int audit_tx_tell(struct store_tx *tx, const struct audit_record *record, struct err *err) {
    struct audit_part *part = store_tx_hooked(tx, &part_hooks);
    return part->side->on_line ? audit_tx_add_line(&part->told, record, err) : 0;
}

/* Where objects have their names. */
static const struct audit_named {
    const char *kind, *sql;
} audit_named[] = {
    {"cluster", "SELECT name FROM clusters WHERE id = ?"},
    {"hx_cluster", "SELECT name FROM hx_clusters WHERE id = ?"},
    {"hx_connection", "SELECT name FROM hx_clusters WHERE id = ?"},
    {"hx_peer", "SELECT name FROM hx_clusters WHERE id = ?"},
    {"kube_connection", "SELECT name FROM clusters WHERE id = ?"},
    {"service_account", "SELECT name FROM service_accounts WHERE id = ?"},
    {"user", "SELECT name FROM users WHERE id = ?"},
    {"vcenter", "SELECT name FROM vcenters WHERE id = ?"},
    {"vsphere_cluster", "SELECT name FROM vsphere_clusters WHERE CONCAT(vcenter_id, '/', moref) = ?"},
};

/* The name that the object of a line has now, if whoever made the line has none: it locks nothing. An object that is not there stays without. */
static int audit_tx_name_object(struct store_tx *tx, struct audit_part *part, struct audit_event *event, struct err *err) {
    const char *sql = NULL;
    char *name = NULL, **kept;
    for (size_t i = 0; i < ARRAY_COUNT(audit_named) && event->object_id && !event->object_name; i++)
        if (str_eq(event->object_kind, audit_named[i].kind))
            sql = audit_named[i].sql;
    if (!sql)
        return 0;
    int rc = db_query_row(store_tx_conn(tx), sql, DB_ARGS(db_text(event->object_id)), DB_INTO(DB_TO(name)), NULL, err);
    if (rc || !name)
        return rc;
    kept = db_list_add(&part->names, &part->names_count, sizeof(*kept), err);
    if (!kept) {
        free(name);
        return ERR_NOMEM;
    }
    *kept = name;
    event->object_name = name;
    return 0;
}

int audit_tx_append(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err) {
    struct audit_part *part;
    int rc = 0;
    if (!records || !count)
        return 0;
    part = part_of(tx, err);
    if (!part)
        return ERR_NOMEM;
    for (size_t i = 0; i < count && !rc; i++) {
        struct audit_record named = records[i];
        rc = audit_tx_name_object(tx, part, &named.event, err);
        rc = rc ? rc : audit_tx_add_line(&part->due, &named, err);
    }
    return rc;
}

/* -- the next line of the chain ------------------------------------------------------------------------------------------------ */

/* Moves the state on by one line; its hash stands there then. Signing is left to the last line of a transaction. */
static void audit_tx_advance(const struct store_tx *tx, int64_t at_ms, const struct audit_texts *texts,
                             struct audit_state *state) {
    const struct audit_chain *chain = chain_of(tx);
    uint8_t hash[AUDIT_HASH_BYTES];
    state->seq = (state->seq > chain->floor_seq ? state->seq : chain->floor_seq) + 1;
    if (!chain->has_key)
        return;
    const struct audit_image image = {.replica_id = store_tx_replica(tx), .seq = state->seq, .at_ms = at_ms, .texts = *texts};
    audit_mac_line(chain->key, &image, state->hash, hash);
    memcpy(state->hash, hash, sizeof(hash));
}

static void audit_sign(const struct store_tx *tx, struct audit_state *state) {
    const struct audit_chain *chain = chain_of(tx);
    const struct audit_owner owner = {chain->key, store_tx_replica(tx), AUDIT_END_HEAD};
    struct audit_end end = {.seq = state->seq};
    if (!chain->has_key)
        return;
    memcpy(end.hash, state->hash, sizeof(end.hash));
    audit_mac_sign(&owner, &end, state->head);
    state->has_head = true;
}

bool audit_first_head(struct store *store, unsigned replica_id, uint8_t head[AUDIT_END_BYTES]) {
    uint8_t key[AUDIT_KEY_BYTES];
    struct audit_state sure;
    const bool has_key = audit_chain_peek(&store_audit_side(store)->chain, &sure, key);
    if (has_key)
        audit_mac_sign(&(struct audit_owner){key, replica_id, AUDIT_END_HEAD}, &(struct audit_end){0}, head);
    secret_wipe(key, sizeof(key));
    return has_key;
}

void audit_sign_rows(const uint8_t key[AUDIT_KEY_BYTES], uint8_t out[AUDIT_HASH_BYTES]) {
    static const char word[] = "kaas audit rows 1";
    digest_hmac_sha256(key, AUDIT_KEY_BYTES, (const uint8_t *)word, sizeof(word), out);
}

static struct db_arg head_arg(const struct audit_state *state) {
    return db_bytes(state->has_head ? state->head : NULL, sizeof(state->head));
}

/* -- lines as part of a transaction -------------------------------------------------------------------------------------------- */

static int audit_insert(struct store_tx *tx, const struct audit_record *record, const struct audit_state *state,
                        struct err *err) {
    const struct audit_texts texts = audit_texts_of(&record->event);
    struct db_arg args[3 + AUDIT_TEXTS + 1] = {db_number(store_tx_replica(tx)), db_number((int64_t)state->seq),
                                               db_number(record->at_ms)};
    memcpy(args + 3, texts.items, sizeof(texts.items));
    args[3 + AUDIT_TEXTS] = db_bytes(chain_of(tx)->has_key ? state->hash : NULL, AUDIT_HASH_BYTES);
    return db_run(store_tx_last_conn(tx),
                  "INSERT INTO audit (replica_id, seq, at_ms, " AUDIT_TEXT_COLUMNS
                  ", hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  (struct db_args){args, ARRAY_COUNT(args)}, NULL, err);
}

/* The row of the replica first: it is locked until the end. */
static int audit_write_lines(struct store_tx *tx, const struct audit_record *records, size_t count, struct err *err) {
    struct audit_chain *chain = chain_of(tx);
    struct audit_state state = chain->next;
    _cleanup_free_ struct audit_state *states = calloc(count, sizeof(*states)); /* after each of them */
    uint64_t met = 0;
    if (!states)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct audit_texts texts = audit_texts_of(&records[i].event);
        audit_tx_advance(tx, records[i].at_ms, &texts, &state);
        states[i] = state;
    }
    audit_sign(tx, &state);
    int rc = db_run(store_tx_last_conn(tx),
                    "UPDATE replicas SET audit_seq = ?, audit_head = ? WHERE id = ? AND audit_seq = ? AND audit_head <=> ?",
                    DB_ARGS(db_number((int64_t)state.seq), head_arg(&state), db_number(store_tx_replica(tx)),
                            db_number((int64_t)chain->next.seq), head_arg(&chain->next)),
                    &met, err);
    if (!rc && !met)
        rc = AUDIT_TX_UNSETTLED;
    for (size_t i = 0; i < count && !rc; i++)
        rc = audit_insert(tx, &records[i], &states[i], err);
    if (rc)
        return rc;
    chain->next = state;
    for (size_t i = 0; i < count && !rc; i++)
        rc = audit_tx_tell(tx, &records[i], err);
    return rc;
}

/* Whatever the holder has written already began with the marker. */
static bool needs_marker(const struct audit_chain *chain) {
    return chain->marker.action && chain->next.seq == chain->known.seq;
}

/* Takes the chain and writes the marker that is due, if any: the chain is known then. */
static int audit_tx_settle(struct store_tx *tx, struct err *err) {
    struct audit_chain *chain = chain_of(tx);
    int rc = take_chain(tx, err);
    if (!rc && !chain->is_known)
        rc = audit_chain_load(tx, chain, err);
    if (rc || !needs_marker(chain))
        return rc;
    const struct audit_record marker = audit_record_make(NULL, &(struct audit_event){.action = chain->marker.action,
                                                                                     .object_kind = "audit",
                                                                                     .result = chain->marker.result,
                                                                                     .reason = chain->marker.reason});
    return audit_write_lines(tx, &marker, 1, err);
}

/* The row of the replica may be another one than was known: then it is locked when it has been read, and stays as it is. */
static int audit_write_due(struct store_tx *tx, void *arg, struct err *err) {
    const struct audit_part *part = arg;
    int rc = part->due.count ? AUDIT_TX_UNSETTLED : 0;
    for (unsigned attempt = 0; attempt < 2 && rc == AUDIT_TX_UNSETTLED; attempt++) {
        if (attempt)
            chain_of(tx)->is_known = false;
        rc = audit_tx_settle(tx, err);
        if (!rc)
            rc = audit_write_lines(tx, part->due.items, part->due.count, err);
    }
    return rc == AUDIT_TX_UNSETTLED ? err_set(err, ERR_BUSY, "the row of this replica changes all the time") : rc;
}

/* -- lines as part of a statement ------------------------------------------------------------------------------------------------ */

int audit_tx_begin_steps(struct store_tx *tx, const struct audit_record *const *records, size_t count, struct audit_step *out,
                         struct err *err) {
    const struct audit_chain *chain = chain_of(tx);
    int rc = take_chain(tx, err);
    if (rc)
        return rc;
    if (!chain->is_known || needs_marker(chain))
        return AUDIT_TX_UNSETTLED;
    for (size_t i = 0; i < count; i++) {
        struct audit_step *step = &out[i];
        step->texts = audit_texts_of(&records[i]->event);
        step->before = step->after = i ? out[i - 1].after : chain->next;
        audit_tx_advance(tx, records[i]->at_ms, &step->texts, &step->after);
        if (i + 1 == count)
            audit_sign(tx, &step->after);
        step->old_seq = db_number((int64_t)step->before.seq);
        step->old_head = head_arg(&step->before);
        step->new_seq = db_number((int64_t)step->after.seq);
        step->new_head = head_arg(&step->after);
        step->hash = db_bytes(chain->has_key ? step->after.hash : NULL, AUDIT_HASH_BYTES);
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
