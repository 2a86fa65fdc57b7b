/* Handlers of /v2/hx-clusters, and of /v2/hx-peers: controllers of HX clusters that kaasd signs in to. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "clusters.h"
#include "inventory.h"
#include "member_json.h"
#include "peers.h"
#include "query.h"
#include "reply.h"
#include "str.h"
#include "views.h"
#include "x509.h"

struct hx_page {
    const struct inventory_platform *platform;
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
    return inventory_sees_vsphere(call->snapshot->platform, &call->viewer, &hx->vsphere_cluster);
}

static int read_vcenter(struct api_call *call, const char **vcenter_id, struct err *err) {
    const char *reference = http_request_query(call->req, "vcenter");
    const struct vcenter *vc = NULL;
    int rc = reference ? inventory_resolve_visible_vcenter(call->snapshot->platform, &call->viewer, reference, &vc, err) : 0;
    *vcenter_id = vc ? vc->id : NULL;
    return rc;
}

int h_hx_list(struct api_call *call, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"name", "vcenter", "limit", "cursor", NULL};
    const struct inventory_platform *platform = call->snapshot->platform;
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
    const struct hx_cluster *hx = inventory_find_hx(call->snapshot->platform, id);
    if (hx && inventory_sees_vsphere(call->snapshot->platform, &call->viewer, &hx->vsphere_cluster)) {
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

/* -- controllers -------------------------------------------------------------------------------------------------------- */

static void put_sha256(json_t *object, const char *hex) {
    uint8_t bytes[X509_SHA256_BYTES];
    char text[X509_THUMBPRINT_TEXT_BYTES];
    const bool is_there = hex && str_unhex(hex, bytes, sizeof(bytes));
    if (is_there)
        x509_thumbprint_text(bytes, text);
    view_put_text(object, "thumbprint_sha256", is_there ? text : NULL);
}

/* What is configured, and nothing that changes by itself. */
static json_t *peers_bare_view(const struct inventory_platform *platform, const struct hx_peer *peer) {
    const struct hx_cluster *hx = inventory_find_hx(platform, peer->hx_id);
    _cleanup_free_ char *spn = hx_peer_spn(peer);
    json_t *object = member_json_show(hx_peer_members, peer), *cluster = json_object();
    json_put_string(cluster, "id", peer->hx_id);
    view_put_text(cluster, "name", hx ? hx->name : NULL);
    (void)json_object_set_new(object, "hx_cluster", cluster);
    json_put_string(object, "spn", spn);
    put_sha256(object, peer->sha256);
    return object;
}

static json_t *peers_full_view(const struct inventory_platform *platform, const struct hx_peer *peer) {
    const struct hx_peer_result *r = &peer->result;
    const bool is_failing = r->state == HX_PEER_FAILING;
    json_t *object = peers_bare_view(platform, peer), *status = json_object();
    json_put_string(status, "state", hx_peer_state_name(r->state));
    view_put_time(status, "since", peer->since_ms);
    view_put_time(status, "checked_at", r->checked_at_ms);
    json_put_int(status, "duration_ms", r->duration_ms);
    view_put_text(status, "signed_in_as", r->signed_in_as[0] ? r->signed_in_as : NULL);
    view_put_text(status, "reason", is_failing ? r->reason : NULL);
    view_put_text(status, "detail", is_failing ? r->detail : NULL);
    view_put_text(status, "remedy", is_failing ? r->remedy : NULL);
    (void)json_object_set_new(object, "status", status);
    return object;
}

/* -- reading controllers ------------------------------------------------------------------------------------------------ */

struct peer_page {
    const struct inventory_platform *platform;
    struct hx_peer_list list;
};

static const char *peer_key(const void *arg, size_t i, char *buffer, size_t n) {
    (void)buffer;
    (void)n;
    return ((const struct peer_page *)arg)->list.items[i].hx_id;
}

static json_t *peer_item(const void *arg, size_t i) {
    const struct peer_page *page = arg;
    return peers_full_view(page->platform, &page->list.items[i]);
}

int h_peers_list(struct api_call *call, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"limit", "cursor", NULL};
    struct peer_page page = {.platform = call->snapshot->platform};
    struct reply_list list = {.key = peer_key, .item = peer_item, .arg = &page};
    int rc = http_request_check_query(call->req, known, err);
    if (!rc)
        rc = peers_list(call->api->options.peers, &page.list, err);
    list.count = page.list.count;
    if (!rc)
        rc = reply_list(call, resp, &list, err);
    hx_peer_list_done(&page.list);
    return rc;
}

static int no_peer(struct api_call *call, int rc, struct err *err) {
    if (rc != ERR_NOT_FOUND || !err)
        return rc;
    err_clear(err);
    (void)err_set(err, ERR_NOT_FOUND, "the HX cluster %s has no peer, or there is none of this id",
                  http_request_param(call->req, "id"));
    return err_remedy(err, "compare with GET /v2/hx-peers; PUT sets one");
}

static int peers_answer(struct api_call *call, struct http_response *resp, int status, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = peers_load(call->api->options.peers, http_request_param(call->req, "id"), &peer, err);
    if (rc)
        return no_peer(call, rc, err);
    return reply_named(call, resp, status, (struct reply_named){peers_full_view(platform, peer), peers_bare_view(platform, peer)},
                       err);
}

int h_peers_show(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = api_check_no_query(call, err);
    return rc ? rc : peers_answer(call, resp, 200, err);
}

/* -- writing controllers ------------------------------------------------------------------------------------------------ */

static const struct json_member no_more[] = {{NULL, JSON_KIND_ANY, false, false}};

/* What is there, if it is what an If-Match speaks of; *version_no 0: nothing is there. *is_given tells whether one did. */
static int peers_read_current(struct api_call *call, int64_t *version_no, bool *is_given, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    char etag[REPLY_ETAG_BYTES] = "\"none\"";
    int rc = peers_load(call->api->options.peers, http_request_param(call->req, "id"), &peer, err);
    if (rc == ERR_NOT_FOUND)
        err_clear(err);
    else if (!rc)
        rc = reply_etag_of(peers_bare_view(call->snapshot->platform, peer), etag, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    rc = reply_check_if_match(call, etag, is_given, err);
    if (!rc)
        *version_no = peer ? peer->version_no : 0;
    return rc;
}

static int peers_check_hx(struct api_call *call, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    if (inventory_find_hx(call->snapshot->platform, id))
        return 0;
    (void)err_set(err, ERR_NOT_FOUND, "there is no HX cluster %s", id);
    return err_remedy(err, "compare with GET /v2/hx-clusters");
}

/* Without If-Match what was read a moment ago is what is replaced, so that nothing is lost to somebody else unseen. */
int h_peers_put(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct hx_peer wish = {0};
    bool is_given = false;
    struct json_member expected[MEMBER_JSON_MAX];
    member_json_expect(&(struct member_body){hx_peer_members, BY_ADMIN, true, no_more}, expected);
    int rc = api_read_members(call, expected, err);
    if (!rc)
        rc = peers_check_hx(call, err);
    if (!rc)
        rc = peers_read_current(call, &wish.version_no, &is_given, err);
    const int status = wish.version_no ? 200 : 201;
    if (!rc)
        rc = str_replace(&wish.hx_id, http_request_param(call->req, "id"), err);
    if (!rc)
        rc = member_json_read(call->body, hx_peer_members, BY_ADMIN, &wish, err);
    if (!rc)
        rc = peers_put(call->api->options.peers, &actor, &wish, err);
    hx_peer_done(&wish);
    return rc ? rc : peers_answer(call, resp, status, err);
}

int h_peers_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    int64_t version_no = 0;
    bool is_given = false;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = peers_read_current(call, &version_no, &is_given, err);
    if (!rc)
        rc = peers_remove(call->api->options.peers, &actor, http_request_param(call->req, "id"), is_given ? version_no : 0, err);
    if (rc)
        return no_peer(call, rc, err);
    http_response_set_status(resp, 204);
    return 0;
}

int h_peers_test(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = peers_test(call->api->options.peers, &actor, http_request_param(call->req, "id"), &peer, err);
    if (rc)
        return no_peer(call, rc, err);
    return reply_json(resp, 200, peers_full_view(call->snapshot->platform, peer), err);
}
