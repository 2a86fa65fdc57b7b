/* Providers: where clusters may be built, as a document that an administrator writes. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The document is YAML or JSON; provider.c has the table of its members. It holds no secret. Names of places in it are resolved at the vCenter
 * (src/provision/providers.h): what they are called there is kept beside the document, and shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address_range.h"
#include "cleanup.h"
#include "json.h"
#include "member.h"

#define PROVIDER_BYTES_MAX (64U * 1024U) /* of the document as text */
#define PROVIDER_NAME_CHARS_MAX 63       /* a DNS label, RFC 1123 */
#define PROVIDER_RANGES_MAX 32U          /* of each list of ranges */
#define PROVIDER_ADDRESSES_MAX 65536U    /* in all ranges of a list */

/* A thing at the vCenter. All texts are malloc'ed. */
struct provider_place {
    char *given; /* as the document says it: a name, a path ("/DC/vm/folder"), or a managed object id; NULL: not given */
    char *type;  /* of vim25, as "ClusterComputeResource"; this and all below are NULL while not resolved */
    char *name;  /* its own name at the vCenter, without escapes */
    char *path;  /* from the root folder, as govc writes it: "/DC/host/East" */
    char *moref; /* managed object id, as "domain-c7" */
};
/* The places of a provider, in the order in which they are shown. */
enum provider_place_kind {
    PROVIDER_VSPHERE_CLUSTER, /* always there once resolved: that of the pool, where only a pool was given */
    PROVIDER_RESOURCE_POOL,   /* always there once resolved: the root pool of the cluster, where none was given */
    PROVIDER_FOLDER,
    PROVIDER_DATASTORE,
    PROVIDER_NETWORK, /* a Network or a DistributedVirtualPortgroup */
    PROVIDER_TEMPLATE,
    PROVIDER_PLACES_COUNT
};
/* The member's name in the document, "vsphere_cluster"; static. */
extern const char *const provider_place_words[PROVIDER_PLACES_COUNT + 1];

/* A list of texts, all malloc'ed; none is all-zero. */
struct provider_texts {
    char **items;
    size_t count;
};

/* Texts malloc'ed; NULL where nothing was given. */
struct provider {
    char *id; /* UUID; NULL in a document alone, as are the next and the times */
    char *name;
    char *vcenter;    /* as given: name, address or id */
    char *vcenter_id; /* its instance UUID */
    struct provider_place places[PROVIDER_PLACES_COUNT];
    struct address_ranges node_addresses; /* all in one subnet with the gateway, which is in none of the three lists */
    int64_t node_prefix;                  /* bits of that subnet */
    uint32_t node_gateway;
    struct provider_texts node_dns;          /* IP addresses */
    struct provider_texts node_search;       /* domains */
    struct address_ranges api_addresses;     /* in the nodes' subnet */
    struct address_ranges service_addresses; /* for Services of type LoadBalancer */
    struct provider_texts ssh_keys;          /* lines of authorized_keys without options */
    struct provider_texts ntp;               /* hosts */
    char *http_proxy, *https_proxy;          /* "http://HOST:PORT" */
    struct provider_texts no_proxy;          /* hosts, domains, CIDR blocks */
    int64_t created_at_ms, updated_at_ms, version_no;
};
void provider_done(struct provider *provider); /* NULL and a zeroed struct are allowed */
void provider_free(struct provider *provider); /* NULL is allowed */
CLEANUP_DEFINE(struct provider, provider_free);
#define _cleanup_provider_ _cleanup_done_(provider_done)

/* Frees the texts of a place and zeroes it. */
void provider_place_done(struct provider_place *place);
/* The way people see a place: "/DC/vm/kaas (group-v12)"; only what was given while it is not resolved. `out` has PROVIDER_PLACE_SHOWN_BYTES. */
#define PROVIDER_PLACE_SHOWN_BYTES 400
void provider_place_show(const struct provider_place *place, char *out);

/* The mask of the nodes' subnet: 0xffffff00 for a prefix of 24. */
uint32_t provider_netmask(const struct provider *provider);

/* Reads the JSON form of a document, judges all of it, and sets all members of *out that stand in one; the caller provider_done's it. ERR_UNPROCESSABLE
 * naming the member, as is its way in where[] ("nodes.dns[1]", "" for the whole) for yaml_find; ERR_NOMEM. where may be NULL. */
#define PROVIDER_WHERE_BYTES 160
int provider_read(json_t *document, struct provider *out, char where[PROVIDER_WHERE_BYTES], struct err *err);

/* Reads a document as text, YAML or JSON. As provider_read, with "FILE:LINE:COLUMN: " before the message; `file` is what to call the text.
 * ERR_TOO_LARGE above PROVIDER_BYTES_MAX. */
int provider_parse(const char *file, const char *text, size_t n, struct provider *out, struct err *err);

/* The document in its one form: members in the order of the table, what is not given left out, ranges as "FIRST-LAST". The caller json_decref's it;
 * NULL without memory. provider_read of it gives the same provider. */
json_t *provider_document(const struct provider *provider);

/* What the places were resolved to, {"folder": {"type", "name", "path", "moref"}, ...}, as it is stored and shown; NULL without memory. */
json_t *provider_places(const struct provider *provider);
/* Takes that over into a provider whose document was read. ERR_JSON if it is something else, ERR_NOMEM. */
int provider_take_places(const json_t *places, struct provider *provider, struct err *err);

/* -- templates ----------------------------------------------------------------------------------------------------------------- */

#define PROVIDER_VERSION_BYTES 65 /* of a Kubernetes version, with its NUL */
#define PROVIDER_HARDWARE_MIN 15  /* virtual hardware of a template: volumes want it (CSI driver of vSphere) */

/* Reads what a template says of itself in guestinfo.kaas.node, {"contract": 1, "kubernetes": "v1.36.3"} (docs/admin/node-image.md). NULL is allowed. ERR_UNPROCESSABLE with a
 * remedy; other members are left alone. */
int provider_contract_read(const char *text, char kubernetes[PROVIDER_VERSION_BYTES], struct err *err);
