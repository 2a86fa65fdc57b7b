/* Handlers of /v2/hx-clusters, and of /v2/hx-peers: controllers of HX clusters that kaasd signs in to. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "api_call.h"
#include "clusters.h"
#include "hx_query.h"
#include "hyperflex.h"
#include "inventory.h"
#include "member_json.h"
#include "peers.h"
#include "publish.h"
#include "query.h"
#include "reply.h"
#include "str.h"
#include "views.h"

static const char *hx_key(const void *record, char *buffer, size_t n) {
    const struct hx_cluster *hx = record;
    (void)snprintf(buffer, n, "%s\x01%s", hx->name, hx->id);
    return buffer;
}

static json_t *hx_view(const struct api_call *call, const void *hx) {
    return view_hx_cluster(call->snapshot->platform, hx);
}

/* `filter`: the vCenter that was asked for; NULL: no matter. */
static bool hx_is_wanted(const struct api_call *call, const void *record, const void *filter) {
    const char *name = http_request_query(call->req, "name");
    const struct vcenter *vc = filter;
    const struct hx_cluster *hx = record;
    return (!name || str_eq(hx->name, name)) && (!vc || str_eq(hx->vsphere_cluster.vcenter_id, vc->id)) &&
           inventory_sees_vsphere(call->snapshot->platform, &call->viewer, &hx->vsphere_cluster);
}

static int hx_find_hx(struct api_call *call, const struct hx_cluster **out, struct err *err) {
    return inventory_get_visible_hx(call->snapshot, &call->viewer, http_request_param(call->req, "id"), out, err);
}

static json_t *hx_view_origins(const struct hx_cluster *hx) {
    char origins[VIEW_HX_ORIGINS_MAX][NET_ORIGIN_BYTES];
    const size_t count = view_hx_origins(hx, origins);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_string(origins[i]));
    return list;
}

/* With its Kubernetes clusters, and what HX said of itself the last time. */
static json_t *hx_view_whole(const struct api_call *call, const void *record) {
    const struct hx_cluster *hx = record;
    struct hx_status status = {.facts = HX_FACTS_NONE};
    struct inventory_counts counts;
    json_t *object = hx_view(call, hx);
    inventory_count_on_hx(call->snapshot, &call->viewer, hx, &counts);
    (void)hyperflex_find_status(call->api->options.hyperflex, hx->id, &status);
    json_put(object, "panel_origins", hx_view_origins(hx));
    json_put(object, "clusters", view_counts(&counts));
    json_put(object, "facts", view_hx_facts(&status));
    hx_status_done(&status);
    return object;
}

int h_hx_list(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    const char *reference = http_request_query(call->req, "vcenter");
    const struct vcenter *vc = NULL;
    bool is_whole = false;
    int rc = reply_read_flag(call, "whole", &is_whole, err);
    if (!rc && reference)
        rc = inventory_resolve_visible_vcenter(platform, &call->viewer, reference, &vc, err);
    if (rc)
        return rc;
    return view_list(call, resp,
                     VIEW_LIST(platform->hx, platform->hx_count, hx_key, is_whole ? hx_view_whole : hx_view,
                               .is_wanted = hx_is_wanted, .filter = vc),
                     err);
}

int h_hx_show(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct hx_cluster *hx = NULL;
    int rc = hx_find_hx(call, &hx, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    return reply_object(call, resp, 200, hx_view_whole(call, hx), err);
}

const struct member_body h_hx_patch_body = {
    .more = JSON_MEMBERS(JSON_TAKES_NULL(STRING, "name"), JSON_TAKES_NULL(STRING, "management_address"))};

int h_hx_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct clusters_hx_change change = {.has_name = json_object_get(call->body, "name") != NULL,
                                              .has_address = json_object_get(call->body, "management_address") != NULL,
                                              .name = json_get_string(call->body, "name"),
                                              .address = json_get_string(call->body, "management_address")};
    const struct hx_cluster *hx = NULL;
    int64_t version_no = 0;
    int rc = hx_find_hx(call, &hx, err);
    if (!rc)
        rc = reply_check_version(call, hx_view_whole(call, hx), hx->version_no, &version_no, err);
    if (!rc)
        rc = clusters_change_hx(call->api->options.clusters, API_ACTOR(call), hx->id, version_no, &change, err);
    if (rc)
        return rc;
    api_renew_snapshot(call);
    rc = hx_find_hx(call, &hx, err);
    return rc ? rc : reply_object(call, resp, 200, hx_view_whole(call, hx), err);
}

/* -- controllers -------------------------------------------------------------------------------------------------------- */

/* What is configured, and nothing that changes by itself. */
static json_t *peer_view_bare(const struct inventory_platform *platform, const struct hx_peer *peer) {
    const struct hx_cluster *hx = inventory_find_hx(platform, peer->hx_id);
    _cleanup_free_ char *spn = hx_peer_spn(peer);
    json_t *object = member_json_show(hx_peer_members, peer), *cluster = json_object();
    json_put_string(cluster, "id", peer->hx_id);
    view_put_text(cluster, "name", hx ? hx->name : NULL);
    json_put(object, "hx_cluster", cluster);
    json_put_string(object, "spn", spn);
    view_put_sha256(object, peer->sha256);
    return object;
}

static json_t *peer_view(const struct api_call *call, const void *record) {
    const struct hx_peer *peer = record;
    const struct hx_peer_result *r = &peer->result;
    const bool is_failing = r->state == HX_PEER_FAILING;
    json_t *object = peer_view_bare(call->snapshot->platform, peer), *status = json_object();
    json_put_string(status, "state", hx_peer_state_name(r->state));
    view_put_time(status, "since", peer->since_ms);
    view_put_time(status, "checked_at", r->checked_at_ms);
    json_put_int(status, "duration_ms", r->duration_ms);
    view_put_text(status, "signed_in_as", r->signed_in_as[0] ? r->signed_in_as : NULL);
    view_put_text(status, "reason", is_failing ? r->reason : NULL);
    view_put_text(status, "detail", is_failing ? r->detail : NULL);
    view_put_text(status, "remedy", is_failing ? r->remedy : NULL);
    json_put(object, "status", status);
    return object;
}

static const char *peer_key(const void *record, char *buffer, size_t n) {
    (void)buffer;
    (void)n;
    return ((const struct hx_peer *)record)->hx_id;
}

int h_peers_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct hx_peer_list all = {0};
    int rc = peers_list(call->api->options.hyperflex, &all, err);
    if (!rc)
        rc = view_list(call, resp, VIEW_LIST(all.items, all.count, peer_key, peer_view), err);
    hx_peer_list_done(&all);
    return rc;
}

static int no_peer(struct api_call *call, int rc, struct err *err) {
    if (rc != ERR_NOT_FOUND || !err)
        return rc;
    err_clear(err);
    (void)err_set(err, ERR_NOT_FOUND, "the HX cluster %s has no peer, or there is none of this id", view_hx_id(call));
    return err_remedy(err, "see: kaasctl peer list, or GET /v2/hx-peers; kaasctl peer set %s, or PUT, sets one",
                      view_hx_id(call));
}

static int peers_answer(struct api_call *call, struct http_response *resp, int status, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = peers_load(call->api->options.hyperflex, view_hx_id(call), &peer, err);
    if (rc)
        return no_peer(call, rc, err);
    return reply_named(call, resp, status,
                       (struct reply_named){peer_view(call, peer), peer_view_bare(call->snapshot->platform, peer)}, err);
}

int h_peers_show(struct api_call *call, struct http_response *resp, struct err *err) {
    return peers_answer(call, resp, 200, err);
}

/* What is there, if it is what an If-Match speaks of; *version_no 0: nothing is there. *is_given tells whether one did. */
static int peers_read_current(struct api_call *call, int64_t *version_no, bool *is_given, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    char etag[REPLY_ETAG_BYTES] = "\"none\"";
    int rc = peers_load(call->api->options.hyperflex, view_hx_id(call), &peer, err);
    if (rc == ERR_NOT_FOUND)
        err_clear(err);
    else if (!rc)
        rc = reply_etag_of(peer_view_bare(call->snapshot->platform, peer), etag, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    rc = reply_check_if_match(call, etag, is_given, err);
    if (!rc)
        *version_no = peer ? peer->version_no : 0;
    return rc;
}

const struct member_body h_peers_put_body = {.members = hx_peer_members, .writer = BY_ADMIN, .is_new = true};

/* Without If-Match what was read a moment ago is what is replaced, so that nothing is lost to somebody else unseen. */
int h_peers_put(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = view_hx_id(call);
    struct hx_peer wish = {0};
    bool is_given = false;
    int rc, status;
    if (!inventory_find_hx(call->snapshot->platform, id)) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no HX cluster %s", id);
        return err_remedy(err, "compare with GET /v2/hx-clusters");
    }
    rc = peers_read_current(call, &wish.version_no, &is_given, err);
    status = wish.version_no ? 200 : 201;
    if (!rc)
        rc = str_replace(&wish.hx_id, id, err);
    if (!rc)
        rc = member_json_read(call->body, hx_peer_members, BY_ADMIN, &wish, err);
    if (!rc)
        rc = peers_put(call->api->options.hyperflex, API_ACTOR(call), &wish, err);
    hx_peer_done(&wish);
    return rc ? rc : peers_answer(call, resp, status, err);
}

int h_peers_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    int64_t version_no = 0;
    bool is_given = false;
    int rc = peers_read_current(call, &version_no, &is_given, err);
    if (!rc)
        rc = hyperflex_leave_peer(call->api->options.hyperflex, view_hx_id(call), err);
    if (!rc)
        rc = peers_remove(call->api->options.hyperflex, API_ACTOR(call), view_hx_id(call), is_given ? version_no : 0, err);
    return rc ? no_peer(call, rc, err) : view_nothing(resp, 0);
}

int h_peers_test(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = peers_test(call->api->options.hyperflex, API_ACTOR(call), view_hx_id(call), &peer, err);
    return rc ? no_peer(call, rc, err) : reply_json(resp, 200, peer_view(call, peer), err);
}
