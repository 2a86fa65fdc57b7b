/* Requests that were refused to somebody who is known. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "denials.h"

#include <sys/types.h>

#include "log.h"
#include "route.h"

/* Which permission the role lacks; with the permission it is the object that was refused. */
static const char *reason_of(const struct api_call *call) {
    if (call->who && policy_may(call->who->role, call->endpoint->permission))
        return "not this object";
    return log_fmt("role %s lacks %s", call->who ? role_name(call->who->role) : "none",
                   permission_name(call->endpoint->permission));
}

static void denial_write(const struct api_call *call, const char *name, const char *reason) {
    const struct actor actor = api_actor(call);
    const struct route *route = http_request_route(call->req);
    const struct audit_event what = {
        .action = "request.deny",
        .principal_name = name,
        .source = call->who ? NULL : source_name(SOURCE_SOCKET),
        .object_kind = "request",
        .object_name = log_fmt("%s %s", http_request_method_name(call->req), route ? route->pattern : ""),
        .result = err_slug(ERR_FORBIDDEN),
        .reason = reason,
    };
    const struct audit_record line = audit_record_make(&actor, &what);
    access_note_refusal(call->api->options.access, &line.event);
}

void denial_note(const struct api_call *call, const struct err *err) {
    uid_t uid;
    if (!call || !call->endpoint || err->code != ERR_FORBIDDEN || (call->endpoint->flags & API_PUBLIC))
        return;
    if (call->who)
        denial_write(call, call->who->name, reason_of(call));
    else if (call->door == API_DOOR_ADMIN && http_request_peer_uid(call->req, &uid))
        denial_write(call, log_fmt("user id %u", (unsigned)uid), "not an administrator of this host");
}
