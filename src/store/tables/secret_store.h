/* Secrets: what is kept sealed, whoever owns it, in one table. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The caller has sealed each value for the text "PURPOSE:OWNER_ID" (seal.h), so the row says all that sealing it anew takes (seal_store.h), and a further
 * kind of owner is a line in secret_store.c. Which values are not here yet stands in seal_store.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "store.h"

struct seal;
struct store_tx;

/* Kinds of owners. */
#define SECRET_OWNER_HX_CONNECTION "hx_connection"     /* by the id of the HX cluster: "hx-password", "hx-token" */
#define SECRET_OWNER_HX_CREDENTIAL "hx_credential"     /* by the id of the vCenter: "hx-credential" */
#define SECRET_OWNER_KUBE_CONNECTION "kube_connection" /* by the id of the Kubernetes cluster: "kube-token" */
#define SECRET_OWNER_KUBE_JOIN "kube_join"             /* by the same: "bootstrap-token", by which machines join it */
#define SECRET_OWNER_CLUSTER_PKI "cluster_pki"         /* likewise, of one that was made here: pki_store.h */

/* Where a secret belongs. Borrowed. */
struct secret_place {
    const char *owner_kind, *owner_id, *purpose;
};

/* A sealed value. */
struct secret_value {
    uint8_t *bytes; /* NULL: none */
    size_t count;
};

/* Reads a sealed value. The caller frees out->bytes; NULL if there is none. */
int secret_store_load(struct store *store, const struct secret_place *place, struct secret_value *out, struct err *err);

/* Seals a text for its place. out->bytes is freed by the caller. ERR_NOMEM, ERR_INTERNAL. */
int secret_seal(struct seal *seal, const struct secret_place *place, const char *text, struct secret_value *out, struct err *err);
/* Reads and opens one. *text is freed by secret_free; NULL if there is none. ERR_CONFIG: the master key that sealed it is not held, or the value was moved or changed. */
int secret_store_open(struct store *store, struct seal *seal, const struct secret_place *place, char **text, struct err *err);

/* Writes the value over the one that is there, in the caller's transaction; bytes NULL: removes it. */
int secret_tx_put(struct store_tx *tx, const struct secret_place *place, const struct secret_value *value, struct err *err);

/* Writes a value where there is none; one that is there stays. So of several who draw one at once all read the same afterwards. */
int secret_store_add(struct store *store, const struct secret_place *place, const struct secret_value *value, struct err *err);
/* Removes one; one that is not there is removed. */
int secret_store_remove(struct store *store, const struct secret_place *place, struct err *err);

/* Removes the secrets whose owner is gone. To be called in the transaction that deletes owners, or that from which they go by ON DELETE CASCADE, behind
 * that. */
int secret_tx_purge(struct store_tx *tx, struct err *err);
/* The same as a transaction of its own, for what a release has deleted that knows nothing of secrets. */
int secret_store_purge(struct store *store, struct err *err);
