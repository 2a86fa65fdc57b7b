/* Handlers of /v2/clusters, of their nodes, and of those on one HX cluster. Layer 6 (api). The import is h_clusters_import.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "clock.h"
#include "cluster_input.h"
#include "clusters.h"
#include "hx_query.h"
#include "impact.h"
#include "inventory.h"
#include "kube_facts.h"
#include "link.h"
#include "load.h"
#include "limits.h"
#include "log.h"
#include "machine_usage.h"
#include "member_json.h"
#include "names.h"
#include "net_addr.h"
#include "problem.h"
#include "query.h"
#include "reply.h"
#include "rollup.h"
#include "str.h"
#include "uuid.h"
#include "views.h"
#include "vim_machine.h"

#define BYTES_PER_MIB (INT64_C(1) << 20)

static json_t *h_clusters_vm(const struct api_call *call, const struct node_observation *seen) {
    json_t *object;
    if (!seen)
        return json_null();
    const struct vcenter *vc = inventory_find_vcenter(call->snapshot->platform, seen->vcenter_id);
    _cleanup_free_ char *url = view_vm_client_url(vc, seen->vm_moref);
    object = json_object();
    json_put_string(object, "match", vm_match_name(seen->match));
    json_put_string(object, "vcenter_id", seen->vcenter_id);
    view_put_text(object, "moref", seen->vm_moref);
    view_put_text(object, "name", seen->vm_name);
    view_put_text(object, "instance_uuid", seen->instance_uuid);
    view_put_text(object, "bios_uuid", seen->bios_uuid);
    json_put_string(object, "power", vm_power_name(seen->power));
    json_put_string(object, "connection", vm_connection_name(seen->connection));
    if (url)
        json_put_string(object, "client_url", url);
    return object;
}

static json_t *h_clusters_host(const struct node_observation *seen) {
    json_t *object;
    if (!seen || !seen->host_moref)
        return json_null();
    object = json_object();
    json_put_string(object, "moref", seen->host_moref);
    view_put_text(object, "name", seen->host_name);
    json_put_string(object, "connection", host_connection_name(seen->host_connection));
    return object;
}

static bool node_find_place(const struct node_observation *seen, struct object_ref *out) {
    return seen && seen->cluster_moref && !object_ref_make(seen->vcenter_id, seen->cluster_moref, out, NULL);
}

/* What Kubernetes tells of a node, or told last. */
static json_t *h_clusters_kube(const struct node_kube *kube, const struct cluster_kube *of) {
    json_t *object, *pressure;
    if (!kube)
        return json_null();
    object = member_json_show(node_kube_members, kube);
    if (kube->ready != KUBE_UNKNOWN)
        json_put_bool(object, "ready", kube->ready == KUBE_TRUE);
    pressure = json_array();
    for (const char *at = kube->pressure; at && *at; at += strspn(at, " ")) {
        const size_t bytes = strcspn(at, " ");
        json_add(pressure, json_stringn(at, bytes));
        at += bytes;
    }
    json_put(object, "pressure", pressure);
    view_put_time(object, "as_of", cluster_kube_as_of_ms(of));
    return object;
}

/* By the worse of what vCenter and Kubernetes show. */
static const char *node_state(const struct node *node, const struct cluster *c) {
    if (rollup_is_down(node->seen))
        return "not_ready";
    if (!node->kube || !cluster_kube_knows_nodes(c->kube))
        return "unknown";
    return node->kube->ready == KUBE_TRUE ? "ready" : "not_ready";
}

/* Node of docs/openapi.yaml. A new reference; a lack of memory shows when the JSON is written. */
static json_t *node_view(const struct api_call *call, const struct node *node, const struct cluster *c) {
    struct node shown = *node;
    struct object_ref ref;
    if (node->kube && !shown.kubernetes_version)
        shown.kubernetes_version = node->kube->version;
    if (node->kube && !shown.address)
        shown.address = node->kube->address;
    json_t *object = member_json_show(node_members, &shown);
    json_put_string(object, "state", node_state(node, c));
    json_put(object, "kubernetes", h_clusters_kube(node->kube, c->kube));
    json_put(object, "vm", h_clusters_vm(call, node->seen));
    json_put(object, "host", h_clusters_host(node->seen));
    json_put(object, "vsphere_cluster",
             node_find_place(node->seen, &ref) ? view_placed(call->snapshot->platform, &ref) : json_null());
    view_put_time(object, "observed_at", node->seen ? node->seen->observed_at_ms : 0);
    return object;
}

static bool node_is_visible(const struct api_call *call, const void *node, const void *in) {
    return inventory_sees_node(call->snapshot->platform, &call->viewer, in, node);
}

/* -- reading ------------------------------------------------------------------------------------------------------------ */

int h_clusters_show(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    char etag[REPLY_ETAG_BYTES];
    uint64_t hash = 0;
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    rc = inventory_show_cluster(call->snapshot, &call->viewer, http_request_param(call->req, "id"), &text, &hash, err);
    if (rc)
        return rc;
    reply_freshness(call, resp);
    reply_format_etag(hash, false, etag);
    return reply_tagged(call, resp, etag, "application/json", &text);
}

/* -- what the machines of nodes have and use now ------------------------------------------------------------------------ */

/* NULL: the node has no machine of its own now. */
static const char *node_machine(const struct node *node) {
    const struct node_observation *seen = node->seen;
    return seen && seen->match != VM_MATCH_NONE && seen->match != VM_MATCH_MISMATCH ? seen->vm_moref : NULL;
}

/* A look at them, of one vCenter after the other. */
struct usage_look {
    struct machine_usage *usage;
    struct inventory_seen filter;
    size_t at; /* the first node in the vCenter that is asked */
    struct singleflight_waiter waiter;
    json_t *items, *silent;
};

static void usage_look_free(void *p) {
    struct usage_look *look = p;
    machine_usage_leave(look->usage, &look->waiter);
    json_decref(look->items);
    json_decref(look->silent);
    free(look);
}

/* -1: null, as vCenter does not tell. */
static void usage_put(json_t *object, const char *name, int64_t value, int64_t unit) {
    json_put(object, name,
             value < 0 || value > INT64_MAX / unit ? json_null() : json_integer((json_int_t)value * (json_int_t)unit));
}

static json_t *usage_view(const struct node *node, const struct vim_machine *machine) {
    json_t *object = json_object(), *datastores = json_array();
    json_put_string(object, "node_id", node->id);
    usage_put(object, "cpu_count", machine->cpu_count, 1);
    usage_put(object, "cpu_mhz", machine->cpu_mhz, 1);
    usage_put(object, "cpu_used_mhz", machine->cpu_used_mhz, 1);
    usage_put(object, "memory_bytes", machine->memory_mib, BYTES_PER_MIB);
    usage_put(object, "memory_used_bytes", machine->memory_used_mib, BYTES_PER_MIB);
    usage_put(object, "disk_bytes", machine->disk_bytes, 1);
    usage_put(object, "disk_used_bytes", machine->disk_used_bytes, 1);
    for (size_t i = 0; i < machine->datastore_count; i++)
        (void)json_array_append_new(datastores, json_string(machine->datastores[i]));
    json_put(object, "datastores", datastores);
    return object;
}

/* Has this node a machine in the vCenter that is asked? */
static bool usage_concerns(const struct usage_look *look, const struct node *node) {
    const struct cluster *c = look->filter.entry->record;
    return node_machine(node) && str_eq(node->seen->vcenter_id, c->nodes[look->at].seen->vcenter_id);
}

/* Is the node at `look->at` the first one of its vCenter, and may one there be seen? */
static bool usage_is_due(const struct api_call *call, const struct usage_look *look) {
    const struct cluster *c = look->filter.entry->record;
    bool is_seen = false;
    if (!node_machine(&c->nodes[look->at]))
        return false;
    for (size_t i = 0; i < look->at; i++)
        if (usage_concerns(look, &c->nodes[i]))
            return false;
    for (size_t i = look->at; !is_seen && i < c->nodes_count; i++)
        is_seen = usage_concerns(look, &c->nodes[i]) && node_is_visible(call, &c->nodes[i], &look->filter);
    return is_seen;
}

/* All of the cluster's there, whoever looks, so that one answer is everybody's. Whoever brings it may be done with the call before this returns. */
static int usage_wait(void *arg, worker_fn *run, void *run_arg, struct err *err) {
    struct api_call *call = arg;
    struct usage_look *look = call->feature.data;
    const struct cluster *c = look->filter.entry->record;
    _cleanup_free_ const char **morefs = calloc(c->nodes_count + 1, sizeof(*morefs));
    size_t count = 0;
    if (!morefs)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = look->at; i < c->nodes_count; i++)
        if (usage_concerns(look, &c->nodes[i]))
            morefs[count++] = node_machine(&c->nodes[i]);
    look->waiter.run = run;
    look->waiter.arg = run_arg;
    return machine_usage_ask(look->usage,
                             &(struct machine_question){.link = call->link,
                                                        .morefs = morefs,
                                                        .count = count,
                                                        .party = net_party(http_request_client(call->req)),
                                                        .request_id = http_request_id(call->req)},
                             &look->waiter, err);
}

/* What the viewer may see of it. */
static void usage_add(const struct api_call *call, struct usage_look *look) {
    const struct vim_machine_list *found = machine_usage_get(&look->waiter);
    const struct cluster *c = look->filter.entry->record;
    for (size_t i = look->at; i < c->nodes_count; i++) {
        if (!usage_concerns(look, &c->nodes[i]) || !node_is_visible(call, &c->nodes[i], &look->filter))
            continue;
        for (size_t k = 0; k < found->count; k++)
            if (str_eq(node_machine(&c->nodes[i]), found->items[k].moref))
                (void)json_array_append_new(look->items, usage_view(&c->nodes[i], &found->items[k]));
    }
}

static int usage_go_on(struct api_call *call, struct http_response *resp, struct err *err);

/* A vCenter that does not answer is named; what other vCenters tell is shown all the same. In the thread that brought the answer. */
static int usage_take(struct http_request *req, struct http_response *resp, struct err *err) {
    struct api_call *call = api_call_of(req);
    struct usage_look *look = call->feature.data;
    log_set_request_id(http_request_id(req));
    if (look->waiter.code)
        (void)json_array_append_new(look->silent, json_string(link_id(call->link)));
    else
        usage_add(call, look);
    machine_usage_leave(look->usage, &look->waiter);
    look->at++;
    return usage_go_on(call, resp, err);
}

static int usage_go_on(struct api_call *call, struct http_response *resp, struct err *err) {
    struct usage_look *look = call->feature.data;
    const struct cluster *c = look->filter.entry->record;
    for (; look->at < c->nodes_count; look->at++) {
        if (!usage_is_due(call, look))
            continue;
        const char *vcenter_id = c->nodes[look->at].seen->vcenter_id;
        if (!api_use_link(call, vcenter_id, NULL) && !link_is_away(call->link))
            return http_request_go_slow_by(call->req, usage_wait, call, usage_take);
        (void)json_array_append_new(look->silent, json_string(vcenter_id));
    }
    return reply_json(resp, 200, json_pack("{sO sO}", "items", look->items, "silent_vcenters", look->silent), err);
}

int h_clusters_usage(struct api_call *call, struct http_response *resp, struct err *err) {
    struct usage_look *look = calloc(1, sizeof(*look));
    if (!look)
        return err_set(err, ERR_NOMEM, "out of memory");
    *look = (struct usage_look){.usage = call->api->machine_usage, .items = json_array(), .silent = json_array()};
    api_set_part(&call->feature, look, usage_look_free);
    int rc = inventory_get_visible_cluster(call->snapshot, &call->viewer, http_request_param(call->req, "id"),
                                           &look->filter.entry, &look->filter.mask, err);
    return rc ? rc : usage_go_on(call, resp, err);
}

/* -- nodes ---------------------------------------------------------------------------------------------------------------- */

/* A node of one of several Kubernetes clusters. */
struct hx_node {
    const struct node *node;
    const struct inventory_cluster *entry;
};

static json_t *hx_node_view(const struct api_call *call, const void *record) {
    const struct hx_node *row = record;
    const struct cluster *c = row->entry->record;
    json_t *object = node_view(call, row->node, c);
    json_put(object, "cluster", json_pack("{ss ss}", "id", c->id, "name", c->name));
    return object;
}

/* By cluster, then as the nodes of one are listed. Names of clusters are unique. */
static const char *hx_node_key(const void *record, char *buffer, size_t n) {
    const struct hx_node *row = record;
    (void)snprintf(buffer, n, "%s\x01%d%s", row->entry->record->name, (int)row->node->role, row->node->name);
    return buffer;
}

struct hx_nodes {
    struct hx_node *items;
    size_t count;
    int64_t hidden;
};

static int hx_nodes_collect(const struct api_call *call, const struct inventory_seen_list *seen, struct hx_nodes *out,
                            struct err *err) {
    size_t all = 0;
    for (size_t i = 0; i < seen->count; i++)
        all += seen->items[i].entry->record->nodes_count;
    out->items = calloc(all + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < seen->count; i++) {
        const struct inventory_seen *in = &seen->items[i];
        const struct cluster *c = in->entry->record;
        for (size_t k = 0; k < c->nodes_count; k++)
            if (node_is_visible(call, &c->nodes[k], in))
                out->items[out->count++] = (struct hx_node){&c->nodes[k], in->entry};
            else
                out->hidden++;
    }
    return 0;
}

static json_t *own_node_view(const struct api_call *call, const void *record) {
    const struct hx_node *row = record;
    return node_view(call, row->node, row->entry->record);
}

/* Order of the list: control plane first, then by name. */
static const char *own_node_key(const void *record, char *buffer, size_t n) {
    const struct hx_node *row = record;
    (void)snprintf(buffer, n, "%d%s", (int)row->node->role, row->node->name);
    return buffer;
}

/* What may not be seen is only counted, as parts of the placement are. */
int h_clusters_nodes(struct api_call *call, struct http_response *resp, struct err *err) {
    struct hx_nodes nodes = {0};
    struct inventory_seen seen;
    int rc = inventory_get_visible_cluster(call->snapshot, &call->viewer, http_request_param(call->req, "id"), &seen.entry,
                                           &seen.mask, err);
    if (!rc)
        rc = hx_nodes_collect(call, &(struct inventory_seen_list){&seen, 1}, &nodes, err);
    if (!rc)
        rc = view_list(call, resp,
                       VIEW_LIST(nodes.items, nodes.count, own_node_key, own_node_view,
                                 .extra = json_pack("{sI}", "hidden", (json_int_t)nodes.hidden)),
                       err);
    free(nodes.items);
    return rc;
}

/* They may be many, and are sorted: in a worker. */
int h_hx_nodes(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct hx_cluster *hx = NULL;
    struct inventory_seen_list seen = {0};
    struct hx_nodes nodes = {0};
    int rc = inventory_get_visible_hx(call->snapshot, &call->viewer, http_request_param(call->req, "id"), &hx, err);
    if (!rc)
        rc = inventory_list_on_hx(call->snapshot, &call->viewer, hx, &seen, err);
    if (!rc)
        rc = hx_nodes_collect(call, &seen, &nodes, err);
    if (!rc)
        rc = view_list(call, resp,
                       VIEW_LIST(nodes.items, nodes.count, hx_node_key, hx_node_view,
                                 .extra = json_pack("{sI}", "hidden", (json_int_t)nodes.hidden)),
                       err);
    free(seen.items);
    free(nodes.items);
    return rc;
}

/* A virtual machine or a host of a vCenter; one of the two is NULL. */
struct node_place {
    const char *vcenter_id, *vm, *host;
};

static bool node_is_at(const struct node *node, const struct node_place *place) {
    const struct node_observation *seen = node->seen;
    return seen && str_eq_nocase(seen->vcenter_id, place->vcenter_id) &&
           (place->vm ? str_eq(node_machine(node), place->vm) : str_eq(seen->host_moref, place->host));
}

static int nodes_add_at(const struct api_call *call, const struct inventory_cluster *entry, const struct node_place *place,
                        struct hx_nodes *out, struct err *err) {
    const struct cluster *c = entry->record;
    struct policy_view view;
    for (size_t i = 0; i < c->nodes_count; i++) {
        if (!node_is_at(&c->nodes[i], place) || !inventory_view_cluster(call->snapshot->platform, &call->viewer, c, &view))
            continue;
        if (!node_is_visible(call, &c->nodes[i], &(struct inventory_seen){entry, view.parts})) {
            out->hidden++;
            continue;
        }
        struct hx_node *longer = reallocarray(out->items, out->count + 1, sizeof(*longer));
        if (!longer)
            return err_set(err, ERR_NOMEM, "out of memory");
        out->items = longer;
        out->items[out->count++] = (struct hx_node){&c->nodes[i], entry};
    }
    return 0;
}

/* What runs on a virtual machine or a host: looked for in all clusters, and so in a worker. */
int h_nodes(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct node_place place = {.vcenter_id = http_request_query(call->req, "vcenter"),
                                     .vm = http_request_query(call->req, "vm"),
                                     .host = http_request_query(call->req, "host")};
    struct hx_nodes nodes = {0};
    int rc = 0;
    if (!uuid_is_valid(place.vcenter_id) || !place.vm == !place.host ||
        name_check_moref(place.vm ? place.vm : place.host, "", NULL))
        return err_set(err, ERR_INVALID,
                       "give vcenter, the instance UUID of a vCenter, and either vm or host, a managed object id there");
    for (size_t i = 0; !rc && i < call->snapshot->clusters_count; i++)
        rc = nodes_add_at(call, call->snapshot->clusters[i], &place, &nodes, err);
    if (!rc)
        rc = view_list(call, resp,
                       VIEW_LIST(nodes.items, nodes.count, hx_node_key, hx_node_view,
                                 .extra = json_pack("{sI}", "hidden", (json_int_t)nodes.hidden)),
                       err);
    free(nodes.items);
    return rc;
}

/* -- what becomes of clusters without a host ------------------------------------------------------------------------------- */

static json_t *impact_host_view(const struct api_call *call, const struct inventory_host *host) {
    const struct inventory_platform *platform = call->snapshot->platform;
    const struct vcenter *vc = inventory_find_vcenter(platform, host->ref.vcenter_id);
    struct object_ref place;
    json_t *object = h_clusters_host(host->seen);
    json_put_string(object, "vcenter_id", host->ref.vcenter_id);
    view_put_text(object, "vcenter_name", vc ? vc->name : NULL);
    json_put(object, "vsphere_cluster", node_find_place(host->seen, &place) ? view_placed(platform, &place) : json_null());
    return object;
}

static json_t *impact_row_view(const struct api_call *call, const struct inventory_impact_row *row,
                               const struct object_ref *host) {
    const struct cluster *c = row->seen.entry->record;
    json_t *object = json_object(), *nodes = json_array();
    for (size_t i = 0; i < c->nodes_count; i++)
        if (host_impact_is_on(&c->nodes[i], host) && node_is_visible(call, &c->nodes[i], &row->seen))
            json_add(nodes, node_view(call, &c->nodes[i], c));
    json_put(object, "cluster", json_pack("{ss ss}", "id", c->id, "name", c->name));
    json_put_string(object, "state", cluster_state_name(c->state));
    json_put_string(object, "verdict", host_verdict_name(row->impact.verdict));
    json_put(object, "control_plane",
             json_pack("{sI sI sI sI}", "size", (json_int_t)row->impact.control_planes, "running",
                       (json_int_t)row->impact.running, "left", (json_int_t)row->impact.left, "on_host",
                       (json_int_t)row->impact.control_planes_on));
    json_put_int(object, "workers_on_host", (int64_t)row->impact.workers_on);
    json_put(object, "nodes", nodes);
    return object;
}

static json_t *impact_candidate(const struct api_call *call, const struct inventory_host *host) {
    const struct node_observation *seen = host->seen;
    struct object_ref place;
    const bool is_placed = node_find_place(seen, &place);
    _cleanup_free_ char *path = vsphere_cluster_path(is_placed ? inventory_find_vsphere(call->snapshot->platform, &place) : NULL);
    json_t *object = json_object();
    json_put(object, "id", json_null());
    json_put_string(object, "name", seen->host_name ? seen->host_name : seen->host_moref);
    json_put_string(object, "vcenter_id", host->ref.vcenter_id);
    json_put_string(object, "moref", host->ref.moref);
    json_put_string(object, "path", path);
    return object;
}

static int impact_find_host(struct api_call *call, struct inventory_host_list *out, struct err *err) {
    const char *host = http_request_query(call->req, "host"), *reference = http_request_query(call->req, "vcenter");
    const struct vcenter *vcenter = NULL;
    int rc;
    if (str_empty(host))
        return problem_parameter(call, "host", "is missing: give the name of a host, or its managed object id", err);
    rc = reference ? inventory_resolve_visible_vcenter(call->snapshot->platform, &call->viewer, reference, &vcenter, err) : 0;
    if (!rc)
        rc = inventory_resolve_host(call->snapshot, &call->viewer, vcenter, host, out, err);
    if (rc == ERR_AMBIGUOUS && out->count > 1) {
        json_t *candidates = json_array();
        for (size_t i = 0; i < out->count; i++)
            json_add(candidates, impact_candidate(call, &out->items[i]));
        problem_add(call, "candidates", candidates);
    }
    return rc;
}

int h_impact_hosts(struct api_call *call, struct http_response *resp, struct err *err) {
    struct inventory_host_list hosts = {.count = 0};
    struct inventory_impact impact = {.rows = NULL};
    json_t *object, *rows;
    int rc = impact_find_host(call, &hosts, err);
    if (!rc)
        rc = inventory_judge_host(call->snapshot, &call->viewer, &hosts.items[0].ref, &impact, err);
    if (rc)
        return rc;
    object = json_object();
    rows = json_array();
    for (size_t i = 0; i < impact.count; i++)
        json_add(rows, impact_row_view(call, &impact.rows[i], &hosts.items[0].ref));
    free(impact.rows);
    json_put(object, "host", impact_host_view(call, &hosts.items[0]));
    json_put(object, "clusters", rows);
    json_put_int(object, "hidden", (int64_t)impact.hidden);
    reply_freshness(call, resp);
    return reply_json(resp, 200, object, err);
}

/* -- writing ------------------------------------------------------------------------------------------------------------ */

/* The change is made. It is not in memory: because it took the record out of the caller's view, or because the database went away just
 * after it, and then "no such cluster" would be wrong. */
static int clusters_look_again(struct api_call *call, const char *id, struct strbuf *text, uint64_t *hash, struct err *err) {
    err_clear(err);
    if (inventory_poll(call->api->options.inventory, NULL)) {
        (void)err_set(err, ERR_DATABASE, "the change was made, but the database went away before it could be read back");
        return err_remedy(err, "read it again instead of repeating the change");
    }
    api_renew_snapshot(call);
    return inventory_show_cluster(call->snapshot, &call->viewer, id, text, hash, err);
}

static int answer_with(struct api_call *call, struct http_response *resp, int status, const char *id, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    char etag[REPLY_ETAG_BYTES];
    uint64_t hash = 0;
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    api_renew_snapshot(call);
    rc = inventory_show_cluster(call->snapshot, &call->viewer, id, &text, &hash, err);
    if (rc == ERR_NOT_FOUND)
        rc = clusters_look_again(call, id, &text, &hash, err);
    if (rc)
        return rc;
    reply_format_etag(hash, false, etag);
    http_response_set_status(resp, status);
    http_response_set_header(resp, "ETag", etag);
    http_response_set_text(resp, "application/json", &text);
    return 0;
}

static struct cluster_writer clusters_writer(const struct api_call *call) {
    return (struct cluster_writer){call->who->id, call->who->name, clock_wall_ms()};
}

int h_clusters_create(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_(cluster_free) struct cluster *record = NULL;
    const struct cluster_writer by = clusters_writer(call);
    char id[37];
    int rc = cluster_input_create(call->body, call->snapshot->platform, &by, &record, err);
    if (!rc)
        rc = clusters_create(call->api->options.clusters, API_ACTOR(call), record, id, err);
    if (rc)
        return rc;
    reply_location(resp, "/v2/clusters/", id);
    return answer_with(call, resp, 201, id, err);
}

/* The version that an If-Match speaks of; 0 if there is none. */
static int clusters_read_version(struct api_call *call, const char *id, int64_t *version_no, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    const struct inventory_cluster *entry = NULL;
    char etag[REPLY_ETAG_BYTES];
    uint64_t hash = 0, mask = 0;
    bool is_given = false;
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    *version_no = 0;
    rc = inventory_show_cluster(call->snapshot, &call->viewer, id, &text, &hash, err);
    if (!rc)
        rc = inventory_get_visible_cluster(call->snapshot, &call->viewer, id, &entry, &mask, err);
    if (rc)
        return rc;
    reply_format_etag(hash, false, etag);
    rc = reply_check_if_match(call, etag, &is_given, err);
    if (!rc && is_given)
        *version_no = entry->record->version_no;
    return rc;
}

/* As read_version, in a worker: another replica may have made or changed it a moment ago, so the news are read before "no such cluster" or
 * "changed since" is said. */
static int read_newest_version(struct api_call *call, const char *id, int64_t *version_no, struct err *err) {
    struct err why = {0};
    int rc = clusters_read_version(call, id, version_no, &why);
    if ((rc == ERR_NOT_FOUND || rc == ERR_PRECONDITION) && !inventory_poll(call->api->options.inventory, NULL)) {
        api_renew_snapshot(call);
        return clusters_read_version(call, id, version_no, err);
    }
    return err_move(err, rc, &why);
}

static int clusters_apply_patch(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    const struct api_call *call = arg;
    const struct cluster_writer by = clusters_writer(call);
    return cluster_input_patch(call->body, call->snapshot->platform, &by, record, parts, err);
}

int h_clusters_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    struct clusters_edit edit = {.fn = clusters_apply_patch, .arg = call, .id = id};
    int rc = read_newest_version(call, id, &edit.version_no, err);
    if (!rc)
        rc = clusters_change(call->api->options.clusters, API_ACTOR(call), &edit, err);
    return rc ? rc : answer_with(call, resp, 200, id, err);
}

/* -- the provisioner's report ------------------------------------------------------------------------------------------- */

static int h_clusters_apply_report(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    const struct api_call *call = arg;
    const struct cluster_writer by = clusters_writer(call);
    return cluster_input_status(call->body, &by, record, parts, err);
}

static int report_in_worker(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    struct clusters_edit edit = {.fn = h_clusters_apply_report, .arg = call, .id = id};
    int rc = read_newest_version(call, id, &edit.version_no, err);
    if (!rc)
        rc = clusters_report(call->api->options.clusters, API_ACTOR(call), &edit, err);
    return rc ? rc : answer_with(call, resp, 200, id, err);
}

/* Does the report say what is known already, of a cluster that is not silent? Then its time is all there is to note. */
static int h_clusters_compare_report(struct api_call *call, const struct inventory_cluster *entry, bool *is_known,
                                     struct err *err) {
    _cleanup_(cluster_free) struct cluster *before = NULL;
    _cleanup_(cluster_free) struct cluster *after = NULL;
    unsigned parts = 0;
    int rc = inventory_cluster_stored(entry, &before, err);
    if (!rc)
        rc = inventory_cluster_stored(entry, &after, err);
    if (!rc)
        rc = h_clusters_apply_report(call, after, &parts, err);
    if (!rc)
        rc = cluster_check(after, err);
    *is_known = !rc && entry->is_reported && !entry->is_stale && cluster_same(before, after);
    return rc;
}

/* A provisioner reports every minute on thousands of clusters: with nothing new, a report stays in memory (inventory_note_report). */
int h_clusters_status(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    const struct inventory_cluster *entry = NULL;
    bool is_known = false;
    int64_t version_no = 0;
    uint64_t mask = 0;
    int rc = clusters_read_version(call, id, &version_no, err);
    if (rc == ERR_NOT_FOUND || rc == ERR_PRECONDITION) { /* for another look */
        err_clear(err);
        return api_go_slow(call, call->api->options.database, report_in_worker, err);
    }
    if (!rc)
        rc = inventory_get_visible_cluster(call->snapshot, &call->viewer, id, &entry, &mask, err);
    if (!rc)
        rc = h_clusters_compare_report(call, entry, &is_known, err);
    if (rc)
        return rc;
    if (!is_known || inventory_is_stale(call->api->options.inventory))
        return api_go_slow(call, call->api->options.database, report_in_worker, err);
    inventory_note_report(call->api->options.inventory, id, clock_wall_ms());
    return answer_with(call, resp, 200, id, err);
}

int h_clusters_delete(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *id = http_request_param(call->req, "id");
    int64_t version_no = 0;
    int rc = read_newest_version(call, id, &version_no, err);
    if (!rc)
        rc = clusters_remove(call->api->options.clusters, API_ACTOR(call), id, version_no, err);
    return view_nothing(resp, rc);
}
