/* Connections to the management of HX clusters: how each is reached, the sealed credentials, and its state. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "hx_connection.h"
#include "secret_store.h"
#include "store.h"

struct lease_fence;

/* Reads all. *out (uninitialised) is given back by hx_connection_list_done, hx_status_list_done. */
int hx_store_list(struct store *store, struct hx_connection_list *out, struct err *err);
int hx_store_list_statuses(struct store *store, struct hx_status_list *out, struct err *err);
/* Reads one; freed by hx_connection_free, hx_status_free. ERR_NOT_FOUND. */
int hx_store_load(struct store *store, const char *hx_id, struct hx_connection **out, struct err *err);
int hx_store_load_status(struct store *store, const char *hx_id, struct hx_status **out, struct err *err);

/* Kinds of sealed values. */
enum hx_secret_kind { HX_SECRET_PASSWORD, HX_SECRET_TOKEN };
/* Where a secret of a connection belongs, to be sealed and opened (secret_store.h); borrows the id. */
struct secret_place hx_store_place(const char *hx_id, enum hx_secret_kind kind);

/* The writes below append the line `audit` to the audit log in the same transaction; NULL: none. */

/* Inserts a connection (version_no 0), or replaces the one with connection->version_no. Its earlier token, status and facts are forgotten. ERR_EXISTS if there
 * is one already; ERR_PRECONDITION if it was changed, ERR_NOT_FOUND if it is gone, ERR_CONFLICT if the HX cluster is gone. */
int hx_store_put(struct store *store, const struct hx_connection *connection, const struct secret_value *password,
                 const struct audit_record *audit, const struct lease_fence *fence, struct err *err);

struct hx_removal {
    const char *hx_id;
    int64_t version_no; /* 0: whatever it is now */
    const struct audit_record *audit;
};
/* Removes a connection with its secrets and status. The HX cluster gets its name in vCenter back, and does not inherit a credential from then on; if its
 * vCenter was removed, the HX cluster is removed, too. ERR_PRECONDITION, ERR_NOT_FOUND. */
int hx_store_delete(struct store *store, const struct hx_removal *removal, struct err *err);

/* Replaces the status with status->version_no, and raises that number. `token` replaces the stored token (bytes NULL: removes it); a NULL `token` leaves
 * it. `fence`: of the lease under which it was found out; NULL: of none. ERR_PRECONDITION, ERR_NOT_FOUND: the connection was set anew or removed meanwhile, or
 * the lease is no longer ours. */
int hx_store_save_status(struct store *store, struct hx_status *status, const struct secret_value *token,
                         const struct audit_record *audit, const struct lease_fence *fence, struct err *err);

/* -- credentials that HX clusters of a vCenter inherit ----------------------------------------------------------------------- */

/* Reads all, one by its vCenter, or that of the vCenter of an HX cluster; given back by hx_credential_list_done, hx_credential_free. ERR_NOT_FOUND. */
int hx_store_list_credentials(struct store *store, struct hx_credential_list *out, struct err *err);
int hx_store_load_credential(struct store *store, const char *vcenter_id, struct hx_credential **out, struct err *err);
int hx_store_load_credential_of(struct store *store, const char *hx_id, struct hx_credential **out, struct err *err);
/* As hx_store_place. */
struct secret_place hx_store_credential_place(const char *vcenter_id);
/* Inserts a credential (version_no 0), or replaces the one with credential->version_no. ERR_EXISTS, ERR_PRECONDITION, ERR_NOT_FOUND; ERR_CONFLICT if the
 * vCenter is gone. */
int hx_store_put_credential(struct store *store, const struct hx_credential *credential, const struct secret_value *password,
                            const struct audit_record *audit, struct err *err);
/* removal->hx_id is the id of the vCenter. ERR_PRECONDITION, ERR_NOT_FOUND. */
int hx_store_delete_credential(struct store *store, const struct hx_removal *removal, struct err *err);
/* Notes that an HX cluster refused this credential; does nothing if it is gone or was set anew. `fence` as of hx_store_save_status. */
int hx_store_refuse_credential(struct store *store, const struct hx_credential *credential, const struct lease_fence *fence,
                               int64_t now_ms, struct err *err);

/* The ids of HX clusters for which kaasd tries the inherited credential: they are in their vCenter, whose credential was not refused; they have no connection,
 * or an inherited one that is not reached or not trusted; and nobody disconnected them (hx_store_delete). The caller frees *ids and its *count texts. */
int hx_store_list_heirs(struct store *store, char ***ids, size_t *count, struct err *err);
