/* Clusters that kaasd makes: what is judged before one is begun, and who may act as its administrator. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_pki.h"
#include "clusters.h"
#include "inventory.h"
#include "k8s.h"
#include "k8s_objects.h"
#include "kube_admin.h"
#include "kubernetes.h"
#include "log.h"
#include "machine_store.h"
#include "made_store.h"
#include "names.h"
#include "providers.h"
#include "provision_private.h"
#include "query.h"
#include "str.h"

int provision_new(const struct provision_options *options, struct provision **out, struct err *err) {
    struct provision *p = calloc(1, sizeof(*p));
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory");
    p->options = *options;
    p->work.platform = options->platform;
    p->work.store = options->runtime->store;
    *out = p;
    return 0;
}

void provision_free(struct provision *provision) {
    free(provision);
}

/* -- what is wanted, and what there is --------------------------------------------------------------------------------------------- */

static int provision_check_name(const struct provision *p, const char *name, struct err *err) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(p->options.inventory);
    for (size_t i = 0; snapshot && i < snapshot->clusters_count; i++)
        if (str_eq(snapshot->clusters[i]->record->name, name)) {
            (void)err_set(err, ERR_EXISTS, "there is a cluster \"%s\" already", name);
            return err_remedy(err, "choose another name");
        }
    return 0;
}

static unsigned provision_count_machines(const struct cluster_spec *spec) {
    return spec->control_planes.count + spec->workers.count;
}

/* What else has addresses that machines, or their pods, send to. */
static int provision_refuse_meeting(const char *name, const struct spec_network *ours, const char *whose,
                                    const struct spec_network *theirs, struct err *err) {
    char a[SPEC_NETWORK_BYTES], b[SPEC_NETWORK_BYTES];
    spec_network_format(ours, a);
    spec_network_format(theirs, b);
    (void)err_set(err, ERR_UNPROCESSABLE, "%s %s meets %s, %s", name, a, whose, b);
    return err_remedy(err, "give another --pod-network or --service-network");
}

/* Addresses that no machine can have, or that are not sent on (RFC 6890). */
static int provision_check_usable(const char *name, const struct spec_network *ours, struct err *err) {
    static const struct spec_network unusable[] = {
        {0, 8}, {UINT32_C(127) << 24, 8}, {UINT32_C(0xA9FE) << 16, 16}, {UINT32_C(7) << 29, 3}};
    for (size_t i = 0; i < ARRAY_COUNT(unusable); i++)
        if (spec_network_meets(ours, &unusable[i]))
            return provision_refuse_meeting(name, ours, "addresses that no machine may have", &unusable[i], err);
    return 0;
}

/* kube-proxy refuses what is sent to an address of the network of Services that no Service has, and pods are behind the other one. */
static int provision_check_name_servers(const char *name, const struct spec_network *ours, const struct provider *provider,
                                        struct err *err) {
    struct spec_network server = {.prefix = 32};
    for (size_t i = 0; i < provider->node_dns.count; i++)
        if (address_parse(provider->node_dns.items[i], &server.address) && spec_network_meets(ours, &server))
            return provision_refuse_meeting(name, ours, "the name server of the machines", &server, err);
    return 0;
}

/* Also those of the others: pods could not reach them. */
static int provision_check_service_addresses(const char *name, const struct spec_network *ours, const struct provider *provider,
                                             struct err *err) {
    struct address_range all = {ours->address, ours->address | (uint32_t)((UINT64_C(1) << (32 - ours->prefix)) - 1)};
    const struct address_ranges one = {.items = &all, .count = 1};
    struct spec_network met = {.prefix = 32};
    if (!address_ranges_meet(&one, &provider->service_addresses, &met.address))
        return 0;
    return provision_refuse_meeting(name, ours, "service_addresses", &met, err);
}

static int provision_check_network(const char *name, const struct spec_network *ours, const struct provider *provider,
                                   struct err *err) {
    const struct spec_network nodes = {provider->node_gateway & provider_netmask(provider), (unsigned)provider->node_prefix};
    if (spec_network_meets(ours, &nodes))
        return provision_refuse_meeting(name, ours, "the network of the machines", &nodes, err);
    int rc = provision_check_usable(name, ours, err);
    rc = rc ? rc : provision_check_name_servers(name, ours, provider, err);
    return rc ? rc : provision_check_service_addresses(name, ours, provider, err);
}

/* Each node takes a part of the network of pods, and each route of network `bridge` stands in every machine. */
static int provision_check_room(const struct cluster_spec *spec, struct err *err) {
    const unsigned wanted = provision_count_machines(spec), room = 1U << (SPEC_POD_PREFIX - spec->pods.prefix);
    char pods[SPEC_NETWORK_BYTES];
    spec_network_format(&spec->pods, pods);
    if (wanted > room) {
        (void)err_set(err, ERR_UNPROCESSABLE, "pod_network %s has room for %u machines, not %u: each takes a /%u", pods, room,
                      wanted, SPEC_POD_PREFIX);
        return err_remedy(err, "give a larger --pod-network");
    }
    if (!str_eq(spec->network, SPEC_NETWORK_BRIDGE) || wanted <= NODE_ROUTES_MAX + 1)
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "the network " SPEC_NETWORK_BRIDGE " holds at most %u machines, not %u",
                  NODE_ROUTES_MAX + 1, wanted);
    return err_remedy(err, "ask for fewer, or for --network " SPEC_NETWORK_DEFAULT);
}

static int provision_check_networks(const struct provision *p, const struct cluster_spec *spec, const struct provider *provider,
                                    struct err *err) {
    int rc = provision_check_network("pod_network", &spec->pods, provider, err);
    rc = rc ? rc : provision_check_network("service_network", &spec->services, provider, err);
    rc = rc ? rc : provision_check_room(spec, err);
    return rc ? rc : making_check_network(p, spec, err);
}

static int provision_count_free(const struct provision *p, const struct provider *provider, const struct address_ranges *ranges,
                                uint64_t *count, struct err *err) {
    const struct address_pool pool = {.vcenter_id = provider->vcenter_id,
                                      .network = provider->places[PROVIDER_NETWORK].moref,
                                      .ranges = ranges,
                                      .provider = provider->name};
    return address_store_count_free(p->options.runtime->store, &pool, count, err);
}

static int provision_check_api_address(const struct provision *p, const struct cluster_spec *spec,
                                       const struct provider *provider, struct err *err) {
    struct address_range only = {0};
    const struct address_ranges one = {.items = &only, .count = 1};
    uint64_t there = 0;
    if (spec->api_external)
        return 0;
    if (!provider->api_addresses.count) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the provider %s has no addresses for APIs", provider->name);
        return err_remedy(err, "add api_addresses to it, or give --api-external");
    }
    if (spec->api_address &&
        (!address_parse(spec->api_address, &only.first) || !address_ranges_has(&provider->api_addresses, only.first)))
        return err_set(err, ERR_UNPROCESSABLE, "%s is not among the api_addresses of the provider %s", spec->api_address,
                       provider->name);
    only.last = only.first;
    int rc = provision_count_free(p, provider, spec->api_address ? &one : &provider->api_addresses, &there, err);
    if (rc || there)
        return rc;
    if (spec->api_address)
        (void)err_set(err, ERR_UNPROCESSABLE, "another cluster has the address %s", spec->api_address);
    else
        (void)err_set(err, ERR_UNPROCESSABLE, "other clusters have all api_addresses of the provider %s", provider->name);
    return err_remedy(err, "choose another one, or add some to the provider; one that was given back is free after ten minutes");
}

static int provision_check_addresses(const struct provision *p, const struct cluster_spec *spec, const struct provider *provider,
                                     struct err *err) {
    const unsigned wanted = provision_count_machines(spec);
    uint64_t there = 0;
    int rc = provision_count_free(p, provider, &provider->node_addresses, &there, err);
    if (rc || there >= wanted)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "%u machines need an address each, and the provider %s has %llu left", wanted,
                  provider->name, (unsigned long long)there);
    return err_remedy(err, "add addresses to nodes.addresses of the provider; one that was given back is free after ten minutes");
}

static int provision_check_wanted(const struct provision *p, const struct cluster_spec *spec, const struct provider *provider,
                                  struct err *err) {
    int rc = provision_check_name(p, spec->name, err);
    rc = rc ? rc : provision_check_networks(p, spec, provider, err);
    rc = rc ? rc : provision_check_api_address(p, spec, provider, err);
    return rc ? rc : provision_check_addresses(p, spec, provider, err);
}

/* -- beginning ------------------------------------------------------------------------------------------------------------------------ */

static json_t *provision_draw_ids(unsigned count) {
    json_t *ids = json_array();
    char id[UUID_TEXT_BYTES];
    for (unsigned i = 0; i < count; i++) {
        uuid_new(id);
        json_add(ids, json_string(id));
    }
    return ids;
}

/* What is asked for is there; what it names is not. */
static int provision_find_provider(const struct provision *p, const char *name, struct provider **out, struct err *err) {
    struct err why = {0};
    int rc = providers_load(p->options.providers, name, out, &why);
    if (rc == ERR_NOT_FOUND)
        rc = ERR_UNPROCESSABLE;
    return err_move(err, rc, &why);
}

int provision_create(struct provision *p, struct jobs *jobs, struct cluster_spec *wanted, const struct actor *actor,
                     struct provision_begun *out, struct err *err) {
    _cleanup_(provider_free) struct provider *provider = NULL;
    _cleanup_done_(made_name_list_done) struct made_name_list others = {0};
    const bool names_services = wanted->has_service_addresses;
    int rc = provision_find_provider(p, wanted->provider, &provider, err);
    rc = rc ? rc : making_choose_services(p, wanted, provider, &others, err);
    rc = rc ? rc : provision_check_wanted(p, wanted, provider, err);
    if (rc)
        return rc;
    wanted->has_service_addresses = names_services; /* others may have those by the time it is recorded */
    _cleanup_json_ json_t *params = json_object();
    json_put(params, "spec", cluster_spec_json(wanted));
    json_put_string(params, "provider_id", provider->id);
    json_put(params, "control_planes", provision_draw_ids(wanted->control_planes.count));
    json_put(params, "workers", provision_draw_ids(wanted->workers.count));
    uuid_new(out->cluster_id);
    const struct job_new job = {.kind = PROVISION_CREATE_JOB,
                                .object_kind = "cluster",
                                .object_id = out->cluster_id,
                                .object_name = wanted->name,
                                .params = params,
                                .actor = actor};
    return jobs_start(jobs, &job, out->job_id, err);
}

/* -- what there is ------------------------------------------------------------------------------------------------------------------- */

int provision_list_made(const struct provision *p, struct made_name_list *out, struct err *err) {
    return made_store_list_names(p->options.runtime->store, out, err);
}

/* -- ends ------------------------------------------------------------------------------------------------------------------------------ */

static int provision_set_failed(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    const struct job *job = arg;
    (void)parts;
    _cleanup_free_ char *reason = str_format("%s: %s", job->title, job->reason ? job->reason : "it failed");
    record->state = CLUSTER_FAILED;
    return reason ? str_replace(&record->state_reason, reason, err) : err_set(err, ERR_NOMEM, "out of memory");
}

static void provision_change(struct provision *p, const struct job *job, clusters_change_fn *fn) {
    struct err err = {0};
    const struct principal who = {.id = job->created_by, .name = job->created_by_name};
    const struct actor actor = {.principal = who.id ? &who : NULL, .request_id = job->request_id};
    const struct clusters_edit edit = {.fn = fn, .arg = (void *)(uintptr_t)job, .id = job->object_id};
    int rc = clusters_change(p->options.clusters, &actor, &edit, &err);
    if (rc && rc != ERR_NOT_FOUND)
        log_event(LOG_LEVEL_WARNING, "cluster_state", "cluster", job->object_id, "job", job->id, "detail", err.text, NULL);
}

static bool provision_is_its(const struct job *job) {
    return str_eq(job->kind, PROVISION_CREATE_JOB) || str_eq(job->kind, PROVISION_DELETE_JOB);
}

static int provision_set_canceled(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    (void)arg;
    (void)parts;
    record->state = CLUSTER_FAILED;
    return str_replace(&record->state_reason, "its deletion was canceled", err);
}

static int provision_set_kept(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    int rc = provision_set_canceled(arg, record, parts, err);
    record->state = CLUSTER_UNKNOWN; /* Kubernetes itself says how much of it is left */
    return rc;
}

static bool provision_is_connected(const struct provision *p, const char *cluster_id) {
    struct kube_connection *there = NULL;
    struct err why = {0};
    int rc = kubernetes_load(p->options.kubernetes, cluster_id, &there, &why);
    kube_connection_free(there);
    return !rc;
}

/* Of a creation that was canceled no record is left. */
void provision_note_end(struct provision *p, const struct job *job) {
    if (job->state == JOB_FAILED && provision_is_its(job))
        provision_change(p, job, provision_set_failed);
    else if (job->state == JOB_CANCELED && str_eq(job->kind, PROVISION_DELETE_JOB))
        provision_change(p, job, provision_is_connected(p, job->object_id) ? provision_set_kept : provision_set_canceled);
}

static int provision_set_working(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    const struct job *job = arg;
    (void)parts;
    record->state = str_eq(job->kind, PROVISION_CREATE_JOB) ? CLUSTER_CREATING : CLUSTER_DELETING;
    return str_replace(&record->state_reason, "what failed is tried again", err);
}

void provision_note_retry(struct provision *p, const struct job *job) {
    if (provision_is_its(job))
        provision_change(p, job, provision_set_working);
}

int provision_settle(struct provision *p, struct err *err) {
    struct store *store = p->options.runtime->store;
    struct made_ids left;
    int rc = made_store_list_left(store, &left, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < left.count && !rc; i++) {
        struct job_list jobs;
        rc = job_store_list(store, &(struct job_query){.object_id = left.items[i], .limit = 1}, &jobs, err);
        if (rc)
            break;
        if (jobs.count)
            provision_note_end(p, &jobs.items[0]);
        job_list_done(&jobs);
    }
    made_ids_done(&left);
    return rc;
}
