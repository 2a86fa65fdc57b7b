/* What a machine is to become, from what was asked for and where. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_pki.h"
#include "clock.h"
#include "machine_store.h"
#include "provision_private.h"
#include "secret.h"
#include "str.h"

void making_plan_done(struct making_plan *plan) {
    free(STEAL(plan->endpoint));
    machine_list_done(&plan->machines);
    secret_wipe(plan->token, sizeof(plan->token));
}

static struct node_texts plan_texts(const struct provider_texts *texts) {
    return (struct node_texts){(const char *const *)texts->items, texts->count};
}

/* "https://HOST:PORT" */
static int plan_fill_endpoint(const struct provision *provision, const char *cluster_id, struct making_plan *plan,
                              struct err *err) {
    int64_t port = 0;
    int rc = making_load_endpoint(provision, cluster_id, &plan->endpoint, err);
    if (rc)
        return rc;
    const char *host = plan->endpoint + strlen("https://"), *colon = strrchr(host, ':');
    if (!str_starts(plan->endpoint, "https://") || !colon || (size_t)(colon - host) >= sizeof(plan->api_host) ||
        !str_to_i64(colon + 1, 1, 65535, &port))
        return err_set(err, ERR_CONFIG, "the record's API endpoint %s has no port", plan->endpoint);
    memcpy(plan->api_host, host, (size_t)(colon - host));
    plan->plan.api_host = plan->api_host;
    plan->plan.api_port = (unsigned)port;
    return 0;
}

/* -- network `bridge` --------------------------------------------------------------------------------------------------------------- */

static struct spec_network plan_pods_of(const struct cluster_spec *spec, size_t at) {
    return (struct spec_network){spec->pods.address + ((uint32_t)at << (32 - SPEC_POD_PREFIX)), SPEC_POD_PREFIX};
}

/* An order that does not change with the names, which a machine that is made anew gets another of. */
static int plan_compare(const void *a, const void *b) {
    return strcmp(((const struct machine *)a)->id, ((const struct machine *)b)->id);
}

static int plan_fill_routes(const struct cluster_spec *spec, struct making_plan *plan, struct err *err) {
    const size_t wanted = spec->control_planes.count + spec->workers.count;
    struct machine_list *list = &plan->machines;
    struct node_plan *out = &plan->plan;
    if (wanted > NODE_ROUTES_MAX + 1)
        return err_set(err, ERR_UNPROCESSABLE, "the network " SPEC_NETWORK_BRIDGE " holds at most %u machines",
                       NODE_ROUTES_MAX + 1);
    if (list->count < wanted)
        return err_set(err, ERR_BUSY, "not all machines have an address yet");
    qsort(list->items, list->count, sizeof(*list->items), plan_compare);
    for (size_t i = 0; i < list->count; i++) {
        const struct spec_network pods = plan_pods_of(spec, i);
        if (str_eq(list->items[i].id, plan->machine->id)) {
            spec_network_format(&pods, plan->own_pods);
            continue;
        }
        spec_network_format(&pods, plan->route_to[out->routes_count]);
        plan->routes[out->routes_count] = (struct node_route){plan->route_to[out->routes_count], list->items[i].address};
        out->routes_count++;
    }
    out->routes = plan->routes;
    out->bridge_pods = plan->own_pods;
    return 0;
}

/* -- name servers -------------------------------------------------------------------------------------------------------------------- */

/* CoreDNS has to ask somebody: where a node knows no name server, containerd gives it the node's own resolver, behind which it finds
 * itself, and ends. A gateway that does not answer leaves it the names of the cluster. https://coredns.io/plugins/loop/ */
static struct node_texts plan_dns(const struct provider *provider, struct making_plan *plan) {
    plan->asked[0] = plan->gateway;
    return provider->node_dns.count ? plan_texts(&provider->node_dns)
                                    : (struct node_texts){plan->asked, ARRAY_COUNT(plan->asked)};
}

/* -- all of it ---------------------------------------------------------------------------------------------------------------------- */

int making_plan_fill(const struct provision *provision, const struct making *m, const struct cluster_pki *pki,
                     struct making_plan *plan, struct err *err) {
    const struct provider *provider = m->provider;
    const struct machine *machine = plan->machine;
    spec_network_format(&m->spec.pods, plan->pods);
    spec_network_format(&m->spec.services, plan->services);
    address_format(provider->node_gateway, plan->gateway);
    plan->plan = (struct node_plan){
        .role = machine->role == MACHINE_WORKER ? PLAN_WORKER
                : plan->is_first                ? PLAN_INIT
                                                : PLAN_CONTROL_PLANE,
        .instance_id = machine->instance_uuid,
        .node_name = machine->name,
        .cluster_name = m->spec.name,
        .kubernetes_version = m->spec.kubernetes_version,
        .is_api_external = m->spec.api_external != NULL,
        .pod_network = plan->pods,
        .service_network = plan->services,
        .mac = plan->mac,
        .address = machine->address,
        .prefix = (unsigned)provider->node_prefix,
        .gateway = plan->gateway,
        .dns = plan_dns(provider, plan),
        .search = plan_texts(&provider->node_search),
        .token = plan->token,
        .token_ttl_s = BOOTSTRAP_TOKEN_LIFE_S,
        .pki = pki,
        .ssh_keys = plan_texts(&provider->ssh_keys),
        .ntp = plan_texts(&provider->ntp),
        .http_proxy = provider->http_proxy,
        .https_proxy = provider->https_proxy,
        .no_proxy = plan_texts(&provider->no_proxy),
        .made_at_ms = clock_wall_ms(),
    };
    int rc = plan_fill_endpoint(provision, machine->cluster_id, plan, err);
    rc = rc ? rc : machine_store_list(provision->options.runtime->store, machine->cluster_id, &plan->machines, err);
    return rc || !str_eq(m->spec.network, SPEC_NETWORK_BRIDGE) ? rc : plan_fill_routes(&m->spec, plan, err);
}
