/* Handlers of /v2/hx-clusters. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "clusters.h"
#include "directory.h"
#include "handlers.h"
#include "query.h"
#include "reply.h"
#include "str.h"
#include "views.h"

struct hx_page {
    const struct dir_platform *platform;
    const struct hx_cluster **items;
};

static const char *hx_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct hx_cluster *hx = ((const struct hx_page *)arg)->items[i];
    (void)snprintf(buffer, n, "%s\x01%s", hx->name, hx->id);
    return buffer;
}

static json_t *hx_item(const void *arg, size_t i) {
    const struct hx_page *page = arg;
    return view_hx_cluster(page->platform, page->items[i]);
}

static bool hx_is_wanted(const struct api_call *call, const struct hx_cluster *hx, const char *name, const char *vcenter_id) {
    if (name && !str_eq(hx->name, name))
        return false;
    if (vcenter_id && !str_eq(hx->vsphere_cluster.vcenter_id, vcenter_id))
        return false;
    return dir_sees_vsphere(call->snapshot->platform, &call->viewer, &hx->vsphere_cluster);
}

static int read_vcenter(struct api_call *call, const char **vcenter_id, struct err *err) {
    const char *reference = http_request_query(call->req, "vcenter");
    const struct vcenter *vc = NULL;
    int rc = reference ? dir_resolve_visible_vcenter(call->snapshot->platform, &call->viewer, reference, &vc, err) : 0;
    *vcenter_id = vc ? vc->id : NULL;
    return rc;
}

int h_hx_list(struct api_call *call, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"name", "vcenter", "limit", "cursor", NULL};
    const struct dir_platform *platform = call->snapshot->platform;
    _cleanup_free_ const struct hx_cluster **items = calloc(platform->hx_count + 1, sizeof(*items));
    struct hx_page page = {.platform = platform, .items = items};
    struct reply_list list = {.key = hx_key, .item = hx_item, .arg = &page};
    const char *vcenter_id = NULL;
    int rc = http_request_check_query(call->req, known, err);
    if (!rc)
        rc = read_vcenter(call, &vcenter_id, err);
    if (rc)
        return rc;
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < platform->hx_count; i++)
        if (hx_is_wanted(call, &platform->hx[i], http_request_query(call->req, "name"), vcenter_id))
            items[list.count++] = &platform->hx[i];
    return reply_list(call, resp, &list, err);
}

static int hx_find_hx(struct api_call *call, const struct hx_cluster **out, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    const struct hx_cluster *hx = dir_find_hx(call->snapshot->platform, id);
    if (hx && dir_sees_vsphere(call->snapshot->platform, &call->viewer, &hx->vsphere_cluster)) {
        *out = hx;
        return 0;
    }
    (void)err_set(err, ERR_NOT_FOUND, "there is no HX cluster %s, or you may not see it", id);
    return err_remedy(err, "compare with GET /v2/hx-clusters");
}

int h_hx_show(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct hx_cluster *hx = NULL;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = hx_find_hx(call, &hx, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    return reply_object(call, resp, 200, view_hx_cluster(call->snapshot->platform, hx), err);
}

static const struct json_member patch_members[] = {{"name", JSON_KIND_STRING, false, true},
                                                   {"management_address", JSON_KIND_STRING, false, true},
                                                   {NULL, JSON_KIND_ANY, false, false}};

static int hx_read_patch(struct api_call *call, struct clusters_hx_change *out, struct err *err) {
    int rc = api_read_patch(call, patch_members, err);
    if (rc)
        return rc;
    out->has_name = json_object_get(call->body, "name") != NULL;
    out->has_address = json_object_get(call->body, "management_address") != NULL;
    out->name = json_get_string(call->body, "name");
    out->address = json_get_string(call->body, "management_address");
    return 0;
}

int h_hx_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct clusters_hx_change change = {0};
    const struct hx_cluster *hx = NULL;
    int64_t version_no = 0;
    int rc = hx_read_patch(call, &change, err);
    if (!rc)
        rc = hx_find_hx(call, &hx, err);
    if (!rc)
        rc = reply_check_version(call, view_hx_cluster(call->snapshot->platform, hx), hx->version_no, &version_no, err);
    if (!rc)
        rc = clusters_change_hx(call->api->options.clusters, &actor, hx->id, version_no, &change, err);
    if (rc)
        return rc;
    api_renew_snapshot(call);
    rc = hx_find_hx(call, &hx, err);
    return rc ? rc : reply_object(call, resp, 200, view_hx_cluster(call->snapshot->platform, hx), err);
}
