/* The audit trail of what is done to vCenters. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform_audit.h"

#include "metric.h"
#include "platform_links.h"
#include "str.h"

struct audit_record platform_audit_make(struct platform *platform, const struct actor *actor, const struct audit_event *what) {
    struct audit_event event = *what;
    event.object_kind = "vcenter";
    if (!actor)
        event.principal_name = store_replica_name(platform_options_of(platform)->store);
    return audit_record_make(actor, &event);
}

int platform_audit_begin(struct platform *platform, const struct audit_record *line, struct platform_begun *begun,
                         struct err *err) {
    const struct audit_record now = audit_record_now(line, 0);
    struct store *store = platform_options_of(platform)->store;
    struct platform_begun new = {""};
    int rc = 0;
    if (str_eq(line->event.source, AUDIT_SOURCE_SYSTEM))
        rc = deed_store_find(store, &line->event, new.id, err);
    if (!rc && !new.id[0]) {
        uuid_new(new.id);
        rc = deed_store_begin(store, new.id, &now, err);
    }
    if (!rc)
        *begun = new;
    return rc;
}

void platform_audit_finish(struct platform *platform, const struct audit_record *line) {
    struct platform_begun begun = {""};
    if (!deed_store_find(platform_options_of(platform)->store, &line->event, begun.id, NULL) && begun.id[0])
        platform_audit_end(platform, line, 0, &begun);
}

void platform_audit_end(struct platform *platform, const struct audit_record *line, int rc, const struct platform_begun *begun) {
    struct store *store = platform_options_of(platform)->store;
    const struct audit_record now = audit_record_now(line, rc);
    const struct deed_end end = {begun->id, &now};
    if (!begun->id[0])
        audit_store_append_outcome(store, line, rc);
    else if (deed_store_end(store, &end, NULL))
        metric_add(audit_store_lost(), 1);
}
