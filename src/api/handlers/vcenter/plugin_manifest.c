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

#include "digest.h"
#include "json.h"
#include "str.h"

#define SCHEMA "1.0.0" /* nothing of later ones is used, so that 7.0 reads it as well */
#define PAGE_NAME "vsphere.html"
#define NUMBER_END 100000U

/* With ' for " and the name of the file with the icons for %s: one tile of 32 x 32 pixels, the same on light and
 * dark ground. */
static const char manifest_text[] =
    "{'manifestVersion': '" SCHEMA "',"
    " 'requirements': {'plugin.api.version': '" SCHEMA "', 'plugin.dynamic.extensions': '" SCHEMA
    "', 'vcenter.server': {'version': '[7.0,)', 'environments': ['onprem']}},"
    " 'configuration': {'nameKey': 'plugin.name', 'icon': {'name': 'kaas'}},"
    " 'global': {'view': {'navigationId': 'kaas.all', 'uri': '" PAGE_NAME "', 'navigationVisible': true}},"
    " 'objects': {"
    "   'ClusterComputeResource': {'monitor': {'dynamicUri': 'items', 'views': ["
    "     {'navigationId': 'kaas.cluster', 'labelKey': 'view.clusters', 'uri': '" PAGE_NAME "', 'dynamic': true}]}},"
    "   'VirtualMachine': {'summary': {'dynamicUri': 'items', 'view': {"
    "     'id': 'kaas.vm', 'uri': '" PAGE_NAME
    "', 'icon': {'name': 'kaas'}, 'size': {'widthSpan': 1, 'heightSpan': 1}, 'dynamic': true}}},"
    "   'HostSystem': {'summary': {'dynamicUri': 'items', 'view': {"
    "     'id': 'kaas.host', 'uri': '" PAGE_NAME
    "', 'icon': {'name': 'kaas'}, 'size': {'widthSpan': 1, 'heightSpan': 1}, 'dynamic': true}}},"
    "   'Datacenter': {'summary': {'dynamicUri': 'items', 'view': {"
    "     'id': 'kaas.datacenter', 'uri': '" PAGE_NAME
    "', 'icon': {'name': 'kaas'}, 'size': {'widthSpan': 1, 'heightSpan': 1}, 'dynamic': true}}}},"
    " 'definitions': {"
    "   'iconSpriteSheet': {'uri': '%s', 'definitions': {'kaas': {'x': 0, 'y': 0}}},"
    "   'i18n': {'locales': ['en-US', 'de-DE'], 'definitions': {"
    "     'plugin.name': {'en-US': 'Harmony KaaS', 'de-DE': 'Harmony KaaS'},"
    "     'view.clusters': {'en-US': 'Kubernetes clusters', 'de-DE': 'Kubernetes-Cluster'}}}}}";

void plugin_manifest_free(struct plugin_manifest *manifest) {
    if (manifest)
        http_shared_unref(manifest->text);
    free(manifest);
}

/* vCenter looks again only if the version differs, so every change of manifest or page must change it. */
static int plugin_manifest_make_text(struct plugin_manifest *m, const char *product_version, const struct pages *pages,
                                     struct err *err) {
    const struct page *icons = pages_find_hashed(pages, "plugin-icons", ".png");
    uint8_t digests[2][DIGEST_SHA256_BYTES];
    _cleanup_json_ json_t *json = NULL;
    _cleanup_free_ char *plain = NULL;
    _cleanup_strbuf_ struct strbuf text;
    int rc;

    strbuf_init(&text, 65536);
    if (!pages_find(pages, PAGE_NAME) || !icons)
        return 0;
    plain = str_format(manifest_text, icons->name);
    if (!plain)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (char *p = plain; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    rc = json_parse(plain, strlen(plain), &json, err);
    if (!rc)
        rc = json_write(json, &text, err);
    if (rc)
        return rc;
    digest_sha256(text.data, text.len, digests[0]);
    pages_digest(pages, digests[1]);
    (void)snprintf(m->version, sizeof(m->version), "%s.%u", product_version,
                   (unsigned)((uint32_t)digest_u64(digests, sizeof(digests)) % NUMBER_END));
    (void)snprintf(m->etag, sizeof(m->etag), "\"%016" PRIx64 "\"", digest_u64(text.data, text.len));
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
