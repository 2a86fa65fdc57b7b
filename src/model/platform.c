/* What lies under the Kubernetes clusters: vSphere clusters and HyperFlex clusters. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform.h"

#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "str.h"
#include "uuid.h"

#define HX_KEY_PREFIX "com.springpath.sysmgmt."

void vsphere_cluster_done(struct vsphere_cluster *c) {
    members_done(vsphere_cluster_members, c, sizeof(*c));
}

const char *vsphere_cluster_difference(const struct vsphere_cluster *a, const struct vsphere_cluster *b) {
    return object_ref_eq(&a->ref, &b->ref) ? members_difference(vsphere_cluster_members, a, b) : "ref";
}

void hx_cluster_done(struct hx_cluster *c) {
    members_done(hx_cluster_members, c, sizeof(*c));
}

void hx_cluster_free(struct hx_cluster *c) {
    hx_cluster_done(c);
    free(c);
}

const char *hx_cluster_difference(const struct hx_cluster *a, const struct hx_cluster *b) {
    if (!object_ref_eq(&a->vsphere_cluster, &b->vsphere_cluster))
        return "vsphere_cluster";
    return members_difference(hx_cluster_members, a, b);
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
