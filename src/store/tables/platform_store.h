/* vSphere clusters and HyperFlex clusters. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The save functions compare with what is stored and write, and note, only what differs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "platform.h"
#include "refused_rows.h"
#include "store.h"

struct vsphere_cluster_list {
    struct vsphere_cluster *items; /* by reference */
    size_t count;
};
void vsphere_cluster_list_done(struct vsphere_cluster_list *list); /* NULL is allowed */

struct hx_cluster_list {
    struct hx_cluster *items; /* by name, then id */
    size_t count;
};
void hx_cluster_list_done(struct hx_cluster_list *list); /* NULL is allowed */

/* What was read from one vCenter. */
struct platform_seen {
    const char *vcenter_id;
    bool is_complete; /* true: what is stored and not among the items is marked gone */
    int64_t now_ms;   /* wall clock, becomes seen_at_ms of what changed, and with is_complete of all that are not gone */
    struct refused_rows
        *refused; /* counts the rows that the database refuses: they stay as stored, the others are saved; NULL: one fails all */
};

/* Reads those of one vCenter, or all with NULL; gone ones too. *out (uninitialised) is given back by ..._list_done. */
int platform_store_list_vsphere(struct store *store, const char *vcenter_id, struct vsphere_cluster_list *out, struct err *err);
int platform_store_list_hx(struct store *store, const char *vcenter_id, struct hx_cluster_list *out, struct err *err);

/* Reads all, by their own id. *out (uninitialised) is given back by hx_alias_list_done. */
int platform_store_list_hx_aliases(struct store *store, struct hx_alias_list *out, struct err *err);

/* Reads one; freed by hx_cluster_free. ERR_NOT_FOUND. */
int platform_store_load_hx(struct store *store, const char *id, struct hx_cluster **out, struct err *err);

/* Reads one; ERR_NOT_FOUND. *out (uninitialised) is given back by vsphere_cluster_done. */
int platform_store_load_vsphere(struct store *store, const struct object_ref *ref, struct vsphere_cluster *out, struct err *err);

/* Stores the clusters of one vCenter; *changed counts rows written. Items of another vCenter: ERR_INVALID. ERR_NOT_FOUND: no
 * such vCenter. Notes CHANGE_VSPHERE_CLUSTER per row, object id "<vcenter>/<moref>". */
int platform_store_save_vsphere(struct store *store, const struct platform_seen *seen, const struct vsphere_cluster *items,
                                size_t count, unsigned *changed, struct err *err);

/* Stores HX clusters of one vCenter, matched by vSphere cluster. For a new one the caller's id (uuid_new) is taken; a known one keeps
 * its id, a name that was set and the address; hx_uuid is taken when given. Notes CHANGE_HX_CLUSTER per row. Errors as above. */
int platform_store_save_hx(struct store *store, const struct platform_seen *seen, const struct hx_cluster *items, size_t count,
                           unsigned *changed, struct err *err);

/* Writes name, is_name_set, hx_uuid and address if the row still has hx->version_no; *version_no is the new one. The line `audit` (NULL: none) is appended in
 * the same transaction. ERR_PRECONDITION if the row changed, ERR_NOT_FOUND. Notes CHANGE_HX_CLUSTER. */
int platform_store_update_hx(struct store *store, const struct hx_cluster *hx, const struct audit_record *audit,
                             int64_t *version_no, struct err *err);
