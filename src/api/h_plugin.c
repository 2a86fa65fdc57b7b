/* Handlers of /plugin: what the vSphere Client loads. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * vCenter itself fetches the manifest and the icons, with no session; the browser fetches the page, through vCenter's reverse proxy, so
 * that it comes from vCenter's origin. The page is the one of /ui; what differs are the headers (api.c). */
#include "api_call.h"
#include "manifest_log.h"
#include "reply.h"
#include "str.h"

static int no_page(const char *name, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND, "the plug-in has no file \"%.100s\"", name);
    return err_remedy(err, "if the whole page is missing, install it and set server.page_dir");
}

int h_plugin_manifest(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct plugin_manifest *manifest = &call->api->manifest;
    int rc = api_check_no_query(call, err);
    if (rc)
        return rc;
    if (!manifest->text)
        return no_page("plugin.json", err);
    if (call->api->options.manifest_log)
        manifest_log_note(call->api->options.manifest_log, http_request_client(call->req), manifest->version);
    http_response_set_header(resp, "Cache-Control", "public, no-cache");
    return reply_shared(call, resp, &(struct reply_file){"application/json", manifest->etag, manifest->text});
}

int h_plugin_file(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *name = http_request_param(call->req, "file");
    const struct page *page = pages_find(call->api->pages, name);
    bool is_index = str_eq(name, "index.html"); /* the one name without a hash */
    if (!page)
        return no_page(name, err);
    http_response_set_header(resp, "Cache-Control", is_index ? "no-cache" : "public, max-age=31536000, immutable");
    return reply_shared(call, resp, &(struct reply_file){page->type, page->etag, page->body});
}
