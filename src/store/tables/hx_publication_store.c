/* What HX clusters were told of where KaaS is. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hx_publication_store.h"

#include <stdlib.h>

#include "record_tx.h"

static const struct db_table publication_table = {
    .name = "hx_publications", .noun = "publication", .members = hx_publication_members, .bytes = sizeof(struct hx_publication)};

static const struct db_table place_table = {
    .name = "hx_clusters h JOIN vcenters v ON v.id = h.vcenter_id AND v.registered_at_ms > 0 AND v.extension_key IS NOT NULL",
    .noun = "HX cluster of a registered vCenter",
    .members = hx_place_members,
    .bytes = sizeof(struct hx_place)};

int hx_publication_store_list(struct store *store, struct hx_publication_list *out, struct err *err) {
    return db_table_list(store, &publication_table, " ORDER BY hx_cluster_id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int hx_publication_store_load(struct store *store, const char *hx_id, struct hx_publication **out, struct err *err) {
    return db_table_load(store, &publication_table, " WHERE hx_cluster_id = ?", DB_ARGS(db_text(hx_id)), out, err);
}

int hx_publication_store_save(struct store *store, struct hx_publication *row, const struct audit_record *audit,
                              const struct lease_fence *fence, struct err *err) {
    int rc = record_store_write(store,
                                &(struct record_write){.table = &publication_table,
                                                       .how = row->version_no ? RECORD_UPDATE : RECORD_INSERT,
                                                       .record = row,
                                                       .change = CHANGE_KIND_COUNT,
                                                       .audit = audit,
                                                       .fence = fence},
                                err);
    if (!rc)
        row->version_no++;
    db_explain(rc, ERR_EXISTS, err, "the same is being published by somebody else");
    return db_explain(rc, ERR_CONFLICT, err, "the HX cluster is not there any more");
}

int hx_publication_store_list_places(struct store *store, struct hx_place_list *out, struct err *err) {
    return db_table_list(store, &place_table, " ORDER BY h.id", DB_ARGS_NONE, &out->items, &out->count, err);
}

int hx_publication_store_load_place(struct store *store, const char *hx_id, struct hx_place *out, struct err *err) {
    struct hx_place *found = NULL;
    int rc = db_table_load(store, &place_table, " WHERE h.id = ?", DB_ARGS(db_text(hx_id)), &found, err);
    if (rc)
        return rc;
    *out = *found;
    free(found);
    return 0;
}

int hx_publication_store_find_nonce(struct store *store, const char *nonce_digest, int64_t now_ms,
                                    char body_sha256[HX_DIGEST_BYTES], struct err *err) {
    struct {
        char text[HX_DIGEST_BYTES];
    } found;
    int rc = store_query_row(store, "SELECT body_sha256 FROM hx_publications WHERE nonce_digest = ? AND nonce_until_ms > ?",
                             DB_ARGS(db_text(nonce_digest), db_number(now_ms)), DB_INTO(DB_TO(found.text)),
                             "there is no such publication under way", err);
    if (!rc)
        memcpy(body_sha256, found.text, sizeof(found.text));
    return rc;
}
