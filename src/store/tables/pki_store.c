/* Certificate authorities of clusters that were made here. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pki_store.h"

#include <stdlib.h>

#include "record_tx.h"

static const struct db_table pki_table = {
    .name = "cluster_pki", .noun = "set of keys", .members = pki_record_members, .bytes = sizeof(struct pki_record)};

void pki_record_free(struct pki_record *record) {
    if (record)
        members_done(pki_record_members, record, sizeof(*record));
    free(record);
}

struct secret_place pki_store_place(const char *cluster_id, enum pki_key key) {
    static const char *const purposes[PKI_KEY_COUNT] = {
        [PKI_KEY_CA] = "ca-key",
        [PKI_KEY_ETCD_CA] = "etcd-ca-key",
        [PKI_KEY_FRONT_PROXY_CA] = "front-proxy-ca-key",
        [PKI_KEY_ACCOUNTS] = "accounts-key",
    };
    return (struct secret_place){SECRET_OWNER_CLUSTER_PKI, cluster_id, purposes[key]};
}

int pki_store_load(struct store *store, const char *cluster_id, struct pki_record **out, struct err *err) {
    return db_table_load(store, &pki_table, " WHERE cluster_id = ?", DB_ARGS(db_text(cluster_id)), out, err);
}

struct pki_writing {
    const struct pki_record *record;
    const struct secret_value *keys;
};

static int pki_store_put_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct pki_writing *call = arg;
    int rc = db_table_insert(store_tx_conn(tx), &pki_table, call->record, DB_MORE_NONE, err);
    db_explain(rc, ERR_EXISTS, err, "the cluster has keys already");
    db_explain(rc, ERR_CONFLICT, err, "the cluster is not there any more");
    for (unsigned key = 0; key < PKI_KEY_COUNT && !rc; key++) {
        const struct secret_place place = pki_store_place(call->record->cluster_id, key);
        rc = secret_tx_put(tx, &place, &call->keys[key], err);
    }
    return rc;
}

int pki_store_put(struct store *store, const struct pki_record *record, const struct secret_value keys[PKI_KEY_COUNT],
                  struct err *err) {
    struct pki_writing call = {record, keys};
    return store_tx(store, pki_store_put_in_tx, &call, err);
}

static int pki_store_purge_keys(struct store_tx *tx, const struct record_write *write, struct err *err) {
    (void)write;
    return secret_tx_purge(tx, err);
}

int pki_store_delete(struct store *store, const char *cluster_id, struct err *err) {
    return record_store_write(store,
                              &(struct record_write){.table = &pki_table,
                                                     .how = RECORD_DELETE,
                                                     .key = cluster_id,
                                                     .change = CHANGE_KIND_COUNT,
                                                     .after = pki_store_purge_keys},
                              err);
}
