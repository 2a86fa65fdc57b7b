/* Signing keys. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "key_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "db_stmt.h"
#include "store_tx.h"
#include "str.h"

#define SELECT_KEYS                                                                                            \
    "SELECT kid, public_jwk, sealed, state, created_at_ms, not_after_ms, IF(signs_from_ms = 0, created_at_ms," \
    " signs_from_ms) FROM signing_keys"
#define ORDER_KEYS " ORDER BY created_at_ms DESC, kid"
#define KEY_COLUMNS "ttbtiii"

static const char *const state_names[] = {
    [SIGNING_KEY_NEXT] = "next", [SIGNING_KEY_ACTIVE] = "active", [SIGNING_KEY_RETIRED] = "retired"};

const char *signing_key_state_name(enum signing_key_state state) {
    return (size_t)state < ARRAY_COUNT(state_names) ? state_names[state] : "retired";
}

static bool signing_key_state_parse(const char *word, enum signing_key_state *out) {
    for (size_t i = 0; i < ARRAY_COUNT(state_names); i++) {
        if (!str_eq(word, state_names[i]))
            continue;
        *out = (enum signing_key_state)i;
        return true;
    }
    return false;
}

void signing_key_done(struct signing_key *k) {
    if (!k)
        return;
    free(k->kid);
    free(k->public_jwk);
    free(k->sealed);
    *k = (struct signing_key){0};
}

void signing_key_list_done(struct signing_key_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        signing_key_done(&list->items[i]);
    free(list->items);
    *list = (struct signing_key_list){0};
}

static int signing_key_add(const struct db_row *row, void *arg, struct err *err) {
    struct signing_key_list *list = arg;
    struct signing_key *k = db_list_add(&list->items, &list->count, sizeof(*k), err);
    if (!k)
        return ERR_NOMEM;
    k->kid = db_row_dup(row, 0);
    k->public_jwk = db_row_dup(row, 1);
    k->sealed = db_row_dup_bytes(row, 2, &k->sealed_bytes);
    k->created_at_ms = db_row_number(row, 4);
    k->not_after_ms = db_row_number(row, 5);
    k->signs_from_ms = db_row_number(row, 6);
    if (!signing_key_state_parse(db_row_text(row, 3), &k->state))
        return err_set(err, ERR_SCHEMA, "a signing key has an unknown state");
    return 0;
}

int key_store_list(struct store *store, struct signing_key_list *out, struct err *err) {
    struct signing_key_list list = {0};
    int rc = store_query(store, SELECT_KEYS ORDER_KEYS, DB_ARGS_NONE, KEY_COLUMNS, signing_key_add, &list, err);
    if (rc)
        signing_key_list_done(&list);
    else
        *out = list;
    return rc;
}

static int signing_key_insert(struct store_tx *tx, void *arg, struct err *err) {
    const struct signing_key *k = arg;
    int rc = db_run(store_tx_conn(tx),
                    "INSERT INTO signing_keys (kid, public_jwk, sealed, state, created_at_ms, not_after_ms, signs_from_ms)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    DB_ARGS(db_text(k->kid), db_text(k->public_jwk), db_bytes(k->sealed, k->sealed_bytes),
                            db_text(signing_key_state_name(k->state)), db_number(k->created_at_ms), db_number(k->not_after_ms),
                            db_number(k->signs_from_ms)),
                    NULL, err);
    db_explain(rc, ERR_EXISTS, err, "there is a signing key \"%s\" already", k->kid);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, k->kid, err);
}

/* Whoever holds the lock "signing_keys" reads and changes alone. */
static int list_locked(struct store_tx *tx, struct signing_key_list *out, struct err *err) {
    int rc = store_tx_lock(tx, "signing_keys", err);
    if (rc)
        return rc;
    signing_key_list_done(out);
    return db_query(store_tx_conn(tx), SELECT_KEYS ORDER_KEYS, DB_ARGS_NONE, KEY_COLUMNS, signing_key_add, out, err);
}

static const struct signing_key *find_state(const struct signing_key_list *list, enum signing_key_state state) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == state)
            return &list->items[i];
    return NULL;
}

static int insert_first(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key first = *(const struct signing_key *)arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    first.state = SIGNING_KEY_ACTIVE;
    if (!rc && find_state(&list, SIGNING_KEY_ACTIVE))
        rc = err_set(err, ERR_EXISTS, "there is an active signing key already");
    signing_key_list_done(&list);
    return rc ? rc : signing_key_insert(tx, &first, err);
}

int key_store_insert_first(struct store *store, const struct signing_key *k, struct err *err) {
    struct signing_key borrowed = *k;
    return store_tx(store, insert_first, &borrowed, err);
}

/* -- rotation ------------------------------------------------------------------------------------------------------------ */

static int end_by(struct store_tx *tx, const char *kid, int64_t until_ms, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE signing_keys SET not_after_ms = LEAST(not_after_ms, ?) WHERE kid = ?",
                    DB_ARGS(db_number(until_ms), db_text(kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, kid, err);
}

static int start_by(struct store_tx *tx, const char *kid, int64_t from_ms, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE signing_keys SET signs_from_ms = LEAST(signs_from_ms, ?) WHERE kid = ?",
                    DB_ARGS(db_number(from_ms), db_text(kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, kid, err);
}

struct signing_key_begin {
    struct signing_key next;
    int64_t active_until_ms;
    struct signing_key_begun begun;
};

static int begin_rotation(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_begin *call = arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    const struct signing_key *next = find_state(&list, SIGNING_KEY_NEXT), *active = find_state(&list, SIGNING_KEY_ACTIVE);
    call->begun.is_new = !next;
    (void)snprintf(call->begun.kid, sizeof(call->begun.kid), "%s", next ? next->kid : call->next.kid);
    if (!rc && !next && list.count >= SIGNING_KEYS_MAX) {
        (void)err_set(err, ERR_CONFLICT, "there are %d signing keys already", SIGNING_KEYS_MAX);
        rc = err_remedy(err, "wait until old ones have ended: kaasctl key list");
    }
    if (!rc)
        rc = next ? start_by(tx, next->kid, call->next.signs_from_ms, err) : signing_key_insert(tx, &call->next, err);
    if (!rc && active && call->active_until_ms)
        rc = end_by(tx, active->kid, call->active_until_ms, err);
    signing_key_list_done(&list);
    return rc;
}

int key_store_begin_rotation(struct store *store, const struct signing_key_rotation *rotation, struct signing_key_begun *out,
                             struct err *err) {
    struct signing_key_begin call = {.next = *rotation->next, .active_until_ms = rotation->active_until_ms};
    int rc;
    call.next.state = SIGNING_KEY_NEXT;
    rc = store_tx(store, begin_rotation, &call, err);
    if (!rc)
        *out = call.begun;
    return rc;
}

static int signing_key_retire(struct store_tx *tx, const struct signing_key *old, const struct signing_key_activation *call,
                              struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE signing_keys SET state = 'retired' WHERE kid = ?", DB_ARGS(db_text(old->kid)),
                    NULL, err);
    return rc ? rc : end_by(tx, old->kid, call->old_until_ms, err);
}

static int signing_key_make_active(struct store_tx *tx, const struct signing_key_activation *call, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE signing_keys SET state = 'active', signs_from_ms = ? WHERE kid = ?",
                    DB_ARGS(db_number(call->now_ms), db_text(call->kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, call->kid, err);
}

static int activate_in(struct store_tx *tx, const struct signing_key_list *list, const struct signing_key_activation *call,
                       struct err *err) {
    const struct signing_key *old = find_state(list, SIGNING_KEY_ACTIVE), *wanted = NULL;
    int rc = 0;
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].kid, call->kid))
            wanted = &list->items[i];
    if (!wanted)
        return err_set(err, ERR_NOT_FOUND, "there is no such signing key");
    if (wanted->state == SIGNING_KEY_ACTIVE)
        return 0;
    if (wanted->state == SIGNING_KEY_RETIRED)
        return err_set(err, ERR_CONFLICT, "this signing key is retired");
    if (old)
        rc = signing_key_retire(tx, old, call, err);
    return rc ? rc : signing_key_make_active(tx, call, err);
}

static int activate(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    if (!rc)
        rc = activate_in(tx, &list, arg, err);
    signing_key_list_done(&list);
    return rc;
}

int key_store_activate(struct store *store, const struct signing_key_activation *activation, struct err *err) {
    struct signing_key_activation borrowed = *activation;
    return store_tx(store, activate, &borrowed, err);
}

struct signing_key_purge {
    int64_t now_ms;
    unsigned deleted;
};

static int delete_one(struct store_tx *tx, const char *kid, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "DELETE FROM signing_keys WHERE kid = ?", DB_ARGS(db_text(kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, kid, err);
}

static int signing_key_purge(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_purge *call = arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    call->deleted = 0;
    for (size_t i = 0; i < list.count && !rc; i++) {
        if (list.items[i].state != SIGNING_KEY_RETIRED || list.items[i].not_after_ms >= call->now_ms)
            continue;
        rc = delete_one(tx, list.items[i].kid, err);
        call->deleted++;
    }
    signing_key_list_done(&list);
    return rc;
}

int key_store_purge(struct store *store, int64_t now_ms, unsigned *deleted, struct err *err) {
    struct signing_key_purge call = {.now_ms = now_ms};
    int rc = store_tx(store, signing_key_purge, &call, err);
    if (!rc)
        *deleted = call.deleted;
    return rc;
}
