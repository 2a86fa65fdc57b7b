/* What lies under the Kubernetes clusters: vSphere clusters and HyperFlex clusters. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "member.h"
#include "object_ref.h"

/* A ClusterComputeResource. Name and datacenter are attributes and may repeat. */
struct vsphere_cluster {
    struct object_ref ref;
    char *datacenter; /* name; NULL: unknown */
    char *name;
    bool is_gone; /* not seen at the last full read */
};
static const struct member vsphere_cluster_members[] = {
    MEMBER_AS(vsphere_cluster, ref.vcenter_id, "vcenter_id", "vcenter_id"),
    MEMBER_AS(vsphere_cluster, ref.moref, "moref", "moref"),
    MEMBER(vsphere_cluster, datacenter),
    MEMBER(vsphere_cluster, name),
    MEMBER_AS(vsphere_cluster, is_gone, "is_gone", NULL),
    MEMBERS_END,
};
void vsphere_cluster_done(struct vsphere_cluster *c); /* NULL is allowed */
/* The name of the first member in which they differ; NULL: none. Static. */
const char *vsphere_cluster_difference(const struct vsphere_cluster *a, const struct vsphere_cluster *b);

/* A HyperFlex cluster, known by an extension key. */
struct hx_cluster {
    char *id; /* our uuid */
    struct object_ref vsphere_cluster;
    char *name;          /* HX name if known, else the vSphere cluster's name */
    bool is_name_set;    /* the name was given by an admin or HX, not taken from vSphere */
    char *hx_uuid;       /* two decimal numbers joined by a colon; NULL: unknown */
    char *address;       /* management address given by an admin; NULL: unknown */
    char *extension_key; /* key it was found by */
    bool is_gone;        /* its key or its vSphere cluster is gone */
    int64_t version_no;
    int64_t seen_at_ms;
};
static const struct member hx_cluster_members[] = {
    MEMBER(hx_cluster, id, .flags = MEMBER_KEY),
    MEMBER(hx_cluster, name),
    MEMBER_PART_OF("name_source"),
    MEMBER(hx_cluster, hx_uuid),
    MEMBER_AS(hx_cluster, vsphere_cluster.vcenter_id, "vcenter_id", "vcenter_id", .flags = MEMBER_FIXED),
    MEMBER_PART_OF("vsphere_cluster"),
    MEMBER_AS(hx_cluster, address, "address", "management_address"),
    MEMBER_PART_OF("address_source"),
    MEMBER_PART_OF("present"),
    MEMBER_AS(hx_cluster, seen_at_ms, "seen_at_ms", "last_seen_at", .flags = MEMBER_FIXED | MEMBER_MOVING),
    MEMBER_AS(hx_cluster, vsphere_cluster.moref, "moref", NULL, .flags = MEMBER_FIXED),
    MEMBER_AS(hx_cluster, is_name_set, "is_name_set", NULL),
    MEMBER_AS(hx_cluster, extension_key, "extension_key", NULL, .flags = MEMBER_FIXED),
    MEMBER_AS(hx_cluster, is_gone, "is_gone", NULL, .flags = MEMBER_FIXED),
    MEMBER_AS(hx_cluster, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void hx_cluster_done(struct hx_cluster *c);
void hx_cluster_free(struct hx_cluster *c); /* done + free; NULL is allowed */
CLEANUP_DEFINE(struct hx_cluster, hx_cluster_free);
/* The name of the first member in which they differ, but for seen_at_ms, which is no news; NULL: none. Static. */
const char *hx_cluster_difference(const struct hx_cluster *a, const struct hx_cluster *b);

/* Reads the managed object id out of an HX extension key: "com.springpath.sysmgmt.<moref>" or "...sysmgmt.uuid.<moref>" (HyperFlex
 * admin guide 5.5; "uuid" may be the word or a UUID). The last dot-separated part is compared whole, never by prefix. True and the moref (MOREF_BYTES) when the key
 * names a cluster; false for the base key and every other key. */
bool hx_extension_key_parse(const char *key, char *moref_out);
