/* What a machine is to become: a node of a cluster. Input of kubeadm_docs.h and node_data.h. Layer 5 (provision); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct cluster_pki;

enum plan_role {
    PLAN_INIT,          /* the first control plane: makes the cluster */
    PLAN_CONTROL_PLANE, /* a further one, which joins */
    PLAN_WORKER,
};

/* A network that is reached through a neighbour. */
struct node_route {
    const char *to, *via; /* "10.244.2.0/24", "10.9.0.12" */
};

/* A list of texts; all zero: none. */
struct node_texts {
    const char *const *items;
    size_t count;
};

#define NODE_ROUTES_MAX 16U
#define NODE_TEXTS_MAX 64U /* in each list */
#define NODE_API_PORT 6443U

/* All borrowed. Addresses are IPv4. */
struct node_plan {
    enum plan_role role;
    const char *instance_id;        /* cloud-init does its work anew for another one: the machine's id */
    const char *node_name;          /* a DNS label; host name, too */
    const char *cluster_name;       /* a DNS label */
    const char *kubernetes_version; /* "1.36.3": of the cluster, and of the image */

    const char *api_host; /* where the API is reached: an address, or (external) a name */
    unsigned api_port;    /* NODE_API_PORT unless it is external */
    bool is_api_external; /* something else leads there; else control planes hold the address by keepalived */

    const char *pod_network, *service_network; /* "10.244.0.0/16" */
    const char *mac;                           /* of the network card, as the vCenter shows it */
    const char *address;                       /* of the node */
    unsigned prefix;                           /* bits of its network */
    const char *gateway;                       /* NULL: none */
    struct node_texts dns, search;
    const struct node_route *routes; /* of network `bridge`: to the pods of the other nodes */
    size_t routes_count;
    const char *bridge_pods; /* network of this node's pods, for which a bridge is made; NULL: a network add-on does it */

    const char *token;             /* bootstrap token, "abcdef.0123456789abcdef" */
    unsigned token_ttl_s;          /* of INIT, which makes it */
    const struct cluster_pki *pki; /* workers are given nothing of it but ca_hash */

    struct node_texts ssh_keys;           /* public keys of the user NODE_USER */
    struct node_texts ntp;                /* names or addresses */
    const char *http_proxy, *https_proxy; /* of containerd: "http://proxy.example.com:3128"; NULL: none */
    struct node_texts no_proxy;           /* beside the cluster's own networks */
    int64_t made_at_ms;                   /* wall clock: the clock of a machine that boots before that, or long after, is wrong */
};

#define NODE_USER "kaas" /* of each machine: who signs in with an SSH key, and may become root */

/* Checks each member, so that nothing in a plan can be taken for anything but itself where it is written down. ERR_UNPROCESSABLE naming the member. */
int node_plan_check(const struct node_plan *plan, struct err *err);

/* Whether clusters are made of this version, "1.36.3". ERR_UNPROCESSABLE. */
int node_plan_check_version(const char *version, struct err *err);
/* The minor number of a version: 36 of "1.36.3"; 0 of what is no version 1.x. */
unsigned node_version_minor(const char *version);
