/* Handlers of /v2/role-mappings. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "access.h"
#include "api_call.h"
#include "member_json.h"
#include "name_lookup.h"
#include "views.h"
#include "reply.h"
#include "str.h"

/* Without the name. */
static json_t *mapping_view_bare(const struct role_mapping *m) {
    return member_json_show(role_mapping_members, m);
}

static json_t *mapping_view(const struct api_call *call, const void *record) {
    const struct role_mapping *m = record;
    json_t *object = mapping_view_bare(m);
    view_put_name(call, object, "subject_name", m->subject_id);
    return object;
}

/* -- lists ------------------------------------------------------------------------------------------------------------------ */

/* As role_mapping_compare orders. */
static const char *mapping_key(const void *record, char *buffer, size_t n) {
    const struct role_mapping *m = record;
    (void)snprintf(buffer, n, "%d\x01%s\x01%s", (int)m->kind, m->subject_id, m->privilege ? m->privilege : "");
    return buffer;
}

static bool mapping_is_wanted(const struct api_call *call, const void *record, const void *filter) {
    const enum role role = *(const enum role *)filter;
    const char *subject = http_request_query(call->req, "subject_id");
    const struct role_mapping *m = record;
    return (!subject || str_eq_nocase(subject, m->subject_id)) && (role == ROLE_NONE || role == m->role);
}

int h_role_mappings_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct role_mapping_list all = {0};
    enum role role;
    int rc = view_read_role(call, &role, err);
    if (!rc)
        rc = access_list_role_mappings(call->api->options.access, &all, err);
    if (!rc)
        rc = view_list(
            call, resp,
            VIEW_LIST(all.items, all.count, mapping_key, mapping_view, .is_wanted = mapping_is_wanted, .filter = &role), err);
    role_mapping_list_done(&all);
    return rc;
}

/* -- one -------------------------------------------------------------------------------------------------------------------- */

static int load_mapping(struct api_call *call, struct role_mapping *out, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    struct err why = {0};
    int rc = access_get_role_mapping(call->api->options.access, id, out, &why);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, rc, "there is no role mapping %s", id);
        return err_remedy(err, "compare with GET /v2/role-mappings");
    }
    return err_move(err, rc, &why);
}

static int answer_mapping(struct api_call *call, struct http_response *resp, int status, const struct role_mapping *m,
                          struct err *err) {
    return reply_named(call, resp, status, (struct reply_named){mapping_view(call, m), mapping_view_bare(m)}, err);
}

int h_role_mappings_show(struct api_call *call, struct http_response *resp, struct err *err) {
    struct role_mapping m = {0};
    int rc = load_mapping(call, &m, err);
    if (!rc)
        rc = answer_mapping(call, resp, 200, &m, err);
    role_mapping_done(&m);
    return rc;
}

/* The mapping as it is stored, and the version that an If-Match speaks of (0: none). */
static int load_version(struct api_call *call, struct role_mapping *m, int64_t *version_no, struct err *err) {
    int rc = load_mapping(call, m, err);
    return rc ? rc : reply_check_version(call, mapping_view_bare(m), m->version_no, version_no, err);
}

static int mappings_read_role(const json_t *body, enum role *out, struct err *err) {
    const char *text = json_get_string(body, "role");
    if (!text || (role_parse(text, out) && *out != ROLE_NONE && *out != ROLE_SERVICE))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "the role \"%.40s\" is none of user, provisioner, admin", text);
}

/* -- writing ---------------------------------------------------------------------------------------------------------------- */

const struct member_body h_role_mappings_add_body = {
    .more = JSON_MEMBERS(JSON_TAKES(STRING, "kind"), JSON_TAKES(STRING, "subject_id"), JSON_TAKES_NULL(STRING, "privilege"),
                         JSON_NEEDS(STRING, "role"), JSON_TAKES_NULL(STRING, "note"), NAME_LOOKUP_MEMBERS)};

/* What the body says, for this subject; NULL: that is looked up later. */
static int mappings_read_mapping(struct api_call *call, const char *subject_id, struct role_mapping *m, struct err *err) {
    const char *kind = json_get_string(call->body, "kind");
    int rc;
    if (kind && !role_mapping_kind_parse(kind, &m->kind))
        return err_set(err, ERR_UNPROCESSABLE, "the kind \"%.40s\" is none of member, vcenter_privilege", kind);
    rc = mappings_read_role(call->body, &m->role, err);
    if (!rc)
        rc = str_replace(&m->subject_id, subject_id, err);
    if (!rc)
        rc = str_replace(&m->privilege, json_get_string(call->body, "privilege"), err);
    return rc ? rc : str_replace(&m->note, json_get_string(call->body, "note"), err);
}

static int mappings_add(struct api_call *call, const char *subject_id, struct http_response *resp, struct err *err) {
    struct role_mapping m = {0};
    int rc = mappings_read_mapping(call, subject_id, &m, err);
    if (!rc)
        rc = access_add_role_mapping(call->api->options.access, API_ACTOR(call), &m, err);
    if (!rc)
        reply_location(resp, "/v2/role-mappings/", m.id);
    if (!rc)
        rc = answer_mapping(call, resp, 201, &m, err);
    role_mapping_done(&m);
    return rc;
}

static int mappings_add_named(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_free_ char *id = NULL;
    int rc = name_lookup_id(call, &id, err);
    return rc ? rc : mappings_add(call, id, resp, err);
}

/* A privilege is one of a vCenter, which no directory knows. */
static int mappings_check_named(struct api_call *call, struct err *err) {
    struct role_mapping m = {0};
    int rc = mappings_read_mapping(call, NULL, &m, err);
    if (!rc)
        rc = role_mapping_check_note(m.note, err);
    if (!rc && (m.kind == ROLE_MAPPING_PRIVILEGE || m.privilege))
        rc = err_set(err, ERR_UNPROCESSABLE, "a privilege is mapped on a vCenter: give its instance UUID as \"subject_id\"");
    role_mapping_done(&m);
    return rc;
}

int h_role_mappings_add(struct api_call *call, struct http_response *resp, struct err *err) {
    bool is_named = false;
    int rc = name_lookup_check(call, "subject_id", &is_named, err);
    if (!rc && !is_named)
        return mappings_add(call, json_get_string(call->body, "subject_id"), resp, err);
    if (!rc)
        rc = mappings_check_named(call, err);
    return rc ? rc : name_lookup_go(call, mappings_add_named, err);
}

const struct member_body h_role_mappings_patch_body = {
    .more = JSON_MEMBERS(JSON_TAKES(STRING, "role"), JSON_TAKES_NULL(STRING, "note"))};

/* Without If-Match what was read a moment ago is what is changed, so that nothing is lost to somebody else unseen. */
int h_role_mappings_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    struct role_mapping m = {0};
    int64_t version_no = 0;
    int rc = load_version(call, &m, &version_no, err);
    if (!rc)
        rc = mappings_read_role(call->body, &m.role, err);
    if (!rc && json_object_get(call->body, "note"))
        rc = str_replace(&m.note, json_get_string(call->body, "note"), err);
    if (!rc)
        rc = access_change_role_mapping(call->api->options.access, API_ACTOR(call), &m, err);
    if (!rc)
        rc = answer_mapping(call, resp, 200, &m, err);
    role_mapping_done(&m);
    return rc;
}

int h_role_mappings_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    struct role_mapping m = {0};
    int64_t version_no = 0;
    int rc = load_version(call, &m, &version_no, err);
    if (!rc)
        rc = access_remove_role_mapping(call->api->options.access, API_ACTOR(call), m.id, version_no, err);
    role_mapping_done(&m);
    return view_nothing(resp, rc);
}
