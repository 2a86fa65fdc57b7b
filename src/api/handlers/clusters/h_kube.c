/* Handlers of /v2/clusters:connect, of /v2/clusters/{id}/connection and /health, and of /v2/cluster-connections. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is given to connect is used once and is in no answer: the body's texts are wiped at the end of the call. */
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "h_jobs.h"
#include "host_impact.h"
#include "hx_query.h"
#include "inventory.h"
#include "jobs.h"
#include "kubernetes.h"
#include "limits.h"
#include "member_json.h"
#include "names.h"
#include "problem.h"
#include "query.h"
#include "reply.h"
#include "str.h"
#include "views.h"

#define KUBE_SHARED_BYTES_MAX 16384U /* of five names of nodes on each of three hosts */

/* -- what is shown ------------------------------------------------------------------------------------------------------- */

static const char *kube_id(const struct api_call *call) {
    return http_request_param(call->req, "id");
}

/* Of which Kubernetes cluster something is. */
static json_t *kube_cluster_view(const struct api_call *call, const char *cluster_id) {
    const struct inventory_cluster *entry = inventory_find_cluster(call->snapshot, cluster_id);
    json_t *cluster = json_object();
    json_put_string(cluster, "id", cluster_id);
    view_put_text(cluster, "name", entry ? entry->record->name : NULL);
    return cluster;
}

/* What is configured, and nothing that changes by itself. */
static json_t *kube_view_bare(const struct api_call *call, const struct kube_connection *connection) {
    json_t *object = member_json_show(kube_connection_members, connection);
    json_put(object, "cluster", kube_cluster_view(call, connection->cluster_id));
    view_put_sha256(object, connection->sha256);
    return object;
}

static json_t *kube_view(const struct api_call *call, const struct kube_connection *connection,
                         const struct kube_status *status) {
    json_t *object = kube_view_bare(call, connection);
    json_put(object, "status", member_json_show(kube_status_members, status));
    return object;
}

/* The steps of a call that failed go with its problem. */
static int kube_end_steps(struct api_call *call, struct findings *steps, int rc, struct err *err) {
    rc = rc ? rc : findings_check(steps, err);
    if (rc && steps->count)
        problem_add(call, "steps", view_findings(steps));
    return rc;
}

/* -- list ---------------------------------------------------------------------------------------------------------------- */

struct kube_row {
    const struct kube_connection *connection;
    const struct kube_status *status;
};

static const char *kube_row_key(const void *record, char *buffer, size_t n) {
    (void)buffer;
    (void)n;
    return ((const struct kube_row *)record)->connection->cluster_id;
}

static json_t *kube_row_view(const struct api_call *call, const void *record) {
    const struct kube_row *row = record;
    return kube_view(call, row->connection, row->status);
}

/* Both lists are by id. A connection that was set or removed between the two readings is left to the next one. */
static int kube_list_reply(struct api_call *call, struct http_response *resp, const struct kube_connection_list *connections,
                           const struct kube_status_list *statuses, struct err *err) {
    _cleanup_free_ struct kube_row *rows = calloc(connections->count + 1, sizeof(*rows));
    size_t count = 0;
    if (!rows)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0, k = 0; i < connections->count && k < statuses->count; i++) {
        while (k < statuses->count && strcmp(statuses->items[k].cluster_id, connections->items[i].cluster_id) < 0)
            k++;
        if (k < statuses->count && str_eq(statuses->items[k].cluster_id, connections->items[i].cluster_id))
            rows[count++] = (struct kube_row){&connections->items[i], &statuses->items[k]};
    }
    return view_list(call, resp, VIEW_LIST(rows, count, kube_row_key, kube_row_view), err);
}

int h_kube_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct kube_connection_list connections = {0};
    struct kube_status_list statuses = {0};
    int rc = kubernetes_list(call->api->options.kubernetes, &connections, err);
    if (!rc)
        rc = kubernetes_list_statuses(call->api->options.kubernetes, &statuses, err);
    if (!rc)
        rc = kube_list_reply(call, resp, &connections, &statuses, err);
    kube_connection_list_done(&connections);
    kube_status_list_done(&statuses);
    return rc;
}

/* -- one ------------------------------------------------------------------------------------------------------------------ */

/* What is stored of one connection. */
struct kube_stored {
    struct kube_connection *connection;
    struct kube_status *status;
};

static void kube_stored_done(struct kube_stored *stored) {
    kube_connection_free(stored->connection);
    kube_status_free(stored->status);
}

static int kube_load(struct api_call *call, const char *id, struct kube_stored *out, struct err *err) {
    int rc = kubernetes_load(call->api->options.kubernetes, id, &out->connection, err);
    return rc ? rc : kubernetes_load_status(call->api->options.kubernetes, id, &out->status, err);
}

static int kube_not_connected(struct api_call *call, int rc, struct err *err) {
    if (rc != ERR_NOT_FOUND || !err)
        return rc;
    err_clear(err);
    (void)err_set(err, ERR_NOT_FOUND, "kaasd is not connected to the cluster %s, or there is none of this id", kube_id(call));
    return err_remedy(err,
                      "see: kaasctl cluster connections, or GET /v2/cluster-connections; kaasctl cluster connect %s, or PUT, "
                      "connects it",
                      kube_id(call));
}

int h_kube_show(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(kube_stored_done) struct kube_stored stored = {NULL, NULL};
    int rc = kube_load(call, kube_id(call), &stored, err);
    if (rc)
        return kube_not_connected(call, rc, err);
    return reply_named(
        call, resp, 200,
        (struct reply_named){kube_view(call, stored.connection, stored.status), kube_view_bare(call, stored.connection)}, err);
}

/* What is there, if it is what an If-Match speaks of; *version_no 0: nothing is there. *is_given tells whether one did. */
static int kube_read_current(struct api_call *call, int64_t *version_no, bool *is_given, struct err *err) {
    _cleanup_(kube_connection_free) struct kube_connection *connection = NULL;
    char etag[REPLY_ETAG_BYTES] = "\"none\"";
    int rc = kubernetes_load(call->api->options.kubernetes, kube_id(call), &connection, err);
    if (rc == ERR_NOT_FOUND)
        err_clear(err);
    else if (!rc)
        rc = reply_etag_of(kube_view_bare(call, connection), etag, err);
    if (rc && rc != ERR_NOT_FOUND)
        return rc;
    rc = reply_check_if_match(call, etag, is_given, err);
    if (!rc)
        *version_no = connection ? connection->version_no : 0;
    return rc;
}

/* -- connecting ------------------------------------------------------------------------------------------------------------ */

#define KUBE_CREDENTIALS                                                                                    \
    JSON_TAKES(STRING, "kubeconfig"), JSON_TAKES(STRING, "context"), JSON_TAKES(STRING, "address"),         \
        JSON_TAKES(STRING, "ca_pem"), JSON_TAKES(STRING, "token"), JSON_TAKES(STRING, "thumbprint_sha256"), \
        JSON_TAKES(BOOLEAN, "dry_run")

const struct member_body h_kube_connect_body = {.more = JSON_MEMBERS(KUBE_CREDENTIALS, JSON_TAKES(STRING, "name"))};
const struct member_body h_kube_put_body = {.more = JSON_MEMBERS(KUBE_CREDENTIALS)};

/* Either a kubeconfig, or the parts of one. */
static int kube_check_wish(const struct kube_wish *wish, struct err *err) {
    const bool has_parts = wish->address || wish->ca_pem || wish->token;
    if (wish->kubeconfig && has_parts)
        return err_set(err, ERR_UNPROCESSABLE, "give either \"kubeconfig\", or \"address\", \"ca_pem\" and \"token\"");
    if (!wish->kubeconfig && (!wish->address || !wish->token))
        return err_set(err, ERR_UNPROCESSABLE, "give \"kubeconfig\", or \"address\" and \"token\"");
    if (wish->context && !wish->kubeconfig)
        return err_set(err, ERR_UNPROCESSABLE, "\"context\" is one of a \"kubeconfig\"");
    if (wish->kubeconfig && strlen(wish->kubeconfig) > KAAS_KUBECONFIG_BYTES_MAX) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the kubeconfig is longer than %u bytes", KAAS_KUBECONFIG_BYTES_MAX);
        return err_remedy(err, "give one with the wanted context alone: kubectl config view --minify --flatten");
    }
    return 0;
}

static int kube_read_wish(const struct api_call *call, struct kube_wish *out, struct err *err) {
    out->kubeconfig = json_get_string(call->body, "kubeconfig");
    out->context = json_get_string(call->body, "context");
    out->address = json_get_string(call->body, "address");
    out->ca_pem = json_get_string(call->body, "ca_pem");
    out->token = json_get_string(call->body, "token");
    out->thumbprint_sha256 = json_get_string(call->body, "thumbprint_sha256");
    out->name = json_get_string(call->body, "name");
    out->is_dry_run = json_get_bool(call->body, "dry_run", false);
    int rc = kube_check_wish(out, err);
    return rc || !out->name ? rc : name_check(out->name, "name", err);
}

static json_t *kube_result_view(const char *cluster_id, json_t *connection, const struct findings *steps) {
    json_t *object = json_object();
    view_put_text(object, "cluster_id", cluster_id);
    json_put(object, "connection", connection);
    json_put(object, "steps", view_findings(steps));
    return object;
}

/* What was written shows in the list of clusters, too. */
static int kube_answer_connected(struct api_call *call, struct http_response *resp, int http_status, const char *cluster_id,
                                 const struct findings *steps, struct err *err) {
    _cleanup_done_(kube_stored_done) struct kube_stored stored = {NULL, NULL};
    (void)inventory_poll(call->api->options.inventory, NULL);
    api_renew_snapshot(call);
    int rc = kube_load(call, cluster_id, &stored, err);
    if (rc)
        return rc;
    return reply_named(
        call, resp, http_status,
        (struct reply_named){kube_result_view(cluster_id, kube_view(call, stored.connection, stored.status), steps),
                             kube_view_bare(call, stored.connection)},
        err);
}

/* What the next try has to say goes with the problem. */
static void kube_add_asked(struct api_call *call, const struct kube_connected *out) {
    if (out->certificate.subject)
        problem_add(call, "certificate", problem_certificate(&out->certificate));
    if (!out->contexts_count)
        return;
    json_t *contexts = json_array();
    for (size_t i = 0; i < out->contexts_count; i++)
        json_add(contexts, json_string(out->contexts[i]));
    problem_add(call, "contexts", contexts);
}

/* http_status: of a connection that was made. */
static int kube_connect(struct api_call *call, struct http_response *resp, const struct kube_wish *wish, int http_status,
                        struct err *err) {
    _cleanup_done_(kube_connected_done) struct kube_connected out = {.contexts_count = 0};
    int rc = kubernetes_connect(call->api->options.kubernetes, API_ACTOR(call), wish, &out, err);
    rc = kube_end_steps(call, &out.steps, rc, err);
    if (rc) {
        kube_add_asked(call, &out);
        return rc;
    }
    if (wish->is_dry_run)
        return reply_json(resp, 200, kube_result_view(wish->cluster_id, json_null(), &out.steps), err);
    if (!wish->cluster_id)
        reply_location(resp, "/v2/clusters/", out.cluster_id);
    return kube_answer_connected(call, resp, http_status, out.cluster_id, &out.steps, err);
}

int h_kube_connect(struct api_call *call, struct http_response *resp, struct err *err) {
    struct kube_wish wish = {.version_no = 0};
    int rc = kube_read_wish(call, &wish, err);
    return rc ? rc : kube_connect(call, resp, &wish, 201, err);
}

/* Without If-Match what was read a moment ago is what is replaced, so that nothing is lost to somebody else unseen. */
int h_kube_put(struct api_call *call, struct http_response *resp, struct err *err) {
    struct kube_wish wish = {.cluster_id = kube_id(call)};
    bool is_given = false;
    int rc = kube_read_wish(call, &wish, err);
    if (!rc)
        rc = kube_read_current(call, &wish.version_no, &is_given, err);
    return rc ? rc : kube_connect(call, resp, &wish, wish.version_no ? 200 : 201, err);
}

/* -- disconnecting, trying ------------------------------------------------------------------------------------------------- */

static int kube_read_leave(struct api_call *call, enum kube_leave *out, struct err *err) {
    bool is_show = false, is_forget = false;
    int rc = reply_read_flag(call, "show", &is_show, err);
    if (!rc)
        rc = reply_read_flag(call, "forget", &is_forget, err);
    if (!rc && is_show && is_forget)
        rc = problem_parameter(call, "forget", "changes something, and \"show\" does not: give one of them", err);
    *out = is_show ? KUBE_LEAVE_SHOW : is_forget ? KUBE_LEAVE_FORGET : KUBE_LEAVE_REMOVE;
    return rc;
}

/* As a job: at once if it answers, else when it does. */
static int kube_leave_when_back(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(kube_connection_free) struct kube_connection *connection = NULL;
    const struct inventory_cluster *entry = inventory_find_cluster(call->snapshot, kube_id(call));
    int rc = kubernetes_load(call->api->options.kubernetes, kube_id(call), &connection, err);
    if (rc)
        return kube_not_connected(call, rc, err);
    return jobs_reply_begun(call, resp,
                            &(struct job_new){.kind = KUBERNETES_LEAVE_JOB,
                                              .object_kind = "cluster",
                                              .object_id = kube_id(call),
                                              .object_name = entry ? entry->record->name : kube_id(call),
                                              .actor = API_ACTOR(call)},
                            err);
}

int h_kube_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(findings_done) struct findings steps = {.count = 0};
    enum kube_leave how = KUBE_LEAVE_SHOW;
    int64_t version_no = 0;
    bool is_given = false, is_when_back = false;
    int rc = kube_read_leave(call, &how, err);
    if (!rc)
        rc = reply_read_flag(call, "when_back", &is_when_back, err);
    if (!rc && is_when_back && how != KUBE_LEAVE_REMOVE)
        rc = problem_parameter(call, "when_back", "goes with neither \"show\" nor \"forget\"", err);
    if (!rc)
        rc = kube_read_current(call, &version_no, &is_given, err);
    if (!rc && is_when_back)
        return kube_leave_when_back(call, resp, err);
    if (!rc)
        rc = kubernetes_disconnect(call->api->options.kubernetes, API_ACTOR(call), kube_id(call), is_given ? version_no : 0, how,
                                   &steps, err);
    rc = kube_end_steps(call, &steps, rc, err);
    if (rc)
        return kube_not_connected(call, rc, err);
    if (how != KUBE_LEAVE_SHOW)
        (void)inventory_poll(call->api->options.inventory, NULL);
    json_t *object = json_object();
    json_put_string(object, "cluster_id", kube_id(call));
    json_put_bool(object, "removed", how != KUBE_LEAVE_SHOW);
    json_put(object, "steps", view_findings(&steps));
    return reply_json(resp, 200, object, err);
}

/* A step that fails is an answer. */
int h_kube_test(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_done_(findings_done) struct findings steps = {.count = 0};
    _cleanup_done_(kube_stored_done) struct kube_stored stored = {NULL, NULL};
    int rc = kubernetes_test(call->api->options.kubernetes, kube_id(call), &steps, err);
    if (!rc)
        rc = findings_check(&steps, err);
    if (!rc)
        rc = kube_load(call, kube_id(call), &stored, err);
    if (rc)
        return kube_not_connected(call, rc, err);
    return reply_json(resp, 200, kube_result_view(kube_id(call), kube_view(call, stored.connection, stored.status), &steps), err);
}

/* -- health ------------------------------------------------------------------------------------------------------------------ */

/* The part of a connection that all may see who see the cluster. */
static json_t *kube_health_connection_view(const struct kube_status *status) {
    json_t *object;
    if (!status)
        return json_null();
    object = json_object();
    json_put_string(object, "state", kube_connection_state_name(status->remote.state));
    view_put_time(object, "since", status->remote.since_ms);
    view_put_time(object, "checked_at", status->remote.checked_at_ms);
    view_put_text(object, "reason", status->remote.reason[0] ? status->remote.reason : NULL);
    view_put_text(object, "detail", status->remote.detail[0] ? status->remote.detail : NULL);
    view_put_text(object, "remedy", status->remote.remedy[0] ? status->remote.remedy : NULL);
    view_put_text(object, "version", status->version);
    return object;
}

/* What vCenters show, of any cluster: the state is none the worse for it. */
static void kube_health_add_shared(json_t *reasons, const struct cluster *c) {
    _cleanup_strbuf_ struct strbuf text;
    int64_t since_ms = 0;
    json_t *reason;
    strbuf_init(&text, KUBE_SHARED_BYTES_MAX);
    if (!host_impact_tell_shared(c, &text, &since_ms) || text.failed)
        return;
    reason = json_object();
    json_put_string(reason, "reason", "control_planes_share_host");
    json_put_string(reason, "severity", "info");
    json_put_string(reason, "text", text.data);
    json_put_string(reason, "remedy",
                    "move one of them to another host, and keep them apart by a DRS rule (Separate Virtual Machines)");
    view_put_time(reason, "since", since_ms);
    json_add(reasons, reason);
}

/* They name nodes and hosts, so that those who see a part of the placement get the state alone, as in lists. */
static json_t *kube_health_reasons(const struct cluster *c, const struct kube_status *status, bool is_seen_whole) {
    json_t *reasons = NULL;
    if (status && status->health_json && is_seen_whole)
        (void)json_parse(status->health_json, strlen(status->health_json), &reasons, NULL);
    if (!reasons)
        reasons = json_array();
    if (is_seen_whole)
        kube_health_add_shared(reasons, c);
    return reasons;
}

static int kube_health_reply(struct api_call *call, struct http_response *resp, const struct inventory_seen *seen,
                             const struct kube_status *status, struct err *err) {
    const struct cluster *c = seen->entry->record;
    const bool is_seen_whole = seen->mask == seen->entry->full_mask;
    json_t *object = json_object();
    json_put(object, "cluster", kube_cluster_view(call, c->id));
    json_put_string(object, "state", cluster_state_name(c->state));
    view_put_text(object, "state_reason", is_seen_whole ? c->state_reason : seen->entry->reason_partial);
    json_put_string(object, "state_source", c->state_source);
    view_put_time(object, "state_since", c->state_since_ms);
    json_put(object, "connection", kube_health_connection_view(status));
    json_put(object, "reasons", kube_health_reasons(c, status, is_seen_whole));
    reply_freshness(call, resp);
    return reply_json(resp, 200, object, err);
}

/* Without a connection it is what was said of the cluster, and what the vCenters show. */
int h_kube_health(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(kube_status_free) struct kube_status *status = NULL;
    struct inventory_seen seen;
    struct err why = {0};
    int rc = inventory_get_visible_cluster(call->snapshot, &call->viewer, kube_id(call), &seen.entry, &seen.mask, err);
    if (rc)
        return rc;
    rc = kubernetes_load_status(call->api->options.kubernetes, kube_id(call), &status, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    return kube_health_reply(call, resp, &seen, status, err);
}
