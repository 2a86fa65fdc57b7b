/* The installation's UUID. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "installation_store.h"

#include <string.h>

#include "clock.h"
#include "db_stmt.h"
#include "store_tx.h"

static int read_uuid(const struct db_row *row, void *arg, struct err *err) {
    (void)err;
    db_row_copy(row, 0, arg, UUID_TEXT_BYTES);
    return 0;
}

static int installation_load(struct store_tx *tx, void *arg, struct err *err) {
    char made[UUID_TEXT_BYTES];
    struct db_conn *conn = store_tx_conn(tx);
    uuid_new(made);
    /* IGNORE: who came first keeps it */
    int rc = db_run(conn, "INSERT IGNORE INTO installation (id, uuid, created_at_ms) VALUES (1, ?, ?)",
                    DB_ARGS(db_text(made), db_number(clock_wall_ms())), NULL, err);
    return rc ? rc
              : db_query_one(
                    conn,
                    &(struct db_query){
                        .sql = "SELECT uuid FROM installation WHERE id = 1", .columns = "t", .row = read_uuid, .arg = arg},
                    "no installation", err);
}

int installation_store_load(struct store *store, char uuid[UUID_TEXT_BYTES], struct err *err) {
    char read[UUID_TEXT_BYTES] = "";
    int rc = store_tx(store, installation_load, read, err);
    if (!rc)
        memcpy(uuid, read, sizeof(read));
    return rc;
}
