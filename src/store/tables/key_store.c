/* Signing keys of tokens. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "key_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "db_table.h"
#include "store_tx.h"
#include "str.h"

static const char *const state_words[] = {
    [SIGNING_KEY_NEXT] = "next", [SIGNING_KEY_ACTIVE] = "active", [SIGNING_KEY_RETIRED] = "retired", NULL};

const char *signing_key_state_name(enum signing_key_state state) {
    return words_get(state_words, state, "retired");
}

static const struct member signing_key_members[] = {
    MEMBER_AS(signing_key, kid, "kid", NULL, .flags = MEMBER_KEY),
    MEMBER_AS(signing_key, public_jwk, "public_jwk", NULL),
    MEMBER_AS(signing_key, state, "state", NULL, .words = state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(signing_key, created_at_ms, "created_at_ms", NULL),
    MEMBER_AS(signing_key, signs_from_ms, "signs_from_ms", NULL),
    MEMBER_AS(signing_key, not_after_ms, "not_after_ms", NULL),
    MEMBERS_END,
};

static int signing_key_read_more(const struct db_row *row, size_t first, void *record, struct err *err) {
    struct signing_key *k = record;
    (void)err;
    k->sealed = db_row_dup_bytes(row, first, &k->sealed_bytes);
    if (!k->signs_from_ms) /* of an older release */
        k->signs_from_ms = k->created_at_ms;
    return 0;
}

void signing_key_done(struct signing_key *k) {
    if (!k)
        return;
    free(k->sealed);
    members_done(signing_key_members, k, sizeof(*k));
}

DB_LIST_DEFINE(signing_key_list, signing_key_done);

static void signing_record_done(void *record) {
    signing_key_done(record);
}

static const struct db_table signing_table = {.name = "signing_keys",
                                              .noun = "signing key",
                                              .members = signing_key_members,
                                              .bytes = sizeof(struct signing_key),
                                              .more = ", sealed",
                                              .more_kinds = "b",
                                              .read_more = signing_key_read_more,
                                              .done = signing_record_done};
#define ORDER_KEYS " ORDER BY created_at_ms DESC, kid"

int key_store_list(struct store *store, struct signing_key_list *out, struct err *err) {
    return db_table_list(store, &signing_table, ORDER_KEYS, DB_ARGS_NONE, &out->items, &out->count, err);
}

/* Whoever holds the lock "signing_keys" reads and changes alone. *out may also hold something after a failure. */
static int list_locked(struct store_tx *tx, struct signing_key_list *out, struct err *err) {
    struct db_records found = {0};
    int rc = store_tx_lock(tx, "signing_keys", err);
    rc = rc ? rc : db_table_query(store_tx_conn(tx), &signing_table, ORDER_KEYS, DB_ARGS_NONE, &found, err);
    *out = (struct signing_key_list){found.items, found.count};
    return rc;
}

static int signing_key_insert(struct store_tx *tx, const struct signing_key *k, struct err *err) {
    int rc = db_table_insert(store_tx_conn(tx), &signing_table, k,
                             DB_MORE({"sealed", db_bytes(k->sealed, k->sealed_bytes), NULL}), err);
    db_explain(rc, ERR_EXISTS, err, "there is a signing key \"%s\" already", k->kid);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, k->kid, err);
}

/* A statement with a time and the key, and what notes it. */
static int signing_key_run(struct store_tx *tx, const char *sql, int64_t time_ms, const char *kid, struct err *err) {
    int rc = db_run(store_tx_conn(tx), sql, DB_ARGS(db_number(time_ms), db_text(kid)), NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_SIGNING_KEY, kid, err);
}

static const struct signing_key *key_store_find_state(const struct signing_key_list *list, enum signing_key_state state) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == state)
            return &list->items[i];
    return NULL;
}

static int key_store_insert_first_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key first = *(const struct signing_key *)arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    first.state = SIGNING_KEY_ACTIVE;
    if (!rc && key_store_find_state(&list, SIGNING_KEY_ACTIVE))
        rc = err_set(err, ERR_EXISTS, "there is an active signing key already");
    signing_key_list_done(&list);
    return rc ? rc : signing_key_insert(tx, &first, err);
}

int key_store_insert_first(struct store *store, const struct signing_key *k, struct err *err) {
    struct signing_key borrowed = *k;
    return store_tx(store, key_store_insert_first_in_tx, &borrowed, err);
}

/* -- rotation ------------------------------------------------------------------------------------------------------------ */

struct signing_key_begin {
    struct signing_key next;
    int64_t active_until_ms;
    struct signing_key_begun begun;
};

static int begin_rotation(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_begin *call = arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    const struct signing_key *next = key_store_find_state(&list, SIGNING_KEY_NEXT),
                             *active = key_store_find_state(&list, SIGNING_KEY_ACTIVE);
    call->begun.is_new = !next;
    (void)snprintf(call->begun.kid, sizeof(call->begun.kid), "%s", next ? next->kid : call->next.kid);
    if (!rc && !next && list.count >= SIGNING_KEYS_MAX) {
        (void)err_set(err, ERR_CONFLICT, "there are %d signing keys already", SIGNING_KEYS_MAX);
        rc = err_remedy(err, "wait until old ones have ended: kaasctl key list");
    }
    if (!rc)
        rc = next ? signing_key_run(tx, "UPDATE signing_keys SET signs_from_ms = LEAST(signs_from_ms, ?) WHERE kid = ?",
                                    call->next.signs_from_ms, next->kid, err)
                  : signing_key_insert(tx, &call->next, err);
    if (!rc && active && call->active_until_ms)
        rc = signing_key_run(tx, "UPDATE signing_keys SET not_after_ms = LEAST(not_after_ms, ?) WHERE kid = ?",
                             call->active_until_ms, active->kid, err);
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

static int activate_in(struct store_tx *tx, const struct signing_key_list *list, const struct signing_key_activation *call,
                       struct err *err) {
    const struct signing_key *old = key_store_find_state(list, SIGNING_KEY_ACTIVE), *wanted = NULL;
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
        rc = signing_key_run(tx, "UPDATE signing_keys SET state = 'retired', not_after_ms = LEAST(not_after_ms, ?) WHERE kid = ?",
                             call->old_until_ms, old->kid, err);
    return rc ? rc
              : signing_key_run(tx, "UPDATE signing_keys SET state = 'active', signs_from_ms = ? WHERE kid = ?", call->now_ms,
                                call->kid, err);
}

static int key_store_activate_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    if (!rc)
        rc = activate_in(tx, &list, arg, err);
    signing_key_list_done(&list);
    return rc;
}

int key_store_activate(struct store *store, const struct signing_key_activation *activation, struct err *err) {
    struct signing_key_activation borrowed = *activation;
    return store_tx(store, key_store_activate_in_tx, &borrowed, err);
}

struct signing_key_purge {
    int64_t now_ms;
    unsigned deleted;
};

static int signing_key_purge(struct store_tx *tx, void *arg, struct err *err) {
    struct signing_key_purge *call = arg;
    struct signing_key_list list = {0};
    int rc = list_locked(tx, &list, err);
    call->deleted = 0;
    for (size_t i = 0; i < list.count && !rc; i++) {
        if (list.items[i].state != SIGNING_KEY_RETIRED || list.items[i].not_after_ms >= call->now_ms)
            continue;
        rc = signing_key_run(tx, "DELETE FROM signing_keys WHERE not_after_ms < ? AND kid = ?", call->now_ms, list.items[i].kid,
                             err);
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
