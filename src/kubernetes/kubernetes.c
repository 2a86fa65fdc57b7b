/* All connections to Kubernetes clusters: who is there, and which replica holds which. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "inventory.h"
#include "kube_facts.h"
#include "metric.h"
#include "snapshot.h"
#include "str.h"

#define KUBERNETES_THREADS 16U /* a server that does not answer keeps one for some seconds */
#define KUBERNETES_QUEUE_COUNT 1024U
#define FOLLOW_MS 3000

/* -- life ---------------------------------------------------------------------------------------------------------------- */

int kubernetes_new(const struct kubernetes_options *options, struct kubernetes **out, struct err *err) {
    const struct worker_pool_options workers = {.name = "kubernetes",
                                                .threads = KUBERNETES_THREADS,
                                                .queue_count = KUBERNETES_QUEUE_COUNT,
                                                .thread_begin = store_thread_begin,
                                                .thread_end = store_thread_end};
    struct kubernetes *k = calloc(1, sizeof(*k));
    if (!k)
        return err_set(err, ERR_NOMEM, "out of memory");
    k->options = *options;
    k->work[0] = (struct remote_work){.bit = KUBE_WORK_SAVE, .name = "save", .run = kube_remote_save, .in_any_state = true};
    (void)pthread_mutex_init(&k->lock, NULL);
    int rc = worker_pool_new(&workers, &k->workers, err);
    rc = rc ? rc : http_streams_new(&k->streams, err);
    rc = rc ? rc : remotes_new(&k->remotes, err);
    if (rc)
        kubernetes_free(k);
    else
        *out = k;
    return rc;
}

void kubernetes_stop(struct kubernetes *k) {
    if (!k)
        return;
    kube_connect_stop(k);
    remotes_stop(k->remotes, NULL, NULL);
    worker_pool_stop(k->workers);
}

void kubernetes_free(struct kubernetes *k) {
    if (!k)
        return;
    if (k->remotes)
        kubernetes_stop(k);
    worker_pool_free(k->workers);
    remotes_free(k->remotes);
    http_streams_free(k->streams);
    (void)pthread_mutex_destroy(&k->lock);
    free(k);
}

/* -- what the database says ----------------------------------------------------------------------------------------------- */

/* A connection that was set anew is another remote: nothing of the one before holds for it. */
static int follow_one(struct kubernetes *k, struct kube_connection *connection, struct kube_status *status, struct err *err) {
    struct remote *found = remotes_find(k->remotes, connection->cluster_id);
    struct kube_remote *at = found ? kube_remote_of(found) : NULL;
    if (at && at->connection.version_no == connection->version_no) {
        (void)pthread_mutex_lock(&found->lock);
        at->tick_no = k->tick_no;
        if (!at->is_holder && !atomic_load(&found->is_busy)) { /* a job reads its own status without the lock */
            const struct kube_status old = at->status;
            at->status = *status;
            *status = old;
            found->status = at->status.remote;
        }
        (void)pthread_mutex_unlock(&found->lock);
        remote_unref(found);
        return 0;
    }
    const struct kube_heals heals = at ? kube_get_heals(at) : (struct kube_heals){.count = 0};
    remote_unref(found);
    int rc = kube_remote_new(k, connection, status, &at, err);
    if (rc)
        return rc;
    at->tick_no = k->tick_no;
    at->heals = heals;
    return remotes_put(k->remotes, &at->remote, NULL, err);
}

static struct kube_status *find_status(struct kube_status_list *statuses, const char *cluster_id) {
    for (size_t i = 0; i < statuses->count; i++)
        if (str_eq(statuses->items[i].cluster_id, cluster_id))
            return &statuses->items[i];
    return NULL;
}

static bool kubernetes_is_wanted(void *arg, struct remote *remote) {
    const struct kubernetes *k = arg;
    LOCKED(&remote->lock);
    return kube_remote_of(remote)->tick_no == k->tick_no;
}

static int follow_all(struct kubernetes *k, struct err *err) {
    _cleanup_done_(kube_connection_list_done) struct kube_connection_list connections = {0};
    _cleanup_done_(kube_status_list_done) struct kube_status_list statuses = {0};
    int rc = kube_store_list(k->options.runtime->store, &connections, err);
    rc = rc ? rc : kube_store_list_statuses(k->options.runtime->store, &statuses, err);
    if (rc)
        return rc;
    k->tick_no++;
    for (size_t i = 0; i < connections.count && !rc; i++) {
        struct kube_status *status = find_status(&statuses, connections.items[i].cluster_id);
        if (status) /* else it was removed between the two */
            rc = follow_one(k, &connections.items[i], status, err);
    }
    if (!rc)
        remotes_keep(k->remotes, kubernetes_is_wanted, k);
    return rc;
}

/* -- leases ------------------------------------------------------------------------------------------------------------------ */

static const struct lease_in_force *find_lease(const struct leases *leases, const char *cluster_id) {
    for (size_t i = 0; i < leases->count; i++)
        if (str_eq(leases->items[i].name + strlen(KUBE_LEASE_PREFIX), cluster_id))
            return &leases->items[i];
    return NULL;
}

/* One that nobody holds is taken by whoever comes first; one that is ours no more, since we slept, is let go by the job. */
static void judge_lease(struct remote *remote, void *arg) {
    struct kube_remote *at = kube_remote_of(remote);
    const struct lease_in_force *lease = find_lease(arg, remote->id);
    LOCKED(&remote->lock);
    const bool is_ours = lease && lease->is_ours && lease->number == at->fence.number;
    if (at->is_holder && !is_ours)
        at->is_holder = false;
    if (!at->is_holder && (!lease || lease->is_ours) && !atomic_load(&remote->is_busy))
        remote_try_at(remote, 0);
}

static int keep_leases(struct kubernetes *k, struct err *err) {
    _cleanup_done_(leases_done) struct leases leases = {0};
    int rc = lease_store_renew_all(k->options.runtime->store, KUBE_LEASE_PREFIX, KUBE_LEASE_MS, &leases, err);
    if (!rc)
        remotes_each(k->remotes, judge_lease, &leases);
    return rc;
}

int kubernetes_tick(struct kubernetes *k, struct err *err) {
    const int64_t now_ms = clock_mono_ms();
    int rc = 0;
    if (now_ms >= atomic_load(&k->follow_at_ms)) {
        atomic_store(&k->follow_at_ms, now_ms + FOLLOW_MS);
        rc = follow_all(k, err);
        rc = rc ? rc : keep_leases(k, err);
    }
    remotes_tick(k->remotes);
    return rc;
}

int kubernetes_submit(struct kubernetes *k, worker_fn *fn, void *arg, struct err *err) {
    return worker_pool_submit(k->workers, fn, arg, err);
}

/* -- reading ------------------------------------------------------------------------------------------------------------------ */

int kubernetes_list(struct kubernetes *k, struct kube_connection_list *out, struct err *err) {
    return kube_store_list(k->options.runtime->store, out, err);
}

int kubernetes_list_statuses(struct kubernetes *k, struct kube_status_list *out, struct err *err) {
    return kube_store_list_statuses(k->options.runtime->store, out, err);
}

int kubernetes_load(struct kubernetes *k, const char *cluster_id, struct kube_connection **out, struct err *err) {
    return kube_store_load(k->options.runtime->store, cluster_id, out, err);
}

int kubernetes_load_status(struct kubernetes *k, const char *cluster_id, struct kube_status **out, struct err *err) {
    return kube_store_load_status(k->options.runtime->store, cluster_id, out, err);
}

/* -- health and metrics -------------------------------------------------------------------------------------------------------- */

struct kubernetes_view {
    const struct inventory_snapshot *snapshot;
    struct findings *findings;
    struct metric_page *page;
    unsigned states[REMOTE_IDLE]; /* connections in each */
};

static const char *view_name(const struct kubernetes_view *view, const char *cluster_id) {
    const struct inventory_cluster *found = view->snapshot ? inventory_find_cluster(view->snapshot, cluster_id) : NULL;
    return found ? found->record->name : cluster_id;
}

static void check_one(struct remote *remote, void *arg) {
    const struct kubernetes_view *view = arg;
    const struct remote_status *s = &remote->status;
    LOCKED(&remote->lock);
    struct finding f = {.step = "kube_connection", .is_elsewhere = true, .since_ms = s->since_ms};
    (void)snprintf(f.subject, sizeof(f.subject), "%s", remote->id);
    if (s->reason[0]) {
        finding_say(&f, FINDING_WARNING, "%.255s: %s", view_name(view, remote->id), s->detail);
        finding_advise(&f, "%s", s->remedy);
    }
    findings_add(view->findings, &f);
}

void kubernetes_check_health(struct kubernetes *k, struct findings *out) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(k->options.inventory);
    struct kubernetes_view view = {.snapshot = snapshot, .findings = out};
    remotes_each(k->remotes, check_one, &view);
}

static void measure_one(struct remote *remote, void *arg) {
    struct kubernetes_view *view = arg;
    LOCKED(&remote->lock);
    view->states[remote->status.state]++;
    metric_sample(view->page, METRIC_KUBE_UP, remote->status.state == REMOTE_OK, view_name(view, remote->id), remote->id);
}

static void measure_nodes(const struct kubernetes_view *view) {
    unsigned counts[KUBE_TRUE + 1] = {0};
    for (size_t i = 0; view->snapshot && i < view->snapshot->clusters_count; i++) {
        const struct cluster *c = view->snapshot->clusters[i]->record;
        for (size_t k = 0; k < c->nodes_count; k++)
            if (c->nodes[k].kube)
                counts[c->nodes[k].kube->ready]++;
    }
    for (enum kube_truth ready = KUBE_UNKNOWN; ready <= KUBE_TRUE; ready++)
        metric_sample(view->page, METRIC_KUBE_NODES, counts[ready], kube_truth_words[ready]);
}

void kubernetes_write_metrics(struct kubernetes *k, struct metric_page *page) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(k->options.inventory);
    struct kubernetes_view view = {.snapshot = snapshot, .page = page};
    worker_pool_write_metrics(k->workers, page, "kubernetes", NULL, NULL);
    remotes_each(k->remotes, measure_one, &view);
    for (enum remote_state state = REMOTE_NEW; state < REMOTE_IDLE; state++)
        metric_sample(page, METRIC_KUBE_CONNECTIONS, view.states[state], kube_connection_state_name(state));
    measure_nodes(&view);
}
