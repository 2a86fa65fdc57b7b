/* Handlers of health, version, probes, metrics, keys, contract, page and plug-in. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include "inventory.h"
#include "api_call.h"
#include "manifest_log.h"
#include "metric.h"
#include "pages.h"
#include "platform_links.h"
#include "plugin_manifest.h"
#include "reply.h"
#include "str.h"
#include "views.h"

/* -- health ------------------------------------------------------------------------------------------------------------- */

static void check_link(struct link *link, struct findings *out) {
    struct finding f = {.step = "vcenter", .is_elsewhere = true};
    struct link_report report;
    link_get_report(link, &report);
    link_get_name(link, f.subject);
    f.since_ms = report.state_since_ms;
    if (report.state == LINK_UNREACHABLE || report.state == LINK_REFUSED)
        f.status = FINDING_FAILED;
    else if (report.state != LINK_CONNECTED)
        f.status = FINDING_WARNING;
    finding_say(&f, f.status, "%s", report.reason[0] ? report.reason : link_state_name(report.state));
    finding_advise(&f, "%s", report.state == LINK_NOT_REGISTERED ? "run: kaasctl vcenter register" : report.remedy);
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
    options->check_health(options->arg, &checks);
    check_links(call, &checks);
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

int h_metrics(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, 1U << 20);
    metric_write(&text);
    call->api->options.write_metrics(call->api->options.arg, &text);
    rc = strbuf_check(&text, "metrics", err);
    if (!rc)
        http_response_set_text(resp, "text/plain; version=0.0.4; charset=utf-8", &text);
    return rc;
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
