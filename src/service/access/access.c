/* The room itself, and what ends every write. Layer 4 (service/access).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "access.h"

#include <stdlib.h>

#include "access_private.h"
#include "clock.h"
#include "metric.h"

int access_new(const struct access_options *options, struct access **out, struct err *err) {
    struct access *access = calloc(1, sizeof(*access));
    if (!access)
        return err_set(err, ERR_NOMEM, "out of memory");
    access->options = *options;
    (void)pthread_rwlock_init(&access->names_lock, NULL);
    *out = access;
    return 0;
}

void access_free(struct access *access) {
    if (!access)
        return;
    user_names_done(&access->names);
    (void)pthread_rwlock_destroy(&access->names_lock);
    free(access);
}

struct audit_record access_record(const struct actor *actor, const struct access_deed *deed) {
    return (struct audit_record){
        .at_ms = clock_wall_ms(),
        .event = {.action = deed->action,
                  .principal_id = actor->principal->id,
                  .principal_name = actor->principal->name,
                  .acting_id = actor->principal->acting_id,
                  .source = source_name(actor->principal->source),
                  .object_kind = deed->object_kind,
                  .object_id = deed->object_id,
                  .object_name = deed->object_name,
                  .address = actor->address,
                  .request_id = actor->request_id,
                  .result = err_slug(0),
                  .reason = deed->reason},
    };
}

int access_finish(struct access *access, const struct actor *actor, const struct access_deed *deed, int rc) {
    struct audit_record record = access_record(actor, deed);
    record.event.result = err_slug(rc);
    if (rc && audit_store_append(access->options.store, &record, NULL))
        metric_add(metric_get(METRIC_COUNTER, "kaas_audit_lost_total", "Audit lines that could not be written", NULL, NULL), 1);
    if (!rc && access->options.on_written)
        access->options.on_written(access->options.on_written_arg);
    return rc;
}
