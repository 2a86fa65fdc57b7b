/* Events of ours in vCenter's history: posting one, and asking whether it is there. Layer 2 (vim). General errors: vim.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct vim_client;

#define VIM_EVENT_ARGUMENTS_MAX 8
#define VIM_EVENT_ID "eventId" /* the argument that vim_find_event looks at */

/* An argument of an event; lines are allowed in its text. */
struct vim_event_argument {
    const char *name, *text;
};

/* An EventEx about a vSphere cluster, or a host in it. Texts are borrowed. vCenter composes the text that people read from the arguments, in their language, by the
 * message texts of the extension that names `type` in its eventList. */
struct vim_event {
    const char *type;                           /* "com.cisco.kaas.cluster.added" */
    const char *severity;                       /* "info", "warning", "error" */
    const char *cluster_moref;                  /* managed object id of the vSphere cluster */
    const char *cluster_name;                   /* as vCenter calls it */
    const char *host_moref, *host_name;         /* of the host that it is about; NULL: it is about the cluster */
    const struct vim_event_argument *arguments; /* one of them is VIM_EVENT_ID */
    size_t argument_count;                      /* VIM_EVENT_ARGUMENTS_MAX at most */
};

/* Posts an event (EventManager.PostEvent). Not sent again when the answer is lost: the event may be in vCenter then. ERR_UPSTREAM_DENIED
 * without Global.LogEvent on the vSphere cluster or host; ERR_UPSTREAM if vCenter refuses the event; ERR_NOT_FOUND if there is no such object;
 * ERR_UNPROCESSABLE for more arguments than are allowed. */
int vim_post_event(struct vim_client *client, const struct vim_event *event, struct err *err);

/* Looks for the event with this VIM_EVENT_ID among the newest events of `event->type` at the vSphere cluster or host: vCenter gives 1000 at most. Only
 * `type`, `cluster_moref`, `host_moref` and that argument of `event` are used. ERR_NOT_FOUND if there is no such object. */
int vim_find_event(struct vim_client *client, const struct vim_event *event, bool *is_there, struct err *err);
