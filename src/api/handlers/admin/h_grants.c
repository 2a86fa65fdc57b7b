/* Handlers of /v2/grants, and the grants by which a cluster is seen. Layer 6 (api). Reading is from memory.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "access.h"
#include "inventory.h"
#include "grant.h"
#include "api_call.h"
#include "member_json.h"
#include "name_lookup.h"
#include "problem.h"
#include "query.h"
#include "reply.h"
#include "str.h"
#include "uuid.h"
#include "views.h"

/* Without the name of whom it is for. */
static json_t *grant_view_bare(const struct inventory_snapshot *snapshot, const struct grant *g) {
    _cleanup_free_ char *name = view_grant_object_name(snapshot, g);
    json_t *object = member_json_show(grant_members, g);
    view_put_text(object, "object_name", name);
    return object;
}

/* A grant with the name of what it is on, and whom it is for, as far as they are known. */
static json_t *grant_view(const struct api_call *call, const void *record) {
    const struct grant *g = record;
    json_t *object = grant_view_bare(call->snapshot, g);
    view_put_name(call, object, "principal_name", g->principal_id);
    return object;
}

/* -- lists ------------------------------------------------------------------------------------------------------------------ */

/* Which grants are wanted; NULL: no matter. */
struct grant_filter {
    char *principal_id, *object_id;
    bool has_kind;
    enum grant_object kind;
    const struct cluster *cluster; /* only those by which this one is seen */
};

static void grant_filter_done(struct grant_filter *filter) {
    free(filter->principal_id);
    free(filter->object_id);
}

/* Rises as grant_compare orders: no principal has a control character. */
static const char *grant_key(const void *record, char *buffer, size_t n) {
    const struct grant *g = record;
    (void)snprintf(buffer, n, "%s\x01%d\x01%s", g->principal_id, (int)g->object, g->object_id);
    return buffer;
}

static bool is_under(const struct inventory_platform *platform, const struct cluster *cluster, const struct grant *g) {
    char id[GRANT_OBJECT_ID_BYTES];
    if (g->object == GRANT_CLUSTER)
        return str_eq(g->object_id, cluster->id);
    for (size_t i = 0; i < cluster->placement.count; i++) {
        const struct object_ref *ref = &cluster->placement.items[i];
        const struct hx_cluster *hx = g->object == GRANT_HX_CLUSTER ? inventory_find_hx_on(platform, ref) : NULL;
        grant_vsphere_id(ref, id);
        if (g->object == GRANT_HX_CLUSTER ? hx && str_eq(hx->id, g->object_id) : str_eq(id, g->object_id))
            return true;
    }
    return false;
}

static bool grant_is_wanted(const struct api_call *call, const void *record, const void *arg) {
    const struct grant_filter *filter = arg;
    const struct grant *g = record;
    if (filter->principal_id && !principal_same(filter->principal_id, g->principal_id))
        return false;
    if (filter->has_kind && filter->kind != g->object)
        return false;
    if (filter->object_id && !str_eq(filter->object_id, g->object_id))
        return false;
    if (filter->cluster && !is_under(call->snapshot->platform, filter->cluster, g))
        return false;
    return policy_may_manage_grants(&call->viewer, g->object, g->object_id);
}

static int grants_answer_list(struct api_call *call, struct http_response *resp, const struct grant_filter *filter,
                              struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    return view_list(call, resp,
                     VIEW_LIST(platform->grants, platform->grants_count, grant_key, grant_view, .is_wanted = grant_is_wanted,
                               .filter = filter),
                     err);
}

static int read_principal(struct api_call *call, struct grant_filter *filter, struct err *err) {
    const char *text = http_request_query(call->req, "principal_id");
    int rc = text ? principal_id_read(text, &filter->principal_id, NULL) : 0;
    return rc == ERR_UNPROCESSABLE ? problem_parameter(call, "principal_id", "is not the id of a principal", err) : rc;
}

/* The id that an HX cluster has now. */
static int grants_renew_object_id(const struct api_call *call, char **object_id, struct err *err) {
    const char *now = inventory_get_hx_id(call->snapshot->platform, *object_id);
    return now == *object_id ? 0 : str_replace(object_id, now, err);
}

/* UUIDs have no case; a managed object id has. */
static int read_object(struct api_call *call, struct grant_filter *filter, struct err *err) {
    const char *kind = http_request_query(call->req, "object_kind"), *id = http_request_query(call->req, "object_id");
    filter->has_kind = kind != NULL;
    if (kind && !grant_object_parse(kind, &filter->kind))
        return problem_parameter(call, "object_kind", "must be cluster, vsphere_cluster or hx_cluster", err);
    if (!id)
        return 0;
    filter->object_id = str_dup(id);
    if (!filter->object_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < UUID_TEXT_BYTES - 1 && filter->object_id[i]; i++)
        if (filter->object_id[i] >= 'A' && filter->object_id[i] <= 'F')
            filter->object_id[i] = (char)(filter->object_id[i] - 'A' + 'a');
    return grants_renew_object_id(call, &filter->object_id, err);
}

/* Of somebody who is named, in a worker where directories may be waited for. */
static int list_named(struct api_call *call, struct http_response *resp, struct err *err) {
    struct grant_filter filter = {0};
    int rc = name_lookup_id(call, &filter.principal_id, err);
    if (!rc)
        rc = read_object(call, &filter, err);
    if (!rc)
        rc = grants_answer_list(call, resp, &filter, err);
    grant_filter_done(&filter);
    return rc;
}

int h_grants_list(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct http_request *req = call->req;
    struct grant_filter filter = {0};
    bool is_named = http_request_query(req, "group") || http_request_query(req, "person") || http_request_query(req, "directory");
    int rc = is_named ? name_lookup_check(call, "principal_id", &is_named, err) : 0;
    if (!rc)
        rc = read_principal(call, &filter, err);
    if (!rc)
        rc = read_object(call, &filter, err);
    if (!rc)
        rc = is_named ? name_lookup_go(call, list_named, err) : grants_answer_list(call, resp, &filter, err);
    grant_filter_done(&filter);
    return rc;
}

int h_clusters_grants(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct inventory_cluster *entry = NULL;
    uint64_t mask = 0;
    int rc =
        inventory_get_visible_cluster(call->snapshot, &call->viewer, http_request_param(call->req, "id"), &entry, &mask, err);
    return rc ? rc : grants_answer_list(call, resp, &(struct grant_filter){.cluster = entry->record}, err);
}

/* -- one -------------------------------------------------------------------------------------------------------------------- */

static int answer_grant(struct api_call *call, struct http_response *resp, int status, const struct grant *g, struct err *err) {
    return reply_named(call, resp, status, (struct reply_named){grant_view(call, g), grant_view_bare(call->snapshot, g)}, err);
}

static int find_grant(const struct api_call *call, const struct grant **out, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    const char *id = http_request_param(call->req, "id");
    for (size_t i = 0; i < platform->grants_count; i++) {
        const struct grant *g = &platform->grants[i];
        if (!str_eq_nocase(g->id, id) || !policy_may_manage_grants(&call->viewer, g->object, g->object_id))
            continue;
        *out = g;
        return 0;
    }
    (void)err_set(err, ERR_NOT_FOUND, "there is no grant %s", id);
    return err_remedy(err, "compare with GET /v2/grants");
}

int h_grants_show(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct grant *g = NULL;
    int rc = find_grant(call, &g, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    return answer_grant(call, resp, 200, g, err);
}

const struct member_body h_grants_add_body = {.more = JSON_MEMBERS(JSON_TAKES(STRING, "principal_id"), NAME_LOOKUP_MEMBERS,
                                                                   JSON_NEEDS(STRING, "object_kind"),
                                                                   JSON_NEEDS(STRING, "object_id"), JSON_TAKES(STRING, "role"))};

/* What the body says, for this principal. */
static int read_grant(struct api_call *call, const char *principal_id, struct grant *g, struct err *err) {
    const char *kind = json_get_string(call->body, "object_kind");
    int rc;
    if (!grant_object_parse(kind, &g->object))
        return err_set(err, ERR_UNPROCESSABLE, "object_kind \"%.40s\" is none of cluster, vsphere_cluster, hx_cluster", kind);
    g->principal_id = str_dup(principal_id);
    g->object_id = str_dup(json_get_string(call->body, "object_id"));
    g->role = str_dup(json_get_string(call->body, "role"));
    if (!g->principal_id || !g->object_id)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = grant_normalize(g, err);
    if (!rc)
        rc = grants_renew_object_id(call, &g->object_id, err);
    if (!rc && !policy_may_manage_grants(&call->viewer, g->object, g->object_id))
        rc = err_set(err, ERR_FORBIDDEN, "you are not the admin of this %s, so you may not grant on it",
                     grant_object_name(g->object));
    return rc;
}

static int grants_add(struct api_call *call, const char *principal_id, struct http_response *resp, struct err *err) {
    struct grant g = {0};
    int rc = read_grant(call, principal_id, &g, err);
    if (!rc)
        rc = access_add_grant(call->api->options.access, API_ACTOR(call), &g, err);
    if (!rc)
        reply_location(resp, "/v2/grants/", g.id);
    if (!rc)
        rc = answer_grant(call, resp, 201, &g, err);
    grant_done(&g);
    return rc;
}

static int grants_add_named(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_free_ char *id = NULL;
    int rc = name_lookup_id(call, &id, err);
    return rc ? rc : grants_add(call, id, resp, err);
}

/* Anybody, to see whether the caller may grant on the object at all, before a directory is asked. */
#define ANYBODY "local:00000000-0000-4000-8000-000000000000"

int h_grants_add(struct api_call *call, struct http_response *resp, struct err *err) {
    struct grant tried = {0};
    bool is_named = false;
    int rc = name_lookup_check(call, "principal_id", &is_named, err);
    if (rc)
        return rc;
    if (!is_named)
        return grants_add(call, json_get_string(call->body, "principal_id"), resp, err);
    rc = read_grant(call, ANYBODY, &tried, err);
    grant_done(&tried);
    return rc ? rc : name_lookup_go(call, grants_add_named, err);
}

int h_grants_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct grant *g = NULL;
    int64_t version_no = 0;
    int rc = find_grant(call, &g, err);
    if (!rc)
        rc = reply_check_version(call, grant_view_bare(call->snapshot, g), 0, &version_no, err);
    if (!rc)
        rc = access_remove_grant(call->api->options.access, API_ACTOR(call), g->id, err);
    return view_nothing(resp, rc);
}
