/* The alarm in vCenter that turns with the state of Kubernetes clusters. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "state_alarm.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "event_store.h"
#include "str.h"
#include "vim_alarm.h"

#define DESCRIPTION                                                                                                          \
    "Red when a Kubernetes cluster on a vSphere cluster has failed, yellow when one is degraded, green when one is ready or" \
    " removed. Made by Harmony KaaS, installation %s."

static const char *const event_types[] = {
#define PRIVILEGE(id, group, label, summary)
#define EVENT(kind, id, severity, arguments, description, text, description_de, text_de) [VCENTER_EVENT_##kind] = id,
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

void state_alarm_done(struct state_alarm *alarm) {
    if (!alarm)
        return;
    free(alarm->name);
    free(alarm->moref);
    memset(alarm, 0, sizeof(*alarm));
}

static enum state_alarm_owner state_alarm_owner_of(const struct vim_alarm *alarm, const char *installation) {
    if (strstr(alarm->description, installation))
        return STATE_ALARM_OURS;
    return str_eq(alarm->name, STATE_ALARM_NAME) ? STATE_ALARM_FOREIGN : STATE_ALARM_NOBODY;
}

int state_alarm_lookup(struct vim_client *client, const char *installation, struct state_alarm *out, struct err *err) {
    _cleanup_done_(vim_alarm_list_done) struct vim_alarm_list list = {0};
    const struct vim_alarm *found = NULL;
    int rc = vim_list_alarms(client, &list, err);
    *out = (struct state_alarm){0};
    for (size_t i = 0; !rc && i < list.count && out->owner != STATE_ALARM_OURS; i++) {
        const enum state_alarm_owner owner = state_alarm_owner_of(&list.items[i], installation);
        if (!owner)
            continue;
        out->owner = owner;
        found = &list.items[i];
    }
    if (!found)
        return rc;
    out->name = str_dup(found->name);
    out->moref = str_dup(found->moref);
    if (out->name && out->moref)
        return 0;
    state_alarm_done(out);
    return err_set(err, ERR_NOMEM, "out of memory");
}

int state_alarm_make(struct vim_client *client, const char *installation, struct err *err) {
    const struct vim_alarm_turn turns[] = {
        {event_types[VCENTER_EVENT_FAILED], "red"},
        {event_types[VCENTER_EVENT_DEGRADED], "yellow"},
        {event_types[VCENTER_EVENT_READY], "green"},
        {event_types[VCENTER_EVENT_REMOVED], "green"},
    };
    _cleanup_free_ char *description = str_format(DESCRIPTION, installation);
    if (!description)
        return err_set(err, ERR_NOMEM, "out of memory");
    return vim_create_alarm(
        client,
        &(struct vim_alarm_spec){
            .name = STATE_ALARM_NAME, .description = description, .turns = turns, .turn_count = ARRAY_COUNT(turns)},
        err);
}
