/* All sealed values as a whole: which master key sealed them, sealing them anew, which replica holds which master key. Layer 2 (store).
 * Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "store.h"

#define SEAL_STORE_ID_BYTES 9

/* Reads the id of the master key that seals; "" if none was chosen yet. */
int seal_store_load_choice(struct store *store, char key_id[SEAL_STORE_ID_BYTES], struct err *err);

/* Chooses the master key that seals. Notes CHANGE_SIGNING_KEY with SEAL_STORE_CHANGE. */
#define SEAL_STORE_CHANGE "master-key"
int seal_store_choose(struct store *store, const char *key_id, struct err *err);

/* Notes which master keys this replica (store_get_replica) holds: ids separated by blanks. */
int seal_store_note_held(struct store *store, const char *key_ids, struct err *err);

/* A replica and the master keys that it holds. */
struct seal_replica {
    unsigned id;
    char name[101];
    int64_t heartbeat_age_ms; /* -1: never */
    char key_ids[101];        /* "": it does not tell */
};
struct seal_replica_list {
    struct seal_replica *items; /* by id, without the row of the command line tools */
    size_t count;
};
void seal_replica_list_done(struct seal_replica_list *list); /* NULL is allowed */
/* *out (uninitialised) is given back by seal_replica_list_done. */
int seal_store_list_replicas(struct store *store, struct seal_replica_list *out, struct err *err);

/* How many values are sealed by which key. */
#define SEAL_STORE_KEYS_MAX 16
struct seal_count {
    char key_id[SEAL_STORE_ID_BYTES];
    uint64_t values;
};
struct seal_counts {
    struct seal_count items[SEAL_STORE_KEYS_MAX]; /* more keys than that are left out */
    size_t count;
};
int seal_store_count(struct store *store, struct seal_counts *out, struct err *err);

/* One sealed value. Borrowed. */
struct sealed_row {
    const char *bound; /* the text that it was sealed for */
    const uint8_t *sealed;
    size_t sealed_bytes;
};

/* Seals values anew that other keys than `key_id` sealed: at most `limit` of those behind `cursor`, in one transaction. */
struct seal_batch {
    const char *key_id;
    unsigned limit;
    /* Gives the value sealed anew, malloc'ed; with *out NULL and 0 the row is left as it is. May run several times for one row. */
    int (*reseal)(void *arg, const struct sealed_row *row, uint8_t **out, size_t *out_bytes, struct err *err);
    void *arg;
    char cursor[200]; /* "" at first; moved on behind the last row */
    unsigned rows;    /* gone over by this call; 0: the end */
};
int seal_store_reseal(struct store *store, struct seal_batch *batch, struct err *err);

/* -- values whose key is lost ---------------------------------------------------------------------------------------------- */

/* An owner of a value that cannot be unsealed any more: none of the keys in `held` (ids separated by commas) sealed it. */
enum seal_owner {
    SEAL_OWNER_SIGNING_KEY,
    SEAL_OWNER_VCENTER_LOGIN,
    SEAL_OWNER_LDAP_SOURCE,
    SEAL_OWNER_AUDIT_KEY,
    SEAL_OWNER_HX_CREDENTIAL,
    SEAL_OWNER_HX_CONNECTION,
    SEAL_OWNER_KUBE_CONNECTION,
    SEAL_OWNER_CLUSTER_PKI, /* once for each cluster */
    SEAL_OWNER_COUNT
};
struct seal_loss {
    enum seal_owner owner;
    char *id, *name; /* of the vCenter, directory, HX cluster, Kubernetes cluster; the kid */
    char *user;      /* user name of the password that is lost; "": no password, or not known */
};
struct seal_losses {
    struct seal_loss *items; /* by table, then name */
    size_t count;
};
void seal_losses_done(struct seal_losses *losses); /* NULL is allowed */
/* *out (uninitialised) is given back by seal_losses_done. */
int seal_store_list_losses(struct store *store, const char *held, struct seal_losses *out, struct err *err);

/* Removes the lost values, in one transaction with the line `audit`: deletes signing keys and passwords, retires login credentials and marks their vCenters as
 * not registered, removes the passwords of directories, and replaces a lost key of the audit log (audit_tx_renew_key). `key_id` seals from then on. */
struct seal;
struct seal_forgetting {
    const char *held, *key_id;
    struct seal *seal; /* seals with `key_id` */
    const struct audit_record *audit;
    bool is_audit_key_lost; /* false: the store has opened the key of the audit log */
    uint64_t audit_lines;   /* out: number of audit lines that were hashed anew */
};
int seal_store_forget(struct store *store, struct seal_forgetting *call, struct err *err);
