/* The audit trail of what is done to vCenters. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform_audit.h"

#include <stdio.h>

#include "clock.h"
#include "metric.h"
#include "platform_links.h"
#include "principal.h"

static const char *source_of(const struct actor *actor) {
    if (!actor)
        return "system";
    return actor->principal ? source_name(actor->principal->source) : "socket";
}

void platform_audit_line(struct platform *platform, const struct platform_deed *deed, struct platform_line *out) {
    const struct actor *actor = deed->actor;
    const struct principal *who = actor ? actor->principal : NULL;
    struct store *store = platform_options_of(platform)->store;
    (void)snprintf(out->replica, sizeof(out->replica), "replica-%u", store_get_replica(store));
    out->record = (struct audit_record){.at_ms = clock_wall_ms(),
                                        .event = {.action = deed->action,
                                                  .principal_id = who ? who->id : NULL,
                                                  .principal_name = who     ? who->name
                                                                    : actor ? "admin socket"
                                                                            : out->replica,
                                                  .acting_id = who ? who->acting_id : NULL,
                                                  .source = source_of(actor),
                                                  .object_kind = "vcenter",
                                                  .object_id = deed->vcenter_id,
                                                  .object_name = deed->vcenter_name,
                                                  .address = actor ? actor->address : NULL,
                                                  .request_id = actor ? actor->request_id : NULL,
                                                  .result = deed->rc ? err_slug(deed->rc) : "ok",
                                                  .reason = deed->reason}};
}

static void count_lost(int rc) {
    if (rc)
        metric_add(metric_get(METRIC_COUNTER, "kaas_audit_lost_total", "Audit lines that could not be written", NULL, NULL), 1);
}

void platform_audit(struct platform *platform, const struct platform_deed *deed) {
    struct platform_line line;
    platform_audit_line(platform, deed, &line);
    count_lost(audit_store_append(platform_options_of(platform)->store, &line.record, NULL));
}

int platform_audit_begin(struct platform *platform, const struct platform_deed *deed, struct platform_begun *begun,
                         struct err *err) {
    struct store *store = platform_options_of(platform)->store;
    struct platform_begun new = {""};
    struct platform_line line;
    int rc = 0;
    platform_audit_line(platform, deed, &line);
    if (!deed->actor)
        rc = deed_store_find(store, &line.record.event, new.id, err);
    if (!rc && !new.id[0]) {
        uuid_new(new.id);
        rc = deed_store_begin(store, new.id, &line.record, err);
    }
    if (!rc)
        *begun = new;
    return rc;
}

void platform_audit_finish(struct platform *platform, const struct platform_deed *deed) {
    struct platform_begun begun = {""};
    struct platform_line line;
    platform_audit_line(platform, deed, &line);
    if (!deed_store_find(platform_options_of(platform)->store, &line.record.event, begun.id, NULL) && begun.id[0])
        platform_audit_end(platform, deed, &begun);
}

void platform_audit_end(struct platform *platform, const struct platform_deed *deed, const struct platform_begun *begun) {
    struct platform_line line;
    struct deed_end end = {begun->id, &line.record};
    if (!begun->id[0]) {
        platform_audit(platform, deed);
        return;
    }
    platform_audit_line(platform, deed, &line);
    count_lost(deed_store_end(platform_options_of(platform)->store, &end, NULL));
}
