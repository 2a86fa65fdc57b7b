/* Service accounts. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "service_account.h"
#include "store.h"

struct service_list {
    struct service_account *items; /* by id */
    size_t count;
};
void service_list_done(struct service_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by service_list_done. */
int service_store_list(struct store *store, struct service_list *out, struct err *err);

/* Reads one; freed by service_account_free. ERR_NOT_FOUND. */
int service_store_load(struct store *store, const char *id, struct service_account **out, struct err *err);

/* Writes a new account, and its line in the audit trail (may be NULL) with it; version_no starts at 1. ERR_EXISTS if name or proof belong to another
 * account; ERR_CONFLICT beyond SERVICE_ACCOUNTS_COUNT_MAX. Notes CHANGE_SERVICE_ACCOUNT. */
int service_store_insert(struct store *store, const struct service_account *a, const struct audit_record *audit, struct err *err);

/* What goes along with a change. */
struct service_change {
    const struct audit_record *audit; /* may be NULL */
    bool ends_own;                    /* sessions of the program for itself, at a->updated_at_ms */
    bool ends_delegated;              /* sessions in which it acts for somebody */
};
/* Writes all but the creation time if the row still has a->version_no; *version_no is the new one. ERR_PRECONDITION if it changed,
 * ERR_NOT_FOUND, ERR_EXISTS. Notes CHANGE_SERVICE_ACCOUNT, and CHANGE_SESSION for ended sessions. */
int service_store_update(struct store *store, const struct service_account *a, const struct service_change *change,
                         int64_t *version_no, struct err *err);

/* Notes when a pinned certificate ends, if that is not known yet; an unknown fingerprint is no error. */
int service_store_note_certificate(struct store *store, const char *id, const struct service_certificate *certificate,
                                   struct err *err);

struct service_removal {
    const char *id;
    int64_t version_no; /* 0: whatever it is now */
    int64_t now_ms;
    const struct audit_record *audit; /* may be NULL */
};
/* Removes an account and ends all its sessions. ERR_NOT_FOUND, ERR_PRECONDITION. Notes as above. */
int service_store_delete(struct store *store, const struct service_removal *removal, struct err *err);
