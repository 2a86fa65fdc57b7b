/* Connections to the management of HX clusters: how each is reached, what is kept to log in, and how it stands. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "hx_connection.h"
#include "store.h"

/* Reads all. *out (uninitialised) is given back by hx_connection_list_done, hx_status_list_done. */
int hx_store_list(struct store *store, struct hx_connection_list *out, struct err *err);
int hx_store_list_statuses(struct store *store, struct hx_status_list *out, struct err *err);
/* Reads one; freed by hx_connection_free, hx_status_free. ERR_NOT_FOUND. */
int hx_store_load(struct store *store, const char *hx_id, struct hx_connection **out, struct err *err);
int hx_store_load_status(struct store *store, const char *hx_id, struct hx_status **out, struct err *err);

/* What is kept sealed. */
enum hx_secret_kind { HX_SECRET_PASSWORD, HX_SECRET_TOKEN };
const char *hx_secret_kind_name(enum hx_secret_kind kind); /* "password", "token"; static */
struct hx_sealed {
    uint8_t *bytes; /* NULL: none */
    size_t count;
};
/* out->bytes is the caller's to free; NULL if there is none. */
int hx_store_load_secret(struct store *store, const char *hx_id, enum hx_secret_kind kind, struct hx_sealed *out,
                         struct err *err);

/* The writes below append the line `audit` to the audit log in the same transaction; NULL: none. */

/* Writes a new one (version_no 0), or replaces that which has connection->version_no. Token, status and facts of before are forgotten. ERR_EXISTS if there
 * is one already; ERR_PRECONDITION if it was changed, ERR_NOT_FOUND if it is gone, ERR_CONFLICT if the HX cluster is. */
int hx_store_put(struct store *store, const struct hx_connection *connection, const struct hx_sealed *password,
                 const struct audit_record *audit, struct err *err);

struct hx_removal {
    const char *hx_id;
    int64_t version_no; /* 0: whatever it is now */
    const struct audit_record *audit;
};
/* Removes it with all that is kept of it, gives the HX cluster the name that vCenter knows, and leaves it alone from then on; it goes, too, if that
 * vCenter was removed. ERR_PRECONDITION, ERR_NOT_FOUND. */
int hx_store_delete(struct store *store, const struct hx_removal *removal, struct err *err);

/* Writes how it stands over the row with status->version_no, and raises that number. `token` replaces the one that is kept (bytes NULL: none is kept
 * any more); NULL leaves it. ERR_PRECONDITION, ERR_NOT_FOUND: the connection was set anew or removed meanwhile. */
int hx_store_save_status(struct store *store, struct hx_status *status, const struct hx_sealed *token,
                         const struct audit_record *audit, struct err *err);

/* -- what HX clusters of a vCenter inherit ----------------------------------------------------------------------------------- */

/* Reads all, one, or that of an HX cluster's vCenter; given back by hx_credential_list_done, hx_credential_free. ERR_NOT_FOUND. */
int hx_store_list_credentials(struct store *store, struct hx_credential_list *out, struct err *err);
int hx_store_load_credential(struct store *store, const char *vcenter_id, struct hx_credential **out, struct err *err);
int hx_store_load_credential_of(struct store *store, const char *hx_id, struct hx_credential **out, struct err *err);
/* As hx_store_load_secret. */
int hx_store_load_credential_secret(struct store *store, const char *vcenter_id, struct hx_sealed *out, struct err *err);
/* Writes a new one (version_no 0), or replaces that which has credential->version_no. ERR_EXISTS, ERR_PRECONDITION, ERR_NOT_FOUND; ERR_CONFLICT if the
 * vCenter is gone. */
int hx_store_put_credential(struct store *store, const struct hx_credential *credential, const struct hx_sealed *password,
                            const struct audit_record *audit, struct err *err);
/* removal->hx_id is the id of the vCenter. ERR_PRECONDITION, ERR_NOT_FOUND. */
int hx_store_delete_credential(struct store *store, const struct hx_removal *removal, struct err *err);
/* Notes that an HX cluster refused it; nothing if it is gone. */
int hx_store_refuse_credential(struct store *store, const char *vcenter_id, int64_t now_ms, struct err *err);

/* The HX clusters that inherit and are not connected, or not reached: there, of a vCenter whose credential was not refused, and not left alone. *ids is the caller's to free,
 * *count texts and itself. */
int hx_store_list_heirs(struct store *store, char ***ids, size_t *count, struct err *err);
