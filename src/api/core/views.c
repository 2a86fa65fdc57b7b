/* Model to JSON, one function per type of docs/openapi.yaml. Layer 6 (api). Clusters are rendered by the inventory.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "views.h"

#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "member_json.h"
#include "problem.h"
#include "reply.h"
#include "str.h"
#include "x509.h"

#define HTTPS_PORT 443U

void view_put_text(json_t *object, const char *name, const char *value) {
    if (value)
        json_put_string(object, name, value);
    else
        json_put(object, name, json_null());
}

void view_put_time(json_t *object, const char *name, int64_t wall_ms) {
    if (wall_ms)
        json_put_time(object, name, wall_ms);
    else
        json_put(object, name, json_null());
}

void view_put_sha256(json_t *object, const char *hex) {
    uint8_t bytes[X509_SHA256_BYTES];
    char text[X509_THUMBPRINT_TEXT_BYTES];
    const bool is_there = hex && str_unhex(hex, bytes, sizeof(bytes));
    if (is_there)
        x509_thumbprint_text(bytes, text);
    view_put_text(object, "thumbprint_sha256", is_there ? text : NULL);
}

json_t *view_placed(const struct inventory_platform *platform, const struct object_ref *ref) {
    const struct vsphere_cluster *found = inventory_find_vsphere(platform, ref);
    json_t *object = json_object();
    json_put_string(object, "vcenter_id", ref->vcenter_id);
    view_put_text(object, "datacenter", found ? found->datacenter : NULL);
    json_put_string(object, "moref", ref->moref);
    view_put_text(object, "name", found ? found->name : NULL);
    return object;
}

json_t *view_hx_cluster(const struct inventory_platform *platform, const struct hx_cluster *hx) {
    json_t *object = member_json_show(hx_cluster_members, hx);
    json_put_string(object, "name_source", hx_cluster_name_source(hx));
    json_put(object, "vsphere_cluster", view_placed(platform, &hx->vsphere_cluster));
    view_put_text(object, "management_address", hx_cluster_address(hx));
    view_put_text(object, "address_source", hx->connection_address ? "connection" : hx->address ? "admin" : NULL);
    json_put_bool(object, "present", !hx->is_gone);
    return object;
}

size_t view_hx_origins(const struct hx_cluster *hx, char out[VIEW_HX_ORIGINS_MAX][NET_ORIGIN_BYTES]) {
    const char *const addresses[VIEW_HX_ORIGINS_MAX] = {hx->connection_address, hx->address};
    size_t count = 0;
    for (size_t i = 0; hx->connection_address && i < VIEW_HX_ORIGINS_MAX; i++)
        if (addresses[i] && net_https_origin(addresses[i], hx->connection_port, out[count]) &&
            (!count || !str_eq(out[0], out[count])))
            count++;
    return count;
}

static void view_put_number(json_t *object, const char *name, int64_t number) {
    json_put(object, name, number < 0 ? json_null() : json_integer(number));
}

json_t *view_hx_facts(const struct hx_status *status) {
    const struct hx_facts *f = &status->facts;
    if (!status->read_at_ms)
        return json_null();
    json_t *object = json_object();
    view_put_time(object, "read_at", status->read_at_ms);
    view_put_text(object, "version", f->version);
    view_put_text(object, "state", f->state);
    view_put_text(object, "resiliency", f->resiliency);
    view_put_text(object, "space", f->space);
    view_put_number(object, "capacity_bytes", f->capacity_bytes);
    view_put_number(object, "used_bytes", f->used_bytes);
    view_put_number(object, "nodes_configured", f->nodes_configured);
    view_put_number(object, "nodes_online", f->nodes_online);
    view_put_number(object, "alarms", f->alarms);
    return object;
}

static void put_path(json_t *object, const struct vsphere_cluster *c) {
    _cleanup_free_ char *path = str_format("%s/%s", c->datacenter ? c->datacenter : "?", c->name ? c->name : c->ref.moref);
    json_put_string(object, "path", path);
}

json_t *view_hx_candidate(const struct inventory_platform *platform, const struct hx_cluster *hx) {
    const struct vsphere_cluster *on = inventory_find_vsphere(platform, &hx->vsphere_cluster);
    json_t *object = json_object();
    json_put_string(object, "id", hx->id);
    json_put_string(object, "name", hx->name);
    json_put_string(object, "name_source", hx_cluster_name_source(hx));
    view_put_text(object, "hx_uuid", hx->hx_uuid);
    json_put_string(object, "vcenter_id", hx->vsphere_cluster.vcenter_id);
    if (on)
        put_path(object, on);
    json_put_string(object, "moref", hx->vsphere_cluster.moref);
    return object;
}

json_t *view_counts(const struct inventory_counts *counts) {
    json_t *object = json_object(), *states = json_object();
    for (unsigned state = 0; state < CLUSTER_STATE_COUNT; state++)
        json_put_int(states, cluster_state_name(state), (int64_t)counts->by_state[state]);
    json_put_int(object, "total", (int64_t)counts->total);
    json_put(object, "states", states);
    json_put_int(object, "ready_declared", (int64_t)counts->ready_declared);
    return object;
}

json_t *view_vsphere_cluster(const struct api_call *call, const void *vsphere_cluster) {
    const struct vsphere_cluster *c = vsphere_cluster;
    const struct hx_cluster *hx = inventory_find_hx_on(call->snapshot->platform, &c->ref);
    json_t *object = json_object();
    json_put_string(object, "vcenter_id", c->ref.vcenter_id);
    json_put_string(object, "moref", c->ref.moref);
    json_put_string(object, "name", c->name ? c->name : c->ref.moref);
    json_put_string(object, "datacenter", c->datacenter ? c->datacenter : "");
    put_path(object, c);
    view_put_text(object, "hx_cluster_id", hx && !hx->is_gone ? hx->id : NULL);
    return object;
}

void view_put_reason(json_t *object, const char *name, const char *text, const char *remedy) {
    _cleanup_free_ char *both = remedy[0] ? str_format("%s; %s", text, remedy) : NULL;
    view_put_text(object, name, both ? both : text[0] ? text : NULL);
}

void view_put_strategy(json_t *object, const char *name, const struct link_report *report) {
    bool is_used = report->has_strategy && report->status.state != REMOTE_IDLE;
    view_put_text(object, name, is_used ? vim_strategy_name(report->strategy) : NULL);
}

void view_put_state(json_t *object, const struct link_report *report) {
    json_put_string(object, "state", link_state_name(report->status.state));
    view_put_reason(object, "state_reason", report->status.detail, report->status.remedy);
}

json_t *view_findings(const struct findings *findings) {
    json_t *array = json_array();
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *f = &findings->items[i];
        json_t *object = json_object();
        json_put_string(object, "step", f->step);
        json_put_string(object, "title", f->title);
        if (f->subject[0])
            json_put_string(object, "server", f->subject);
        json_put_string(object, "status", finding_status_name(f->status));
        json_put_string(object, "finding", f->text);
        view_put_text(object, "remedy", f->remedy[0] ? f->remedy : NULL);
        json_put_int(object, "duration_ms", f->duration_ms);
        json_add(array, object);
    }
    return array;
}

void view_put_name(const struct api_call *call, json_t *object, const char *member, const char *id) {
    const struct api_options *options = &call->api->options;
    char name[API_NAME_BYTES];
    const struct service_account *account =
        str_starts(id, "svc:") && call->snapshot ? inventory_find_service(call->snapshot->platform, id + strlen("svc:")) : NULL;
    bool is_known = !account && options->get_name && options->get_name(options->arg, id, name);
    view_put_text(object, member, account ? account->name : is_known ? name : NULL);
}

char *view_grant_object_name(const struct inventory_snapshot *snapshot, const struct grant *g) {
    const struct inventory_cluster *cluster;
    const struct vsphere_cluster *vsphere;
    const struct hx_cluster *hx;
    struct object_ref ref;
    switch (g->object) {
    case GRANT_CLUSTER:
        cluster = inventory_find_cluster(snapshot, g->object_id);
        return cluster ? str_dup(cluster->record->name) : NULL;
    case GRANT_HX_CLUSTER: hx = inventory_find_hx(snapshot->platform, g->object_id); return hx ? str_dup(hx->name) : NULL;
    case GRANT_VSPHERE_CLUSTER:
    default: break;
    }
    if (grant_vsphere_ref(g->object_id, &ref, NULL))
        return NULL;
    vsphere = inventory_find_vsphere(snapshot->platform, &ref);
    if (!vsphere || !vsphere->name)
        return NULL;
    return vsphere->datacenter ? str_format("%s/%s", vsphere->datacenter, vsphere->name) : str_dup(vsphere->name);
}

/* So that it stands for itself in an address: RFC 3986, unreserved characters; `keep` names others that stay as they are. */
static void view_add_escaped(struct strbuf *out, const char *text, const char *keep) {
    static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (const char *c = text; *c; c++)
        if (strchr(unreserved, *c) || strchr(keep, *c))
            strbuf_addc(out, *c);
        else
            strbuf_addf(out, "%%%02X", (unsigned)(unsigned char)*c);
}

/* The form that the client itself shows in the browser's address line; "v" is its tree of virtual machines. */
char *view_vm_client_url(const struct vcenter *vc, const char *vm_moref) {
    _cleanup_strbuf_ struct strbuf url;
    strbuf_init(&url, KAAS_URL_BYTES_MAX);
    if (!vc || str_empty(vc->id) || str_empty(vc->address) || str_empty(vm_moref))
        return NULL;
    const bool is_ip6 = strchr(vc->address, ':') != NULL;
    strbuf_adds(&url, is_ip6 ? "https://[" : "https://");
    view_add_escaped(&url, vc->address, is_ip6 ? ":" : "");
    strbuf_adds(&url, is_ip6 ? "]" : "");
    if (vc->port && vc->port != HTTPS_PORT)
        strbuf_addf(&url, ":%u", vc->port);
    strbuf_adds(&url, "/ui/app/vm;nav=v/urn:vmomi:VirtualMachine:");
    view_add_escaped(&url, vm_moref, "");
    strbuf_addc(&url, ':');
    view_add_escaped(&url, vc->id, "");
    strbuf_adds(&url, "/summary");
    return strbuf_steal(&url);
}

json_t *view_texts(const char *const *items, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_add(list, json_string(items[i]));
    return list;
}

json_t *view_words(const char *words) {
    json_t *list = json_array();
    const char *at = words ? words : "";
    for (size_t n; at += strspn(at, " "), (n = strcspn(at, " ")) != 0; at += n)
        json_add(list, json_stringn(at, n));
    return list;
}

const char *view_hx_id(const struct api_call *call) {
    return inventory_get_hx_id(call->snapshot->platform, http_request_param(call->req, "id"));
}

/* -- lists --------------------------------------------------------------------------------------------------------- */

struct view_row {
    char *key;
    const void *record;
};

struct view_rows {
    const struct api_call *call;
    const struct view_list *list;
    struct view_row *items;
    size_t count;
};

static const char *view_row_key(const void *arg, size_t i, char *buffer, size_t n) {
    (void)buffer;
    (void)n;
    return ((const struct view_rows *)arg)->items[i].key;
}

static json_t *view_row_item(const void *arg, size_t i) {
    const struct view_rows *rows = arg;
    return rows->list->show(rows->call, rows->items[i].record);
}

static int view_compare_rows(const void *a, const void *b) {
    return strcmp(((const struct view_row *)a)->key, ((const struct view_row *)b)->key);
}

static int view_collect(struct view_rows *rows, struct err *err) {
    const struct view_list *list = rows->list;
    char key[REPLY_KEY_BYTES];
    rows->items = calloc(list->count + 1, sizeof(*rows->items));
    if (!rows->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < list->count; i++) {
        const void *record = (const char *)list->records + i * list->bytes;
        if (list->is_wanted && !list->is_wanted(rows->call, record, list->filter))
            continue;
        rows->items[rows->count] = (struct view_row){str_dup(list->key(record, key, sizeof(key))), record};
        if (!rows->items[rows->count++].key)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    qsort(rows->items, rows->count, sizeof(*rows->items), view_compare_rows);
    return 0;
}

int view_list(struct api_call *call, struct http_response *resp, const struct view_list *list, struct err *err) {
    struct view_rows rows = {.call = call, .list = list};
    int rc = view_collect(&rows, err);
    if (!rc)
        rc = reply_list(call, resp, &(struct reply_list){rows.count, view_row_key, view_row_item, &rows, list->extra}, err);
    else
        json_decref(list->extra);
    for (size_t i = 0; rows.items && i < rows.count; i++)
        free(rows.items[i].key);
    free(rows.items);
    return rc;
}

int view_nothing(struct http_response *resp, int rc) {
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}

int view_read_role(struct api_call *call, enum role *out, struct err *err) {
    const char *text = http_request_query(call->req, "role");
    *out = ROLE_NONE;
    if (!text || (role_parse(text, out) && *out != ROLE_NONE))
        return 0;
    return problem_parameter(call, "role", "must be user, service, provisioner or admin", err);
}
