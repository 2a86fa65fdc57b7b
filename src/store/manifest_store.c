/* When vCenters fetched the manifest of our plug-in. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "manifest_store.h"

#include "db_stmt.h"
#include "store_tx.h"

struct manifest_call {
    const char *vcenter_id;
    const struct manifest_fetch *fetch;
    struct manifest_fetch *out;
};

/* By SELECT, so that a vCenter that was removed meanwhile is a plain miss. An older fetch never replaces a newer one. */
static int manifest_save(struct store_tx *tx, void *arg, struct err *err) {
    const struct manifest_call *call = arg;
    const struct manifest_fetch *f = call->fetch;
    return db_run(
        store_tx_conn(tx),
        "INSERT INTO manifest_fetches (vcenter_id, address, version, fetched_at_ms)"
        " SELECT id, ?, ?, ? FROM vcenters WHERE id = ?"
        " ON DUPLICATE KEY UPDATE"
        " manifest_fetches.address = IF(fetched_at_ms < VALUES(fetched_at_ms), VALUES(address), manifest_fetches.address),"
        " manifest_fetches.version = IF(fetched_at_ms < VALUES(fetched_at_ms), VALUES(version), manifest_fetches.version),"
        " fetched_at_ms = GREATEST(fetched_at_ms, VALUES(fetched_at_ms))",
        DB_ARGS(db_text(f->address), db_text(f->version), db_number(f->at_ms), db_text(call->vcenter_id)), NULL, err);
}

int manifest_store_save(struct store *store, const char *vcenter_id, const struct manifest_fetch *fetch, struct err *err) {
    struct manifest_call call = {.vcenter_id = vcenter_id, .fetch = fetch};
    return store_tx(store, manifest_save, &call, err);
}

static int read_fetch(const struct db_row *row, void *arg, struct err *err) {
    struct manifest_fetch *out = arg;
    (void)err;
    db_row_copy(row, 0, out->address, sizeof(out->address));
    db_row_copy(row, 1, out->version, sizeof(out->version));
    out->at_ms = db_row_number(row, 2);
    return 0;
}

static int manifest_load(struct db_conn *conn, void *arg, struct err *err) {
    const struct manifest_call *call = arg;
    struct db_query query = {
        .sql = "SELECT address, version, fetched_at_ms FROM manifest_fetches WHERE vcenter_id = ?",
        .args = DB_ARGS(db_text(call->vcenter_id)),
        .columns = "tti",
        .row = read_fetch,
        .arg = call->out,
    };
    return db_query(conn, &query, err);
}

int manifest_store_load(struct store *store, const char *vcenter_id, struct manifest_fetch *out, struct err *err) {
    struct manifest_fetch read = {.at_ms = 0};
    struct manifest_call call = {.vcenter_id = vcenter_id, .out = &read};
    int rc = store_read(store, manifest_load, &call, err);
    if (!rc)
        *out = read;
    return rc;
}
