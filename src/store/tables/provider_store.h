/* Providers: where clusters may be built. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "provider.h"
#include "store.h"

struct provider_list {
    struct provider *items; /* by name */
    size_t count;
};
void provider_list_done(struct provider_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by provider_list_done. */
int provider_store_list(struct store *store, struct provider_list *out, struct err *err);
/* Reads one, by its id or its name; freed by provider_free. ERR_NOT_FOUND. */
int provider_store_load(struct store *store, const char *id, struct provider **out, struct err *err);
int provider_store_load_by_name(struct store *store, const char *name, struct provider **out, struct err *err);

/* ERR_CONFLICT, naming a cluster and what to do, while there are machines that were built by this provider. */
int provider_store_check_unused(struct store *store, const struct provider *provider, struct err *err);

/* Addresses that kaasd has given out in the provider's network, of machines and of APIs, each as a range of one; `out->items` is to be freed. */
int provider_store_list_held(struct store *store, const struct provider *provider, struct address_ranges *out, struct err *err);

/* The writes below append the line `audit` (NULL: none) to the audit log in the same transaction. */

/* Clusters are entered, and providers changed and removed, one at a time: so what was found of one is so until it is written. */
#define PROVIDER_LOCK "providers"
/* Writes a provider whose places are resolved: a new one if its version_no is 0, else over the one with its id and that number, which is not in use if it `is_moved`. ERR_EXISTS:
 * another one has its name; ERR_CONFLICT: there is no such vCenter, or as of provider_store_check_unused; ERR_PRECONDITION, ERR_NOT_FOUND. */
int provider_store_put(struct store *store, const struct provider *provider, bool is_moved, const struct audit_record *audit,
                       struct err *err);
/* Removes one; `version_no` 0: whatever it is now. ERR_CONFLICT as of provider_store_check_unused, ERR_PRECONDITION, ERR_NOT_FOUND. */
int provider_store_delete(struct store *store, const struct provider *provider, int64_t version_no,
                          const struct audit_record *audit, struct err *err);
