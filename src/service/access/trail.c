/* The audit trail: reading, noting refusals, verifying. Layer 4 (service/access).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "access_private.h"
#include "audit_notes.h"
#include "audit_start.h"

int access_list_audit(struct access *access, const struct audit_query *query, struct audit_page *out, struct err *err) {
    return audit_store_list(access->options.store, query, out, err);
}

void access_note_refusal(struct access *access, const struct audit_event *event) {
    audit_store_note(access->options.store, event);
}

void access_trail_done(struct access_trail *trail) {
    if (!trail)
        return;
    free(trail->items);
    *trail = (struct access_trail){0};
}

/* One part of one replica; *left is what may still be looked at. */
static int verify_part(struct access *access, struct access_trail *trail, const struct audit_chain_name *chain,
                       const struct access_trail_place *place, unsigned *left, struct err *err) {
    struct access_trail_part *part = &trail->items[trail->count];
    int rc;
    part->v = (struct audit_verification){.replica_id = chain->replica_id, .limit = *left};
    if (chain->replica_id == place->replica_id)
        part->v.after_seq = place->after_seq;
    memcpy(part->name, chain->name, sizeof(part->name));
    rc = audit_store_verify(access->options.store, &part->v, err);
    if (rc)
        return rc;
    trail->count++;
    *left = part->v.lines < *left ? *left - (unsigned)part->v.lines : 0;
    if (part->v.is_complete)
        return 0;
    trail->has_more = true;
    trail->next = (struct access_trail_place){chain->replica_id, part->v.after_seq};
    return 0;
}

static int verify_parts(struct access *access, const struct access_trail_place *place, unsigned limit, struct access_trail *trail,
                        struct err *err) {
    struct audit_chain_list chains = {0};
    int rc = audit_store_list_chains(access->options.store, &chains, err);
    if (!rc) {
        trail->items = calloc(chains.count + 1, sizeof(*trail->items));
        rc = trail->items ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < chains.count && !rc && !trail->has_more; i++) {
        if (chains.items[i].replica_id < place->replica_id)
            continue;
        if (limit) {
            rc = verify_part(access, trail, &chains.items[i], place, &limit, err);
        } else {
            trail->has_more = true;
            trail->next = (struct access_trail_place){.replica_id = chains.items[i].replica_id};
        }
    }
    audit_chain_list_done(&chains);
    return rc;
}

int access_verify_audit(struct access *access, const struct access_trail_place *place, unsigned limit, struct access_trail *out,
                        struct err *err) {
    struct access_trail trail = {0};
    int rc = verify_parts(access, place, limit, &trail, err);
    if (rc)
        access_trail_done(&trail);
    else
        *out = trail;
    return rc;
}

int access_accept_restore(struct access *access, const struct actor *actor, struct err *err) {
    const struct audit_record record = audit_record_make(actor, &(struct audit_event){.object_kind = "audit"});
    return audit_store_accept(access->options.store, &record.event, err);
}
