/* The row of the newest release file that was accepted. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "release_store.h"

#include <string.h>

#include "db_stmt.h"
#include "store_tx.h"

int release_store_load(struct store *store, struct release_row *out, struct err *err) {
    int64_t left_ms = 0, since_ms = 0;
    memset(out, 0, sizeof(*out));
    int rc = store_query_row(store,
                             "SELECT content, signature, next_at_ms - " DB_NOW_MS ", problem, remedy, problem_since_ms"
                             " FROM release_file WHERE id = 1",
                             DB_ARGS_NONE,
                             DB_INTO(DB_TO_BYTES(out->content, &out->content_bytes),
                                     DB_TO_BYTES(out->signature, &out->signature_bytes), DB_TO(left_ms), DB_TO(out->problem),
                                     DB_TO(out->remedy), DB_TO(since_ms)),
                             NULL, err);
    if (out->content_bytes > sizeof(out->content) || out->signature_bytes > sizeof(out->signature)) /* DB_NULL, too */
        out->content_bytes = out->signature_bytes = 0;
    out->problem_since_ms = since_ms;
    out->was_looked = since_ms != 0;
    out->is_due = left_ms <= 0;
    return rc;
}

int release_store_save(struct store *store, const struct release_look *look, struct err *err) {
    /* assignments are made from left to right: problem_since_ms looks at the problem before */
    return store_run(
        store,
        "INSERT INTO release_file (id, content, signature, next_at_ms, problem, remedy, problem_since_ms)"
        " VALUES (1, ?, ?, " DB_NOW_MS " + CAST(? * (0.8 + 0.2 * RAND()) AS SIGNED), ?, ?, " DB_NOW_MS ")"
        " ON DUPLICATE KEY UPDATE content = COALESCE(VALUES(content), content),"
        " signature = COALESCE(VALUES(signature), signature), next_at_ms = VALUES(next_at_ms),"
        " problem_since_ms = IF((problem = '') = (VALUES(problem) = ''), problem_since_ms, VALUES(problem_since_ms)),"
        " problem = VALUES(problem), remedy = VALUES(remedy)",
        DB_ARGS(db_bytes(look->content, look->content_bytes), db_bytes(look->signature, look->signature_bytes),
                db_number(look->again_after_ms), db_text(look->problem->code ? look->problem->text : ""),
                db_text(look->problem->code ? look->problem->remedy : "")),
        NULL, err);
}
