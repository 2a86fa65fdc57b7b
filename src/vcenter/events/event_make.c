/* Makes events for vCenters out of what changes in the inventory. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "event_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event_host.h"
#include "event_store.h"
#include "hashmap.h"
#include "inventory.h"
#include "lease_store.h"
#include "str.h"
#include "uuid.h"

#define LEASE "events"
#define LEASE_MS 30000
#define ASK_MS (LEASE_MS / 3)
#define BATCH 200U /* in one transaction */

/* A Kubernetes cluster on a vSphere cluster, as it was told of. */
struct told {
    struct hashmap_node node;
    struct cluster_place place;
    uint64_t round; /* in which it was there last */
};

/* A vCenter that events are made for. */
struct event_target {
    const char *id;
    bool is_new; /* it is told of what changes from now on */
};

struct event_batch {
    struct event_news items[BATCH];
    struct vcenter_event events[BATCH]; /* their texts are borrowed */
    struct told *told[BATCH];           /* those of places that are new are not in the map yet */
    size_t count;
};

struct event_maker {
    struct store *store;
    struct inventory *inventory;
    int64_t asked_at_ms; /* monotonic clock: when it asked for the lease; 0: never */
    bool is_mine;        /* the lease, as far as it knows */
    bool is_loaded;
    struct hashmap told;
    uint64_t round, generation; /* of the snapshot that all was made of */
    struct event_target *targets;
    size_t target_count;
    bool has_news;    /* in this round */
    int64_t round_ms; /* wall clock; later than that of the round before: events of a place are posted in this order */
    struct event_batch batch;
    struct event_hosts *hosts;
};

int event_maker_new(struct store *store, struct inventory *inventory, struct event_maker **out, struct err *err) {
    struct event_maker *m = calloc(1, sizeof(*m));
    if (!m)
        return err_set(err, ERR_NOMEM, "out of memory");
    m->store = store;
    m->inventory = inventory;
    int rc = event_hosts_new(&m->hosts, err);
    if (rc)
        free(m);
    else
        *out = m;
    return rc;
}

/* Another replica may write from now on. */
static void event_make_forget(struct event_maker *m) {
    for (struct told *t = hashmap_first(&m->told, 0), *next; t; t = next) {
        next = hashmap_next(&m->told, &t->node);
        free(t);
    }
    hashmap_done(&m->told);
    m->is_loaded = false;
    m->generation = 0;
}

void event_maker_free(struct event_maker *m) {
    if (!m)
        return;
    event_make_forget(m);
    event_hosts_free(m->hosts);
    free(m);
}

void event_maker_note_host(struct event_maker *m, const char *vcenter_id, const struct vim_watch_maintenance *begun) {
    event_hosts_note(m->hosts, vcenter_id, begun);
}

/* -- what was told ------------------------------------------------------------------------------------------------------- */

static uint64_t told_hash(const char *cluster_id, const struct object_ref *ref) {
    return hash64_text(hash64_text(hash64_text(hash_seed(), cluster_id), ref->vcenter_id), ref->moref);
}

static bool told_is(const void *item, const void *key) {
    const struct told *t = item;
    const struct cluster_place *place = key;
    return str_eq(t->place.cluster_id, place->cluster_id) && object_ref_eq(&t->place.ref, &place->ref);
}

static int event_make_load(struct event_maker *m, struct err *err) {
    _cleanup_done_(cluster_place_list_done) struct cluster_place_list list = {0};
    int rc = event_store_list_places(m->store, &list, err);
    for (size_t i = 0; i < list.count && !rc; i++) {
        struct told *t = calloc(1, sizeof(*t));
        if (!t) {
            event_make_forget(m);
            return err_set(err, ERR_NOMEM, "out of memory");
        }
        t->place = list.items[i];
        hashmap_insert(&m->told, &t->node, told_hash(t->place.cluster_id, &t->place.ref));
    }
    m->is_loaded = !rc;
    return rc;
}

/* The event that a state is worth; VCENTER_EVENT_ADDED: none. What changes by itself in moments (creating, updating, deleting), and that kaasd does not
 * know (unknown), is none. */
static enum vcenter_event_kind event_make_kind_of(enum cluster_state state) {
    if (state == CLUSTER_READY)
        return VCENTER_EVENT_READY;
    if (state == CLUSTER_DEGRADED)
        return VCENTER_EVENT_DEGRADED;
    return state == CLUSTER_UNREACHABLE || state == CLUSTER_FAILED ? VCENTER_EVENT_FAILED : VCENTER_EVENT_ADDED;
}

/* -- news ---------------------------------------------------------------------------------------------------------------- */

static void event_make_apply(struct event_maker *m, const struct event_news *news, struct told *t) {
    if (news->how == EVENT_PLACE_GONE) {
        hashmap_remove(&m->told, &t->node);
        free(t);
        return;
    }
    t->place = news->place;
    if (news->how == EVENT_PLACE_NEW)
        hashmap_insert(&m->told, &t->node, told_hash(t->place.cluster_id, &t->place.ref));
}

/* What cannot be written is made again out of what is stored. */
static int event_make_flush(struct event_maker *m, struct err *err) {
    struct event_batch *b = &m->batch;
    int rc = b->count ? event_store_save_news(m->store, b->items, b->count, err) : 0;
    for (size_t i = 0; i < b->count; i++)
        if (!rc)
            event_make_apply(m, &b->items[i], b->told[i]);
        else if (b->items[i].how == EVENT_PLACE_NEW)
            free(b->told[i]);
    b->count = 0;
    return rc;
}

static char *event_make_lend(const char *text) {
    return (char *)(uintptr_t)text;
}

/* `t` is the told one; of a new place it goes into the map once that is stored. */
static int event_make_add(struct event_maker *m, const struct event_news *news, struct told *t, const char *reason,
                          struct err *err) {
    struct event_batch *b = &m->batch;
    struct vcenter_event *event = &b->events[b->count];
    b->items[b->count] = *news;
    b->told[b->count] = t;
    const struct cluster_place *place = &b->items[b->count].place;
    *event = (struct vcenter_event){.ref = place->ref,
                                    .kind = news->how == EVENT_PLACE_NEW    ? VCENTER_EVENT_ADDED
                                            : news->how == EVENT_PLACE_GONE ? VCENTER_EVENT_REMOVED
                                                                            : place->told,
                                    .name = event_make_lend(place->name),
                                    .object_id = event_make_lend(place->cluster_id),
                                    .reason = event_make_lend(reason),
                                    .folded = 1,
                                    .made_at_ms = m->round_ms};
    uuid_new(event->id);
    b->items[b->count++].event = event;
    m->has_news = true;
    return b->count == BATCH ? event_make_flush(m, err) : 0;
}

static const struct event_target *event_make_find_target(const struct event_maker *m, const char *vcenter_id) {
    for (size_t i = 0; i < m->target_count; i++)
        if (str_eq(m->targets[i].id, vcenter_id))
            return &m->targets[i];
    return NULL;
}

/* What all may read who see the vSphere cluster: they need not see the others that the cluster is on. The text of an event says "is degraded" itself,
 * but not which of failed and unreachable it is. */
static const char *event_make_reason(const struct inventory_cluster *c) {
    const char *reason = c->record->placement.count > 1 ? c->reason_partial : c->record->state_reason;
    if (!str_empty(reason))
        return reason;
    return c->record->state == CLUSTER_DEGRADED ? "no reason was given" : cluster_state_name(c->record->state);
}

/* Has it lost a further virtual machine since the last look, when it was told to be as bad as it is? */
static bool event_make_is_worse(const struct cluster_place *was, const struct inventory_cluster *c) {
    return (was->told == VCENTER_EVENT_DEGRADED || was->told == VCENTER_EVENT_FAILED) && was->down >= 0 &&
           c->down > (size_t)was->down;
}

static int event_make_add_place(struct event_maker *m, const struct inventory_cluster *c, const struct cluster_place *place,
                                bool is_silent, struct err *err) {
    struct event_news news = {.how = EVENT_PLACE_NEW, .place = *place, .is_silent = is_silent};
    struct told *t = calloc(1, sizeof(*t));
    if (!t)
        return err_set(err, ERR_NOMEM, "out of memory");
    t->round = m->round;
    news.place.told = event_make_kind_of(c->record->state);
    news.place.down = (int)c->down;
    if (!is_silent && news.place.told != VCENTER_EVENT_READY) /* it is told by the next round */
        news.place.told = VCENTER_EVENT_ADDED;
    return event_make_add(m, &news, t, NULL, err);
}

static int event_make_look_at(struct event_maker *m, const struct inventory_cluster *c, const struct object_ref *ref,
                              struct err *err) {
    const struct event_target *target = event_make_find_target(m, ref->vcenter_id);
    const enum vcenter_event_kind state = event_make_kind_of(c->record->state);
    struct event_news news = {.how = EVENT_PLACE_CHANGED, .place = {.ref = *ref}};
    if (!target)
        return 0;
    (void)snprintf(news.place.cluster_id, sizeof(news.place.cluster_id), "%s", c->record->id);
    (void)snprintf(news.place.name, sizeof(news.place.name), "%s", c->record->name);
    struct told *t = hashmap_find(&m->told, told_hash(c->record->id, ref), told_is, &news.place);
    if (!t)
        return event_make_add_place(m, c, &news.place, target->is_new, err);
    t->round = m->round;
    news.was = news.place.told = t->place.told;
    news.place.down = (int)c->down;
    if (state != VCENTER_EVENT_ADDED)
        news.place.told = state;
    news.is_silent = news.was == news.place.told && (state != news.was || !event_make_is_worse(&t->place, c));
    if (news.is_silent && str_eq(t->place.name, news.place.name) && t->place.down == news.place.down)
        return 0;
    return event_make_add(m, &news, t, event_make_reason(c), err);
}

static int event_make_look_for_gone(struct event_maker *m, struct err *err) {
    int rc = 0;
    for (struct told *t = hashmap_first(&m->told, 0), *next; t && !rc; t = next) {
        next = hashmap_next(&m->told, &t->node);
        if (t->round != m->round && event_make_find_target(m, t->place.ref.vcenter_id))
            rc = event_make_add(m, &(struct event_news){.how = EVENT_PLACE_GONE, .place = t->place, .was = t->place.told}, t,
                                NULL, err);
    }
    return rc;
}

/* -- rounds ---------------------------------------------------------------------------------------------------------------- */

static int event_make_list_targets(struct event_maker *m, const struct inventory_platform *platform, struct err *err) {
    int rc = 0;
    m->targets = calloc(platform->vcenters_count + 1, sizeof(*m->targets));
    m->target_count = 0;
    if (!m->targets)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < platform->vcenters_count && !rc; i++) {
        struct event_target *target = &m->targets[m->target_count];
        target->id = platform->vcenters[i].id;
        if (platform->vcenters[i].registered_at_ms) {
            rc = event_store_is_new(m->store, target->id, &target->is_new, err);
            m->target_count++;
        } else
            rc = event_store_forget(m->store, target->id, err); /* they would be told, late, when it is registered again */
    }
    return rc;
}

/* What a vCenter that is new was told silently is written before it counts as begun. */
static int event_make_begin_targets(struct event_maker *m, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < m->target_count && !rc; i++)
        if (m->targets[i].is_new) {
            rc = event_store_begin(m->store, m->targets[i].id, clock_wall_ms(), err);
            m->targets[i].is_new = false;
        }
    return rc;
}

static int event_make_round(struct event_maker *m, const struct inventory_snapshot *snapshot, struct err *err) {
    const int64_t now_ms = clock_wall_ms();
    int rc = 0;
    m->round++;
    m->round_ms = now_ms > m->round_ms ? now_ms : m->round_ms + 1;
    m->has_news = false;
    for (size_t i = 0; i < snapshot->clusters_count && !rc; i++) {
        const struct inventory_cluster *c = snapshot->clusters[i];
        for (size_t k = 0; k < c->record->placement.count && !rc; k++)
            rc = event_make_look_at(m, c, &c->record->placement.items[k], err);
    }
    rc = rc ? rc : event_make_flush(m, err);
    rc = rc ? rc : event_make_look_for_gone(m, err);
    rc = rc ? rc : event_make_flush(m, err);
    return rc ? rc : event_make_begin_targets(m, err);
}

static int event_make_all(struct event_maker *m, const struct inventory_snapshot *snapshot, struct err *err) {
    int rc = event_make_list_targets(m, snapshot->platform, err);
    do
        rc = rc ? rc : event_make_round(m, snapshot, err);
    while (!rc && m->has_news);
    free(m->targets);
    m->targets = NULL;
    m->batch.count = 0;
    if (rc)
        event_make_forget(m);
    else
        m->generation = snapshot->generation;
    return rc;
}

/* One replica keeps the lease, as long as it lives, also while there is nothing to tell: replicas may see a cluster's state differently for a while, and
 * what is told shall not go to and fro. */
static int event_make_ask(struct event_maker *m, struct err *err) {
    const int64_t now_ms = clock_mono_ms();
    if (m->asked_at_ms && now_ms - m->asked_at_ms < ASK_MS)
        return 0;
    m->is_mine = false;
    int rc = lease_store_acquire(m->store, LEASE, store_replica_name(m->store), LEASE_MS, &m->is_mine, err);
    m->asked_at_ms = rc ? 0 : now_ms;
    return rc;
}

int event_maker_tick(struct event_maker *m, struct err *err) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = NULL;
    int rc = event_make_ask(m, err);
    event_hosts_age(m->hosts);
    if (rc || !m->is_mine) {
        event_make_forget(m);
        return rc;
    }
    snapshot = inventory_get(m->inventory);
    if (!snapshot)
        return 0;
    if (snapshot->generation != m->generation) {
        rc = m->is_loaded ? 0 : event_make_load(m, err);
        rc = rc ? rc : event_make_all(m, snapshot, err);
    }
    rc = rc ? rc : event_hosts_make(m->hosts, m->store, snapshot, err);
    return rc == ERR_CONFLICT ? 0 : rc;
}
