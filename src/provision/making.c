/* One cluster as the steps of its jobs work on it. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundles.h"
#include "cluster_admin.h"
#include "cluster_pki.h"
#include "cluster_store.h"
#include "clusters.h"
#include "etcd_client.h"
#include "k8s.h"
#include "kube_admin.h"
#include "kubernetes.h"
#include "machine_store.h"
#include "made_store.h"
#include "provider_store.h"
#include "provision_private.h"
#include "str.h"

#define MAKING_SERVICES_BUNDLE "metallb"
#define MAKING_ETCD_PORT 2379U
#define MAKING_ETCD_PEER_PORT 2380U
#define MAKING_ETCD_CALL_MS 10000 /* without a leader it answers after some seconds */

static struct store *making_store(const struct provision *provision) {
    return provision->options.runtime->store;
}

/* -- reading ------------------------------------------------------------------------------------------------------------------- */

void making_done(struct making *m) {
    made_name_list_done(&m->others);
    made_cluster_free(STEAL(m->made));
    cluster_spec_done(&m->spec);
    provider_free(STEAL(m->provider));
}

static int making_read(const struct provision *provision, struct making *out, struct err *err) {
    _cleanup_json_ json_t *spec = NULL;
    struct err why = {0};
    int rc = json_parse(out->made->spec, strlen(out->made->spec), &spec, &why);
    rc = rc ? rc : cluster_spec_read(spec, &out->spec, &why);
    if (rc)
        return err_set(err, ERR_CONFIG, "what was asked for of the cluster %s is not readable: %s", out->made->cluster_id,
                       why.text);
    return provider_store_load(making_store(provision), out->made->provider_id, &out->provider, err);
}

int making_load(const struct provision *provision, const char *cluster_id, struct making *out, struct err *err) {
    int rc = made_store_load(making_store(provision), cluster_id, &out->made, err);
    return rc ? rc : making_read(provision, out, err);
}

int making_of_params(const struct provision *provision, const char *cluster_id, const json_t *params, struct making *out,
                     struct err *err) {
    _cleanup_strbuf_ struct strbuf spec;
    strbuf_init(&spec, MAKING_SPEC_BYTES_MAX);
    out->made = calloc(1, sizeof(*out->made));
    int rc = out->made ? json_write(json_object_get(params, "spec"), &spec, err) : err_set(err, ERR_NOMEM, "out of memory");
    rc = rc ? rc : str_replace(&out->made->cluster_id, cluster_id, err);
    rc = rc ? rc : str_replace(&out->made->provider_id, json_get_string(params, "provider_id"), err);
    rc = rc ? rc : str_replace(&out->made->spec, spec.data, err);
    return rc ? rc : making_read(provision, out, err);
}

int making_write_spec(struct making *m, struct err *err) {
    _cleanup_json_ json_t *spec = cluster_spec_json(&m->spec);
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, MAKING_SPEC_BYTES_MAX);
    int rc = json_write(spec, &text, err);
    return rc ? rc : str_replace(&m->made->spec, text.data, err);
}

int making_load_endpoint(const struct provision *provision, const char *cluster_id, char **url, struct err *err) {
    _cleanup_(cluster_free) struct cluster *record = NULL;
    int rc = cluster_store_load(making_store(provision), cluster_id, &record, err);
    if (rc)
        return rc;
    *url = STEAL(record->api_endpoint);
    return *url ? 0 : err_set(err, ERR_NOT_FOUND, "the address of its API has not been chosen");
}

int making_open_client(struct provision *provision, const char *cluster_id, struct k8s_client **out, struct err *err) {
    _cleanup_free_ char *url = NULL;
    struct kube_admin admin = {0};
    int rc = making_load_endpoint(provision, cluster_id, &url, err);
    rc = rc ? rc : cluster_admin_issue(provision->options.runtime, cluster_id, &admin, err);
    rc = rc ? rc : kube_admin_client(provision->options.kubernetes, url, &admin, out, err);
    kube_admin_done(&admin);
    return rc;
}

/* -- members of etcd --------------------------------------------------------------------------------------------------------------- */

/* Its name is that of the node, once it has started; before, its address is all that is known of it. */
static bool making_is_member(const struct etcd_member *member, const struct machine *machine) {
    char url[ETCD_TEXT_BYTES];
    (void)snprintf(url, sizeof(url), "https://%s:%u", machine->address, MAKING_ETCD_PEER_PORT);
    return str_eq(member->name, machine->name) || str_eq(member->peer_url, url);
}

/* Without a majority nothing is decided, not even that one need not be counted any more; who is asked would not answer for long. */
static int making_take_out(struct etcd_client *etcd, const struct etcd_member *member, const struct machine *machine,
                           struct err *err) {
    struct etcd_status status;
    int rc = etcd_get_status(etcd, &status, err);
    if (!rc && !status.leader_id)
        return err_set(err, ERR_UNAVAILABLE,
                       "%s cannot be taken out of etcd: it had a vote already, and without it etcd has no majority",
                       machine->name);
    return rc ? rc : etcd_remove_member(etcd, member->id, err);
}

static int making_remove_member_by(struct etcd_client *etcd, const struct machine *machine, struct err *err) {
    struct etcd_members members;
    int rc = etcd_list_members(etcd, &members, err);
    for (size_t i = 0; !rc && i < members.count; i++)
        if (making_is_member(&members.items[i], machine))
            rc = making_take_out(etcd, &members.items[i], machine, err);
    return rc;
}

/* Asks the etcd of this control plane. */
static int making_remove_member_at(const struct provision *provision, const char *address, const struct machine *machine,
                                   struct err *err) {
    const struct runtime *runtime = provision->options.runtime;
    _cleanup_(cluster_pki_free) struct cluster_pki *pki = NULL;
    _cleanup_(etcd_client_free) struct etcd_client *etcd = NULL;
    _cleanup_free_ char *url = str_format("https://%s:%u", address, MAKING_ETCD_PORT);
    struct pki_pair pair = {0};
    int rc = url ? cluster_pki_load(runtime->store, runtime->seal, machine->cluster_id, &pki, err)
                 : err_set(err, ERR_NOMEM, "out of memory");
    rc = rc ? rc : cluster_pki_issue_etcd_client(pki, "kaasd", CLUSTER_ADMIN_OWN_S, &pair, err);
    if (!rc) {
        const struct k8s_endpoint endpoint = {.url = url,
                                              .trust = {.ca_pem = pki->etcd_ca.cert_pem},
                                              .networks = provision->options.networks,
                                              .client_cert_pem = pair.cert_pem,
                                              .client_key_pem = pair.key_pem,
                                              .connect_timeout_ms = MAKING_ETCD_CALL_MS,
                                              .call_timeout_ms = MAKING_ETCD_CALL_MS};
        rc = etcd_client_new(&endpoint, &etcd, err);
        rc = rc ? rc : making_remove_member_by(etcd, machine, err);
    }
    pki_pair_done(&pair);
    return rc;
}

int making_remove_member(const struct provision *provision, const struct machine *machine, struct err *err) {
    _cleanup_done_(machine_list_done) struct machine_list machines = {0};
    struct err why = {0};
    int rc = machine_store_list(making_store(provision), machine->cluster_id, &machines, err), last = 0;
    for (size_t i = 0; i < machines.count && !rc; i++) {
        const struct machine *other = &machines.items[i];
        if (other->role != MACHINE_CONTROL_PLANE || other->state != MACHINE_READY || str_eq(other->id, machine->id))
            continue;
        err_clear(&why);
        last = making_remove_member_at(provision, other->address, machine, &why);
        if (!last)
            return 0;
    }
    return rc ? rc : err_move(err, last, &why);
}

/* -- the network of its pods --------------------------------------------------------------------------------------------------------- */

static void making_tell(void *arg, const char *text) {
    job_say(arg, "%s", text);
}

/* What its bundles are told. */
struct making_values {
    char pods[SPEC_NETWORK_BYTES], services[SPEC_NETWORK_BYTES], texts[PROVIDER_RANGES_MAX][ADDRESS_RANGE_TEXT_BYTES];
    const char *addresses[PROVIDER_RANGES_MAX];
    struct bundle_values values; /* borrows from the above */
};

static void making_fill_values(const struct cluster_spec *spec, struct making_values *out) {
    const struct address_ranges *ranges = &spec->service_addresses;
    spec_network_format(&spec->pods, out->pods);
    spec_network_format(&spec->services, out->services);
    for (size_t i = 0; i < ranges->count; i++) {
        address_range_format(&ranges->items[i], out->texts[i]);
        out->addresses[i] = out->texts[i];
    }
    out->values = (struct bundle_values){.pod_network = out->pods,
                                         .service_network = out->services,
                                         .service_addresses = out->addresses,
                                         .service_addresses_count = ranges->count};
}

/* `call` NULL: it is only read. */
static int making_use_bundle(const struct provision *p, const char *name, const struct making_values *values,
                             const struct job_call *call, struct k8s_client *client, struct err *err) {
    _cleanup_free_ char *folder = str_format("%s/%s", p->options.bundles, name);
    struct bundle bundle = {0};
    int rc = folder ? kube_bundle_read(folder, &values->values, &bundle, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && call)
        rc = kube_bundle_apply(client, &bundle, making_tell, (void *)(uintptr_t)call, err);
    bundle_done(&bundle);
    return rc;
}

static int making_use_bundles(const struct provision *p, const struct cluster_spec *spec, const struct job_call *call,
                              struct k8s_client *client, struct err *err) {
    struct making_values values;
    making_fill_values(spec, &values);
    int rc = str_eq(spec->network, SPEC_NETWORK_BRIDGE) ? 0 : making_use_bundle(p, spec->network, &values, call, client, err);
    return rc || !spec->service_addresses.count ? rc : making_use_bundle(p, MAKING_SERVICES_BUNDLE, &values, call, client, err);
}

int making_check_network(const struct provision *p, const struct cluster_spec *spec, struct err *err) {
    struct err why = {0};
    int rc = making_use_bundles(p, spec, NULL, NULL, &why);
    if (rc == ERR_NOT_FOUND) /* what is asked for is there; what it names is not */
        rc = ERR_UNPROCESSABLE;
    return err_move(err, rc, &why);
}

int making_apply_network(const struct job_call *call, const struct making *m, struct k8s_client *client, struct err *err) {
    return making_use_bundles(call->arg, &m->spec, call, client, err);
}

/* -- addresses of its Services ------------------------------------------------------------------------------------------------------- */

static bool making_is_near(const struct provider *a, const struct provider *b) {
    return str_eq(a->vcenter_id, b->vcenter_id) && str_eq(a->places[PROVIDER_NETWORK].moref, b->places[PROVIDER_NETWORK].moref);
}

/* Speakers of two clusters would both answer for an address. */
static int making_see_services(const struct provision *p, const char *other_id, const struct cluster_spec *spec,
                               const struct provider *provider, struct address_ranges *taken, struct err *err) {
    _cleanup_making_ struct making other = {0};
    const struct address_ranges *its = &other.spec.service_addresses;
    struct err why = {0};
    uint32_t address;
    char text[ADDRESS_TEXT_BYTES];
    int rc = making_load(p, other_id, &other, &why);
    if (rc == ERR_NOT_FOUND) /* it has just gone */
        return 0;
    if (rc)
        return err_move(err, rc, &why);
    if (!making_is_near(provider, other.provider))
        return 0;
    for (size_t i = 0; i < its->count && !rc; i++)
        rc = address_ranges_add(taken, &its->items[i], err);
    if (rc || !address_ranges_meet(&spec->service_addresses, its, &address))
        return rc;
    address_format(address, text);
    (void)err_set(err, ERR_UNPROCESSABLE, "the cluster \"%s\" has %s for its Services already", other.spec.name, text);
    return err_remedy(err, "give others of service_addresses, or leave --service-addresses out: it gets some that are free");
}

static int making_check_services(const struct cluster_spec *spec, const struct provider *provider, struct err *err) {
    uint32_t address;
    char text[ADDRESS_TEXT_BYTES];
    for (uint64_t at = 0; address_ranges_next(&spec->service_addresses, &at, &address);) {
        if (address_ranges_has(&provider->service_addresses, address))
            continue;
        address_format(address, text);
        return err_set(err, ERR_UNPROCESSABLE, "%s is not among the service_addresses of the provider %s", text, provider->name);
    }
    return 0;
}

static int making_take_services(struct cluster_spec *spec, const struct provider *provider, const struct address_ranges *taken,
                                struct err *err) {
    int rc = address_ranges_choose(&provider->service_addresses, taken, SPEC_SERVICE_ADDRESSES, &spec->service_addresses, err);
    spec->has_service_addresses = true;
    if (rc || spec->service_addresses.count)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "other clusters have all service_addresses of the provider %s", provider->name);
    return err_remedy(err, "add some to the provider, or give --service-addresses \"\" for none");
}

int making_choose_services(const struct provision *p, struct cluster_spec *spec, const struct provider *provider,
                           struct made_name_list *others, struct err *err) {
    const bool is_said = spec->has_service_addresses;
    struct address_ranges taken = {0};
    int rc = made_store_list_names(making_store(p), others, err);
    rc = rc ? rc : making_check_services(spec, provider, err);
    if (rc || !(is_said ? spec->service_addresses.count : provider->service_addresses.count))
        return rc;
    for (size_t i = 0; i < others->count && !rc; i++)
        rc = making_see_services(p, others->items[i].cluster_id, spec, provider, &taken, err);
    rc = rc || is_said ? rc : making_take_services(spec, provider, &taken, err);
    free(taken.items);
    return rc;
}

/* -- the record -------------------------------------------------------------------------------------------------------------------- */

int making_change(const struct job_call *call, making_change_fn *fn, void *arg, struct err *err) {
    const struct provision *p = call->arg;
    struct principal who;
    struct err why = {0};
    const struct actor actor = job_actor(call, &who);
    const struct clusters_edit edit = {.fn = fn, .arg = arg, .id = call->job->object_id};
    int rc = clusters_change(p->options.clusters, &actor, &edit, &why);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

/* The cluster is about to be gone: nothing need be taken back there. */
int making_forget_connection(const struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    _cleanup_done_(findings_done) struct findings steps = {.count = 0};
    struct principal who;
    struct err why = {0};
    const struct actor actor = job_actor(call, &who);
    int rc = kubernetes_disconnect(p->options.kubernetes, &actor, call->job->object_id, 0, KUBE_LEAVE_FORGET, &steps, &why);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

int making_remove_keys(const struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    int rc = bootstrap_token_remove(p->options.kubernetes, call->job->object_id, NULL, err);
    return rc ? rc : cluster_pki_remove(making_store(p), call->job->object_id, err);
}

int making_remove_record(const struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    struct principal who;
    struct err why = {0};
    const struct actor actor = job_actor(call, &who);
    int rc = made_store_delete(making_store(p), call->job->object_id, err);
    if (rc)
        return rc;
    rc = clusters_remove(p->options.clusters, &actor, call->job->object_id, 0, &why);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

int making_submit(struct provision *provision, const char *cluster_id, worker_fn *fn, void *arg, struct err *err) {
    _cleanup_making_ struct making m = {0};
    struct err why = {0};
    if (making_load(provision, cluster_id, &m, &why))
        return err_set(err, ERR_NOT_FOUND, "%s", why.text); /* the pool of the jobs will do: the step says what is wrong */
    return machine_submit(&provision->work, m.provider->vcenter_id, fn, arg, err);
}
