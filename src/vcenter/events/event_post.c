/* Posts the events that wait for a vCenter. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later */
#include "event_post.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "event_plan.h"
#include "event_store.h"
#include "lease_store.h"
#include "link.h"
#include "log.h"
#include "metric.h"
#include "platform_store.h"
#include "str.h"
#include "vim_event.h"

#define LEASE_MS 60000
#define LEASE_RENEW_MS 15000
#define REFUSED_MS (60LL * 60 * 1000)

/* One run: who posts where. */
struct event_posting {
    struct link *link;
    struct store *store;
    char lease[64];
    int64_t renewed_at_ms; /* monotonic clock */
};

static const struct {
    const char *type, *severity;
} kinds[] = {
#define PRIVILEGE(id, group, label, summary)
#define EVENT(kind, id, severity, arguments, description, text, description_de, text_de) [VCENTER_EVENT_##kind] = {id, severity},
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == VCENTER_EVENT_COUNT, "each kind has its type");

/* -- one event ------------------------------------------------------------------------------------------------------------- */

#define URL_BYTES 512
/* An event as vCenter takes it: the arguments are those of texts.def. */
struct event_wire {
    struct vim_event event;
    struct vim_event_argument arguments[VIM_EVENT_ARGUMENTS_MAX];
    char count[24], url[URL_BYTES];
};

static void event_post_put(struct event_wire *w, const char *name, const char *text) {
    w->arguments[w->event.argument_count++] = (struct vim_event_argument){name, str_empty(text) ? "-" : text};
}

static void event_post_make(struct event_wire *w, const struct vcenter_event *e, const char *cluster_name,
                            const char *public_url) {
    memset(w, 0, sizeof(*w));
    w->event = (struct vim_event){.type = kinds[e->kind].type,
                                  .severity = kinds[e->kind].severity,
                                  .cluster_moref = e->ref.moref,
                                  .cluster_name = cluster_name,
                                  .arguments = w->arguments};
    event_post_put(w, VIM_EVENT_ID, e->id);
    if (e->kind == VCENTER_EVENT_GRANTED || e->kind == VCENTER_EVENT_WITHDRAWN) {
        event_post_put(w, "principal", e->principal);
        event_post_put(w, "role", e->role);
        event_post_put(w, "object", e->name);
    } else if (e->kind == VCENTER_EVENT_MAINTENANCE) {
        w->event.host_moref = e->object_id;
        w->event.host_name = e->name;
        event_post_put(w, "host", e->name);
        event_post_put(w, "clusters", e->reason);
    } else if (e->kind == VCENTER_EVENT_SUMMARY) {
        (void)snprintf(w->count, sizeof(w->count), "%" PRId64, e->folded);
        (void)snprintf(w->url, sizeof(w->url), "%s/ui/", public_url);
        event_post_put(w, "count", w->count);
        event_post_put(w, "url", w->url);
    } else {
        event_post_put(w, "cluster", e->name);
        event_post_put(w, "clusterId", e->object_id);
        if (e->job)
            event_post_put(w, "job", e->job);
        if (e->kind == VCENTER_EVENT_DEGRADED || e->kind == VCENTER_EVENT_FAILED || e->kind == VCENTER_EVENT_JOB_FAILED)
            event_post_put(w, "reason", e->reason);
    }
}

/* Claimed before it is sent: whoever finds it so asks before it is sent again. */
static int event_post_send(const struct event_posting *p, const struct vcenter_event *e, const struct vim_event *wire,
                           bool *is_posted, struct err *err) {
    bool is_there = false;
    int rc = e->claimed_at_ms ? vim_find_event(link_client(p->link), wire, &is_there, err)
                              : event_store_claim(p->store, e, clock_wall_ms(), err);
    if (rc || is_there)
        return rc;
    rc = vim_post_event(link_client(p->link), wire, err);
    *is_posted = !rc;
    return rc;
}

/* What is about a vSphere cluster or host that is gone has no place to be shown at. */
static int event_post_one(const struct event_posting *p, const struct vcenter_event *e, bool *is_posted, struct err *err) {
    struct vsphere_cluster cluster = {0};
    struct event_wire wire;
    struct err why = {0};
    int rc = platform_store_load_vsphere(p->store, &e->ref, &cluster, &why);
    if (!rc) {
        event_post_make(&wire, e, cluster.name, link_env(p->link)->options.runtime->public_url);
        rc = event_post_send(p, e, &wire.event, is_posted, &why);
        vsphere_cluster_done(&cluster);
    }
    if (!rc || rc == ERR_NOT_FOUND)
        return event_store_remove(p->store, e, err);
    return err_move(err, rc, &why);
}

static int event_post_note_refused(const struct event_posting *p, const struct vcenter_event *e, const struct err *why,
                                   struct err *err) {
    const int64_t now_ms = clock_wall_ms();
    if (!e->refused_at_ms)
        return event_store_note_refused(p->store, e, now_ms, err);
    if (now_ms - e->refused_at_ms < REFUSED_MS)
        return 0;
    metric_add(metric_get(METRIC_VCENTER_EVENTS_DROPPED, "refused"), 1);
    log_error(LOG_LEVEL_WARNING, "vcenter_event_refused", why, "vcenter", link_id(p->link), "type", kinds[e->kind].type,
              "cluster", e->ref.moref, NULL);
    return event_store_remove(p->store, e, err);
}

/* -- what waits ------------------------------------------------------------------------------------------------------------ */

static int event_post_renew(struct event_posting *p, struct err *err) {
    int rc;
    if (clock_mono_ms() - p->renewed_at_ms < LEASE_RENEW_MS)
        return 0;
    rc = lease_store_renew(p->store, p->lease, store_replica_name(p->store), LEASE_MS, err);
    p->renewed_at_ms = clock_mono_ms();
    return rc;
}

static int event_post_fold(const struct event_posting *p, struct err *err) {
    int64_t folded = 0;
    int rc = event_store_fold(p->store, link_id(p->link), clock_wall_ms(), &folded, err);
    if (rc == ERR_CONFLICT) /* the next run does it */
        return 0;
    if (folded)
        log_event(LOG_LEVEL_NOTICE, "vcenter_events_folded", "vcenter", link_id(p->link), "events", log_fmt("%" PRId64, folded),
                  NULL);
    return rc;
}

static int event_post_list(struct event_posting *p, struct err *err) {
    _cleanup_done_(vcenter_event_list_done) struct vcenter_event_list list = {0};
    struct event_budget *budget = link_event_budget(p->link);
    struct err refusal = {0}; /* the first */
    int rc = event_store_list(p->store, link_id(p->link), EVENTS_A_MINUTE + 1, &list, err);
    struct event_plan plan = event_plan_make(budget, rc ? 0 : list.count, clock_mono_ms());
    for (size_t i = 0; i < plan.singles && !rc && !link_is_retired(p->link); i++) {
        bool is_posted = false;
        struct err why = {0};
        rc = event_post_renew(p, &why);
        rc = rc ? rc : event_post_one(p, &list.items[i], &is_posted, &why);
        budget->used += is_posted;
        if (rc == ERR_UPSTREAM) { /* it is about this event; all else is about the vCenter, or us, and holds all of them up */
            (void)err_move(&refusal, rc, &why);
            rc = event_post_note_refused(p, &list.items[i], &why, err);
        } else {
            rc = err_move(err, rc, &why);
        }
    }
    if (!rc && plan.folds)
        rc = event_post_fold(p, err);
    return rc ? rc : err_move(err, refusal.code, &refusal);
}

int event_post_work(struct remote *remote, struct err *err) {
    struct link *link = link_of(remote);
    struct event_posting p = {.link = link, .store = link_env(link)->options.runtime->store, .renewed_at_ms = clock_mono_ms()};
    struct vcenter_event_list list = {0};
    bool is_mine = false;
    int rc = event_store_list(p.store, link_id(link), 1, &list, err);
    const bool has_any = !rc && list.count;
    if (!rc)
        vcenter_event_list_done(&list);
    if (!has_any)
        return rc;
    (void)snprintf(p.lease, sizeof(p.lease), "post-events:%s", link_id(link));
    rc = lease_store_acquire(p.store, p.lease, store_replica_name(p.store), LEASE_MS, &is_mine, err);
    if (rc || !is_mine)
        return rc;
    rc = event_post_list(&p, err);
    (void)lease_store_release(p.store, p.lease, store_replica_name(p.store), NULL);
    return rc;
}
