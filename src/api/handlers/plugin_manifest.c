/* The manifest of our plug-in for the vSphere Client. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The schema is VMware's (remote plug-in manifest, 7.0 and later): it refuses members that it does not know, and a name must have a text for
 * every locale of the list. Addresses are relative to the folder of the manifest, since the browser comes through vCenter's
 * reverse proxy. There is no member for rights: what a viewer sees is decided by the list itself. */
#include "plugin_manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "digest.h"
#include "json.h"
#include "manifest_log.h"
#include "reply.h"
#include "str.h"

#define SCHEMA "1.0.0" /* nothing of later ones is used, so that 7.0 reads it as well */
#define PAGE "index.html"
#define NUMBER_END 100000U

static json_t *plugin_manifest_one(const char *name, json_t *value) {
    json_t *object = json_object();
    (void)json_object_set_new(object, name, value);
    return object;
}

static json_t *plugin_manifest_requirements(void) {
    json_t *object = json_object(), *vcenter = json_object(), *environments = json_array();
    (void)json_array_append_new(environments, json_string("onprem"));
    json_put_string(vcenter, "version", "[7.0,)");
    (void)json_object_set_new(vcenter, "environments", environments);
    json_put_string(object, "plugin.api.version", SCHEMA);
    (void)json_object_set_new(object, "vcenter.server", vcenter);
    return object;
}

static json_t *plugin_manifest_configuration(void) {
    json_t *object = json_object();
    json_put_string(object, "nameKey", "plugin.name");
    (void)json_object_set_new(object, "icon", plugin_manifest_one("name", json_string("kaas")));
    return object;
}

static json_t *global_view(void) {
    json_t *view = json_object();
    json_put_string(view, "navigationId", "kaas.all");
    json_put_string(view, "uri", PAGE);
    json_put_bool(view, "navigationVisible", false);
    return plugin_manifest_one("view", view);
}

static json_t *cluster_views(void) {
    json_t *view = json_object(), *views = json_array();
    json_put_string(view, "navigationId", "kaas.cluster");
    json_put_string(view, "labelKey", "view.clusters");
    json_put_string(view, "uri", PAGE);
    (void)json_array_append_new(views, view);
    return plugin_manifest_one("ClusterComputeResource", plugin_manifest_one("monitor", plugin_manifest_one("views", views)));
}

/* One tile of 32 x 32 pixels, the same on light and dark ground. */
static json_t *icon_sheet(const char *file) {
    json_t *sheet = json_object(), *tile = json_object();
    json_put_int(tile, "x", 0);
    json_put_int(tile, "y", 0);
    json_put_string(sheet, "uri", file);
    (void)json_object_set_new(sheet, "definitions", plugin_manifest_one("kaas", tile));
    return sheet;
}

static json_t *plugin_texts(void) {
    json_t *object = json_object(), *locales = json_array(), *definitions = json_object();
    (void)json_array_append_new(locales, json_string("en-US"));
    (void)json_object_set_new(definitions, "plugin.name", plugin_manifest_one("en-US", json_string("Harmony KaaS")));
    (void)json_object_set_new(definitions, "view.clusters", plugin_manifest_one("en-US", json_string("Kubernetes clusters")));
    (void)json_object_set_new(object, "locales", locales);
    (void)json_object_set_new(object, "definitions", definitions);
    return object;
}

static json_t *plugin_manifest_make(const struct page *icons) {
    json_t *object = json_object(), *definitions = json_object();
    json_put_string(object, "manifestVersion", SCHEMA);
    (void)json_object_set_new(object, "requirements", plugin_manifest_requirements());
    (void)json_object_set_new(object, "configuration", plugin_manifest_configuration());
    (void)json_object_set_new(object, "global", global_view());
    (void)json_object_set_new(object, "objects", cluster_views());
    (void)json_object_set_new(definitions, "iconSpriteSheet", icon_sheet(icons->name));
    (void)json_object_set_new(definitions, "i18n", plugin_texts());
    (void)json_object_set_new(object, "definitions", definitions);
    return object;
}

/* vCenter looks again only if the version differs, so every change of manifest or page must change it. */
static void plugin_manifest_number(const struct strbuf *text, const struct pages *pages, uint64_t *tag, unsigned *number) {
    uint8_t digests[2][DIGEST_SHA256_BYTES], all[DIGEST_SHA256_BYTES];
    uint32_t first;
    digest_sha256(text->data, text->len, digests[0]);
    memcpy(tag, digests[0], sizeof(*tag));
    pages_digest(pages, digests[1]);
    digest_sha256(digests, sizeof(digests), all);
    memcpy(&first, all, sizeof(first));
    *number = first % NUMBER_END;
}

void plugin_manifest_free(struct plugin_manifest *manifest) {
    if (manifest)
        http_shared_unref(manifest->text);
    free(manifest);
}

static int plugin_manifest_make_text(struct plugin_manifest *m, const char *product_version, const struct pages *pages,
                                     struct err *err) {
    const struct page *icons = pages_find_hashed(pages, "plugin-icons", ".png");
    _cleanup_json_ json_t *json = NULL;
    _cleanup_strbuf_ struct strbuf text;
    uint64_t tag = 0;
    unsigned n = 0;
    int rc;

    strbuf_init(&text, 65536);
    if (!pages_find(pages, PAGE) || !icons)
        return 0;
    json = plugin_manifest_make(icons);
    rc = json_write(json, &text, err);
    if (rc)
        return rc;
    plugin_manifest_number(&text, pages, &tag, &n);
    (void)snprintf(m->version, sizeof(m->version), "%s.%u", product_version, n);
    (void)snprintf(m->etag, sizeof(m->etag), "\"%016" PRIx64 "\"", tag);
    m->text = http_shared_new(&text);
    return m->text ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int plugin_manifest_new(const char *product_version, const struct pages *pages, struct plugin_manifest **out, struct err *err) {
    struct plugin_manifest *made = calloc(1, sizeof(*made));
    int rc = made ? plugin_manifest_make_text(made, product_version, pages, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc) {
        plugin_manifest_free(made);
        return rc;
    }
    *out = made;
    return 0;
}

/* -- handlers of /plugin: what the vSphere Client loads ------------------------------------------------------------ */

/* vCenter itself fetches the manifest and the icons, with no session; the browser fetches the page, through vCenter's reverse proxy, so
 * that it comes from vCenter's origin. The page is the one of /ui; what differs are the headers (api.c). */

static int no_page(const char *name, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND, "the plug-in has no file \"%.100s\"", name);
    return err_remedy(err, "if the whole page is missing, install it and set server.page_dir");
}

int h_plugin_manifest(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct plugin_manifest *manifest = call->api->manifest;
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
