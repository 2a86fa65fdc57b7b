/* Creating a cluster, as a job. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The first control plane makes the cluster; then kaasd connects to it, and the others join: control planes one by one, since each changes who etcd's members are, workers
 * beside them. All machines are cloned at once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap_token.h"
#include "cluster_admin.h"
#include "cluster_pki.h"
#include "clusters.h"
#include "clock.h"
#include "limits.h"
#include "inventory.h"
#include "k8s.h"
#include "k8s_objects.h"
#include "kube_admin.h"
#include "kube_facts.h"
#include "kubernetes.h"
#include "machine_store.h"
#include "made_store.h"
#include "node_data.h"
#include "node_plan.h"
#include "providers.h"
#include "provision_private.h"
#include "snapshot.h"
#include "str.h"

#define CREATE_LOOK_MS 5000 /* of what nobody tells of by itself; all else wakes the job */
#define CREATE_MINUTE_MS (60 * INT64_C(1000))
#define CREATE_CLONE_MS (2 * 60 * CREATE_MINUTE_MS)
#define CREATE_BOOT_MS (20 * CREATE_MINUTE_MS)
#define CREATE_ASK_MS (10 * CREATE_MINUTE_MS)

/* -- which machines ---------------------------------------------------------------------------------------------------------- */

/* The parameters name all machines, the first control plane first. */
static size_t create_count(const json_t *params, const char *of) {
    return json_array_size(json_object_get(params, of));
}

static const char *create_id(const json_t *params, const char *of, size_t at) {
    return json_string_value(json_array_get(json_object_get(params, of), at));
}

struct create_place {
    enum machine_role role;
    size_t at; /* among all machines: control planes, then workers */
};

static bool create_find(const json_t *params, const char *id, struct create_place *out) {
    const size_t control_planes = create_count(params, "control_planes"), workers = create_count(params, "workers");
    for (out->at = 0; out->at < control_planes + workers; out->at++) {
        const bool is_worker = out->at >= control_planes;
        out->role = is_worker ? MACHINE_WORKER : MACHINE_CONTROL_PLANE;
        if (str_eq(id, is_worker ? create_id(params, "workers", out->at - control_planes)
                                 : create_id(params, "control_planes", out->at)))
            return true;
    }
    return false;
}

static bool create_is_first(const struct job_call *call) {
    return str_eq(call->item, create_id(call->params, "control_planes", 0));
}

static int create_plan_machine(struct job_plan *plan, const char *id, const char *what, int after, struct err *err) {
    int rc = job_plan_add(plan, "draw", id, what, after);
    rc = rc < 0 ? rc : job_plan_add(plan, "clone", id, what, rc);
    return rc < 0 ? err_set(err, rc, "out of memory") : rc;
}

/* The machine of this number is a node, so far as itself can tell. */
static bool create_is_booted(const struct job_call *call, size_t at) {
    const size_t control_planes = create_count(call->params, "control_planes");
    const char *id = at < control_planes ? create_id(call->params, "control_planes", at)
                                         : create_id(call->params, "workers", at - control_planes);
    return job_is_done(call, "boot", id);
}

/* The first control plane makes the cluster, behind its clone; control planes one behind the other, workers beside them. */
static int create_plan_joins(struct job_plan *plan, const json_t *params, int clone, struct err *err) {
    char what[48];
    int rc = job_plan_add(plan, "boot", create_id(params, "control_planes", 0), "control plane 1", clone);
    const int connect = rc < 0 ? rc : job_plan_add(plan, "connect", NULL, NULL, rc);
    const int network = connect < 0 ? connect : job_plan_add(plan, "network", NULL, NULL, connect);
    int last = network < 0 ? network : connect;
    for (size_t i = 1; i < create_count(params, "control_planes") && last >= 0; i++) {
        (void)snprintf(what, sizeof(what), "control plane %zu", i + 1);
        last = job_plan_add(plan, "boot", create_id(params, "control_planes", i), what, last);
    }
    for (size_t i = 0; i < create_count(params, "workers") && last >= 0; i++) {
        (void)snprintf(what, sizeof(what), "worker %zu", i + 1);
        last = job_plan_add(plan, "boot", create_id(params, "workers", i), what, connect);
    }
    rc = last < 0 ? last : job_plan_add(plan, "ready", NULL, NULL, network);
    return rc < 0 ? err_set(err, rc, "out of memory") : 0;
}

/* Undone in the opposite order: so what machines need stands before them. */
static int create_plan(void *arg, const json_t *params, struct job_plan *plan, struct err *err) {
    static const char *const before[] = {"record", "keys", "folder", "address"};
    const size_t control_planes = create_count(params, "control_planes"), workers = create_count(params, "workers");
    char what[48];
    int after = -1, first = -1;
    (void)arg;
    for (size_t i = 0; i < ARRAY_COUNT(before); i++)
        after = job_plan_add(plan, before[i], NULL, NULL, (int)i - 1);
    for (size_t i = 0; i < control_planes + workers && after >= 0; i++) {
        const bool is_worker = i >= control_planes;
        (void)snprintf(what, sizeof(what), is_worker ? "worker %zu" : "control plane %zu",
                       is_worker ? i - control_planes + 1 : i + 1);
        int rc = create_plan_machine(
            plan, is_worker ? create_id(params, "workers", i - control_planes) : create_id(params, "control_planes", i), what,
            after, err);
        if (rc < 0)
            return rc;
        first = i ? first : rc;
    }
    return after < 0 ? err_set(err, ERR_NOMEM, "out of memory") : create_plan_joins(plan, params, first, err);
}

/* -- the record ---------------------------------------------------------------------------------------------------------------- */

/* What the list shows from the first moment on. */
static int create_fill_record(const struct job_call *call, const struct cluster_spec *spec, const struct provider *provider,
                              struct cluster *out, struct err *err) {
    struct object_ref place;
    out->id = str_dup(call->job->object_id);
    out->name = str_dup(spec->name);
    out->state = CLUSTER_CREATING;
    out->state_source = str_dup("declared");
    out->state_since_ms = out->created_at_ms = out->updated_at_ms = clock_wall_ms();
    out->state_by = call->job->created_by_name ? str_dup(call->job->created_by_name) : NULL;
    out->kubernetes_version = str_dup(spec->kubernetes_version);
    out->placement_source = str_dup("declared");
    out->control_plane_ready = out->workers_ready = -1;
    out->control_plane_desired = (int)spec->control_planes.count;
    out->workers_desired = (int)spec->workers.count;
    int rc = object_ref_make(provider->vcenter_id, provider->places[PROVIDER_VSPHERE_CLUSTER].moref, &place, err);
    rc = rc ? rc : object_set_add(&out->placement, &place, err);
    rc = rc ? rc : str_replace(&out->state_reason, "its machines are being made", err);
    return rc ? rc : cluster_check(out, err);
}

static int create_write_record(struct job_call *call, const struct making *m, struct err *err) {
    static const struct cluster_room room = {.clusters_max = KAAS_CLUSTERS_COUNT_MAX, .nodes_max = KAAS_NODES_COUNT_MAX};
    const struct provision *p = call->arg;
    struct principal who;
    const struct actor actor = job_actor(call, &who);
    struct cluster record = {0};
    int rc = create_fill_record(call, &m->spec, m->provider, &record, err);
    if (!rc) {
        const struct audit_record line = audit_record_make(&actor, &(struct audit_event){.action = "cluster.create",
                                                                                         .object_kind = "cluster",
                                                                                         .object_id = record.id,
                                                                                         .object_name = record.name});
        rc = made_store_insert(p->options.runtime->store, m->made, &(struct made_judged){m->provider->version_no, &m->others},
                               &record, &(struct cluster_writing){&line, &room}, err);
    }
    cluster_done(&record);
    if (!rc)
        runtime_note_written(p->options.runtime);
    return rc;
}

/* The first one that keeps it from being built. Where the vCenter has not answered all that it was asked, that is no verdict, and it may be asked again. */
static int create_judge(struct job_call *call, const struct provider_check *check, struct err *err) {
    const struct finding *bad = NULL;
    for (size_t i = 0; i < check->findings.count; i++) {
        const struct finding *f = &check->findings.items[i];
        if (f->status == FINDING_WARNING || f->status == FINDING_SKIPPED)
            job_say(call, "%s: %s", f->title, f->text);
        if (f->status == FINDING_FAILED && !bad)
            bad = f;
    }
    if (!bad)
        return 0;
    int rc = err_set(err, check->unanswered ? check->unanswered : ERR_CONFLICT, "%s: %s", bad->title, bad->text);
    return *bad->remedy ? err_remedy(err, "%s", bad->remedy) : rc;
}

/* The release that the machines will have is the template's. */
static int create_choose_version(struct making *m, const char *has, struct err *err) {
    const char *wanted = m->spec.kubernetes_version;
    has += has[0] == 'v';
    if (!*has)
        return err_set(err, ERR_CONFLICT, "the template of the provider %s does not say which release of Kubernetes it has",
                       m->provider->name);
    if (wanted && !str_eq(wanted, has)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the template of the provider %s has Kubernetes %s, not %s", m->provider->name, has,
                      wanted);
        return err_remedy(err, "name a template with that release in the provider, or leave the version out");
    }
    int rc = node_plan_check_version(has, err);
    rc = rc ? rc : str_replace(&m->spec.kubernetes_version, has, err);
    return rc ? rc : making_write_spec(m, err);
}

static int create_check(struct job_call *call, struct making *m, struct err *err) {
    const struct provision *p = call->arg;
    const struct provider_need need = {.machines = m->spec.control_planes.count + m->spec.workers.count};
    struct provider_check check = {0};
    int rc = making_choose_services(p, &m->spec, m->provider, &m->others, err);
    rc = rc ? rc : providers_check(p->options.providers, m->provider, &need, &check, err);
    rc = rc ? rc : create_judge(call, &check, err);
    rc = rc ? rc : create_choose_version(m, check.kubernetes_version, err);
    provider_check_done(&check);
    return rc;
}

static void create_tell_services(struct job_call *call, const struct address_ranges *ranges) {
    char text[ADDRESS_RANGE_TEXT_BYTES];
    for (size_t i = 0; i < ranges->count; i++) {
        address_range_format(&ranges->items[i], text);
        job_say(call, "its Services get addresses of %s", text);
    }
}

/* Before it is in the list, what is wanted stands in the parameters alone: a cluster that cannot be built never gets there. */
static int create_step_record(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    _cleanup_making_ struct making m = {0};
    struct err why = {0};
    int rc = making_load(p, call->job->object_id, &m, &why);
    if (rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    making_done(&m);
    rc = making_of_params(p, call->job->object_id, call->params, &m, err);
    rc = rc ? rc : create_check(call, &m, err);
    rc = rc ? rc : create_write_record(call, &m, err);
    if (!rc)
        create_tell_services(call, &m.spec.service_addresses);
    return rc;
}

static int create_undo_record(struct job_call *call, struct err *err) {
    return making_remove_record(call, err);
}

/* -- keys ------------------------------------------------------------------------------------------------------------------------- */

static int create_step_keys(struct job_call *call, struct err *err) {
    const struct runtime *runtime = ((struct provision *)call->arg)->options.runtime;
    _cleanup_(cluster_pki_free) struct cluster_pki *pki = NULL;
    return cluster_pki_make(runtime->store, runtime->seal, call->job->object_id, &pki, err);
}

static int create_undo_keys(struct job_call *call, struct err *err) {
    return making_remove_keys(call, err);
}

/* -- the address of the API -------------------------------------------------------------------------------------------------------- */

static int create_choose_address(const struct provision *p, const struct making *m, char out[ADDRESS_TEXT_BYTES],
                                 struct err *err) {
    struct address_range only;
    struct address_pool pool = {.vcenter_id = m->provider->vcenter_id,
                                .network = m->provider->places[PROVIDER_NETWORK].moref,
                                .ranges = &m->provider->api_addresses,
                                .provider = m->provider->name};
    const struct address_ranges one = {.items = &only, .count = 1};
    if (m->spec.api_address && address_parse(m->spec.api_address, &only.first)) {
        only.last = only.first;
        pool.ranges = &one;
    }
    return address_store_lease(p->options.runtime->store, &pool, m->made->cluster_id, out, err);
}

static int create_set_endpoint(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    (void)parts;
    return str_replace(&record->api_endpoint, arg, err);
}

static int create_step_address(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    _cleanup_making_ struct making m = {0};
    char address[ADDRESS_TEXT_BYTES] = "";
    int rc = making_load(p, call->job->object_id, &m, err);
    rc = rc || m.spec.api_external ? rc : create_choose_address(p, &m, address, err);
    if (rc)
        return rc;
    _cleanup_free_ char *url =
        m.spec.api_external ? str_format("https://%s", m.spec.api_external) : str_format("https://%s:%u", address, SPEC_API_PORT);
    return url ? making_change(call, create_set_endpoint, url, err) : err_set(err, ERR_NOMEM, "out of memory");
}

static int create_undo_address(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    return address_store_release(p->options.runtime->store, call->job->object_id, err);
}

/* -- as the cluster's administrator -------------------------------------------------------------------------------------------------- */

static int create_open_client(const struct job_call *call, struct k8s_client **out, struct err *err) {
    return making_open_client(call->arg, call->job->object_id, out, err);
}

/* While a machine has not joined, its token is kept good. */
static int create_keep_token(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    _cleanup_(k8s_client_free) struct k8s_client *client = NULL;
    const int64_t now_s = clock_wall_s();
    int64_t kept_s = 0;
    struct err why = {0};
    char text[24];
    const char *kept = json_get_string(call->data, "token_kept_s");
    if (kept && str_to_i64(kept, 0, INT64_MAX, &kept_s) && now_s - kept_s < BOOTSTRAP_TOKEN_RENEW_S)
        return 0;
    int rc = create_open_client(call, &client, err);
    rc = rc ? rc
            : kubernetes_let_pass(call, bootstrap_token_apply(p->options.kubernetes, call->job->object_id, client, &why), &why,
                                  err);
    (void)snprintf(text, sizeof(text), "%" PRId64, now_s);
    return rc ? rc : job_decide(call, "token_kept_s", text, err);
}

/* -- machines ---------------------------------------------------------------------------------------------------------------------- */

static int create_want(const struct machine_work *work, const struct job_call *call, struct machine_want *out, struct err *err) {
    const struct provision *p = (const struct provision *)(const void *)work;
    _cleanup_making_ struct making m = {0};
    struct create_place place = {.role = MACHINE_CONTROL_PLANE};
    int rc = making_load(p, call->job->object_id, &m, err);
    if (!rc && call->item && !create_find(call->params, call->item, &place))
        rc = err_set(err, ERR_CONFIG, "the job's parameters do not name the machine %s", call->item);
    if (rc)
        return rc;
    const struct spec_machines *size = place.role == MACHINE_WORKER ? &m.spec.workers : &m.spec.control_planes;
    out->provider = STEAL(m.provider);
    out->cluster_id = str_dup(m.made->cluster_id);
    out->cluster_name = str_dup(m.spec.name);
    out->role = place.role;
    out->cpus = size->cpus;
    out->memory_mib = size->memory_mib;
    out->keeps_address = str_eq(m.spec.network, SPEC_NETWORK_BRIDGE); /* in their routes */
    return out->cluster_id && out->cluster_name ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* The token is good in the cluster then, or kubeadm makes it there. */
static int create_seed(const struct machine_work *work, struct job_call *call, const struct machine *machine, const char *mac,
                       struct node_data *out, struct err *err) {
    const struct provision *p = (const struct provision *)(const void *)work;
    const struct runtime *runtime = p->options.runtime;
    _cleanup_(cluster_pki_free) struct cluster_pki *pki = NULL;
    _cleanup_making_ struct making m = {0};
    _cleanup_done_(making_plan_done) struct making_plan plan = {
        .machine = machine, .mac = mac, .is_first = create_is_first(call)};
    int rc = making_load(p, call->job->object_id, &m, err);
    rc = rc ? rc : cluster_pki_load(runtime->store, runtime->seal, m.made->cluster_id, &pki, err);
    rc = rc || plan.is_first ? rc : create_keep_token(call, err);
    rc = rc ? rc : bootstrap_token_get(p->options.kubernetes, m.made->cluster_id, plan.token, err);
    rc = rc ? rc : making_plan_fill(p, &m, pki, &plan, err);
    return rc ? rc : node_data_make(&plan.plan, out, err);
}

static int create_step_boot(struct job_call *call, struct err *err) {
    struct err why = {0};
    if (!job_is_done(call, "clone", call->item))
        return job_wait(call, CREATE_LOOK_MS, "waits for its clone");
    int rc = machine_step_boot(call, err); /* first: what is wrong with the machine may be why the API is away */
    if (rc != JOB_WAIT || create_is_first(call) || !create_keep_token(call, &why))
        return rc;
    (void)err_set(err, ERR_UNAVAILABLE, "%.200s; the token by which it joins cannot be renewed: %.200s", call->wait_reason,
                  why.text);
    return err_remedy(err, "%s", why.remedy); /* whatever it is: an API server that has lost its etcd refuses with 403 */
}

/* A control plane that died in its join may have become a member of etcd, which must not count it any more: the others ask for its vote. */
static int create_give_up(const struct machine_work *work, struct job_call *call, const struct machine *machine,
                          struct err *err) {
    const struct provision *p = (const struct provision *)(const void *)work;
    _cleanup_(k8s_client_free) struct k8s_client *client = NULL;
    struct err why = {0};
    if (create_is_first(call))
        return 0; /* the cluster begins with it */
    int rc = machine->role == MACHINE_CONTROL_PLANE ? making_remove_member(p, machine, err) : 0;
    if (rc == ERR_UNAVAILABLE)
        return err_remedy(
            err,
            "power %s on at the vCenter, with more memory if that was short: once its etcd answers, this goes on by itself; or "
            "give the cluster up: kaasctl job cancel %.36s",
            machine->name, call->job->id);
    rc = rc ? rc : create_open_client(call, &client, err);
    return rc ? rc : kubernetes_let_pass(call, k8s_delete_node(client, machine->name, &why), &why, err);
}

static int create_step_connect(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    struct kube_connection *there = NULL;
    struct kube_connected done = {0};
    struct kube_admin admin = {0};
    _cleanup_free_ char *url = NULL;
    struct err why = {0};
    struct principal who;
    const struct actor actor = job_actor(call, &who);
    int rc = kubernetes_load(p->options.kubernetes, call->job->object_id, &there, &why);
    kube_connection_free(there);
    if (rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    rc = making_load_endpoint(p, call->job->object_id, &url, err);
    rc = rc ? rc : cluster_admin_issue(p->options.runtime, call->job->object_id, &admin, err);
    if (!rc) {
        const struct kube_wish wish = {.cluster_id = call->job->object_id, .address = url, .admin = &admin};
        err_clear(&why);
        rc = kubernetes_let_pass(call, kubernetes_connect(p->options.kubernetes, &actor, &wish, &done, &why), &why, err);
    }
    kube_connected_done(&done);
    kube_admin_done(&admin);
    return rc;
}

static int create_undo_connect(struct job_call *call, struct err *err) {
    return making_forget_connection(call, err);
}

/* -- until it is ready ------------------------------------------------------------------------------------------------------------------ */

static int create_step_network(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    _cleanup_making_ struct making m = {0};
    _cleanup_(k8s_client_free) struct k8s_client *client = NULL;
    struct err why = {0};
    int rc = making_load(p, call->job->object_id, &m, err);
    rc = rc ? rc : create_open_client(call, &client, err);
    return rc ? rc : kubernetes_let_pass(call, making_apply_network(call, &m, client, &why), &why, err);
}

static const struct node *create_find_node(const struct inventory_cluster *entry, const char *name) {
    for (size_t i = 0; entry && i < entry->record->nodes_count; i++)
        if (str_eq(entry->record->nodes[i].name, name))
            return &entry->record->nodes[i];
    return NULL;
}

/* The nodes that Kubernetes does not call Ready, of those that were made. */
static void create_list_unready(const struct provision *p, const struct machine_list *machines, const char *cluster_id,
                                struct strbuf *out, size_t *count) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(p->options.inventory);
    const struct inventory_cluster *entry = snapshot ? inventory_find_cluster(snapshot, cluster_id) : NULL;
    for (size_t i = 0; i < machines->count; i++) {
        const struct node *node = create_find_node(entry, machines->items[i].name);
        if (node && node->kube && node->kube->ready == KUBE_TRUE)
            continue;
        strbuf_addf(out, "%s%s", (*count)++ ? ", " : "", machines->items[i].name);
        if (node && node->kube && !str_empty(node->kube->reason))
            strbuf_addf(out, " (%s)", node->kube->reason);
    }
}

static int create_set_done(void *arg, struct cluster *record, unsigned *parts, struct err *err) {
    (void)arg;
    (void)parts;
    record->state = CLUSTER_UNKNOWN; /* Kubernetes itself says from now on */
    free(STEAL(record->state_reason));
    (void)err;
    return 0;
}

/* The watch of the connection tells it, and each change wakes the job. */
static int create_step_ready(struct job_call *call, struct err *err) {
    const struct provision *p = call->arg;
    _cleanup_done_(machine_list_done) struct machine_list machines = {0};
    _cleanup_strbuf_ struct strbuf unready;
    size_t count = 0;
    strbuf_init(&unready, ERR_TEXT_BYTES);
    for (size_t i = 0; i < create_count(call->params, "control_planes") + create_count(call->params, "workers"); i++)
        if (!create_is_booted(call, i))
            return job_wait(call, CREATE_LOOK_MS, "waits for its machines");
    int rc = machine_store_list(p->options.runtime->store, call->job->object_id, &machines, err);
    if (rc)
        return rc;
    create_list_unready(p, &machines, call->job->object_id, &unready, &count);
    if (count)
        return job_wait(call, CREATE_LOOK_MS, "Kubernetes does not call Ready: %s", unready.data);
    return making_change(call, create_set_done, NULL, err);
}

/* -- the kind ----------------------------------------------------------------------------------------------------------------------------- */

static int create_submit(void *arg, const struct job *job, const char *item, worker_fn *fn, void *fn_arg, struct err *err) {
    return item ? making_submit(arg, job->object_id, fn, fn_arg, err) : ERR_NOT_FOUND;
}

static const struct job_step_kind create_steps[] = {
    {.name = "record",
     .title = "look whether it can be built, and enter it in the list",
     .run = create_step_record,
     .undo = create_undo_record,
     .limit_ms = CREATE_ASK_MS},
    {.name = "keys", .title = "make its certificate authorities", .run = create_step_keys, .undo = create_undo_keys},
    {.name = "folder",
     .title = "make the folder of its machines",
     .run = machine_step_folder,
     .undo = machine_undo_folder,
     .limit_ms = CREATE_ASK_MS},
    {.name = "address", .title = "choose the address of its API", .run = create_step_address, .undo = create_undo_address},
    {.name = "draw", .title = "choose name and address", .run = machine_step_draw, .undo = machine_undo_draw},
    {.name = "clone",
     .title = "clone the template",
     .run = machine_step_clone,
     .undo = machine_undo_clone,
     .limit_ms = CREATE_CLONE_MS},
    {.name = "boot",
     .title = "start the machine, until it is a node",
     .run = create_step_boot,
     .undo = machine_undo_boot,
     .leave = machine_leave_boot,
     .is_finished = true,
     .limit_ms = CREATE_BOOT_MS},
    {.name = "connect",
     .title = "connect to its API",
     .run = create_step_connect,
     .undo = create_undo_connect,
     .limit_ms = CREATE_ASK_MS},
    {.name = "network", .title = "install the network of its pods", .run = create_step_network, .limit_ms = CREATE_ASK_MS},
    {.name = "ready",
     .title = "wait until Kubernetes calls all nodes Ready",
     .run = create_step_ready,
     .limit_ms = CREATE_BOOT_MS},
    {.name = NULL},
};

struct job_kind provision_create_kind(struct provision *provision) {
    provision->work.want = create_want;
    provision->work.seed = create_seed;
    provision->work.give_up = create_give_up;
    return (struct job_kind){.name = PROVISION_CREATE_JOB,
                             .title = "create the cluster",
                             .action = "cluster.make",
                             .steps = create_steps,
                             .plan = create_plan,
                             .submit = create_submit,
                             .arg = provision};
}
