/* A cluster that somebody wants made: how many machines, how large, which networks. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address_range.h"
#include "cleanup.h"
#include "err.h"
#include "json.h"

#define SPEC_NAME_CHARS_MAX 50U /* of the cluster: its machines are "NAME-cp-x7f2k", a DNS label of at most 63 */
#define SPEC_CONTROL_PLANES_MAX 7U
#define SPEC_WORKERS_MAX 100U
#define SPEC_API_PORT 6443U
#define SPEC_NETWORK_DEFAULT "kube-router"
#define SPEC_NETWORK_BRIDGE \
    "bridge" /* the network of pods without a program for it: a bridge on each machine, and routes between them; no NetworkPolicy */
#define SPEC_SERVICE_ADDRESSES 8U /* for its Services, so that other clusters of the provider have some as well */
#define SPEC_POD_PREFIX 24U /* of the pods of one node: the default of kube-controller-manager, --node-cidr-mask-size-ipv4 */

/* What machines of one role are like. */
struct spec_machines {
    unsigned count;
    unsigned cpus;
    unsigned memory_mib;
};

/* IPv4, in host order. */
struct spec_network {
    uint32_t address;
    unsigned prefix;
};

struct cluster_spec {
    char *name;
    char *provider;           /* its name or id, as it was given */
    char *kubernetes_version; /* "1.36.3"; NULL: that of the provider's template */
    struct spec_machines control_planes, workers;
    struct spec_network pods, services;
    char *network;      /* what connects the pods: SPEC_NETWORK_BRIDGE, or the name of a bundle */
    char *api_address;  /* an address of the provider's range for the API; NULL: the first that is free */
    char *api_external; /* "host:port" of a balancer that the site runs; NULL: the control planes hold the address themselves */
    bool has_service_addresses;              /* false: up to SPEC_SERVICE_ADDRESSES that no other cluster has */
    struct address_ranges service_addresses; /* which of the provider's its Services get; none: no address */
};
void cluster_spec_done(struct cluster_spec *spec); /* NULL is allowed */
#define _cleanup_spec_ _cleanup_done_(cluster_spec_done)

/* Reads the body of a call, or what cluster_spec_json made. *out (uninitialised) is given back by cluster_spec_done, also on an error. ERR_UNPROCESSABLE names the member and
 * says what it may be; ERR_NOMEM. */
int cluster_spec_read(json_t *object, struct cluster_spec *out, struct err *err);
/* All members, those that were left out with what they became. The caller json_decref's it. */
json_t *cluster_spec_json(const struct cluster_spec *spec);

#define SPEC_WAY_BYTES 128U
/* Looks for members of a document (an object) that cluster_spec_read does not take, or not of that kind; what it says is not looked at. `way` is then the way
 * to the member ("workers.cont"), as of yaml_find. ERR_UNPROCESSABLE, ERR_NOMEM. */
int cluster_spec_check_document(json_t *document, char way[SPEC_WAY_BYTES], struct err *err);

/* True if they have an address in common. */
bool spec_network_meets(const struct spec_network *a, const struct spec_network *b);
/* "10.96.0.0/12". */
#define SPEC_NETWORK_BYTES 19
void spec_network_format(const struct spec_network *network, char out[SPEC_NETWORK_BYTES]);
