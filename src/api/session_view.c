/* A session and its vCenters in JSON. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "session_view.h"

#include "str.h"
#include "views.h"

const char *session_view_method(enum source source) {
    switch (source) {
    case SOURCE_VC_SESSION: return "vcenter_session";
    case SOURCE_VC_TICKET: return "vcenter_clone_ticket";
    case SOURCE_VC_PASSWORD: return "vcenter_password";
    case SOURCE_SOCKET: return "socket";
    case SOURCE_KERBEROS: return "kerberos";
    case SOURCE_LDAP: return "directory_password";
    case SOURCE_SERVICE: return "service";
    case SOURCE_VC_KEY: return "vcenter_session_key";
    case SOURCE_VC_SERVICE: return "vcenter_service";
    case SOURCE_LOCAL:
    case SOURCE_NONE:
    default: return "password";
    }
}

static const char *name_of(const struct dir_platform *platform, const char *vcenter_id) {
    for (size_t i = 0; i < platform->vcenters_count; i++)
        if (str_eq_nocase(platform->vcenters[i].id, vcenter_id))
            return platform->vcenters[i].name;
    return NULL;
}

json_t *session_view_vcenter(const struct dir_platform *platform, const struct signon_part *part) {
    json_t *object = json_object();
    json_put_string(object, "id", part->vcenter_id);
    view_put_text(object, "name", name_of(platform, part->vcenter_id));
    json_put_string(object, "user_name", signon_part_user(part));
    json_put_string(object, "method", session_view_method(part->source));
    json_put_bool(object, "is_first", part->is_first);
    json_put_time(object, "added_at", part->added_at_ms);
    json_put_string(object, "rights", signon_part_state_name(part->state));
    view_put_time(object, "rights_as_of", part->as_of_ms);
    return object;
}
