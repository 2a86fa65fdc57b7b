/* Handlers of /v2/vcenters. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "directory.h"
#include "discovery.h"
#include "api_call.h"
#include "limits.h"
#include "log.h"
#include "platform_links.h"
#include "problem.h"
#include "registration.h"
#include "reply.h"
#include "str.h"
#include "vc_status.h"
#include "vcenter_calls.h"
#include "views.h"

static const char *const page_query[] = {"limit", "cursor", NULL};

struct vcenter_page {
    struct api_call *call;
    const struct vcenter **items; /* by name, then id */
};

static const char *vcenter_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct vcenter_page *page = arg;
    (void)snprintf(buffer, n, "%s\x01%s", page->items[i]->name, page->items[i]->id);
    return buffer;
}

static json_t *vcenter_item(const void *arg, size_t i) {
    const struct vcenter_page *page = arg;
    return vcenter_calls_json(page->call, page->items[i]);
}

static int vcenters_compare(const void *a, const void *b) {
    const struct vcenter *x = *(const struct vcenter *const *)a, *y = *(const struct vcenter *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->id, y->id);
}

int h_vcenters_list(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct dir_platform *platform = call->snapshot->platform;
    _cleanup_free_ const struct vcenter **items = calloc(platform->vcenters_count + 1, sizeof(*items));
    struct vcenter_page page = {.call = call, .items = items};
    struct reply_list list = {.count = platform->vcenters_count, .key = vcenter_key, .item = vcenter_item, .arg = &page};
    int rc = http_request_check_query(call->req, page_query, err);
    if (rc)
        return rc;
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < list.count; i++)
        items[i] = &platform->vcenters[i];
    if (list.count > 1)
        qsort(items, list.count, sizeof(*items), vcenters_compare);
    return reply_list(call, resp, &list, err);
}

int h_vcenters_show(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct vcenter *vc = NULL;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = vcenter_calls_find(call, &vc, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    return vcenter_calls_answer(call, resp, 200, vc, err);
}

static const struct json_member add_members[] = {
    {"address", JSON_KIND_STRING, true, false},       {"port", JSON_KIND_INTEGER, false, false},
    {"name", JSON_KIND_STRING, false, false},         {"thumbprint_sha256", JSON_KIND_STRING, false, false},
    {"ca_pem", JSON_KIND_STRING, false, false},       {"tunnel_port", JSON_KIND_INTEGER, false, false},
    {"direct_port", JSON_KIND_INTEGER, false, false}, {NULL, JSON_KIND_ANY, false, false},
};

static int read_add(json_t *body, struct vcenter_add *add, struct vcenter_trust *trust, struct err *err) {
    static const struct vcenter_port port = {"port", 443, 1}, tunnel = {"tunnel_port", 80, 0}, direct = {"direct_port", 0, 0};
    int rc = json_check(body, add_members, NULL, err);
    if (rc)
        return rc;
    add->address = json_get_string(body, "address");
    add->name = json_get_string(body, "name");
    rc = vcenter_calls_read_port(body, &port, &add->port, err);
    if (!rc)
        rc = vcenter_calls_read_port(body, &tunnel, &add->tunnel_port, err);
    if (!rc)
        rc = vcenter_calls_read_port(body, &direct, &add->direct_port, err);
    if (!rc)
        rc = vcenter_calls_read_trust(body, trust, err);
    add->pin_sha256 = trust->pin_sha256;
    add->ca_pem = trust->ca_pem;
    return rc;
}

int h_vcenters_add(struct api_call *call, struct http_response *resp, struct err *err) {
    struct vcenter_add add = {.actor = api_actor(call)};
    struct vcenter_trust trust = {0};
    struct x509_info seen = {0};
    char id[37] = "";
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = api_read_body(call, "application/json", err);
    if (!rc)
        rc = read_add(call->body, &add, &trust, err);
    if (!rc)
        rc = registration_add(call->api->options.platform, &add, id, &seen, err);
    vcenter_calls_add_seen(call, &seen);
    if (rc)
        return rc;
    reply_location(resp, "/v2/vcenters/", id);
    return vcenter_calls_answer_fresh(call, resp, 201, id, err);
}

int h_vcenters_delete(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    const struct vcenter *vc = NULL;
    int64_t version_no = 0;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = vcenter_calls_find(call, &vc, err);
    if (!rc)
        rc = vcenter_calls_check_version(call, vc, &version_no, err);
    if (!rc)
        rc = registration_remove(call->api->options.platform, vc->id, &actor, err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}

int h_vcenters_rescan(struct api_call *call, struct http_response *resp, struct err *err) {
    struct discovery_result result = {0};
    struct vcenter info = {0};
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = link_get_info(call->link, &info, err);
    if (!rc && !info.registered_at_ms) {
        (void)err_set(err, ERR_NOT_REGISTERED, "we are not registered with vCenter %s", info.name);
        rc = err_remedy(err, "run: kaasctl vcenter register %s", info.name);
    }
    vcenter_done(&info);
    if (!rc)
        rc = discovery_run(call->link, &result, err);
    if (!rc && result.differs_from_watch)
        log_event(LOG_LEVEL_WARNING, "watch_differs", "vcenter", link_id(call->link), "hint",
                  "a full read showed something else than the live watch knew: a defect, corrected now", NULL);
    if (!rc)
        rc = reply_json(resp, 200, view_rescan(&result), err);
    discovery_result_done(&result);
    return rc;
}

struct vsphere_page {
    const struct dir_platform *platform;
    const struct vsphere_cluster **items; /* by path */
};

static const char *vsphere_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct vsphere_cluster *c = ((const struct vsphere_page *)arg)->items[i];
    (void)snprintf(buffer, n, "%s/%s\x01%s", c->datacenter ? c->datacenter : "", c->name ? c->name : "", c->ref.moref);
    return buffer;
}

static json_t *vsphere_item(const void *arg, size_t i) {
    const struct vsphere_page *page = arg;
    return view_vsphere_cluster(page->platform, page->items[i]);
}

static int vcenters_compare_vsphere(const void *a, const void *b) {
    const struct vsphere_page x = {.items = (const struct vsphere_cluster *[]){*(const struct vsphere_cluster *const *)a}};
    const struct vsphere_page y = {.items = (const struct vsphere_cluster *[]){*(const struct vsphere_cluster *const *)b}};
    char x_key[1024], y_key[1024];
    return strcmp(vsphere_key(&x, 0, x_key, sizeof(x_key)), vsphere_key(&y, 0, y_key, sizeof(y_key)));
}

int h_vcenters_vsphere_clusters(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct dir_platform *platform = call->snapshot->platform;
    _cleanup_free_ const struct vsphere_cluster **items = calloc(platform->vsphere_count + 1, sizeof(*items));
    struct vsphere_page page = {.platform = platform, .items = items};
    struct reply_list list = {.key = vsphere_key, .item = vsphere_item, .arg = &page};
    const struct vcenter *vc = NULL;
    int rc = http_request_check_query(call->req, page_query, err);
    if (!rc)
        rc = vcenter_calls_find(call, &vc, err);
    if (rc)
        return rc;
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < platform->vsphere_count; i++)
        if (!platform->vsphere[i].is_gone && str_eq(platform->vsphere[i].ref.vcenter_id, vc->id))
            items[list.count++] = &platform->vsphere[i];
    if (list.count > 1)
        qsort(items, list.count, sizeof(*items), vcenters_compare_vsphere);
    return reply_list(call, resp, &list, err);
}
