/* Events that are to be posted in vCenters, and what each was told of. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "event_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "record_tx.h"
#include "str.h"
#include "uuid.h"

static const char *const vcenter_event_words[] = {"added",      "removed",      "ready",       "degraded",  "failed",
                                                  "granted",    "withdrawn",    "maintenance", "job_begun", "job_done",
                                                  "job_failed", "job_canceled", "summary",     NULL};
static const struct member vcenter_event_members[] = {
    MEMBER(vcenter_event, id, .flags = MEMBER_KEY),
    MEMBER_AS(vcenter_event, ref.vcenter_id, "vcenter_id", NULL),
    MEMBER_AS(vcenter_event, ref.moref, "moref", NULL),
    MEMBER(vcenter_event, kind, .words = vcenter_event_words, .unknown = VCENTER_EVENT_SUMMARY),
    MEMBER(vcenter_event, name, .max = 255, .flags = MEMBER_CUT),
    MEMBER(vcenter_event, object_id),
    MEMBER(vcenter_event, principal),
    MEMBER(vcenter_event, role),
    MEMBER(vcenter_event, reason, .max = 1000, .flags = MEMBER_CUT),
    MEMBER(vcenter_event, job),
    MEMBER(vcenter_event, folded),
    MEMBER(vcenter_event, made_at_ms),
    MEMBER(vcenter_event, claimed_at_ms),
    MEMBER(vcenter_event, refused_at_ms),
    MEMBERS_END,
};

void vcenter_event_done(struct vcenter_event *event) {
    members_done(vcenter_event_members, event, sizeof(*event));
}

DB_LIST_DEFINE(vcenter_event_list, vcenter_event_done);

static void event_record_done(void *record) {
    vcenter_event_done(record);
}

static const struct db_table event_table = {.name = "vcenter_events",
                                            .noun = "event",
                                            .members = vcenter_event_members,
                                            .bytes = sizeof(struct vcenter_event),
                                            .done = event_record_done};

static const struct member place_members[] = {
    MEMBER(cluster_place, cluster_id, .flags = MEMBER_KEY),
    MEMBER_AS(cluster_place, ref.vcenter_id, "vcenter_id", NULL),
    MEMBER_AS(cluster_place, ref.moref, "moref", NULL),
    MEMBER(cluster_place, name),
    MEMBER(cluster_place, told, .words = vcenter_event_words, .unknown = VCENTER_EVENT_ADDED),
    MEMBER(cluster_place, down),
    MEMBERS_END,
};
static const struct db_table place_table = {
    .name = "cluster_places", .noun = "place", .members = place_members, .bytes = sizeof(struct cluster_place)};

/* -- what vCenters were told of -------------------------------------------------------------------------------------- */

DB_LIST_DEFINE(cluster_place_list, (void));

int event_store_list_places(struct store *store, struct cluster_place_list *out, struct err *err) {
    return db_table_list(store, &place_table, "", DB_ARGS_NONE, &out->items, &out->count, err);
}

int event_store_is_new(struct store *store, const char *vcenter_id, bool *is_new, struct err *err) {
    int64_t since_ms = 0;
    int rc = store_query_row(store, "SELECT events_since_ms FROM vcenters WHERE id = ?", DB_ARGS(db_text(vcenter_id)),
                             DB_INTO(DB_TO(since_ms)), "there is no such vCenter", err);
    *is_new = !since_ms;
    return rc;
}

int event_store_begin(struct store *store, const char *vcenter_id, int64_t now_ms, struct err *err) {
    return store_run(store, "UPDATE vcenters SET events_since_ms = ? WHERE id = ?",
                     DB_ARGS(db_number(now_ms), db_text(vcenter_id)), NULL, err);
}

int event_store_forget(struct store *store, const char *vcenter_id, struct err *err) {
    return store_run(store, "DELETE FROM vcenter_events WHERE vcenter_id = ?", DB_ARGS(db_text(vcenter_id)), NULL, err);
}

static int end_events(struct store_tx *tx, void *arg, struct err *err) {
    static const char *const statements[] = {"UPDATE vcenters SET events_since_ms = 0 WHERE events_since_ms > 0",
                                             "DELETE FROM cluster_places", "DELETE FROM vcenter_events"};
    int rc = 0;
    (void)arg;
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && !rc; i++)
        rc = db_run(store_tx_conn(tx), statements[i], DB_ARGS_NONE, NULL, err);
    return rc;
}

int event_store_end(struct store *store, struct err *err) {
    return store_tx(store, end_events, NULL, err);
}

/* Whoever finds another row than it knows has read it before somebody else wrote. */
static int write_place(struct db_conn *conn, const struct event_news *news, struct err *err) {
    const struct cluster_place *p = &news->place;
    const struct db_arg id = db_text(p->cluster_id), vc = db_text(p->ref.vcenter_id), moref = db_text(p->ref.moref),
                        was = db_text(vcenter_event_words[news->was]);
    int rc;
    if (news->how == EVENT_PLACE_NEW)
        rc = db_table_insert(conn, &place_table, p, DB_MORE_NONE, err);
    else if (news->how == EVENT_PLACE_CHANGED)
        rc = db_run_one(conn,
                        "UPDATE cluster_places SET told = ?, name = ?, down = ?"
                        " WHERE cluster_id = ? AND vcenter_id = ? AND moref = ? AND told = ?",
                        DB_ARGS(db_text(vcenter_event_words[p->told]), db_text(p->name), db_number(p->down), id, vc, moref, was),
                        "no such place", err);
    else
        rc = db_run_one(conn, "DELETE FROM cluster_places WHERE cluster_id = ? AND vcenter_id = ? AND moref = ? AND told = ?",
                        DB_ARGS(id, vc, moref, was), "no such place", err);
    if (rc != ERR_NOT_FOUND && rc != ERR_EXISTS)
        return rc;
    return err_set(err, ERR_CONFLICT, "another replica makes events, too");
}

struct event_saving {
    const struct event_news *items;
    size_t count;
};

static int save_news(struct store_tx *tx, void *arg, struct err *err) {
    const struct event_saving *saving = arg;
    struct db_conn *conn = store_tx_conn(tx);
    int rc = 0;
    for (size_t i = 0; i < saving->count && !rc; i++) {
        const struct event_news *news = &saving->items[i];
        rc = write_place(conn, news, err);
        if (!rc && !news->is_silent)
            rc = db_table_insert(conn, &event_table, news->event, DB_MORE_NONE, err);
    }
    return rc;
}

int event_store_save_news(struct store *store, const struct event_news *items, size_t count, struct err *err) {
    return store_tx(store, save_news, &(struct event_saving){items, count}, err);
}

struct host_saving {
    struct event_of_host of;
    bool is_news;
};

static int save_host(struct store_tx *tx, void *arg, struct err *err) {
    struct host_saving *saving = arg;
    const struct event_of_host *of = &saving->of;
    const struct db_arg key = db_number(of->key), at_ms = db_number(of->at_ms);
    uint64_t affected = 0;
    int rc = db_run(store_tx_conn(tx),
                    "UPDATE vcenters SET host_event_key = ?, host_event_at_ms = ?"
                    " WHERE id = ? AND events_since_ms > 0 AND (host_event_key < ? OR host_event_at_ms < ?)",
                    DB_ARGS(key, at_ms, db_text(of->made->ref.vcenter_id), key, at_ms), &affected, err);
    saving->is_news = affected > 0;
    return rc || !affected ? rc : db_table_insert(store_tx_conn(tx), &event_table, of->made, DB_MORE_NONE, err);
}

int event_store_save_host(struct store *store, const struct event_of_host *of, bool *is_news, struct err *err) {
    struct host_saving saving = {*of, false};
    int rc = store_tx(store, save_host, &saving, err);
    *is_news = !rc && saving.is_news;
    return rc;
}

/* -- what is to be posted ------------------------------------------------------------------------------------------------ */

int event_store_list(struct store *store, const char *vcenter_id, size_t limit, struct vcenter_event_list *out, struct err *err) {
    return db_table_list(
        store, &event_table,
        " WHERE vcenter_id = ? ORDER BY refused_at_ms > 0, claimed_at_ms = 0, kind <> 'maintenance', made_at_ms, id, moref"
        " LIMIT ?",
        DB_ARGS(db_text(vcenter_id), db_number((int64_t)limit)), &out->items, &out->count, err);
}

int event_store_claim(struct store *store, const struct vcenter_event *e, int64_t now_ms, struct err *err) {
    return store_run(store, "UPDATE vcenter_events SET claimed_at_ms = ? WHERE vcenter_id = ? AND id = ? AND moref = ?",
                     DB_ARGS(db_number(now_ms), db_text(e->ref.vcenter_id), db_text(e->id), db_text(e->ref.moref)), NULL, err);
}

int event_store_note_refused(struct store *store, const struct vcenter_event *e, int64_t now_ms, struct err *err) {
    return store_run(
        store, "UPDATE vcenter_events SET refused_at_ms = ? WHERE vcenter_id = ? AND id = ? AND moref = ? AND refused_at_ms = 0",
        DB_ARGS(db_number(now_ms), db_text(e->ref.vcenter_id), db_text(e->id), db_text(e->ref.moref)), NULL, err);
}

int event_store_remove(struct store *store, const struct vcenter_event *e, struct err *err) {
    return store_run(store, "DELETE FROM vcenter_events WHERE vcenter_id = ? AND id = ? AND moref = ?",
                     DB_ARGS(db_text(e->ref.vcenter_id), db_text(e->id), db_text(e->ref.moref)), NULL, err);
}

struct event_group {
    char moref[MOREF_BYTES];
    int64_t rows, folded;
};

struct event_folding {
    const char *vcenter_id;
    int64_t now_ms, folded;
    struct event_group *items;
    size_t count;
};

static int event_add_group(const struct db_row *row, void *arg, struct err *err) {
    struct event_folding *folding = arg;
    struct event_group *group = db_list_add(&folding->items, &folding->count, sizeof(*group), err);
    if (!group)
        return ERR_NOMEM;
    db_row_copy(row, 0, group->moref, sizeof(group->moref));
    group->rows = db_row_number(row, 1);
    group->folded = db_row_number(row, 2);
    return 0;
}

static int fold_group(struct db_conn *conn, const struct event_folding *folding, const struct event_group *group,
                      struct err *err) {
    struct vcenter_event summary = {.kind = VCENTER_EVENT_SUMMARY, .folded = group->folded, .made_at_ms = folding->now_ms};
    uint64_t removed = 0;
    int rc = object_ref_make(folding->vcenter_id, group->moref, &summary.ref, err);
    uuid_new(summary.id);
    if (!rc)
        rc = db_run(conn, "DELETE FROM vcenter_events WHERE vcenter_id = ? AND moref = ? AND claimed_at_ms = 0",
                    DB_ARGS(db_text(folding->vcenter_id), db_text(group->moref)), &removed, err);
    if (!rc && removed != (uint64_t)group->rows)
        rc = err_set(err, ERR_CONFLICT, "another event came meanwhile");
    return rc ? rc : db_table_insert(conn, &event_table, &summary, DB_MORE_NONE, err);
}

static int fold(struct store_tx *tx, void *arg, struct err *err) {
    struct event_folding *folding = arg;
    free(folding->items);
    folding->items = NULL;
    folding->count = 0;
    folding->folded = 0;
    int rc = db_query(store_tx_conn(tx),
                      "SELECT moref, COUNT(*), CAST(SUM(folded) AS SIGNED) FROM vcenter_events WHERE vcenter_id = ?"
                      " AND claimed_at_ms = 0 GROUP BY moref HAVING COUNT(*) > 1 ORDER BY moref",
                      DB_ARGS(db_text(folding->vcenter_id)), "tii", event_add_group, folding, err);
    for (size_t i = 0; i < folding->count && !rc; i++) {
        rc = fold_group(store_tx_conn(tx), folding, &folding->items[i], err);
        folding->folded += folding->items[i].folded;
    }
    return rc;
}

int event_store_fold(struct store *store, const char *vcenter_id, int64_t now_ms, int64_t *folded, struct err *err) {
    struct event_folding folding = {.vcenter_id = vcenter_id, .now_ms = now_ms};
    int rc = store_tx(store, fold, &folding, err);
    free(folding.items);
    *folded = folding.folded;
    return rc;
}

int event_store_prune(struct store *store, int64_t before_ms, uint64_t *count, struct err *err) {
    return store_run(store, "DELETE FROM vcenter_events WHERE made_at_ms < ?", DB_ARGS(db_number(before_ms)), count, err);
}
