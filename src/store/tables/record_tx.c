/* Writing one record with its change and its audit line (record_tx.h). Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "record_tx.h"

#include "audit_tx.h"
#include "lease_store.h"

int record_tx_end(struct store_tx *tx, enum change_kind kind, const char *id, const struct audit_record *audit, struct err *err) {
    int rc = kind == CHANGE_KIND_COUNT ? 0 : store_tx_note_change(tx, kind, id, err);
    return rc ? rc : audit_tx_append(tx, audit, 1, err);
}

static int record_write(struct store_tx *tx, void *arg, struct err *err) {
    const struct record_write *w = arg;
    struct db_conn *conn = store_tx_conn(tx);
    const char *key = w->how == RECORD_DELETE ? w->key : db_table_key(w->table, w->record);
    const bool is_removal = w->how == RECORD_DELETE;
    int rc = lease_tx_check(tx, w->fence, err);
    if (!rc && w->before)
        rc = w->before(tx, w, err);
    if (!rc && is_removal) /* as long as it has a name */
        rc = audit_tx_append(tx, w->audit, 1, err);
    if (rc)
        return rc;
    rc = w->how == RECORD_INSERT   ? db_table_insert(conn, w->table, w->record, w->more, err)
         : w->how == RECORD_UPDATE ? db_table_update(conn, w->table, w->record, w->more, err)
                                   : db_table_delete(conn, w->table, w->key, w->version_no, err);
    if (!rc && w->after)
        rc = w->after(tx, w, err);
    return rc ? rc : record_tx_end(tx, w->change, key, is_removal ? NULL : w->audit, err);
}

int record_store_write(struct store *store, const struct record_write *write, struct err *err) {
    struct record_write borrowed = *write;
    return store_tx(store, record_write, &borrowed, err);
}
