/* A cluster that somebody wants made. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_spec.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "net_addr.h"
#include "provider.h"
#include "str.h"

#define DEFAULT_CPUS 2U
#define DEFAULT_MEMORY_MIB 4096U
#define CPUS_MAX 128U
#define MEMORY_MIB_MIN 1024U
#define CONTROL_PLANE_CPUS_MIN 2U /* kubeadm's preflight refuses fewer (kubernetes.io, "Creating a cluster with kubeadm") */
#define CONTROL_PLANE_MEMORY_MIB_MIN 2048U /* kubeadm wants 1,700 MB */
#define MEMORY_MIB_MAX (4096U * 1024U)
#define PODS_DEFAULT "10.244.0.0/16"
#define SERVICES_DEFAULT "10.96.0.0/12"
#define PODS_PREFIX_MAX 22U
#define SERVICES_PREFIX_MIN 12U
#define SERVICES_PREFIX_MAX 24U
#define HOST_PORT_BYTES 260U

void cluster_spec_done(struct cluster_spec *spec) {
    if (!spec)
        return;
    free(STEAL(spec->name));
    free(STEAL(spec->provider));
    free(STEAL(spec->kubernetes_version));
    free(STEAL(spec->network));
    free(STEAL(spec->api_address));
    free(STEAL(spec->api_external));
    free(STEAL(spec->service_addresses.items));
    spec->service_addresses.count = 0;
}

static uint32_t spec_network_mask(unsigned prefix) {
    return prefix ? UINT32_MAX << (32 - prefix) : 0;
}

bool spec_network_meets(const struct spec_network *a, const struct spec_network *b) {
    const uint32_t mask = spec_network_mask(a->prefix < b->prefix ? a->prefix : b->prefix);
    return (a->address & mask) == (b->address & mask);
}

void spec_network_format(const struct spec_network *network, char out[SPEC_NETWORK_BYTES]) {
    const uint32_t a = network->address;
    (void)snprintf(out, SPEC_NETWORK_BYTES, "%u.%u.%u.%u/%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255, network->prefix);
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

/* A name that is a part of host names. */
static bool spec_is_label(const char *name, size_t chars_max) {
    const size_t n = strlen(name);
    bool is = n > 0 && n <= chars_max && name[0] != '-' && name[n - 1] != '-';
    for (size_t i = 0; i < n; i++)
        is = is && ((name[i] >= 'a' && name[i] <= 'z') || isdigit((unsigned char)name[i]) || name[i] == '-');
    return is;
}

static int spec_read_name(const char *name, struct err *err) {
    if (spec_is_label(name, SPEC_NAME_CHARS_MAX))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "the name \"%.63s\" cannot be that of machines", name);
    return err_remedy(err, "use up to %u of a-z, 0-9 and -, not - at either end: it becomes part of host names",
                      SPEC_NAME_CHARS_MAX);
}

static int spec_read_number(const json_t *object, const char *where, const char *name, unsigned range[2], unsigned *out,
                            struct err *err) {
    const int64_t value = json_get_int(object, name, *out);
    if (value >= range[0] && value <= range[1]) {
        *out = (unsigned)value;
        return 0;
    }
    return err_set(err, ERR_UNPROCESSABLE, "%s.%s must be %u to %u, not %lld", where, name, range[0], range[1], (long long)value);
}

/* ASKS_: JSON_NEEDS; or JSON_TAKES of a document, which may leave them to options. */
#define SPEC_MEMBERS(ASKS_)                                                                                                    \
    JSON_MEMBERS(ASKS_(STRING, "name"), ASKS_(STRING, "provider"), JSON_TAKES_NULL(STRING, "kubernetes_version"),              \
                 JSON_TAKES(OBJECT, "control_planes"), JSON_TAKES(OBJECT, "workers"), JSON_TAKES(STRING, "pod_network"),       \
                 JSON_TAKES(STRING, "service_network"), JSON_TAKES(STRING, "network"), JSON_TAKES_NULL(STRING, "api_address"), \
                 JSON_TAKES_NULL(STRING, "api_external"), JSON_TAKES(ARRAY, "service_addresses"))
#define SPEC_MACHINES_MEMBERS \
    JSON_MEMBERS(JSON_TAKES(INTEGER, "count"), JSON_TAKES(INTEGER, "cpus"), JSON_TAKES(INTEGER, "memory_mib"))

static int spec_read_machines(json_t *object, const char *where, const struct spec_machines *most, struct spec_machines *out,
                              struct err *err) {
    unsigned counts[] = {out->count ? 1 : 0, most->count}, cpus[] = {1, most->cpus},
             memory[] = {MEMORY_MIB_MIN, most->memory_mib};
    if (!object)
        return 0;
    int rc = json_check(object, SPEC_MACHINES_MEMBERS, where, err);
    rc = rc ? rc : spec_read_number(object, where, "count", counts, &out->count, err);
    rc = rc ? rc : spec_read_number(object, where, "cpus", cpus, &out->cpus, err);
    return rc ? rc : spec_read_number(object, where, "memory_mib", memory, &out->memory_mib, err);
}

/* etcd decides by majority, and its members are the control planes. */
static int spec_check_control_planes(const struct spec_machines *m, struct err *err) {
    if (m->count % 2 == 0) {
        (void)err_set(err, ERR_UNPROCESSABLE, "%u control planes bear no more failures than %u", m->count, m->count - 1);
        return err_remedy(err, "ask for an odd number: 1, 3 or 5 (3 bear the loss of one)");
    }
    if (m->cpus < CONTROL_PLANE_CPUS_MIN)
        return err_set(err, ERR_UNPROCESSABLE, "a control plane needs at least %u CPUs: kubeadm refuses a machine with fewer",
                       CONTROL_PLANE_CPUS_MIN);
    if (m->memory_mib < CONTROL_PLANE_MEMORY_MIB_MIN)
        return err_set(err, ERR_UNPROCESSABLE, "a control plane needs at least %u MiB of memory", CONTROL_PLANE_MEMORY_MIB_MIN);
    return 0;
}

static int spec_read_network(const json_t *object, const char *name, const char *fallback, unsigned prefix_range[2],
                             struct spec_network *out, struct err *err) {
    const char *text = json_get_string(object, name);
    struct net_block block;
    text = text ? text : fallback;
    const bool is_block = strchr(text, '/') && !strchr(text, ':') && net_block_parse(text, &block);
    if (!is_block)
        return err_set(err, ERR_UNPROCESSABLE, "%s must be an IPv4 network such as %s", name, fallback);
    memcpy(&out->address, block.addr + 12, sizeof(out->address));
    out->address = ntohl(out->address);
    out->prefix = block.bits - 96;
    if (out->prefix < prefix_range[0] || out->prefix > prefix_range[1])
        return err_set(err, ERR_UNPROCESSABLE, "%s must be a network of /%u to /%u, not /%u", name, prefix_range[0],
                       prefix_range[1], out->prefix);
    if (out->address & ~spec_network_mask(out->prefix)) {
        out->address &= spec_network_mask(out->prefix);
        char right[SPEC_NETWORK_BYTES];
        spec_network_format(out, right);
        (void)err_set(err, ERR_UNPROCESSABLE, "%s: %.40s is an address in a network, not the network", name, text);
        return err_remedy(err, "write %s", right);
    }
    return 0;
}

static int spec_read_networks(const json_t *object, struct cluster_spec *out, struct err *err) {
    unsigned pods[] = {8, PODS_PREFIX_MAX}, services[] = {SERVICES_PREFIX_MIN, SERVICES_PREFIX_MAX};
    const char *network = json_get_string(object, "network");
    int rc = str_replace(&out->network, network ? network : SPEC_NETWORK_DEFAULT, err);
    if (!rc && !spec_is_label(out->network, SPEC_NAME_CHARS_MAX))
        rc = err_set(err, ERR_UNPROCESSABLE, "network must be " SPEC_NETWORK_BRIDGE " or the name of a bundle");
    rc = rc ? rc : spec_read_network(object, "pod_network", PODS_DEFAULT, pods, &out->pods, err);
    rc = rc ? rc : spec_read_network(object, "service_network", SERVICES_DEFAULT, services, &out->services, err);
    if (rc || !spec_network_meets(&out->pods, &out->services))
        return rc;
    char a[SPEC_NETWORK_BYTES], b[SPEC_NETWORK_BYTES];
    spec_network_format(&out->pods, a);
    spec_network_format(&out->services, b);
    return err_set(err, ERR_UNPROCESSABLE, "pod_network %s and service_network %s share addresses", a, b);
}

/* "api.example.com:6443" */
static int spec_check_host_port(const char *text, struct err *err) {
    char host[HOST_PORT_BYTES];
    const char *colon = strrchr(text, ':');
    int64_t port = 0;
    const size_t n = colon ? (size_t)(colon - text) : 0;
    if (!n || n >= sizeof(host) || memchr(text, ':', n) || !str_to_i64(colon + 1, 1, 65535, &port))
        return err_set(err, ERR_UNPROCESSABLE, "api_external must be HOST:PORT, such as api.prod.example.com:6443");
    memcpy(host, text, n);
    host[n] = '\0';
    return name_check_host(host, "api_external", err);
}

static int spec_check_api(const struct cluster_spec *spec, struct err *err) {
    uint8_t addr[16];
    if (spec->api_address && spec->api_external)
        return err_set(err, ERR_UNPROCESSABLE, "give api_address or api_external, not both");
    if (spec->api_external)
        return spec_check_host_port(spec->api_external, err);
    if (spec->api_address && (strchr(spec->api_address, ':') || !net_addr_parse(spec->api_address, addr)))
        return err_set(err, ERR_UNPROCESSABLE, "api_address must be an IPv4 address out of the provider's api_addresses");
    return 0;
}

static int spec_read_range(const json_t *value, struct address_range *out, struct err *err) {
    const char *text = json_string_value(value);
    struct err why = {0};
    if (!text)
        return err_set(err, ERR_UNPROCESSABLE, "service_addresses is a list of texts, such as 10.9.0.192/28");
    if (!address_range_parse(text, out, &why))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "service_addresses: %s", why.text);
    return err_remedy(err, "%s", why.remedy);
}

static int spec_read_service_addresses(const json_t *object, struct cluster_spec *out, struct err *err) {
    const json_t *list = json_object_get(object, "service_addresses"), *value;
    struct address_ranges *ranges = &out->service_addresses;
    uint32_t common;
    size_t i;
    int rc = 0;
    out->has_service_addresses = list != NULL;
    if (json_array_size(list) > PROVIDER_RANGES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "service_addresses has more than %u ranges", PROVIDER_RANGES_MAX);
    ranges->items = calloc(json_array_size(list) + 1, sizeof(*ranges->items));
    if (!ranges->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    json_array_foreach (list, i, value)
        rc = rc ? rc : spec_read_range(value, &ranges->items[ranges->count++], err);
    if (rc || !address_ranges_repeat(ranges, &common))
        return rc;
    return err_set(err, ERR_UNPROCESSABLE, "service_addresses has an address twice");
}

/* "v1.36.3" is how Kubernetes itself writes it. */
static int spec_read_version(const char *text, char **out, struct err *err) {
    if (!text)
        return 0;
    text += text[0] == 'v';
    int rc = name_check_kubernetes_version(text, err);
    return rc ? rc : str_replace(out, text, err);
}

int cluster_spec_read(json_t *object, struct cluster_spec *out, struct err *err) {
    *out = (struct cluster_spec){.control_planes = {1, DEFAULT_CPUS, DEFAULT_MEMORY_MIB},
                                 .workers = {0, DEFAULT_CPUS, DEFAULT_MEMORY_MIB}};
    static const struct spec_machines most[] = {{SPEC_CONTROL_PLANES_MAX, CPUS_MAX, MEMORY_MIB_MAX},
                                                {SPEC_WORKERS_MAX, CPUS_MAX, MEMORY_MIB_MAX}};
    int rc = json_check(object, SPEC_MEMBERS(JSON_NEEDS), "", err);
    rc = rc ? rc : spec_read_name(json_get_string(object, "name"), err);
    rc = rc ? rc : str_replace(&out->name, json_get_string(object, "name"), err);
    rc = rc ? rc : str_replace(&out->provider, json_get_string(object, "provider"), err);
    rc = rc ? rc : spec_read_version(json_get_string(object, "kubernetes_version"), &out->kubernetes_version, err);
    rc =
        rc ? rc
           : spec_read_machines(json_object_get(object, "control_planes"), "control_planes", &most[0], &out->control_planes, err);
    rc = rc ? rc : spec_check_control_planes(&out->control_planes, err);
    rc = rc ? rc : spec_read_machines(json_object_get(object, "workers"), "workers", &most[1], &out->workers, err);
    rc = rc ? rc : spec_read_networks(object, out, err);
    rc = rc ? rc : str_replace(&out->api_address, json_get_string(object, "api_address"), err);
    rc = rc ? rc : str_replace(&out->api_external, json_get_string(object, "api_external"), err);
    rc = rc ? rc : spec_check_api(out, err);
    return rc ? rc : spec_read_service_addresses(object, out, err);
}

/* -- documents ------------------------------------------------------------------------------------------------------------- */

/* One by one, so that the wrong one is known. */
static int spec_check_each(json_t *object, const struct json_member *members, const char *where, char way[SPEC_WAY_BYTES],
                           struct err *err) {
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value) {
        _cleanup_json_ json_t *one = json_pack("{sO}", name, value);
        if (!one)
            return err_set(err, ERR_NOMEM, "out of memory");
        int rc = json_check(one, members, where, err);
        if (rc) {
            (void)snprintf(way, SPEC_WAY_BYTES, "%s%s%.100s", where, *where ? "." : "", name);
            return rc;
        }
    }
    return 0;
}

int cluster_spec_check_document(json_t *document, char way[SPEC_WAY_BYTES], struct err *err) {
    static const char *const parts[] = {"control_planes", "workers"};
    way[0] = '\0';
    int rc = spec_check_each(document, SPEC_MEMBERS(JSON_TAKES), "", way, err);
    for (size_t i = 0; i < ARRAY_COUNT(parts) && !rc; i++)
        rc = spec_check_each(json_object_get(document, parts[i]), SPEC_MACHINES_MEMBERS, parts[i], way, err);
    return rc;
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

static json_t *spec_machines_json(const struct spec_machines *m) {
    json_t *object = json_object();
    json_put_int(object, "count", m->count);
    json_put_int(object, "cpus", m->cpus);
    json_put_int(object, "memory_mib", m->memory_mib);
    return object;
}

static json_t *spec_ranges_json(const struct address_ranges *ranges) {
    char text[ADDRESS_RANGE_TEXT_BYTES];
    json_t *list = json_array();
    for (size_t i = 0; i < ranges->count; i++) {
        address_range_format(&ranges->items[i], text);
        json_add(list, json_string(text));
    }
    return list;
}

json_t *cluster_spec_json(const struct cluster_spec *spec) {
    json_t *object = json_object();
    char pods[SPEC_NETWORK_BYTES], services[SPEC_NETWORK_BYTES];
    spec_network_format(&spec->pods, pods);
    spec_network_format(&spec->services, services);
    json_put_string(object, "name", spec->name);
    json_put_string(object, "provider", spec->provider);
    json_put_string(object, "kubernetes_version", spec->kubernetes_version);
    json_put(object, "control_planes", spec_machines_json(&spec->control_planes));
    json_put(object, "workers", spec_machines_json(&spec->workers));
    json_put_string(object, "pod_network", pods);
    json_put_string(object, "service_network", services);
    json_put_string(object, "network", spec->network);
    json_put_string(object, "api_address", spec->api_address);
    json_put_string(object, "api_external", spec->api_external);
    if (spec->has_service_addresses)
        json_put(object, "service_addresses", spec_ranges_json(&spec->service_addresses));
    return object;
}
