/* Deeds outside of the database, in the audit trail. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "deed_store.h"

#include <stdlib.h>
#include <string.h>

#include "audit_tx.h"
#include "db_stmt.h"
#include "store_tx.h"

#define CLOSE_BATCH 100U
#define WHY_UNKNOWN \
    "nobody wrote down how it ended: kaasd was stopped, or the database was away; look at the vCenter and at the log"

/* -- begin and end ------------------------------------------------------------------------------------------------------------ */

struct deed_begin {
    const char *id;
    const struct audit_record *record;
};

static int deed_insert_row(struct store_tx *tx, const struct deed_begin *begin, struct err *err) {
    const struct audit_texts texts = audit_texts_of(&begin->record->event);
    const struct db_arg *t = texts.items;
    return db_run(
        store_tx_conn(tx),
        "INSERT INTO audit_deeds (id, replica_id, begun_at_ms, action, principal_id, principal_name, source, object_kind,"
        " object_id, object_name, address, request_id, acting_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        DB_ARGS(db_text(begin->id), db_number(store_tx_replica(tx)), db_number(begin->record->at_ms), t[AUDIT_ACTION],
                t[AUDIT_PRINCIPAL_ID], t[AUDIT_PRINCIPAL_NAME], t[AUDIT_SOURCE], t[AUDIT_OBJECT_KIND], t[AUDIT_OBJECT_ID],
                t[AUDIT_OBJECT_NAME], t[AUDIT_ADDRESS], t[AUDIT_REQUEST_ID], t[AUDIT_ACTING_ID]),
        NULL, err);
}

static int deed_begin(struct store_tx *tx, void *arg, struct err *err) {
    const struct deed_begin *begin = arg;
    int rc = deed_insert_row(tx, begin, err);
    return rc ? rc : audit_tx_append(tx, begin->record, 1, err);
}

int deed_store_begin(struct store *store, const char *id, const struct audit_record *record, struct err *err) {
    struct audit_record line = *record;
    struct deed_begin begin = {id, &line};
    line.event.result = DEED_PENDING;
    return store_tx(store, deed_begin, &begin, err);
}

static int deed_remove_row(struct store_tx *tx, const char *id, uint64_t *met, struct err *err) {
    return db_run(store_tx_conn(tx), "DELETE FROM audit_deeds WHERE id = ?", DB_ARGS(db_text(id)), met, err);
}

int deed_tx_end(struct store_tx *tx, const struct deed_end *end, struct err *err) {
    int rc = end ? deed_remove_row(tx, end->id, NULL, err) : 0;
    return rc || !end ? rc : audit_tx_append(tx, end->record, 1, err);
}

static int end_deed(struct store_tx *tx, void *arg, struct err *err) {
    return deed_tx_end(tx, arg, err);
}

int deed_store_end(struct store *store, const struct deed_end *end, struct err *err) {
    struct deed_end copy = *end;
    return store_tx(store, end_deed, &copy, err);
}

/* -- an open one ---------------------------------------------------------------------------------------------------------------- */

static int deed_take_id(const struct db_row *row, void *arg, struct err *err) {
    (void)err;
    db_row_copy(row, 0, arg, UUID_TEXT_BYTES);
    return 0;
}

int deed_store_find(struct store *store, const struct audit_event *like, char id[UUID_TEXT_BYTES], struct err *err) {
    id[0] = '\0';
    return store_query(
        store,
        "SELECT id FROM audit_deeds WHERE replica_id = ? AND action = ? AND source = ?"
        " AND object_id = ? ORDER BY begun_at_ms DESC, id LIMIT 1",
        DB_ARGS(db_number(store_get_replica(store)), db_text(like->action), db_text(like->source), db_text(like->object_id)), "t",
        deed_take_id, id, err);
}

/* -- those that nobody works on --------------------------------------------------------------------------------------------------- */

enum {
    ID,
    ACTION,
    PRINCIPAL_ID,
    PRINCIPAL_NAME,
    SOURCE,
    OBJECT_KIND,
    OBJECT_ID,
    OBJECT_NAME,
    ADDRESS,
    REQUEST_ID,
    ACTING_ID,
    TEXTS
};

struct left_one {
    char *texts[TEXTS];
};

struct left_list {
    const struct deed_left *wanted;
    struct left_one *items;
    size_t count;
};

static void list_done(struct left_list *list) {
    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; j < TEXTS; j++)
            free(list->items[i].texts[j]);
    free(list->items);
    list->items = NULL;
    list->count = 0;
}

static int add_left(const struct db_row *row, void *arg, struct err *err) {
    struct left_list *list = arg;
    struct left_one *one = db_list_add(&list->items, &list->count, sizeof(*one), err);
    if (!one)
        return ERR_NOMEM;
    for (size_t i = 0; i < TEXTS; i++)
        one->texts[i] = db_row_dup(row, i);
    return 0;
}

static int list_left(struct db_conn *conn, void *arg, struct err *err) {
    struct left_list *list = arg;
    const struct deed_left *w = list->wanted;
    list_done(list);
    return db_query(
        conn,
        "SELECT id, action, principal_id, principal_name, source, object_kind, object_id,"
        " object_name, address, request_id, acting_id FROM audit_deeds"
        " WHERE (? = 0 OR replica_id = ?) AND begun_at_ms < ? ORDER BY begun_at_ms, id LIMIT ?",
        DB_ARGS(db_number(w->replica_id), db_number(w->replica_id), db_number(w->begun_before_ms), db_number(CLOSE_BATCH)),
        "ttttttttttt", add_left, list, err);
}

/* Another replica, or whoever worked on it after all, may be quicker: then there is nothing to say. */
static int close_one(struct store_tx *tx, void *arg, struct err *err) {
    const struct deed_end *end = arg;
    uint64_t met = 0;
    int rc = deed_remove_row(tx, end->id, &met, err);
    return rc || !met ? rc : audit_tx_append(tx, end->record, 1, err);
}

static int close_left(struct store *store, const struct left_one *one, int64_t now_ms, struct err *err) {
    char *const *t = one->texts;
    const struct audit_record record = {.at_ms = now_ms,
                                        .event = {.action = t[ACTION],
                                                  .principal_id = t[PRINCIPAL_ID],
                                                  .principal_name = t[PRINCIPAL_NAME],
                                                  .acting_id = t[ACTING_ID],
                                                  .source = t[SOURCE],
                                                  .object_kind = t[OBJECT_KIND],
                                                  .object_id = t[OBJECT_ID],
                                                  .object_name = t[OBJECT_NAME],
                                                  .address = t[ADDRESS],
                                                  .request_id = t[REQUEST_ID],
                                                  .result = DEED_UNKNOWN,
                                                  .reason = WHY_UNKNOWN}};
    struct deed_end end = {t[ID], &record};
    return store_tx(store, close_one, &end, err);
}

int deed_store_close(struct store *store, const struct deed_left *left, unsigned *closed, struct err *err) {
    struct left_list list = {.wanted = left};
    int rc;
    *closed = 0;
    do {
        rc = store_read(store, list_left, &list, err);
        for (size_t i = 0; i < list.count && !rc; i++) {
            rc = close_left(store, &list.items[i], left->now_ms, err);
            *closed += !rc;
        }
    } while (!rc && list.count == CLOSE_BATCH);
    list_done(&list);
    return rc;
}
