/* What lies under the Kubernetes clusters: vSphere clusters and HyperFlex clusters. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform.h"

#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "str.h"
#include "texts.h"
#include "uuid.h"

#define HX_KEY_PREFIX "com.springpath.sysmgmt."

static const size_t vsphere_texts[] = {
    offsetof(struct vsphere_cluster, datacenter),
    offsetof(struct vsphere_cluster, name),
};

static const size_t hx_texts[] = {
    offsetof(struct hx_cluster, id),      offsetof(struct hx_cluster, name),          offsetof(struct hx_cluster, hx_uuid),
    offsetof(struct hx_cluster, address), offsetof(struct hx_cluster, extension_key),
};

void vsphere_cluster_done(struct vsphere_cluster *c) {
    if (!c)
        return;
    texts_free(c, vsphere_texts, ARRAY_COUNT(vsphere_texts));
    *c = (struct vsphere_cluster){0};
}

void hx_cluster_done(struct hx_cluster *c) {
    if (!c)
        return;
    texts_free(c, hx_texts, ARRAY_COUNT(hx_texts));
    *c = (struct hx_cluster){0};
}

void hx_cluster_free(struct hx_cluster *c) {
    hx_cluster_done(c);
    free(c);
}

/* The guide's "uuid" may be the word itself or stand for one. */
static bool is_uuid_part(const char *part, size_t len) {
    char text[UUID_TEXT_BYTES];
    if (len == strlen("uuid"))
        return memcmp(part, "uuid", len) == 0;
    if (len != sizeof(text) - 1)
        return false;
    memcpy(text, part, len);
    text[len] = '\0';
    return uuid_is_valid(text);
}

bool hx_extension_key_parse(const char *key, char *moref_out) {
    const char *rest, *dot;
    size_t len;
    if (!str_starts(key, HX_KEY_PREFIX))
        return false;
    rest = key + strlen(HX_KEY_PREFIX);
    dot = strchr(rest, '.');
    if (dot && is_uuid_part(rest, (size_t)(dot - rest)))
        rest = dot + 1;
    len = strlen(rest);
    if (strchr(rest, '.') || is_uuid_part(rest, len) || name_check_moref(rest, "key", NULL))
        return false;
    memcpy(moref_out, rest, len + 1);
    return true;
}
