/* Handlers of health, versions, probes, metrics, keys, contract, page and plug-in. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "hx_query.h"
#include "inventory.h"
#include "manifest_log.h"
#include "limits.h"
#include "log.h"
#include "login_call.h"
#include "metric.h"
#include "names.h"
#include "pages.h"
#include "platform_links.h"
#include "plugin_manifest.h"
#include "reply.h"
#include "str.h"
#include "updates.h"
#include "uuid.h"
#include "views.h"

#define METRICS_FAST_COUNT 500U /* clusters, below a millisecond */

/* -- health ------------------------------------------------------------------------------------------------------------- */

/* A verdict that is bad says what is wrong, and names what withholds something from us with its path. */
static void tell_verdict(struct link *link, struct finding *f) {
    _cleanup_done_(verdicts_done) struct verdicts v = {0};
    enum verdict_kind kind;
    const struct verdict *bad = link_get_verdicts(link, &v, NULL) ? NULL : verdicts_find_bad(&v, &kind);
    if (!bad)
        return;
    f->since_ms = bad->since_ms;
    finding_say(f, f->status == FINDING_OK ? FINDING_WARNING : f->status, "not %s (%s): %s", verdict_kind_name(kind),
                vc_fault_name(bad->fault), bad->text);
    finding_advise(f, "%s", bad->remedy);
}

static void check_link(struct link *link, struct findings *out) {
    struct finding f = {.step = "vcenter", .is_elsewhere = true};
    struct link_report report;
    link_get_report(link, &report);
    link_get_name(link, f.subject);
    f.since_ms = report.status.since_ms;
    if (report.status.state == REMOTE_FAILING || report.status.state == REMOTE_REFUSED)
        f.status = FINDING_FAILED;
    else if (report.status.state != REMOTE_OK)
        f.status = FINDING_WARNING;
    finding_say(&f, f.status, "%s", report.status.detail[0] ? report.status.detail : link_state_name(report.status.state));
    if (report.status.state == REMOTE_IDLE) {
        finding_advise(&f, "run: kaasctl vcenter register %.100s --user administrator@vsphere.local",
                       name_word(f.subject, link_id(link)));
    } else {
        finding_advise(&f, "%s", report.status.remedy);
        tell_verdict(link, &f);
    }
    findings_add(out, &f);
}

static void check_links(const struct api_call *call, struct findings *out) {
    size_t count = 0;
    struct link **links = platform_list(call->api->options.platform, &count);
    for (size_t i = 0; i < count; i++) {
        check_link(links[i], out);
        link_unref(links[i]);
    }
    free(links);
}

static void check_all(const struct api_call *call, struct findings *out) {
    const struct api_options *options = &call->api->options;
    options->check_health(options->arg, out);
    check_links(call, out);
    panel_check_health(call, out);
}

/* Details are for administrators, and names of vCenters. */
static json_t *check_json(const struct finding *f, bool has_details) {
    json_t *object = json_object();
    const bool has_subject = has_details && f->subject[0];
    _cleanup_free_ char *name = str_format("%s%s%s", f->step, has_subject ? ":" : "", has_subject ? f->subject : "");
    json_put_string(object, "name", name);
    json_put_string(object, "status", finding_status_name(f->status));
    json_put_time(object, "since", f->since_ms);
    view_put_text(object, "detail", has_details && f->text[0] ? f->text : NULL);
    view_put_text(object, "remedy", has_details && f->remedy[0] ? f->remedy : NULL);
    return object;
}

int h_health(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    const bool has_details = policy_may(call->who->role, PERMISSION_HEALTH_DETAILS_READ);
    enum finding_status worst = FINDING_OK;
    struct findings checks = {0};
    json_t *object, *list;
    check_all(call, &checks);
    if (findings_check(&checks, err)) {
        findings_done(&checks);
        return ERR_NOMEM;
    }
    object = json_object();
    list = json_array();
    for (size_t i = 0; i < checks.count; i++) {
        const struct finding *f = &checks.items[i];
        const enum finding_status status = f->is_elsewhere && f->status ? FINDING_WARNING : f->status;
        worst = status > worst ? status : worst;
        json_add(list, check_json(f, has_details));
    }
    findings_done(&checks);
    json_put_string(object, "status", finding_status_name(worst));
    json_put_string(object, "version", options->version);
    json_put_time(object, "started_at", options->started_at_ms);
    json_put(object, "checks", list);
    return reply_json(resp, 200, object, err);
}

/* -- version and probes --------------------------------------------------------------------------------------------------- */

int h_version(struct api_call *call, struct http_response *resp, struct err *err) {
    json_t *object = json_object();
    json_put_string(object, "name", "Harmony KaaS");
    json_put_string(object, "version", call->api->options.version);
    json_put_string(object, "api", "v2");
    return reply_json(resp, 200, object, err);
}

/* `value` or null; takes it over. */
static void put_or_null(json_t *object, const char *name, json_t *value) {
    json_put(object, name, value ? value : json_null());
}

int h_updates(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    json_t *object = json_object();
    json_put_string(object, "version", options->version);
    put_or_null(object, "available", updates_available(options->updates));
    put_or_null(object, "replicas", updates_replicas(options->updates));
    return reply_json(resp, 200, object, err);
}

static int answer_ok(struct http_response *resp) {
    static const char body[] = "{\"status\":\"ok\"}";
    http_response_set_static(resp, "application/json", body, sizeof(body) - 1);
    return 0;
}

int h_healthz(struct api_call *call, struct http_response *resp, struct err *err) {
    (void)call;
    (void)err;
    return answer_ok(resp);
}

int h_readyz(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    int rc = options->check_ready(options->arg, err);
    if (!rc && options->is_leaving(options->arg))
        rc = err_set(err, ERR_UNAVAILABLE, "this replica is about to stop; requests are still served");
    return rc ? rc : answer_ok(resp);
}

/* Each check tells of a subject once. */
static void write_health(const struct api_call *call, struct metric_page *page) {
    struct findings checks = {0};
    check_all(call, &checks);
    for (size_t i = 0; i < checks.count; i++) {
        const struct finding *f = &checks.items[i];
        metric_sample(page, METRIC_HEALTH, 1, f->step, f->subject[0] ? f->subject : NULL, finding_status_name(f->status));
    }
    findings_done(&checks);
}

static int metrics_answer(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_free_ struct metric_page *page = malloc(sizeof(*page)); /* some kilobytes: not on the stack of a server thread */
    if (!page)
        return err_set(err, ERR_NOMEM, "out of memory");
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    metric_page_init(page, KAAS_METRICS_BYTES_MAX);
    strbuf_init(&text, KAAS_METRICS_BYTES_MAX);
    write_health(call, page);
    call->api->options.write_metrics(call->api->options.arg, page);
    metric_write(page, &text);
    metric_page_done(page);
    rc = strbuf_check(&text, "metrics", err);
    if (!rc)
        http_response_set_text(resp, "text/plain; version=0.0.4; charset=utf-8", &text);
    return rc;
}

/* A series for each of 50,000 clusters takes some 35 ms, which a server thread has not: the pool that computes has. */
int h_metrics(struct api_call *call, struct http_response *resp, struct err *err) {
    if (call->snapshot && call->snapshot->clusters_count > METRICS_FAST_COUNT)
        return api_go_slow(call, call->api->options.hashing, metrics_answer, err);
    return metrics_answer(call, resp, err);
}

int h_jwks(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, 65536);
    rc = signon_write_jwks(call->api->options.signon, &text, err);
    if (rc)
        return rc;
    _cleanup_free_ char *caching =
        str_format("public, max-age=%lld", (long long)signon_jwks_max_age_s(call->api->options.signon));
    http_response_set_header(resp, "Cache-Control", caching ? caching : "no-store");
    http_response_set_text(resp, "application/json", &text);
    return 0;
}

/* -- contract and page ---------------------------------------------------------------------------------------------------- */

int h_openapi(struct api_call *call, struct http_response *resp, struct err *err) {
    (void)err;
    http_response_set_header(resp, "Cache-Control", "public, no-cache");
    return reply_shared(call, resp, &(struct reply_file){"application/yaml", call->api->openapi_etag, call->api->openapi});
}

/* `whole`: what it would be a part of. */
static int no_file(const char *whole, const char *name, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND, "the %s has no file \"%.100s\"", whole, name);
    return err_remedy(err, "if the whole page is missing, install it and set server.page_dir");
}

int h_ui_redirect(struct api_call *call, struct http_response *resp, struct err *err) {
    (void)call;
    (void)err;
    http_response_set_status(resp, 308);
    http_response_set_header(resp, "Location", "/ui/");
    return 0;
}

/* For who types the bare address. Not for good, as from /ui: a later release may have something of its own there. */
int h_root(struct api_call *call, struct http_response *resp, struct err *err) {
    if (!pages_find(call->api->pages, "index.html"))
        return no_file("web page", "index.html", err);
    http_response_set_status(resp, 302);
    http_response_set_header(resp, "Location", "/ui/");
    return 0;
}

static int answer_page(struct api_call *call, struct http_response *resp, const char *whole, const char *name, struct err *err) {
    const struct page *page = pages_find(call->api->pages, name);
    const bool is_named = str_ends(name, ".html"); /* the names without a hash */
    if (!page)
        return no_file(whole, name, err);
    http_response_set_header(resp, "Cache-Control", is_named ? "no-cache" : "public, max-age=31536000, immutable");
    return reply_shared(call, resp, &(struct reply_file){page->type, page->etag, page->body});
}

int h_ui_index(struct api_call *call, struct http_response *resp, struct err *err) {
    return answer_page(call, resp, "web page", "index.html", err);
}

int h_ui_file(struct api_call *call, struct http_response *resp, struct err *err) {
    return answer_page(call, resp, "web page", http_request_param(call->req, "file"), err);
}

/* -- the plug-in of the vSphere Client ------------------------------------------------------------------------------------ */

/* vCenter itself fetches the manifest and the icons, with no session; the browser fetches the page, through vCenter's reverse proxy, so
 * that it comes from vCenter's origin. The page is the one of /ui; what differs are the headers (api.c). */
int h_plugin_manifest(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct plugin_manifest *manifest = call->api->manifest;
    if (!manifest->text)
        return no_file("plug-in", "plugin.json", err);
    if (call->api->options.manifest_log)
        manifest_log_note(call->api->options.manifest_log, http_request_client(call->req), manifest->version);
    http_response_set_header(resp, "Cache-Control", "public, no-cache");
    return reply_shared(call, resp, &(struct reply_file){"application/json", manifest->etag, manifest->text});
}

int h_plugin_file(struct api_call *call, struct http_response *resp, struct err *err) {
    return answer_page(call, resp, "plug-in", http_request_param(call->req, "file"), err);
}

/* -- what of the plug-in is shown where ------------------------------------------------------------------------------------ */

/* An object as the vSphere Client names it: urn:vmomi:TYPE:MOREF:VCENTER, with the instance UUID of the vCenter. */
struct client_object {
    char type[40], moref[MOREF_BYTES], vcenter_id[UUID_TEXT_BYTES];
};

static bool client_object_read(const char *urn, struct client_object *out) {
    char *const parts[] = {out->type, out->moref, out->vcenter_id};
    const size_t sizes[] = {sizeof(out->type), sizeof(out->moref), sizeof(out->vcenter_id)};
    if (!str_starts(urn, "urn:vmomi:"))
        return false;
    urn += strlen("urn:vmomi:");
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        const size_t n = strcspn(urn, ":");
        if (!n || n >= sizes[i] || !urn[n] != (i + 1 == ARRAY_COUNT(parts)))
            return false;
        memcpy(parts[i], urn, n);
        parts[i][n] = '\0';
        urn += n + 1;
    }
    return true;
}

/* Views and cards by the type of the object that they are about (plugin_manifest.c). */
static const struct {
    const char *type, *id;
} items[] = {{"ClusterComputeResource", "kaas.cluster"},
             {"VirtualMachine", "kaas.vm"},
             {"HostSystem", "kaas.host"},
             {"Datacenter", "kaas.datacenter"}};

/* Without a viewer: what the answer is to everybody, and so tells nothing. */
static bool item_is_shown(const struct api_call *call, const struct viewer_key *viewer, const struct client_object *object) {
    const bool is_cluster = str_eq(object->type, "ClusterComputeResource");
    struct object_ref ref;
    if (!viewer)
        return is_cluster;
    if (!call->snapshot || object_ref_make(object->vcenter_id, object->moref, &ref, NULL))
        return false;
    if (is_cluster)
        return inventory_finds_clusters(call->snapshot, viewer, &ref);
    if (str_eq(object->type, "Datacenter"))
        return inventory_finds_datacenter(call->snapshot, viewer, &ref);
    return inventory_finds_node(call->snapshot, viewer, &ref);
}

static int items_answer(const struct api_call *call, const struct viewer_key *viewer, struct http_response *resp,
                        struct err *err) {
    json_t *answer = json_object(), *list = json_array();
    struct client_object object;
    const bool is_read =
        client_object_read(json_string_value(json_array_get(json_object_get(call->body, "objectIds"), 0)), &object);
    for (size_t i = 0; is_read && i < ARRAY_COUNT(items); i++) {
        if (!str_eq(items[i].type, object.type))
            continue;
        json_t *item = json_object();
        json_put_string(item, "id", items[i].id);
        json_put_bool(item, "visible", item_is_shown(call, viewer, &object));
        json_add(list, item);
    }
    json_put_string(answer, "apiVersion", "1.0.0");
    json_put(answer, "dynamicItems", list);
    return reply_json(resp, 200, answer, err);
}

/* Takes the person over. */
static int items_answer_person(const struct api_call *call, struct signon_plugin_person *person, struct http_response *resp,
                               struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    const struct principal who = {.id = person->principal_id,
                                  .role = ROLE_USER, /* who is known by vCenter alone has no other */
                                  .source = SOURCE_VC_TICKET,
                                  .vcenter_id = (char *)(uintptr_t)link_id(call->link)};
    struct viewer_key viewer;
    int rc;
    policy_viewer_init(&viewer, &who);
    viewer.vsphere_clusters = shared_objects_get(person->objects);
    viewer.grants = policy_grants_of(platform->grants, platform->grants_count, who.id, &viewer.grants_count);
    rc = items_answer(call, &viewer, resp, err);
    signon_plugin_person_done(person);
    return rc;
}

/* Who cannot be made out is told what everybody is. */
static int items_answer_checked(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_plugin_person person;
    struct err why = {0};
    api_renew_snapshot(call);
    if (signon_take_plugin_person(call->api->options.signon, login_of(call)->check, &person, &why)) {
        log_error(LOG_LEVEL_INFO, "plugin_session_refused", &why, NULL);
        return items_answer(call, NULL, resp, err);
    }
    return items_answer_person(call, &person, resp, err);
}

static int items_check_body(const json_t *ids, struct err *err) {
    bool is_wrong = json_array_size(ids) == 0;
    for (size_t i = 0; i < json_array_size(ids); i++)
        is_wrong |= !json_is_string(json_array_get(ids, i));
    return is_wrong ? err_set(err, ERR_UNPROCESSABLE, "the member \"objectIds\" must be an array of texts, one at least") : 0;
}

/* The vCenter of the object that is asked about, if the session can be shown there. */
static bool items_use_vcenter(struct api_call *call, const json_t *ids) {
    struct client_object object;
    return call->snapshot && login_plugin_session(call) &&
           client_object_read(json_string_value(json_array_get(ids, 0)), &object) && uuid_is_valid(object.vcenter_id) &&
           !login_use_vcenter(call, object.vcenter_id, NULL);
}

/* The vSphere Client asks when somebody opens an object, and shows a spinner meanwhile: answered from memory, but for the first time in a while that this person asks. The session that
 * it sends along tells what that person may see; nothing is told to those without one. */
int h_plugin_items(struct api_call *call, struct http_response *resp, struct err *err) {
    const json_t *ids = json_object_get(call->body, "objectIds");
    struct signon_credential credential;
    struct signon_plugin_person person;
    int rc = items_check_body(ids, err);
    if (rc)
        return rc;
    if (!items_use_vcenter(call, ids))
        return items_answer(call, NULL, resp, err);
    rc = login_begin(call, err);
    if (rc)
        return rc;
    credential = login_credential(call, link_id(call->link));
    if (signon_find_plugin_person(call->api->options.signon, &credential, &person))
        return items_answer_person(call, &person, resp, err);
    rc = api_admit(call, BOUND_PLUGIN, err);
    return rc ? rc : login_check_briefly(call, items_answer_checked);
}
