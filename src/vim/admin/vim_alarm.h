/* Alarms whose status follows events: making, finding and removing them. Layer 2 (vim). General errors: vim.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "err.h"

struct vim_client;

#define VIM_ALARM_TURNS_MAX 8

/* An event of an extension (EventEx) at a vSphere cluster, and the status that it gives to the alarm of that cluster. */
struct vim_alarm_turn {
    const char *event_type; /* "com.cisco.kaas.cluster.failed" */
    const char *status;     /* "red", "yellow", "green" */
};

struct vim_alarm_spec {
    const char *name, *description; /* one line each */
    const struct vim_alarm_turn *turns;
    size_t turn_count; /* VIM_ALARM_TURNS_MAX at most */
};

/* Makes an alarm for all vSphere clusters: defined on the root folder, enabled, without actions. Needs Alarm.Create on the root folder. ERR_EXISTS if there
 * is one of that name. */
int vim_create_alarm(struct vim_client *client, const struct vim_alarm_spec *spec, struct err *err);

/* An alarm that is defined on the root folder. */
struct vim_alarm {
    char *moref, *name, *description; /* malloc'ed; what may not be read is "" */
};
struct vim_alarm_list {
    struct vim_alarm *items;
    size_t count;
};
void vim_alarm_list_done(struct vim_alarm_list *list); /* frees and zeroes; NULL is allowed */

/* Lists the alarms that are defined on the root folder, vCenter's own among them. Needs System.View there. *out is given back by
 * vim_alarm_list_done. */
int vim_list_alarms(struct vim_client *client, struct vim_alarm_list *out, struct err *err);

/* Removes an alarm. Needs Alarm.Delete on the root folder. ERR_NOT_FOUND. */
int vim_remove_alarm(struct vim_client *client, const char *moref, struct err *err);
