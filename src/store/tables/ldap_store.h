/* Directories that people sign in by. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "ldap_source.h"
#include "store.h"

/* One row: the source and the password as it is sealed. */
struct ldap_row {
    struct ldap_source source;
    uint8_t *sealed; /* NULL: none */
    size_t sealed_bytes;
};
void ldap_row_free(struct ldap_row *row); /* NULL is allowed */
CLEANUP_DEFINE(struct ldap_row, ldap_row_free);
struct ldap_row_list {
    struct ldap_row *items; /* by name */
    size_t count;
};
void ldap_row_list_done(struct ldap_row_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by ldap_row_list_done. */
int ldap_store_list(struct store *store, struct ldap_row_list *out, struct err *err);
/* Reads one; freed by ldap_row_free. ERR_NOT_FOUND. */
int ldap_store_load(struct store *store, const char *name, struct ldap_row **out, struct err *err);

/* The writes below append the line `audit` to the audit log in the same transaction, and note CHANGE_LDAP. */

/* Writes a new row; version_no starts at 1 whatever the row says. ERR_EXISTS. */
int ldap_store_insert(struct store *store, const struct ldap_row *row, const struct audit_record *audit, struct err *err);
/* Writes all but the creation time, the sealed password too, if the row still has row->source.version_no. ERR_PRECONDITION, ERR_NOT_FOUND. */
int ldap_store_update(struct store *store, const struct ldap_row *row, const struct audit_record *audit, struct err *err);

struct ldap_removal {
    const char *name;
    int64_t version_no; /* 0: whatever it is now */
    const struct audit_record *audit;
};
/* ERR_PRECONDITION, ERR_NOT_FOUND. */
int ldap_store_delete(struct store *store, const struct ldap_removal *removal, struct err *err);
