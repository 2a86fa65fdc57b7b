/* The alarm in vCenter that turns red, yellow or green with the state of Kubernetes clusters. Layer 4 (vcenter). All block.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The alarm belongs to the installation that its description names. Once made it is not changed: people add mail and traps to it, which a change would
 * remove. */
#pragma once

#include "err.h"

struct vim_client;

#define STATE_ALARM_NAME "Harmony KaaS: state of Kubernetes clusters"

enum state_alarm_owner { STATE_ALARM_NOBODY, STATE_ALARM_OURS, STATE_ALARM_FOREIGN };

struct state_alarm {
    enum state_alarm_owner owner; /* NOBODY: there is none */
    char *name;                   /* somebody may have renamed ours */
    char *moref;
};
void state_alarm_done(struct state_alarm *alarm); /* NULL is allowed */

/* Looks for the alarm of this installation (UUID) under any name, else for another alarm named STATE_ALARM_NAME. *out (uninitialised) is given back by
 * state_alarm_done. ERR_NOMEM, errors of vim.h. */
int state_alarm_lookup(struct vim_client *client, const char *installation, struct state_alarm *out, struct err *err);

/* Makes the alarm. ERR_EXISTS if there is one of that name; ERR_UPSTREAM_DENIED without Alarm.Create on the root folder; errors of vim.h. */
int state_alarm_make(struct vim_client *client, const char *installation, struct err *err);
