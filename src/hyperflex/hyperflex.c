/* The HX clusters that kaasd is connected to: who is read when, with which token, and what came of it. Layer 4 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "clock.h"
#include "hx.h"
#include "hx_store.h"
#include "limits.h"
#include "replica_store.h"
#include "secret.h"
#include "metric.h"
#include "str.h"
#include "worker_pool.h"

#define HYPERFLEX_THREADS 4U
#define HYPERFLEX_QUEUE_COUNT 256U
#define CALLS_MAX 12                         /* of one try: a login, a renewal, a login again, and what is read */
#define REPLICA_GONE_MS (60 * INT64_C(1000)) /* a replica beats its heart every 10 s */
#define SIGN_OUT_MS 3000                     /* for all HX clusters together */
#define LEASE_NAME_BYTES (sizeof("hx:") + UUID_TEXT_BYTES)

/* -- who may try --------------------------------------------------------------------------------------------------------- */

static bool hyperflex_is_due(const struct hyperflex *h, const struct hx_status *status) {
    return h->options.read_every_ms && status->state != HX_CONNECTION_REFUSED && visit_is_time(status);
}

/* The place where this HX cluster is asked, else a free one; NULL: all are taken by others. */
static struct hyperflex_place *place_find(struct hyperflex *h, const char *hx_id) {
    struct hyperflex_place *found = NULL;
    for (size_t i = 0; i < HYPERFLEX_AT_ONCE; i++)
        if (str_eq(h->places[i].hx_id, hx_id))
            return &h->places[i];
        else if (!h->places[i].hx_id)
            found = &h->places[i];
    return found;
}

/* A lease holds for all of this replica: it is the place that keeps two of us from asking one HX cluster. Who was asked to, waits for the other. */
static int place_take(struct hx_visit *v, const char *hx_id, struct err *err) {
    struct hyperflex *h = v->h;
    struct hyperflex_place *place = NULL;
    LOCKED(&h->lock);
    while (!h->is_stopped && (place = place_find(h, hx_id)) && place->hx_id && v->actor)
        (void)pthread_cond_wait(&h->left, &h->lock);
    if (h->is_stopped)
        return err_set(err, ERR_CANCELED, "kaasd is stopping");
    if (!place || place->hx_id)
        return err_set(err, ERR_BUSY, "too many HX clusters are asked at once; try again shortly");
    place->hx_id = hx_id;
    v->place = place;
    return 0;
}

/* What is published goes by a visit that has read it: not to one that is another than was known. */
static int hyperflex_try_both(struct hx_visit *v, const char *hx_id, struct err *err) {
    struct publication p = {.h = v->h, .actor = v->actor, .visit = v};
    struct err why = {0};
    int rc = visit_load(v, hx_id, &why);
    const bool has_peer = rc == ERR_NOT_FOUND && !publish_check_peer(v->h, hx_id, NULL);
    if (rc && !has_peer)
        return err_move(err, rc, &why);
    rc = publish_begin(&p, hx_id, err);
    if (has_peer && !rc) {
        hx_connection_free(STEAL(v->connection));
        rc = publish_run(&p, err);
        publish_end(&p);
        return rc;
    }
    if (!rc && (v->actor || hyperflex_is_due(v->h, v->status) || (p.step && publish_may_visit(v->status))))
        rc = visit_run(v, err);
    else
        p.step = HX_PUBLICATION_REST;
    if (!rc && !v->older_id[0])
        rc = publish_run(&p, err);
    publish_end(&p);
    return rc;
}

/* With its lease: HX sees one of us at a time. */
static int hyperflex_try_alone(struct hx_visit *v, const char *hx_id, struct err *err) {
    struct store *store = v->h->options.store;
    const char *holder = store_replica_name(store);
    char lease[LEASE_NAME_BYTES];
    bool is_mine = false;
    (void)snprintf(lease, sizeof(lease), "hx:%s", hx_id);
    int rc = lease_store_acquire(store, lease, holder, CALLS_MAX * v->h->options.call_timeout_ms, &is_mine, err);
    if (rc || !is_mine)
        return rc ? rc : err_set(err, ERR_BUSY, "another replica asks this HX cluster just now; try again shortly");
    rc = hyperflex_try_both(v, hx_id, err);
    (void)lease_store_release(store, lease, holder, NULL);
    return rc;
}

/* older_id[0]: it turned out to be that one. */
static int hyperflex_try(struct hyperflex *h, const struct actor *actor, const char *hx_id, char older_id[UUID_TEXT_BYTES],
                         struct err *err) {
    struct hx_visit v = {.h = h, .actor = actor};
    int rc = place_take(&v, hx_id, err);
    if (!rc)
        rc = hyperflex_try_alone(&v, hx_id, err);
    memcpy(older_id, v.older_id, sizeof(v.older_id));
    visit_end(&v);
    return rc;
}

/* -- life ---------------------------------------------------------------------------------------------------------------- */

int hyperflex_new(const struct hyperflex_options *options, struct hyperflex **out, struct err *err) {
    const struct worker_pool_options workers = {.name = "hyperflex",
                                                .threads = HYPERFLEX_THREADS,
                                                .queue_count = HYPERFLEX_QUEUE_COUNT,
                                                .thread_begin = options->thread_begin,
                                                .thread_end = options->thread_end};
    struct hyperflex *h = calloc(1, sizeof(*h));
    if (!h)
        return err_set(err, ERR_NOMEM, "out of memory");
    h->options = *options;
    (void)pthread_mutex_init(&h->inherited, NULL);
    (void)pthread_mutex_init(&h->lock, NULL);
    (void)pthread_cond_init(&h->left, NULL);
    int rc = worker_pool_new(&workers, &h->workers, err);
    if (rc)
        hyperflex_free(h);
    else
        *out = h;
    return rc;
}

void hyperflex_stop(struct hyperflex *h) {
    if (!h)
        return;
    (void)pthread_mutex_lock(&h->lock);
    h->is_stopped = true;
    (void)pthread_cond_broadcast(&h->left);
    for (size_t i = 0; i < HYPERFLEX_AT_ONCE; i++)
        if (h->places[i].client)
            hx_client_cancel(h->places[i].client);
    (void)pthread_mutex_unlock(&h->lock);
    if (h->workers)
        worker_pool_stop(h->workers);
}

void hyperflex_free(struct hyperflex *h) {
    if (!h)
        return;
    hyperflex_stop(h);
    worker_pool_free(h->workers);
    hx_status_list_done(&h->statuses);
    hx_publication_list_done(&h->publications);
    free(h->ca_pem);
    (void)pthread_cond_destroy(&h->left);
    (void)pthread_mutex_destroy(&h->inherited);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}

/* -- giving tokens back -------------------------------------------------------------------------------------------------- */

static bool has_other_replicas(struct hyperflex *h) {
    struct replica_list list = {0};
    bool is_any = replica_store_list(h->options.store, &list, NULL) != 0; /* who knows */
    for (size_t i = 0; i < list.count; i++)
        is_any = is_any || (list.items[i].id && list.items[i].id != store_get_replica(h->options.store) &&
                            list.items[i].heartbeat_age_ms >= 0 && list.items[i].heartbeat_age_ms < REPLICA_GONE_MS);
    replica_list_done(&list);
    return is_any;
}

void hyperflex_sign_out(struct hyperflex *h) {
    static const struct hx_sealed none = {0};
    const int64_t until_ms = clock_mono_ms() + SIGN_OUT_MS;
    struct hx_status_list list = {0};
    if (!h || has_other_replicas(h) || hx_store_list_statuses(h->options.store, &list, NULL))
        return;
    if (h->options.call_timeout_ms > SIGN_OUT_MS / 3)
        h->options.call_timeout_ms = SIGN_OUT_MS / 3;
    for (size_t i = 0; i < list.count && clock_mono_ms() < until_ms; i++) {
        struct hx_visit v = {.h = h};
        if (list.items[i].token_at_ms && visit_load_token(&v, list.items[i].hx_id)) {
            visit_give_back(&v);
            v.status->token_at_ms = 0;
            (void)hx_store_save_status(h->options.store, v.status, &none, NULL, NULL);
        }
        visit_end(&v);
    }
    hx_status_list_done(&list);
}

int hyperflex_visit(struct hyperflex *h, const struct actor *actor, const char *hx_id, char older_id[UUID_TEXT_BYTES],
                    struct err *err) {
    char none[UUID_TEXT_BYTES];
    int rc = hyperflex_try(h, actor, hx_id, older_id, err);
    return !rc && older_id[0] ? hyperflex_try(h, actor, older_id, none, err) : rc;
}

int hyperflex_test(struct hyperflex *h, const struct actor *actor, const char *hx_id, struct hx_status **out, struct err *err) {
    char older_id[UUID_TEXT_BYTES];
    int rc = hyperflex_visit(h, actor, hx_id, older_id, err);
    return rc ? rc : hx_store_load_status(h->options.store, older_id[0] ? older_id : hx_id, out, err);
}

/* -- by itself ------------------------------------------------------------------------------------------------------------- */

struct hx_errand {
    struct hyperflex *h;
    char hx_id[UUID_TEXT_BYTES];
};

/* What cannot be stored, or is asked elsewhere, stays due. */
static void hyperflex_run_errand(void *arg, bool is_canceled) {
    _cleanup_free_ struct hx_errand *errand = arg;
    struct err err = {0};
    char older_id[UUID_TEXT_BYTES];
    if (!is_canceled)
        (void)hyperflex_try(errand->h, NULL, errand->hx_id, older_id, &err);
}

static void hyperflex_send_off(struct hyperflex *h, const char *hx_id) {
    struct hx_errand *errand = calloc(1, sizeof(*errand));
    if (!errand)
        return;
    errand->h = h;
    (void)snprintf(errand->hx_id, sizeof(errand->hx_id), "%s", hx_id);
    if (worker_pool_submit(h->workers, hyperflex_run_errand, errand, NULL))
        free(errand);
}

/* To read them, or to publish to them. */
static int hyperflex_send_all(struct hyperflex *h, const struct hx_status_list *statuses, struct err *err) {
    _cleanup_free_ char **publishes = NULL;
    size_t count = 0;
    int rc = publish_list_due(h, statuses, &publishes, &count, err);
    for (size_t i = 0; i < statuses->count; i++)
        if (hyperflex_is_due(h, &statuses->items[i]))
            hyperflex_send_off(h, statuses->items[i].hx_id);
    for (size_t i = 0; i < count; i++) { /* one that is read, too, has nothing left to be told then */
        hyperflex_send_off(h, publishes[i]);
        free(publishes[i]);
    }
    return rc;
}

/* Those that are due go together, and nobody goes twice: not before the last round is over. */
int hyperflex_tick(struct hyperflex *h, struct err *err) {
    struct worker_pool_stats stats;
    struct hx_status_list fresh = {0}, old;
    int rc = hx_store_list_statuses(h->options.store, &fresh, err);
    if (rc)
        return rc;
    worker_pool_get_stats(h->workers, &stats);
    if (!stats.waiting && !stats.running)
        rc = hyperflex_send_all(h, &fresh, err);
    if (hyperflex_search_is_due(h))
        (void)worker_pool_submit(h->workers, hyperflex_search, h, NULL);
    (void)pthread_mutex_lock(&h->lock);
    old = h->statuses;
    h->statuses = fresh;
    (void)pthread_mutex_unlock(&h->lock);
    hx_status_list_done(&old);
    return rc;
}

bool hyperflex_find_status(struct hyperflex *h, const char *hx_id, struct hx_status *out) {
    LOCKED(&h->lock);
    for (size_t i = 0; i < h->statuses.count; i++)
        if (str_eq(h->statuses.items[i].hx_id, hx_id))
            return !members_copy(hx_status_members, &h->statuses.items[i], out, sizeof(*out), "a status", NULL);
    return false;
}

/* -- health ------------------------------------------------------------------------------------------------------------------ */

static void hyperflex_check_one(const struct hx_status *s, const struct inventory_platform *platform, struct findings *out) {
    const struct hx_cluster *hx = inventory_find_hx(platform, s->hx_id);
    struct finding f = {.step = "hx_connection", .is_elsewhere = true, .since_ms = s->since_ms};
    (void)snprintf(f.subject, sizeof(f.subject), "%s", s->hx_id);
    if (s->reason[0]) {
        finding_say(&f, FINDING_WARNING, "%.255s: %s", hx ? hx->name : "its HX cluster is gone", s->detail);
        finding_advise(&f, "%s", s->remedy);
    }
    findings_add(out, &f);
}

/* An HX without that call is as it should be, and what hangs on the connection is told with that. */
static void hyperflex_check_publication(const struct hyperflex *h, const struct hx_publication *p,
                                        const struct inventory_platform *platform, struct findings *out) {
    const struct hx_cluster *hx = inventory_find_hx(platform, p->hx_id);
    struct finding f = {.step = "hx_publication", .is_elsewhere = true, .since_ms = p->since_ms};
    bool is_away = false;
    for (size_t i = 0; i < h->statuses.count; i++)
        is_away = is_away || (str_eq(h->statuses.items[i].hx_id, p->hx_id) && h->statuses.items[i].state != HX_CONNECTION_OK);
    if (is_away || (!p->reason[0] && p->state != HX_PUBLICATION_PUBLISHED))
        return;
    (void)snprintf(f.subject, sizeof(f.subject), "%s", p->hx_id);
    if (p->reason[0]) {
        finding_say(&f, FINDING_WARNING, "%.255s: %s", hx ? hx->name : "its HX cluster is gone", p->detail);
        finding_advise(&f, "%s", p->remedy);
    }
    findings_add(out, &f);
}

void hyperflex_check_health(struct hyperflex *h, const struct inventory_platform *platform, struct findings *out) {
    LOCKED(&h->lock);
    for (size_t i = 0; i < h->statuses.count; i++)
        hyperflex_check_one(&h->statuses.items[i], platform, out);
    for (size_t i = 0; i < h->publications.count; i++)
        hyperflex_check_publication(h, &h->publications.items[i], platform, out);
}

/* -- metrics ----------------------------------------------------------------------------------------------------------------- */

void hyperflex_write_metrics(struct hyperflex *h, const struct inventory_platform *platform, struct metric_page *page) {
    worker_pool_write_metrics(h->workers, page, "hyperflex", NULL, NULL);
    LOCKED(&h->lock);
    for (size_t i = 0; platform && i < h->statuses.count; i++) {
        const struct hx_status *s = &h->statuses.items[i];
        const struct hx_cluster *hx = inventory_find_hx(platform, s->hx_id);
        metric_sample(page, METRIC_HX_UP, s->state == HX_CONNECTION_OK, hx ? hx->name : NULL, s->hx_id);
    }
}
