/* What a store holds for the audit trail: the chain, those who write at the same time, notes, the state folder, the listener. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "audit_heads.h"
#include "audit_mac.h"
#include "err.h"

struct audit_chain;
struct audit_notes;
struct audit_record;
struct group_commit;
struct store;

struct audit_side {
    struct audit_chain *chain;
    struct group_commit *group;
    struct audit_notes *notes;
    struct audit_heads_done heads;       /* of the job that notes them */
    char *name, *head_path;              /* of the replica; of the file in its state folder. NULL: it has none */
    pthread_mutex_t head_lock;           /* of the file, and guards the next */
    uint8_t head_saved[AUDIT_END_BYTES]; /* what stands there */
    void (*on_line)(void *arg, const struct audit_record *record); /* NULL: nobody listens */
    void *on_line_arg;
};

int audit_side_init(struct audit_side *side, struct err *err); /* ERR_NOMEM: audit_side_done is due all the same */
void audit_side_done(struct audit_side *side);

/* The one of a store, and its parts. */
struct audit_side *store_audit_side(struct store *store);
struct audit_chain *store_chain(struct store *store);
struct group_commit *store_group(struct store *store);
struct audit_notes *store_notes(struct store *store);

/* Is somebody to be told of audit lines? And telling it (store_set_audit_listener). */
bool store_has_audit_listener(struct store *store);
void store_tell_audit(struct store *store, const struct audit_record *record);
