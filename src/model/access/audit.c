/* Makes lines of the audit log. Layer 1 (model).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit.h"

#include "clock.h"
#include "principal.h"

struct audit_record audit_record_make(const struct actor *actor, const struct audit_event *what) {
    const struct principal *who = actor ? actor->principal : NULL;
    struct audit_record record = {.at_ms = clock_wall_ms(), .event = *what};
    struct audit_event *event = &record.event;
    if (who) {
        event->principal_id = who->id;
        event->principal_name = who->name;
        event->acting_id = who->acting_id ? who->acting_id : what->acting_id;
    }
    if (!event->source)
        event->source = who ? source_name(who->source) : actor ? NULL : AUDIT_SOURCE_SYSTEM;
    if (actor) {
        event->address = actor->address;
        event->request_id = actor->request_id;
    }
    if (!event->result)
        event->result = err_slug(0);
    return record;
}

struct audit_record audit_record_now(const struct audit_record *line, int rc) {
    struct audit_record now = *line;
    now.at_ms = clock_wall_ms();
    now.event.result = err_slug(rc);
    return now;
}
