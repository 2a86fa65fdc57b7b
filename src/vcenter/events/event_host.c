/* Hosts that begin to enter maintenance mode while control planes of Kubernetes clusters run there. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "event_host.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "event_store.h"
#include "host_impact.h"
#include "snapshot.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define HOSTS_MAX 256U       /* kept; a vCenter puts few at once into maintenance mode */
#define TEXT_FULL_BYTES 600U /* further clusters are counted; the text has room for 1,000 characters */
#define TEXT_BYTES_MAX 4096U

struct kept_host {
    struct object_ref ref;
    int64_t key, at_ms; /* of vCenter's event */
    int64_t noted_ms;   /* monotonic clock */
};

struct event_hosts {
    pthread_mutex_t lock; /* guards what is below */
    struct kept_host items[HOSTS_MAX];
    size_t count;
};

int event_hosts_new(struct event_hosts **out, struct err *err) {
    struct event_hosts *hosts = calloc(1, sizeof(*hosts));
    if (!hosts)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&hosts->lock, NULL);
    *out = hosts;
    return 0;
}

void event_hosts_free(struct event_hosts *hosts) {
    if (!hosts)
        return;
    (void)pthread_mutex_destroy(&hosts->lock);
    free(hosts);
}

/* -- what is kept ---------------------------------------------------------------------------------------------------------- */

void event_hosts_note(struct event_hosts *hosts, const char *vcenter_id, const struct vim_watch_maintenance *begun) {
    struct kept_host host = {.key = begun->key, .at_ms = begun->at_ms, .noted_ms = clock_mono_ms()};
    const bool is_past = begun->is_old && clock_wall_ms() - begun->at_ms > EVENT_HOST_KEPT_MS;
    if (is_past || object_ref_make(vcenter_id, begun->host_moref, &host.ref, NULL))
        return;
    LOCKED(&hosts->lock);
    if (hosts->count < HOSTS_MAX)
        hosts->items[hosts->count++] = host;
}

/* Needs the lock. */
static void event_hosts_drop_first(struct event_hosts *hosts) {
    memmove(&hosts->items[0], &hosts->items[1], --hosts->count * sizeof(hosts->items[0]));
}

void event_hosts_age(struct event_hosts *hosts) {
    LOCKED(&hosts->lock);
    while (hosts->count && clock_mono_ms() - hosts->items[0].noted_ms > EVENT_HOST_KEPT_MS)
        event_hosts_drop_first(hosts);
}

static bool event_hosts_first(struct event_hosts *hosts, struct kept_host *out) {
    LOCKED(&hosts->lock);
    if (hosts->count)
        *out = hosts->items[0];
    return hosts->count > 0;
}

static void event_hosts_forget_first(struct event_hosts *hosts) {
    LOCKED(&hosts->lock);
    event_hosts_drop_first(hosts);
}

/* -- what is told of one --------------------------------------------------------------------------------------------------- */

/* What is found out of a host. */
struct host_telling {
    const struct object_ref *ref;
    const struct node_observation *seen; /* of a node on it that is told of; NULL: none is */
    struct strbuf clusters;
    size_t left_out;
};

static const struct node_observation *event_host_seen(const struct cluster *c, const struct object_ref *host) {
    for (size_t i = 0; i < c->nodes_count; i++)
        if (c->nodes[i].role == NODE_CONTROL_PLANE && host_impact_is_on(&c->nodes[i], host))
            return c->nodes[i].seen;
    return NULL;
}

/* "prod (cp-0 and cp-1; no majority without them)", "dev (cp-0 and cp-2)" */
static void event_host_tell_cluster(struct host_telling *t, const struct cluster *c, bool is_quorum) {
    const struct node_observation *seen = event_host_seen(c, t->ref);
    struct host_impact impact;
    if (!seen)
        return;
    host_impact_judge(c, t->ref, &impact);
    if ((impact.verdict == HOST_TAKES_QUORUM) != is_quorum || (!is_quorum && impact.control_planes_on < 2))
        return;
    t->seen = t->seen ? t->seen : seen;
    if (t->clusters.len > TEXT_FULL_BYTES) {
        t->left_out++;
        return;
    }
    strbuf_addf(&t->clusters, "%s%s (", t->clusters.len ? ", " : "", c->name);
    host_impact_tell_nodes(c, t->ref, &t->clusters);
    strbuf_addf(&t->clusters, "%s)", is_quorum ? "; no majority without this host" : "");
}

static void event_host_tell(struct host_telling *t, const struct inventory_snapshot *snapshot) {
    for (int is_quorum = 1; is_quorum >= 0; is_quorum--)
        for (size_t i = 0; i < snapshot->clusters_count; i++)
            event_host_tell_cluster(t, snapshot->clusters[i]->record, is_quorum);
    if (t->left_out)
        strbuf_addf(&t->clusters, " and %zu more", t->left_out);
}

static char *event_host_lend(const char *text) {
    return (char *)(uintptr_t)text;
}

/* Events are shown at vSphere clusters: a host that is in none is not told of. */
static int event_host_save(struct store *store, const struct kept_host *host, struct host_telling *t, struct err *err) {
    struct vcenter_event made = {.kind = VCENTER_EVENT_MAINTENANCE, .folded = 1, .made_at_ms = clock_wall_ms()};
    bool is_news = false;
    if (!t->seen || !t->seen->cluster_moref)
        return 0;
    int rc = strbuf_check(&t->clusters, "the clusters on a host", err);
    rc = rc ? rc : object_ref_make(host->ref.vcenter_id, t->seen->cluster_moref, &made.ref, err);
    if (rc)
        return rc;
    made.name = event_host_lend(t->seen->host_name ? t->seen->host_name : host->ref.moref);
    made.object_id = event_host_lend(host->ref.moref);
    made.reason = t->clusters.data;
    uuid_new(made.id);
    return event_store_save_host(store, &(struct event_of_host){&made, host->key, host->at_ms}, &is_news, err);
}

int event_hosts_make(struct event_hosts *hosts, struct store *store, const struct inventory_snapshot *snapshot, struct err *err) {
    struct kept_host host;
    int rc = 0;
    while (!rc && event_hosts_first(hosts, &host)) {
        struct host_telling t = {.ref = &host.ref};
        strbuf_init(&t.clusters, TEXT_BYTES_MAX);
        event_host_tell(&t, snapshot);
        rc = event_host_save(store, &host, &t, err);
        strbuf_done(&t.clusters);
        if (!rc)
            event_hosts_forget_first(hosts);
    }
    return rc;
}
