/* What lies under the Kubernetes clusters: vSphere clusters, HyperFlex clusters and their controllers. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "member.h"
#include "object_ref.h"
#include "strbuf.h"

/* A ClusterComputeResource. Name and datacenter are attributes and may repeat. */
struct vsphere_cluster {
    struct object_ref ref;
    char *datacenter;       /* name; NULL: unknown */
    char *datacenter_moref; /* its managed object; NULL: unknown */
    char *name;
    bool is_gone; /* not seen at the last full read */
};
static const struct member vsphere_cluster_members[] = {
    MEMBER_AS(vsphere_cluster, ref.vcenter_id, "vcenter_id", "vcenter_id"),
    MEMBER_AS(vsphere_cluster, ref.moref, "moref", "moref"),
    MEMBER(vsphere_cluster, datacenter),
    MEMBER_AS(vsphere_cluster, datacenter_moref, "datacenter_moref", NULL),
    MEMBER(vsphere_cluster, name),
    MEMBER_AS(vsphere_cluster, is_gone, "is_gone", NULL),
    MEMBERS_END,
};
void vsphere_cluster_done(struct vsphere_cluster *c); /* NULL is allowed */
/* True if `path` names this cluster: "DC0/HX-East", or as govc and our status print it, "/DC0/host/HX-East", with the folders in between or without them;
 * names plain, or with vCenter's %2f, %5c and %25. Folders are not compared. */
bool vsphere_cluster_has_path(const struct vsphere_cluster *c, const char *path);
/* True if `typed` is this name, plain or with vCenter's escapes. A NULL `name` is no name. */
bool vsphere_name_is(const char *name, const char *typed);
/* True if the text is the cluster's path or name when case does not count; for "did you mean". */
bool vsphere_cluster_is_nearly(const struct vsphere_cluster *c, const char *path_or_name);
/* Appends the path by which it can be given, "DC0/HX-East", as vCenter writes names: a slash in one is %2f. The moref while its names are not known. */
void vsphere_cluster_add_path(const struct vsphere_cluster *c, struct strbuf *out);
/* "DC0/HX-East" as people read it, names plain; malloc'ed. NULL for NULL, while its names are not known, or without memory. */
char *vsphere_cluster_path(const struct vsphere_cluster *c);
/* The name of the first member in which they differ; NULL: none. Static. */
const char *vsphere_cluster_difference(const struct vsphere_cluster *a, const struct vsphere_cluster *b);

/* A HyperFlex cluster, known by an extension key. */
struct hx_cluster {
    char *id; /* our uuid */
    struct object_ref vsphere_cluster;
    char *name;               /* HX's own if it was read, else what an admin typed, else the vSphere cluster's name */
    bool is_name_set;         /* the name was given by an admin or HX, not taken from vSphere */
    bool is_name_read;        /* the name is the one that HX told */
    char *hx_uuid;            /* two decimal numbers joined by a colon, as HX told; NULL: unknown */
    char *address;            /* management address given by an admin; NULL: none was */
    char *connection_address; /* address of its connection (hx_connection.h), not stored with it; NULL: it is not connected */
    unsigned connection_port; /* port of its connection */
    char *extension_key;      /* key it was found by */
    bool is_gone;             /* its key or its vSphere cluster is gone */
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
    MEMBER_AS(hx_cluster, is_name_read, "is_name_read", NULL),
    MEMBER_AS(hx_cluster, connection_address, NULL, NULL),
    MEMBER_AS(hx_cluster, connection_port, NULL, NULL),
    MEMBER_AS(hx_cluster, extension_key, "extension_key", NULL, .flags = MEMBER_FIXED),
    MEMBER_AS(hx_cluster, is_gone, "is_gone", NULL, .flags = MEMBER_FIXED),
    MEMBER_AS(hx_cluster, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void hx_cluster_done(struct hx_cluster *c);
void hx_cluster_free(struct hx_cluster *c); /* done + free; NULL is allowed */
CLEANUP_DEFINE(struct hx_cluster, hx_cluster_free);
/* Where its name comes from: "hx", "typed" or "vcenter"; static. */
const char *hx_cluster_name_source(const struct hx_cluster *hx);
/* The address of its management: that of its connection, else the one that an admin gave. Borrowed; NULL: not known. */
const char *hx_cluster_address(const struct hx_cluster *hx);
/* The name of the first member in which they differ; seen_at_ms does not count. NULL: none. Static. */
const char *hx_cluster_difference(const struct hx_cluster *a, const struct hx_cluster *b);

/* A former id of an HX cluster: its record was found to be that of an HX cluster already known (hx_claim_check). */
struct hx_alias {
    char *id;
    char *hx_id; /* id of that HX cluster */
};
static const struct member hx_alias_members[] = {
    MEMBER(hx_alias, id, .flags = MEMBER_KEY),
    MEMBER_AS(hx_alias, hx_id, "hx_cluster_id", NULL),
    MEMBERS_END,
};
struct hx_alias_list {
    struct hx_alias *items; /* by id */
    size_t count;
};
void hx_alias_list_done(struct hx_alias_list *list); /* NULL is allowed */

#define HX_KEY_PREFIX "com.springpath.sysmgmt."
/* Reads the managed object id out of an HX extension key: "com.springpath.sysmgmt.<moref>" or "...sysmgmt.uuid.<moref>" (HyperFlex
 * admin guide 5.5; "uuid" may be the word or a UUID). The last dot-separated part is compared whole, never by prefix. True and the moref (MOREF_BYTES) when the key
 * names a cluster; false for the base key and every other key. */
bool hx_extension_key_parse(const char *key, char *moref_out);

/* -- the controller of an HX cluster as a service that kaasd signs in to by Kerberos, and the result --------------- */

#define HX_PEER_CA_BYTES_MAX (64U * 1024U)
#define HX_PEER_NAME_BYTES_MAX 400U /* SPN and principal */
#define HX_PEER_SHA256_BYTES 65     /* lower-case hex, and NUL */

enum hx_peer_state { HX_PEER_UNKNOWN, HX_PEER_OK, HX_PEER_FAILING };
extern const char *const hx_peer_state_words[];
const char *hx_peer_state_name(enum hx_peer_state state); /* "unknown", "ok", "failing"; static, never NULL */

/* The result of one sign-in. */
struct hx_peer_result {
    enum hx_peer_state state;
    char reason[31];                                       /* stable word; "" if it went well */
    char detail[ERR_TEXT_BYTES], remedy[ERR_REMEDY_BYTES]; /* "" likewise */
    char signed_in_as[HX_PEER_NAME_BYTES_MAX + 1];         /* principal that was used; "": the sign-in ended before */
    int64_t checked_at_ms;                                 /* wall clock; 0: never */
    int64_t duration_ms;
};

/* Texts malloc'ed; NULL where there is none. */
struct hx_peer {
    char *hx_id;                          /* of the HX cluster: its identity */
    char *url;                            /* https; a page of the controller that requires sign-in */
    char *spn;                            /* "HTTP/host" or "HTTP/host@REALM"; NULL: HTTP/ and the host of the URL */
    char *principal;                      /* "svc-kaas@REALM"; NULL: the account of the keytab */
    char *ca_pem;                         /* trust by this CA, */
    char *sha256;                         /* or in the certificate with this SHA-256, lower-case hex */
    int64_t created_at_ms, updated_at_ms; /* wall clock */
    int64_t version_no;
    struct hx_peer_result result; /* of the last sign-in */
    int64_t since_ms;             /* wall clock: since when it is in this state */
};
static const struct member hx_peer_members[] = {
    MEMBER_AS(hx_peer, hx_id, "hx_cluster_id", NULL, .flags = MEMBER_KEY),
    MEMBER_PART_OF("hx_cluster"),
    MEMBER(hx_peer, url, .writers = BY_ADMIN),
    MEMBER(hx_peer, spn, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(hx_peer, principal, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(hx_peer, ca_pem, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(hx_peer, sha256, "sha256", "thumbprint_sha256", .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(hx_peer, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(hx_peer, updated_at_ms, "updated_at_ms", "updated_at"),
    MEMBER_AS(hx_peer, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    /* the result: an update of the configuration resets it */
    MEMBER_AS(hx_peer, result.state, "state", NULL, .words = hx_peer_state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(hx_peer, since_ms, "since_ms", NULL),
    MEMBER_AS(hx_peer, result.reason, "reason", NULL),
    MEMBER_AS(hx_peer, result.detail, "detail", NULL),
    MEMBER_AS(hx_peer, result.remedy, "remedy", NULL),
    MEMBER_AS(hx_peer, result.signed_in_as, "signed_in_as", NULL),
    MEMBER_AS(hx_peer, result.checked_at_ms, "checked_at_ms", NULL),
    MEMBER_AS(hx_peer, result.duration_ms, "duration_ms", NULL),
    MEMBERS_END,
};
void hx_peer_done(struct hx_peer *peer); /* NULL is allowed */
void hx_peer_free(struct hx_peer *peer); /* NULL is allowed */
CLEANUP_DEFINE(struct hx_peer, hx_peer_free);

struct hx_peer_list {
    struct hx_peer *items; /* by id of the HX cluster */
    size_t count;
};
void hx_peer_list_done(struct hx_peer_list *list); /* NULL is allowed */

/* Checks address and names, and that exactly one of ca_pem and sha256 is given; brings sha256 into its one spelling. ERR_UNPROCESSABLE naming the member,
 * with a remedy. */
int hx_peer_check(struct hx_peer *peer, struct err *err);

/* The SPN for which kaasd asks a ticket. Caller frees; NULL without memory. */
char *hx_peer_spn(const struct hx_peer *peer);
