/* The HX clusters that kaasd is connected to: who is read when, with which token, and what came of it. Layer 5 (hyperflex).
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

#define HYPERFLEX_THREADS 6U /* half of them sign in to controllers at most (peers.c) */
#define HYPERFLEX_QUEUE_COUNT 256U
#define REPLICA_GONE_MS (60 * INT64_C(1000)) /* a replica beats its heart every 10 s */
#define SIGN_OUT_MS 3000                     /* for all HX clusters together */

/* -- one try ------------------------------------------------------------------------------------------------------------- */

static bool hyperflex_is_due(const struct hyperflex *h, const struct hx_status *status) {
    return h->options.read_every_ms && status->remote.state != REMOTE_REFUSED &&
           remote_status_is_time(&status->remote, clock_wall_ms());
}

/* What is published goes by a visit that has read it: not to one that is another than was known. */
static int hyperflex_try_both(struct hx_visit *v, const char *hx_id, struct err *err) {
    struct publication p = {.h = v->h, .actor = v->actor, .visit = v};
    struct err why = {0};
    int rc = visit_load(v, hx_id, &why);
    const bool has_peer = rc == ERR_NOT_FOUND && !peers_check(v->h, hx_id, NULL);
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

/* Who was asked to, waits for whoever asks this HX cluster already. older_id[0]: it turned out to be that one. */
static int hyperflex_try(struct hx_remote *at, const struct actor *actor, char older_id[UUID_TEXT_BYTES], struct err *err) {
    struct hx_visit v = {.h = at->h, .actor = actor};
    int rc = hx_remote_enter(at, actor != NULL, HX_VISIT_MS(at->h), err);
    if (rc)
        return rc;
    v.at = at;
    rc = hyperflex_try_both(&v, at->remote.id, err);
    memcpy(older_id, v.older_id, sizeof(v.older_id));
    visit_end(&v);
    return rc;
}

/* By itself: to read it, or to tell it what is due. What was asked elsewhere meanwhile, or cannot be stored, stays due in the database. */
static int hyperflex_contact(struct remote *remote, struct err *err) {
    char older_id[UUID_TEXT_BYTES];
    struct err why = {0};
    int rc = hyperflex_try(hx_remote_of(remote), NULL, older_id, &why);
    return hx_remote_is_elsewhere(rc) ? 0 : err_move(err, rc, &why);
}

const struct remote_kind hx_remote_kind = {
    .name = "hx",
    .contact = hyperflex_contact,
    .begin_end = hx_remote_begin_end,
    .free = hx_remote_free,
};

/* -- life ---------------------------------------------------------------------------------------------------------------- */

int hyperflex_new(const struct hyperflex_options *options, struct hyperflex **out, struct err *err) {
    const struct worker_pool_options workers = {.name = "hyperflex",
                                                .threads = HYPERFLEX_THREADS,
                                                .queue_count = HYPERFLEX_QUEUE_COUNT,
                                                .thread_begin = store_thread_begin,
                                                .thread_end = store_thread_end};
    struct hyperflex *h = calloc(1, sizeof(*h));
    if (!h)
        return err_set(err, ERR_NOMEM, "out of memory");
    h->options = *options;
    h->work[0] = (struct remote_work){.bit = HX_WORK_PUBLISH, .name = "publish", .run = hyperflex_contact, .in_any_state = true};
    h->work[1] = (struct remote_work){.bit = HX_WORK_SIGN_IN, .name = "sign_in", .run = peers_work, .in_any_state = true};
    (void)pthread_mutex_init(&h->making, NULL);
    (void)pthread_mutex_init(&h->inherited, NULL);
    (void)pthread_mutex_init(&h->lock, NULL);
    int rc = worker_pool_new(&workers, &h->workers, err);
    if (!rc)
        rc = remotes_new(&h->remotes, err);
    if (rc)
        hyperflex_free(h);
    else
        *out = h;
    return rc;
}

void hyperflex_stop(struct hyperflex *h) {
    if (!h)
        return;
    remotes_stop(h->remotes, NULL, NULL);
    if (h->workers)
        worker_pool_stop(h->workers);
}

void hyperflex_free(struct hyperflex *h) {
    if (!h)
        return;
    hyperflex_stop(h);
    worker_pool_free(h->workers);
    remotes_free(h->remotes);
    hx_publication_list_done(&h->publications);
    hx_peer_list_done(&h->peers);
    free(h->ca_pem);
    (void)pthread_mutex_destroy(&h->making);
    (void)pthread_mutex_destroy(&h->inherited);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}

/* -- giving tokens back -------------------------------------------------------------------------------------------------- */

static bool has_other_replicas(struct hyperflex *h) {
    struct replica_list list = {0};
    bool is_any = replica_store_list(h->options.runtime->store, &list, NULL) != 0; /* who knows */
    for (size_t i = 0; i < list.count; i++)
        is_any = is_any || (list.items[i].id && list.items[i].id != store_get_replica(h->options.runtime->store) &&
                            list.items[i].heartbeat_age_ms >= 0 && list.items[i].heartbeat_age_ms < REPLICA_GONE_MS);
    replica_list_done(&list);
    return is_any;
}

void hyperflex_sign_out(struct hyperflex *h) {
    static const struct secret_value none = {0};
    const int64_t until_ms = clock_mono_ms() + SIGN_OUT_MS;
    struct hx_status_list list = {0};
    if (!h || has_other_replicas(h) || hx_store_list_statuses(h->options.runtime->store, &list, NULL))
        return;
    if (h->options.call_timeout_ms > SIGN_OUT_MS / 3)
        h->options.call_timeout_ms = SIGN_OUT_MS / 3;
    for (size_t i = 0; i < list.count && clock_mono_ms() < until_ms; i++) {
        struct hx_visit v = {.h = h};
        if (list.items[i].token_at_ms && visit_load_token(&v, list.items[i].hx_id)) {
            visit_give_back(&v);
            v.status->token_at_ms = 0;
            (void)hx_store_save_status(h->options.runtime->store, v.status, &none, NULL, NULL, NULL);
        }
        visit_end(&v);
    }
    hx_status_list_done(&list);
}

/* -- when somebody asks -------------------------------------------------------------------------------------------------- */

static int hyperflex_visit_one(struct hyperflex *h, const struct actor *actor, const char *hx_id, char older_id[UUID_TEXT_BYTES],
                               struct err *err) {
    _cleanup_(hx_connection_free) struct hx_connection *connection = NULL;
    struct hx_remote *at = NULL;
    struct err why = {0};
    older_id[0] = '\0';
    int rc = hx_store_load(h->options.runtime->store, hx_id, &connection, &why);
    if (rc == ERR_NOT_FOUND && !peers_check(h, hx_id, NULL))
        rc = 0;
    if (rc)
        return err_move(err, rc, &why);
    rc = hx_remote_get(h, hx_id, &at, err);
    if (rc)
        return rc;
    rc = hyperflex_try(at, actor, older_id, err);
    remote_unref(&at->remote);
    return rc;
}

int hyperflex_visit(struct hyperflex *h, const struct actor *actor, const char *hx_id, char older_id[UUID_TEXT_BYTES],
                    struct err *err) {
    char none[UUID_TEXT_BYTES];
    int rc = hyperflex_visit_one(h, actor, hx_id, older_id, err);
    return !rc && older_id[0] ? hyperflex_visit_one(h, actor, older_id, none, err) : rc;
}

int hyperflex_test(struct hyperflex *h, const struct actor *actor, const char *hx_id, struct hx_status **out, struct err *err) {
    char older_id[UUID_TEXT_BYTES];
    int rc = hyperflex_visit(h, actor, hx_id, older_id, err);
    return rc ? rc : hx_store_load_status(h->options.runtime->store, older_id[0] ? older_id : hx_id, out, err);
}

/* -- by itself ------------------------------------------------------------------------------------------------------------- */

/* Takes the status over, and has it read if that is due and nothing is planned: no try is under way, and none waits after a failure. One that was set anew is
 * read at once. */
static int hyperflex_follow(struct hyperflex *h, struct hx_status *fresh, struct err *err) {
    struct hx_remote *at = NULL;
    int rc = hx_remote_get(h, fresh->hx_id, &at, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&at->remote.lock);
    const struct hx_status old = at->status;
    const bool is_new = fresh->version_no != old.version_no;
    at->status = *fresh;
    *fresh = old;
    at->remote.status = at->status.remote;
    at->tick_no = at->status_no = h->tick_no;
    if (hyperflex_is_due(h, &at->status) && !atomic_load(&at->remote.is_busy) &&
        (is_new || at->remote.next_try_ms == REMOTE_NEVER))
        remote_try_at(&at->remote, 0);
    (void)pthread_mutex_unlock(&at->remote.lock);
    remote_unref(&at->remote);
    return 0;
}

/* Forgets the status of one that has no connection any more. Who is asked is not put away: the next one would not know of that. */
static bool hyperflex_is_wanted(void *arg, struct remote *remote) {
    const struct hyperflex *h = arg;
    struct hx_remote *at = hx_remote_of(remote);
    LOCKED(&remote->lock);
    if (at->status_no != h->tick_no) {
        hx_status_done(&at->status);
        at->status = (struct hx_status){.facts = HX_FACTS_NONE};
        remote->status = at->status.remote;
    }
    return at->tick_no == h->tick_no || at->is_entered || atomic_load(&remote->refs) > 1;
}

/* What keeps one kind of work from being found out keeps no other: the first error is told. */
static int hyperflex_find_due(struct hyperflex *h, struct hx_status_list *fresh, struct err *err) {
    struct err why[3] = {0};
    int rc[3] = {publish_request_due(h, fresh, h->tick_no, &why[0]), peers_request_due(h, h->tick_no, &why[1]), 0};
    for (size_t i = 0; i < fresh->count; i++) {
        struct err failed = {0};
        int one = hyperflex_follow(h, &fresh->items[i], &failed);
        rc[2] = rc[2] ? rc[2] : err_move(&why[2], one, &failed);
    }
    for (size_t i = 0; i < ARRAY_COUNT(rc); i++)
        if (rc[i])
            return err_move(err, rc[i], &why[i]);
    return 0;
}

int hyperflex_tick(struct hyperflex *h, struct err *err) {
    _cleanup_done_(hx_status_list_done) struct hx_status_list fresh = {0};
    int rc = hx_store_list_statuses(h->options.runtime->store, &fresh, err);
    if (rc)
        return rc;
    h->tick_no++;
    rc = hyperflex_find_due(h, &fresh, err);
    if (!rc)
        remotes_keep(h->remotes, hyperflex_is_wanted, h);
    remotes_tick(h->remotes);
    if (hyperflex_search_is_due(h))
        (void)worker_pool_submit(h->workers, hyperflex_search, h, NULL);
    return rc;
}

bool hyperflex_find_status(struct hyperflex *h, const char *hx_id, struct hx_status *out) {
    _cleanup_(remote_unref) struct remote *found = remotes_find(h->remotes, hx_id);
    if (!found)
        return false;
    struct hx_remote *at = hx_remote_of(found);
    LOCKED(&found->lock);
    return at->status.hx_id && !members_copy(hx_status_members, &at->status, out, sizeof(*out), "a status", NULL);
}

/* -- health ------------------------------------------------------------------------------------------------------------------ */

/* What the functions below are handed with each HX cluster. */
struct hyperflex_view {
    const struct inventory_platform *platform;
    struct findings *findings;
    struct metric_page *page;
};

static void hyperflex_say(struct finding *f, const struct hyperflex_view *view, const char *hx_id, const char *detail,
                          const char *remedy) {
    const struct hx_cluster *hx = inventory_find_hx(view->platform, hx_id);
    finding_say(f, FINDING_WARNING, "%.255s: %s", hx ? hx->name : "its HX cluster is gone", detail);
    finding_advise(f, "%s", remedy);
}

static void hyperflex_check_one(struct remote *remote, void *arg) {
    const struct hyperflex_view *view = arg;
    const struct hx_status *s = &hx_remote_of(remote)->status;
    LOCKED(&remote->lock);
    struct finding f = {.step = "hx_connection", .is_elsewhere = true, .since_ms = s->remote.since_ms};
    if (!s->hx_id)
        return;
    (void)snprintf(f.subject, sizeof(f.subject), "%s", s->hx_id);
    if (s->remote.reason[0])
        hyperflex_say(&f, view, s->hx_id, s->remote.detail, s->remote.remedy);
    findings_add(view->findings, &f);
}

static bool hyperflex_is_away(struct hyperflex *h, const char *hx_id) {
    _cleanup_(remote_unref) struct remote *found = remotes_find(h->remotes, hx_id);
    if (!found)
        return false;
    LOCKED(&found->lock);
    return hx_remote_of(found)->status.hx_id && found->status.state != REMOTE_OK;
}

/* An HX without that call is as it should be, and what hangs on the connection is told with that. */
static void hyperflex_check_publication(struct hyperflex *h, const struct hx_publication *p, const struct hyperflex_view *view) {
    struct finding f = {.step = "hx_publication", .is_elsewhere = true, .since_ms = p->since_ms};
    if (hyperflex_is_away(h, p->hx_id) || (!p->reason[0] && p->state != HX_PUBLICATION_PUBLISHED))
        return;
    (void)snprintf(f.subject, sizeof(f.subject), "%s", p->hx_id);
    if (p->reason[0])
        hyperflex_say(&f, view, p->hx_id, p->detail, p->remedy);
    findings_add(view->findings, &f);
}

void hyperflex_check_health(struct hyperflex *h, const struct inventory_platform *platform, struct findings *out) {
    struct hyperflex_view view = {.platform = platform, .findings = out};
    peers_check_health(h, platform, out);
    remotes_each(h->remotes, hyperflex_check_one, &view);
    LOCKED(&h->lock);
    for (size_t i = 0; i < h->publications.count; i++)
        hyperflex_check_publication(h, &h->publications.items[i], &view);
}

/* -- metrics ----------------------------------------------------------------------------------------------------------------- */

static void hyperflex_write_one(struct remote *remote, void *arg) {
    const struct hyperflex_view *view = arg;
    const struct hx_status *s = &hx_remote_of(remote)->status;
    LOCKED(&remote->lock);
    const struct hx_cluster *hx = s->hx_id ? inventory_find_hx(view->platform, s->hx_id) : NULL;
    if (s->hx_id)
        metric_sample(view->page, METRIC_HX_UP, s->remote.state == REMOTE_OK, hx ? hx->name : NULL, s->hx_id);
}

void hyperflex_write_metrics(struct hyperflex *h, const struct inventory_platform *platform, struct metric_page *page) {
    struct hyperflex_view view = {.platform = platform, .page = page};
    worker_pool_write_metrics(h->workers, page, "hyperflex", NULL, NULL);
    if (platform)
        remotes_each(h->remotes, hyperflex_write_one, &view);
}
