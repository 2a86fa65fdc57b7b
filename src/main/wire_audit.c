/* Lines of the audit trail as lines of the log. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_store.h"
#include "clock.h"
#include "log.h"
#include "wire_private.h"

static void tell_line(void *arg, const struct audit_record *record) {
    const struct audit_event *e = &record->event;
    char at[CLOCK_RFC3339_BYTES];
    (void)arg;
    clock_format(record->at_ms, at);
    log_event(LOG_LEVEL_NOTICE, "audit", "at", at, "action", e->action, "result", e->result, "reason", e->reason, "principal",
              e->principal_id, "name", e->principal_name, "acting", e->acting_id, "source", e->source, "kind", e->object_kind,
              "object", e->object_id, "object_name", e->object_name, "client", e->address, "of_request", e->request_id, NULL);
}

void wire_plug_in_audit(struct wire *wire) {
    if (wire->config.audit_log)
        store_set_audit_listener(wire->store, tell_line, wire);
}
