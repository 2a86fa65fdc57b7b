/* Reading the audit trail (audit_store.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "audit_store.h"
#include "db_stmt.h"
#include "store_tx.h"

#define FILTER(column) \
    " AND (? IS NULL OR " column " = ?)" /* the server drops it where the value is NULL, and then uses the keys */

static void entry_done(struct audit_entry *entry) {
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        free(entry->texts[i]);
}

void audit_page_done(struct audit_page *page) {
    if (!page)
        return;
    for (size_t i = 0; i < page->count; i++)
        entry_done(&page->items[i]);
    free(page->items);
    *page = (struct audit_page){0};
}

static int add_entry(const struct db_row *row, void *arg, struct err *err) {
    struct audit_page *page = arg;
    void *items = page->items;
    struct audit_entry *entry = db_list_add(&items, &page->count, sizeof(*entry));
    page->items = items;
    if (!entry)
        return err_set(err, ERR_NOMEM, "out of memory");
    entry->place = (struct audit_place){
        .at_ms = db_row_number(row, 0), .replica_id = (unsigned)db_row_number(row, 1), .seq = (uint64_t)db_row_number(row, 2)};
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        entry->texts[i] = db_row_dup(row, 3 + i);
    return 0;
}

struct listing {
    const struct audit_query *query;
    struct audit_page page;
};

static int audit_list_lines(struct db_conn *conn, void *arg, struct err *err) {
    struct listing *call = arg;
    const struct audit_query *q = call->query;
    const struct audit_place *after = &q->after;
    const int64_t top_ms = q->has_after ? after->at_ms : INT64_MAX;
    const int64_t until_ms = q->until_ms ? q->until_ms - 1 : INT64_MAX;
    audit_page_done(&call->page);
    return db_query(
        conn,
        &(struct db_query){
            .sql =
                "SELECT at_ms, replica_id, seq, action, principal_id, principal_name, source, object_kind, object_id, object_name,"
                " address, request_id, result, reason, acting_id FROM audit WHERE at_ms >= ? AND at_ms <= ?"
                " AND (at_ms < ? OR replica_id < ? OR (replica_id = ? AND seq < ?))" FILTER("action") FILTER("principal_id")
                    FILTER("acting_id") FILTER("source") FILTER("object_kind") FILTER("object_id") FILTER("address")
                        FILTER("result") FILTER("request_id") " ORDER BY at_ms DESC, replica_id DESC, seq DESC LIMIT ?",
            .args = DB_ARGS(db_number(q->since_ms), db_number(until_ms < top_ms ? until_ms : top_ms), db_number(top_ms),
                            db_number(after->replica_id), db_number(after->replica_id), db_number((int64_t)after->seq),
                            db_text(q->action), db_text(q->action), db_text(q->principal_id), db_text(q->principal_id),
                            db_text(q->acting_id), db_text(q->acting_id), db_text(q->source), db_text(q->source),
                            db_text(q->object_kind), db_text(q->object_kind), db_text(q->object_id), db_text(q->object_id),
                            db_text(q->address), db_text(q->address), db_text(q->result), db_text(q->result),
                            db_text(q->request_id), db_text(q->request_id), db_number((int64_t)q->limit + 1)),
            .columns = "iiitttttttttttt",
            .row = add_entry,
            .arg = &call->page},
        err);
}

int audit_store_list(struct store *store, const struct audit_query *query, struct audit_page *out, struct err *err) {
    struct listing call = {.query = query};
    int rc = store_read(store, audit_list_lines, &call, err);
    if (rc) {
        audit_page_done(&call.page);
        return rc;
    }
    if (call.page.count > query->limit) {
        entry_done(&call.page.items[--call.page.count]);
        call.page.is_more = true;
    }
    *out = call.page;
    return 0;
}
