/* vCenters, and what goes with each. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "cleanup.h"
#include "err.h"
#include "store.h"
#include "vcenter.h"

struct vcenter_list {
    struct vcenter *items; /* by name, then id */
    size_t count;
};
void vcenter_list_done(struct vcenter_list *list); /* NULL is allowed */

/* Reads all. *out (uninitialised) is given back by vcenter_list_done. */
int vcenter_store_list(struct store *store, struct vcenter_list *out, struct err *err);

/* Reads one; freed by vcenter_free. ERR_NOT_FOUND. */
int vcenter_store_load(struct store *store, const char *id, struct vcenter **out, struct err *err);

/* The writes below append the line `audit` to the audit log in the same transaction: both or neither. NULL: none. */

/* Writes a new row; version_no starts at 1 whatever vc says. ERR_EXISTS if the instance UUID is known. Notes CHANGE_VCENTER. */
int vcenter_store_insert(struct store *store, const struct vcenter *vc, const struct audit_record *audit, struct err *err);

/* Writes all attributes if the row still has vc->version_no; *version_no is the new one. ERR_PRECONDITION if it changed,
 * ERR_NOT_FOUND. created_at_ms stays. Notes CHANGE_VCENTER. */
int vcenter_store_update(struct store *store, const struct vcenter *vc, const struct audit_record *audit, int64_t *version_no,
                         struct err *err);

/* ERR_CONFLICT, naming a provider and what to do, while one builds there. */
int vcenter_store_check_unprovided(struct store *store, const char *id, struct err *err);
/* Removes the vCenter with its credentials, vSphere and HX clusters and grants on them, and revokes the sessions that came from
 * it. ERR_CONFLICT while Kubernetes clusters are placed on it; ERR_NOT_FOUND. Notes CHANGE_VCENTER and the revoked
 * CHANGE_SESSION; parts that went with it are not noted one by one. */
int vcenter_store_delete(struct store *store, const char *id, int64_t now_ms, const struct audit_record *audit, struct err *err);

/* -- credentials by which kaasd logs in to a vCenter, in generations ----------------------- */

/* Rotation: add pending -> tell vCenter -> log in with it -> promote. After a crash in between there is an active and a
 * pending one; the caller tries both and then promotes or retires the pending one. */

struct vcenter_credential {
    char *vcenter_id;
    unsigned generation; /* 1, 2, ... per vCenter */
    enum credential_kind kind;
    enum credential_state state;
    char *cert_pem;  /* NULL for accounts */
    char *user_name; /* of the account; NULL for certificates */
    uint8_t *sealed; /* private key or password, sealed by the caller; NULL once retired */
    size_t sealed_bytes;
    int64_t created_at_ms;
};
void vcenter_credential_free(struct vcenter_credential *c); /* NULL is allowed */
CLEANUP_DEFINE(struct vcenter_credential, vcenter_credential_free);

/* Writes a pending credential with the next generation (state and generation in *c are ignored). ERR_CONFLICT if there is a
 * pending one already: it may be the one vCenter knows, so it must be promoted or retired first. ERR_NOT_FOUND: no such vCenter. */
int credential_store_add_pending(struct store *store, const struct vcenter_credential *c, unsigned *generation, struct err *err);

/* Makes this pending credential active, and retires the active one, if any, deleting its sealed part; in one transaction. Promoting the
 * active one again changes nothing. `end` is an operation that ends with it (NULL: none). ERR_NOT_FOUND, ERR_CONFLICT if it is retired.
 * Notes CHANGE_VCENTER. */
int credential_store_promote(struct store *store, const char *vcenter_id, unsigned generation, const struct operation_end *end,
                             struct err *err);

/* Retires this one and deletes its sealed part. ERR_NOT_FOUND. Notes CHANGE_VCENTER. */
int credential_store_retire(struct store *store, const char *vcenter_id, unsigned generation, struct err *err);

/* Reads the active or the pending one; freed by vcenter_credential_free. *out stays NULL with result 0 if there is none. */
int credential_store_load(struct store *store, const char *vcenter_id, enum credential_state state,
                          struct vcenter_credential **out, struct err *err);

/* -- what we remember of our registration with a vCenter ----------------------------------- */

/* Beside the vCenter's own row, so that noting a repair does not count as a change of the vCenter. Goes with the vCenter. */

struct registration_row {
    unsigned registration_no; /* how often our extension was registered there: the last part of its version. 0: never */
    bool
        is_certificate_due; /* the extension was written in a way that loses the login certificate; no login has proved it since */
    int64_t repaired_at_ms; /* wall clock; 0: never */
    char *repaired;         /* names of the members, "version, server"; NULL: never */
    char *role_name;        /* the role we made there; NULL: none */
    int role_id;
    char *role_principal; /* to whom we gave that role, a line each: several after registrations that did not end; NULL: nobody */
    int object_role_id;   /* the role that we made for objects; 0: none */
    char *role_objects;   /* objects on which the same principals have that role: "Datacenter:datacenter-2 ..."; NULL: none */
    bool is_role_on_used; /* kaasd found the objects, as those in use; false: somebody named them */
};
void registration_row_done(struct registration_row *row); /* frees the texts, zeroes; NULL is allowed */
CLEANUP_DEFINE(struct registration_row, registration_row_done);

/* Reads it; all zero if nothing was ever noted. *out (uninitialised) is given back by registration_row_done. */
int registration_store_load(struct store *store, const char *vcenter_id, struct registration_row *out, struct err *err);

/* Counts one more registration; *number is the new count. ERR_NOT_FOUND: no such vCenter. */
int registration_store_count(struct store *store, const char *vcenter_id, unsigned *number, struct err *err);

/* Notes that the login certificate must be set again (is_due), or that a login has proved it. vCenter does not tell what it has stored. ERR_NOT_FOUND. */
int registration_store_set_due(struct store *store, const char *vcenter_id, bool is_due, struct err *err);

/* Notes a repair and what was repaired (cut at 400 characters). ERR_NOT_FOUND. */
int registration_store_note_repair(struct store *store, const char *vcenter_id, int64_t at_ms, const char *members,
                                   struct err *err);

/* Notes the role that we made (only the role members count), or forgets it (NULL). ERR_NOT_FOUND. */
int registration_store_set_role(struct store *store, const char *vcenter_id, const struct registration_row *role,
                                struct err *err);

/* -- when vCenters fetched the manifest of our plug-in ------------------------------------- */

#define MANIFEST_ADDRESS_BYTES 46
#define MANIFEST_VERSION_BYTES 32

struct manifest_fetch {
    char address[MANIFEST_ADDRESS_BYTES]; /* numeric, as the fetch came in */
    char version[MANIFEST_VERSION_BYTES]; /* of the manifest that was given out */
    int64_t at_ms;                        /* wall clock; 0: none */
};

/* Keeps the newest fetch of a vCenter. Does nothing if there is no such vCenter. */
int manifest_store_save(struct store *store, const char *vcenter_id, const struct manifest_fetch *fetch, struct err *err);

/* Reads it; all zero if there was none. */
int manifest_store_load(struct store *store, const char *vcenter_id, struct manifest_fetch *out, struct err *err);
