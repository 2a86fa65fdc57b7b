/* What we remember of our registration with a vCenter. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Beside the vCenter's own row, so that noting a repair does not count as a change of the vCenter. Goes with the vCenter. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "store.h"

struct registration_row {
    unsigned registration_no; /* how often our record was made there; its last part of the version. 0: never */
    bool is_certificate_due;  /* the record was written in a way that loses the certificate, which has not been proved since */
    int64_t repaired_at_ms;   /* wall clock; 0: never */
    char *repaired;           /* names of the members, "version, server"; NULL: never */
    char *role_name;          /* the role we made there; NULL: none */
    int role_id;
    char *role_principal; /* whom we gave it to; NULL: nobody */
};
void registration_row_done(struct registration_row *row); /* frees the texts, zeroes; NULL is allowed */
CLEANUP_DEFINE(struct registration_row, registration_row_done);

/* Reads it; all zero if nothing was ever noted. *out (uninitialised) is given back by registration_row_done. */
int registration_store_load(struct store *store, const char *vcenter_id, struct registration_row *out, struct err *err);

/* Counts one more registration; *number is the new count. ERR_NOT_FOUND: no such vCenter. */
int registration_store_count(struct store *store, const char *vcenter_id, unsigned *number, struct err *err);

/* Notes that the login certificate must be set again, or that it has been proved. vCenter does not tell what it has stored. ERR_NOT_FOUND. */
int registration_store_set_due(struct store *store, const char *vcenter_id, bool is_due, struct err *err);

/* Notes a repair and what was repaired (cut at 400 characters). ERR_NOT_FOUND. */
int registration_store_note_repair(struct store *store, const char *vcenter_id, int64_t at_ms, const char *members,
                                   struct err *err);

/* Notes the role that we made (only the three role members count), or forgets it (NULL). ERR_NOT_FOUND. */
int registration_store_set_role(struct store *store, const char *vcenter_id, const struct registration_row *role,
                                struct err *err);
