/* kaasd with two more kinds of jobs, which make and remove machines by the steps of src/provision/machine_steps.h and nothing else, so that these can be tried before and beside
 * what uses them. Not installed. SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Orders come by a file, which the environment names by KAAS_ORDERS: a JSON object with kind and params, taken at the next tick of the jobs; the id of the job goes to the
 * file beside it that ends with .id, or why there is none.
 *
 * KAAS_DIE names a file: if there is one that ends with "before:N" or "after:N" and a newline, the daemon is killed at the Nth commit of a job, or about what a job makes, before
 * or after it, counted from the moment at which the file said that; it takes the file away. What it met meanwhile goes to the file beside it that ends with .log. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster_store.h"
#include "fsutil.h"
#include "job_store.h"
#include "jobs.h"
#include "kube_store.h"
#include "machine_steps.h"
#include "machine_store.h"
#include "made_store.h"
#include "pki_store.h"
#include "platform_links.h"
#include "secret_store.h"
#include "str.h"

#define MINUTE_MS 60000
#define ORDER_BYTES_MAX 65536U
#define DYING_BYTES 200

static struct machine_work work;

/* -- what is wanted ---------------------------------------------------------------------------------------------------------- */

static char *text_of(const json_t *object, const char *name) {
    return str_dup(json_get_string(object, name));
}

static void place_of(const json_t *params, const char *name, struct provider_place *out) {
    const json_t *place = json_object_get(params, name);
    *out =
        (struct provider_place){.type = text_of(place, "type"), .name = text_of(place, "name"), .moref = text_of(place, "moref")};
}

static int provider_of(const json_t *params, struct provider **out, struct err *err) {
    struct provider *provider = calloc(1, sizeof(*provider));
    if (!provider)
        return err_set(err, ERR_NOMEM, "out of memory");
    provider->id = text_of(params, "provider_id");
    provider->name = text_of(params, "provider");
    provider->vcenter_id = text_of(params, "vcenter_id");
    for (int i = 0; i < PROVIDER_PLACES_COUNT; i++)
        place_of(params, provider_place_words[i], &provider->places[i]);
    provider->node_addresses.items = calloc(1, sizeof(*provider->node_addresses.items));
    provider->node_addresses.count = 1;
    *out = provider;
    return address_range_parse(json_get_string(params, "addresses"), provider->node_addresses.items, err);
}

static int want(const struct machine_work *w, const struct job_call *call, struct machine_want *out, struct err *err) {
    const char *workers = json_get_string(call->params, "workers");
    (void)w;
    out->cluster_id = text_of(call->params, "cluster_id");
    out->cluster_name = text_of(call->params, "cluster_name");
    out->role = call->item && workers && strstr(workers, call->item) ? MACHINE_WORKER : MACHINE_CONTROL_PLANE;
    out->cpus = 2;
    out->memory_mib = 3072;
    return provider_of(call->params, &out->provider, err);
}

static int seed(const struct machine_work *w, struct job_call *call, const struct machine *machine, const char *mac,
                struct node_data *out, struct err *err) {
    (void)w;
    (void)call;
    out->metadata = str_format("metadata of %s at %s", machine->name, mac);
    out->userdata = str_format("the secret of %s", machine->name);
    return out->metadata && out->userdata ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int give_up(const struct machine_work *w, struct job_call *call, const struct machine *machine, struct err *err) {
    (void)w;
    (void)err;
    job_say(call, "%s is given up", machine->name);
    return 0;
}

/* -- the kinds --------------------------------------------------------------------------------------------------------------- */

static int submit(void *arg, const struct job *job, const char *item, worker_fn *fn, void *fn_arg, struct err *err) {
    json_t *params = NULL;
    (void)item;
    int rc = json_parse(job->params, strlen(job->params), &params, err);
    rc = rc ? rc : machine_submit(arg, json_get_string(params, "vcenter_id"), fn, fn_arg, err);
    json_decref(params);
    return rc;
}

static int plan_of(const json_t *params, struct job_plan *plan, const char *const *steps, const char *first, const char *last) {
    const json_t *machines = json_object_get(params, "machines"), *machine;
    int rc = first ? job_plan_add(plan, first, NULL, NULL, -1) : -1, one = rc;
    size_t i;
    json_array_foreach (machines, i, machine) {
        if (!last)
            rc = one;
        for (size_t k = 0; steps[k]; k++)
            rc = job_plan_add(plan, steps[k], json_string_value(machine), NULL, rc);
    }
    return last ? job_plan_add(plan, last, NULL, NULL, rc) : rc;
}

static int make_plan(void *arg, const json_t *params, struct job_plan *plan, struct err *err) {
    static const char *const steps[] = {"draw", "clone", "boot", NULL};
    (void)arg;
    (void)err;
    return plan_of(params, plan, steps, "folder", NULL);
}

static int remove_plan(void *arg, const json_t *params, struct job_plan *plan, struct err *err) {
    static const char *const steps[] = {"off", "destroy", "release", NULL};
    (void)arg;
    (void)err;
    return plan_of(params, plan, steps, NULL, "remove-folder");
}

static struct job_step_kind make_steps[] = {
    {.name = "folder",
     .title = "make the folder",
     .run = machine_step_folder,
     .undo = machine_undo_folder,
     .limit_ms = MINUTE_MS},
    {.name = "draw", .title = "draw the machine", .run = machine_step_draw, .undo = machine_undo_draw, .limit_ms = MINUTE_MS},
    {.name = "clone",
     .title = "clone the template",
     .run = machine_step_clone,
     .undo = machine_undo_clone,
     .limit_ms = 2 * MINUTE_MS},
    {.name = "boot",
     .title = "boot the machine",
     .run = machine_step_boot,
     .undo = machine_undo_boot,
     .leave = machine_leave_boot,
     .is_finished = true,
     .limit_ms = 2 * MINUTE_MS},
    {.name = NULL},
};
static const struct job_step_kind remove_steps[] = {
    {.name = "off", .title = "power off", .run = machine_step_off, .limit_ms = 2 * MINUTE_MS},
    {.name = "destroy", .title = "destroy", .run = machine_step_destroy, .limit_ms = 2 * MINUTE_MS},
    {.name = "release", .title = "release the address", .run = machine_step_release, .limit_ms = MINUTE_MS},
    {.name = "remove-folder", .title = "remove the folder", .run = machine_step_remove_folder, .limit_ms = MINUTE_MS},
    {.name = NULL},
};
static struct job_kind kinds[] = {
    {.name = "machines.make",
     .title = "make machines",
     .action = "cluster.create",
     .steps = make_steps,
     .plan = make_plan,
     .submit = submit},
    {.name = "machines.remove",
     .title = "remove machines",
     .action = "cluster.delete",
     .steps = remove_steps,
     .plan = remove_plan,
     .submit = submit},
};

/* -- under the daemon -------------------------------------------------------------------------------------------------------- */

__typeof__(platform_new) __real_platform_new, __wrap_platform_new;
int __wrap_platform_new(const struct platform_options *options, struct platform **out, struct err *err) {
    int rc = __real_platform_new(options, out, err);
    work.platform = *out;
    return rc;
}

__typeof__(jobs_new) __real_jobs_new, __wrap_jobs_new;
int __wrap_jobs_new(const struct jobs_options *options, struct jobs **out, struct err *err) {
    const char *limit = getenv("KAAS_BOOT_LIMIT_MS");
    int64_t limit_ms = 0;
    int rc = __real_jobs_new(options, out, err);
    work.store = options->runtime->store;
    work.want = want;
    work.seed = seed;
    work.give_up = give_up;
    if (limit && str_to_i64(limit, 1, INT64_MAX, &limit_ms))
        make_steps[3].limit_ms = limit_ms;
    for (size_t i = 0; !rc && i < ARRAY_COUNT(kinds); i++) {
        kinds[i].arg = &work;
        jobs_add_kind(*out, &kinds[i]);
    }
    return rc;
}

static void take_order(struct jobs *jobs, const char *file, const char *text, size_t n) {
    _cleanup_free_ char *answer_file = str_format("%s.id", file), *part = str_format("%s.part", file);
    struct err err = {0};
    char id[UUID_TEXT_BYTES] = "";
    json_t *order = NULL;
    int rc = json_parse(text, n, &order, &err);
    const json_t *params = json_object_get(order, "params");
    const struct job_new wanted = {.kind = json_get_string(order, "kind"),
                                   .object_kind = "cluster",
                                   .object_id = json_get_string(params, "cluster_id"),
                                   .object_name = json_get_string(params, "cluster_name"),
                                   .params = params,
                                   .actor = &(struct actor){.request_id = "order"}};
    rc = rc ? rc : jobs_start(jobs, &wanted, id, &err);
    (void)unlink(file);
    FILE *out = part ? fopen(part, "we") : NULL;
    if (out && answer_file) {
        (void)fprintf(out, "%s", rc ? err.text : id);
        (void)fclose(out);
        (void)rename(part, answer_file);
    }
    json_decref(order);
}

__typeof__(jobs_tick) __real_jobs_tick, __wrap_jobs_tick;
int __wrap_jobs_tick(struct jobs *jobs, struct err *err) {
    const char *file = getenv("KAAS_ORDERS");
    char text[ORDER_BYTES_MAX];
    FILE *in = file ? fopen(file, "re") : NULL;
    if (in) {
        const size_t n = fread(text, 1, sizeof(text), in);
        (void)fclose(in);
        take_order(jobs, file, text, n);
    }
    return __real_jobs_tick(jobs, err);
}

/* -- dying ------------------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t dying_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static char dying_order[DYING_BYTES];                          /* as it was read last */
static unsigned dying_commits;                                 /* since it is that one */

/* The order of now, or "". A new one begins to count anew. */
static void read_dying(const char *file) {
    char text[DYING_BYTES] = "";
    FILE *in = fopen(file, "re");
    if (in) {
        text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
        (void)fclose(in);
    }
    if (str_eq(text, dying_order))
        return;
    memcpy(dying_order, text, sizeof(text));
    dying_commits = 0;
}

/* Which commit it is and where; who is killed takes the order along, so that the next one lives. */
static void die_if(const char *file, const char *when, const char *where) {
    _cleanup_free_ char *log = str_format("%s.log", file);
    FILE *out = log ? fopen(log, "ae") : NULL;
    char wanted[DYING_BYTES];
    (void)snprintf(wanted, sizeof(wanted), "%s:%u\n", when, dying_commits);
    const bool dies = str_ends(dying_order, wanted);
    if (out) {
        (void)fprintf(out, "%s %u %s%s\n", when, dying_commits, where, dies ? " dies" : "");
        (void)fclose(out);
    }
    if (dies && !unlink(file))
        (void)raise(SIGKILL);
}

static void die_at(const char *when, const char *where) {
    const char *file = getenv("KAAS_DIE");
    if (!file)
        return;
    LOCKED(&dying_lock);
    read_dying(file);
    dying_commits += *when == 'b';
    if (*dying_order)
        die_if(file, when, where);
}

#define DIES(name, parameters, arguments)          \
    __typeof__(name) __real_##name, __wrap_##name; \
    int __wrap_##name parameters {                 \
        die_at("before", #name);                   \
        const int rc = __real_##name arguments;    \
        die_at("after", #name);                    \
        return rc;                                 \
    }
DIES(job_store_begin, (struct store * store, const struct job_begin *begin, struct err *err), (store, begin, err))
DIES(job_store_take,
     (struct store * store, const struct job_due *due, int64_t ttl_ms, struct job_hold *out, int64_t *now_ms, struct err *err),
     (store, due, ttl_ms, out, now_ms, err))
DIES(job_store_write, (struct store * store, const struct job_write *write, struct err *err), (store, write, err))
DIES(made_store_insert,
     (struct store * store, const struct made_cluster *made, const struct made_judged *judged, const struct cluster *cluster,
      const struct cluster_writing *with, struct err *err),
     (store, made, judged, cluster, with, err))
DIES(made_store_delete, (struct store * store, const char *cluster_id, struct err *err), (store, cluster_id, err))
DIES(cluster_store_update,
     (struct store * store, const struct cluster *c, unsigned parts, const struct cluster_writing *with, struct err *err),
     (store, c, parts, with, err))
DIES(cluster_store_delete,
     (struct store * store, const char *id, int64_t version_no, const struct audit_record *audit, struct err *err),
     (store, id, version_no, audit, err))
DIES(pki_store_put,
     (struct store * store, const struct pki_record *record, const struct secret_value keys[PKI_KEY_COUNT], struct err *err),
     (store, record, keys, err))
DIES(pki_store_delete, (struct store * store, const char *cluster_id, struct err *err), (store, cluster_id, err))
DIES(secret_store_add,
     (struct store * store, const struct secret_place *place, const struct secret_value *value, struct err *err),
     (store, place, value, err))
DIES(secret_store_remove, (struct store * store, const struct secret_place *place, struct err *err), (store, place, err))
DIES(kube_store_put, (struct store * store, const struct kube_write *write, struct err *err), (store, write, err))
DIES(kube_store_delete,
     (struct store * store, const char *cluster_id, int64_t version_no, const struct audit_record *audit, struct err *err),
     (store, cluster_id, version_no, audit, err))
DIES(address_store_lease,
     (struct store * store, const struct address_pool *pool, const char *owner, char out[ADDRESS_TEXT_BYTES], struct err *err),
     (store, pool, owner, out, err))
DIES(address_store_release, (struct store * store, const char *owner, struct err *err), (store, owner, err))
DIES(machine_store_draw, (struct store * store, const struct machine *machine, const struct address_pool *pool, struct err *err),
     (store, machine, pool, err))
DIES(machine_store_redraw, (struct store * store, const char *id, const char *name, const char *uuid, struct err *err),
     (store, id, name, uuid, err))
DIES(machine_store_set,
     (struct store * store, const struct machine *machine, enum machine_state state, const char *moref, struct err *err),
     (store, machine, state, moref, err))
DIES(machine_store_release, (struct store * store, const char *id, struct err *err), (store, id, err))
DIES(machine_store_set_folder,
     (struct store * store, const char *cluster_id, const char *vcenter_id, const char *moref, struct err *err),
     (store, cluster_id, vcenter_id, moref, err))
