/* One connection to a Kubernetes cluster as a remote: its holder asks and watches, and writes down what it finds. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "str.h"
#include "x509.h"

#define CONTACT_MS 4000         /* from one good contact to the next */
#define CONTACT_SOON_MS 1000    /* while it has not been silent for long */
#define CONTACT_SILENT_MS 15000 /* after more of them */
#define SAVE_AGAIN_MS 60000     /* a status is written so often, also unchanged */
#define REFUSED_AFTER_MS 60000  /* a server that starts says 401, too */
#define WATCH_GOOD_MS 10000     /* a watch that ends earlier has failed */
#define WATCH_FAILURES_MAX 3U   /* in a row, before that is told */

/* Of a watch that fails again and again: what is too large is read each time, and more than once a minute that helps nobody. */
static const struct backoff watch_retry = {.first_ms = 1000, .max_ms = 60000};

struct kube_remote *kube_remote_of(struct remote *remote) {
    return (struct kube_remote *)(void *)remote;
}

static void on_nodes_changed(void *arg) {
    remote_request(arg, KUBE_WORK_SAVE);
}

int kube_remote_new(struct kubernetes *k, struct kube_connection *connection, struct kube_status *status,
                    struct kube_remote **out, struct err *err) {
    struct kube_remote *at = calloc(1, sizeof(*at));
    if (!at)
        return err_set(err, ERR_NOMEM, "out of memory");
    at->k = k;
    at->remote.workers = k->workers;
    at->remote.is_wanted = true;
    at->connection = *connection;
    at->status = *status;
    at->remote.status = status->remote;
    *connection = (struct kube_connection){0};
    *status = (struct kube_status){0};
    (void)pthread_mutex_init(&at->watching, NULL);
    kube_mirror_init(&at->mirror, on_nodes_changed, &at->remote);
    at->outcome = at->status.remote;
    int rc = remote_init(&at->remote, &kube_remote_kind, k->work, at->connection.cluster_id, err);
    if (rc)
        kube_remote_kind.free(&at->remote);
    else
        *out = at;
    return rc;
}

static void kube_remote_free(struct remote *remote) {
    struct kube_remote *at = kube_remote_of(remote);
    k8s_watch_free(at->watch);
    k8s_client_free(at->client);
    kube_answers_done(&at->answers);
    kube_mirror_done(&at->mirror);
    kube_connection_done(&at->connection);
    kube_status_done(&at->status);
    secret_free(at->token);
    (void)pthread_mutex_destroy(&at->watching);
    remote_done(remote);
    free(at);
}

/* -- the lease ------------------------------------------------------------------------------------------------------------- */

static bool kube_is_holder(struct kube_remote *at) {
    LOCKED(&at->remote.lock);
    return at->is_holder;
}

static int kube_take_lease(struct kube_remote *at, struct err *err) {
    char name[LEASE_NAME_BYTES];
    struct lease_fence fence;
    (void)snprintf(name, sizeof(name), KUBE_LEASE_PREFIX "%s", at->remote.id);
    int rc = lease_store_take(at->k->options.runtime->store, name, KUBE_LEASE_MS, &fence, err);
    if (rc)
        return rc;
    at->outcome = at->status.remote;
    at->held_since_ms = clock_mono_ms();
    kube_judge_begin(at);
    LOCKED(&at->remote.lock);
    at->fence = fence;
    at->is_holder = true;
    return 0;
}

static void stop_watch(struct kube_remote *at) {
    LOCKED(&at->watching);
    if (at->watch)
        k8s_watch_stop(at->watch);
    at->is_watching = false;
}

/* The next one begins with a list of all nodes, since those that it would go on from are forgotten. */
static void drop_watch(struct kube_remote *at) {
    stop_watch(at);
    LOCKED(&at->watching);
    k8s_watch_free(STEAL(at->watch));
    kube_mirror_clear(&at->mirror);
    at->watch_failures = 0;
    at->watch_next_ms = 0;
}

/* Lets go of everything: somebody else asks this cluster, or nobody any more. */
static void kube_rest(struct kube_remote *at) {
    drop_watch(at);
    kube_answers_done(&at->answers);
    at->saved_version = 0;
    LOCKED(&at->remote.lock);
    at->is_holder = false;
}

/* Ends a call under way, so that the job ends. */
static void kube_begin_end(struct remote *remote) {
    struct kube_remote *at = kube_remote_of(remote);
    LOCKED(&remote->lock);
    if (at->client)
        k8s_client_cancel(at->client);
}

/* A job that still runs starts no watch any more, and writes nothing, since the lease is no longer its. */
static void kube_end(struct remote *remote) {
    struct kube_remote *at = kube_remote_of(remote);
    kube_begin_end(remote);
    stop_watch(at);
    (void)pthread_mutex_lock(&remote->lock);
    const struct lease_fence fence = at->fence;
    const bool is_holder = at->is_holder;
    (void)pthread_mutex_unlock(&remote->lock);
    if (is_holder)
        lease_store_give_back(at->k->options.runtime->store, &fence);
}

/* When the next contact is made. */
static void kube_plan(struct kube_remote *at, int64_t in_ms) {
    LOCKED(&at->remote.lock);
    remote_try_at(&at->remote, clock_mono_ms() + in_ms);
}

/* -- token and client -------------------------------------------------------------------------------------------------------- */

/* The watch, which would hold the old one until that ends, begins anew where it was. */
static int kube_use_token(struct kube_remote *at, char *token, struct err *err) {
    int rc = kube_use_new_client(at, token, err);
    if (rc) {
        secret_free(token);
        return rc;
    }
    stop_watch(at);
    secret_free(at->token);
    at->token = token;
    at->token_no++;
    at->watch_failures = 0;
    at->watch_next_ms = 0;
    return 0;
}

/* Another replica may have renewed it since it was read. */
static int kube_read_token(struct kube_remote *at, bool *is_other, struct err *err) {
    char *token = NULL;
    int rc = kube_load_token(at->k, at->remote.id, &token, err);
    if (rc)
        return rc;
    *is_other = !str_eq(token, at->token) || !at->client;
    if (*is_other)
        return kube_use_token(at, token, err);
    secret_free(token);
    return 0;
}

/* -- writing ------------------------------------------------------------------------------------------------------------------ */

static int kube_copy_status(struct kube_remote *at, struct kube_status *out, struct err *err) {
    LOCKED(&at->remote.lock);
    return members_copy(kube_status_members, &at->status, out, sizeof(*out), "a status", err);
}

static void kube_lose(struct kube_remote *at) {
    LOCKED(&at->remote.lock);
    at->is_holder = false;
    remote_try_at(&at->remote, 0);
}

/* What it says in lists, other than when it was looked at. */
static bool is_news_for_lists(const struct kube_status *a, const struct kube_status *b) {
    const struct kube_summary *x = &a->health, *y = &b->health;
    return a->remote.state != b->remote.state || x->state != y->state || x->since_ms != y->since_ms ||
           !str_eq(x->reason, y->reason) || !str_eq(a->version, b->version) || x->control_plane_ready != y->control_plane_ready ||
           x->control_plane_desired != y->control_plane_desired || x->workers_ready != y->workers_ready ||
           x->workers_desired != y->workers_desired;
}

/* Writes it, if we still hold the lease, and keeps it (`fresh` gets what was there). A connection that was set anew or removed meanwhile is not ours any more. */
static int kube_write_status(struct kube_remote *at, struct kube_status *fresh, const struct secret_value *token,
                             struct err *err) {
    const bool is_news = is_news_for_lists(fresh, &at->status);
    const bool is_told =
        fresh->remote.state != at->status.remote.state || !str_eq(fresh->remote.reason, at->status.remote.reason);
    int rc = kube_store_save_status(at->k->options.runtime->store, fresh, token, &at->fence, is_news, err);
    if (rc)
        return rc;
    if (is_told && at->k->options.on_news)
        at->k->options.on_news(at->k->options.arg, fresh);
    (void)pthread_mutex_lock(&at->remote.lock);
    const struct kube_status old = at->status;
    at->status = *fresh;
    at->remote.status = fresh->remote;
    *fresh = old;
    (void)pthread_mutex_unlock(&at->remote.lock);
    if (is_news)
        runtime_note_written(at->k->options.runtime);
    return 0;
}

/* By the server's clock, if it tells the time. */
static int kube_age(const struct kube_remote *at, struct kube_node *nodes, size_t count, struct err *err) {
    const int64_t now_s = (clock_wall_ms() + (at->answers.has_clock ? at->answers.skew_ms : 0)) / 1000;
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++)
        rc = kube_health_age_node(&nodes[i], now_s, err);
    return rc;
}

static int kube_save_nodes(struct kube_remote *at, const struct kube_nodes *nodes, struct err *err) {
    static const struct cluster_room room = {.clusters_max = KAAS_CLUSTERS_COUNT_MAX, .nodes_max = KAAS_NODES_COUNT_MAX};
    unsigned changed = 0;
    int rc = kube_store_save_nodes(at->k->options.runtime->store, at->remote.id, nodes, &room, &at->fence, &changed, err);
    if (!rc && changed)
        runtime_note_written(at->k->options.runtime);
    return rc;
}

static int kube_save_status(struct kube_remote *at, const struct kube_nodes *nodes, struct err *err) {
    struct kube_status fresh = {0};
    int rc = kube_copy_status(at, &fresh, err);
    fresh.remote = at->outcome;
    rc = rc ? rc : kube_judge(at, nodes, &fresh, err);
    const bool is_due = fresh.remote.checked_at_ms - at->status.remote.checked_at_ms >= SAVE_AGAIN_MS;
    if (!rc && (is_due || !members_same(kube_status_members, &fresh, &at->status)))
        rc = kube_write_status(at, &fresh, NULL, err);
    kube_status_done(&fresh);
    return rc;
}

/* Nodes that are as they were are compared with the database only once a minute, for those whose kubelet has become silent. */
static bool kube_nodes_are_due(struct kube_remote *at, uint64_t version) {
    const int64_t now_ms = clock_mono_ms();
    if (version == at->saved_version && now_ms - at->nodes_saved_ms < SAVE_AGAIN_MS)
        return false;
    at->saved_version = version;
    at->nodes_saved_ms = now_ms;
    return true;
}

/* Nodes that we may not see are not known, however they were. */
static bool are_nodes_denied(const struct kube_remote *at) {
    return at->watch_failures && at->watch_why.code == ERR_UPSTREAM_DENIED;
}

/* The status is written also where the nodes cannot be: it tells how the cluster is. */
static int kube_save_all(struct kube_remote *at, struct err *err) {
    struct kube_node *items = NULL;
    struct kube_nodes nodes = {0};
    struct err why = {0}, other = {0};
    uint64_t version = 0;
    int rc = kube_mirror_copy(&at->mirror, &items, &nodes.count, &version, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    const bool has_nodes = !rc && !kube_mirror_is_doubtful(&at->mirror) && !are_nodes_denied(at);
    nodes.items = items;
    rc = kube_age(at, items, nodes.count, err);
    if (!rc && has_nodes && kube_nodes_are_due(at, version))
        rc = kube_save_nodes(at, &nodes, err);
    if (rc)
        at->saved_version = 0;
    int last = kube_save_status(at, has_nodes ? &nodes : NULL, &other);
    kube_nodes_free(items, nodes.count);
    return rc ? rc : err_move(err, last, &other);
}

static bool is_end_of_watch_new(struct kube_remote *at) {
    LOCKED(&at->watching);
    return at->is_watching && kube_mirror_has_ended(&at->mirror, NULL);
}

static bool is_watch_under_way(struct kube_remote *at) {
    LOCKED(&at->watching);
    return at->is_watching && !kube_mirror_has_ended(&at->mirror, NULL);
}

/* Whoever has just taken the lease does not know the nodes yet. Where all else is well, what the replica before has judged stands until they are told: a hand-over
 * makes no cluster unknown. */
static bool is_beginning(struct kube_remote *at) {
    const struct kube_readyz *readyz = &at->answers.readyz;
    return at->outcome.state == REMOTE_OK && readyz->is_there && !readyz->failed_count && !kube_mirror_is_complete(&at->mirror) &&
           is_watch_under_way(at) && clock_mono_ms() - at->held_since_ms < KUBE_PATIENCE_MS;
}

int kube_remote_save(struct remote *remote, struct err *err) {
    struct kube_remote *at = kube_remote_of(remote);
    struct err why = {0};
    if (!kube_is_holder(at))
        return 0;
    if (at->outcome.state == REMOTE_OK && is_end_of_watch_new(at))
        kube_plan(at, CONTACT_SOON_MS);
    if (at->outcome.state == REMOTE_OK && kube_mirror_is_doubtful(&at->mirror) && at->answers.readyz.etcd != KUBE_FALSE) {
        kube_plan(at, 0); /* which cluster this is is asked before the nodes are believed; without etcd nobody could say */
        return 0;
    }
    if (is_beginning(at))
        return 0;
    int rc = kube_save_all(at, &why);
    if (rc == ERR_PRECONDITION || rc == ERR_NOT_FOUND) {
        kube_lose(at);
        return 0;
    }
    return err_move(err, rc, &why);
}

static int kube_renew_token(struct kube_remote *at, struct err *err) {
    char account[KUBE_ACCOUNT_BYTES], *token = NULL;
    struct secret_value sealed = {0};
    struct kube_status fresh = {0};
    int64_t until_ms = 0;
    int rc = kube_account_name(at->k, account, err);
    rc = rc ? rc : kube_account_get_token(at->client, account, &token, &until_ms, err);
    rc = rc ? rc : kube_seal_token(at->k, at->remote.id, token, &sealed, err);
    rc = rc ? rc : kube_copy_status(at, &fresh, err);
    if (!rc) {
        fresh.token_until_ms = until_ms;
        fresh.token_renew_at_ms = kube_renew_at_ms(clock_wall_ms(), until_ms);
        rc = kube_write_status(at, &fresh, &sealed, err);
    }
    kube_status_done(&fresh);
    free(sealed.bytes);
    if (!rc)
        return kube_use_token(at, token, err);
    secret_free(token);
    return rc;
}

/* -- contact ------------------------------------------------------------------------------------------------------------------- */

/* The server refuses our token for good: there is none, its end has passed, or it has said so for longer than a start takes. It is asked on all the same, with what is
 * stored. */
static bool is_refused_for_good(const struct kube_remote *at, int64_t now_ms) {
    return !at->client || now_ms >= at->status.token_until_ms || now_ms - at->refused_since_ms >= REFUSED_AFTER_MS;
}

static void note_refusal(struct kube_remote *at, const struct err *why, int64_t now_ms) {
    struct err told = *why;
    at->refused_since_ms = at->refused_since_ms ? at->refused_since_ms : now_ms;
    const bool is_for_good = is_refused_for_good(at, now_ms);
    if (is_for_good && !at->heal_why.remedy[0])
        (void)snprintf(told.remedy, sizeof(told.remedy),
                       "give a fresh kubeconfig of an administrator: kaasctl cluster reconnect %s --kubeconfig FILE",
                       at->remote.id);
    (void)remote_status_set(&at->outcome, is_for_good ? REMOTE_REFUSED : REMOTE_FAILING, "token_refused", &told, now_ms);
}

static void note_other_cluster(struct kube_remote *at, const struct err *why, int64_t now_ms) {
    (void)remote_status_set(&at->outcome, REMOTE_REFUSED, KUBE_REASON_OTHER, why, now_ms);
}

static const char *contact_reason(int rc) {
    switch (rc) {
    case ERR_TLS: return "tls_untrusted";
    case ERR_TIMEOUT: return "timeout";
    case ERR_UNREACHABLE: return "unreachable";
    case ERR_UPSTREAM_DENIED: return "denied";
    case ERR_TOO_MANY: return "busy";
    default: return "bad_answer";
    }
}

/* Not only silence: a proxy says 503 in place of an API server that is not there, and a web server 404. Whoever answers, nothing is told of the cluster then. One that has
 * told its readiness and then hangs, as it does in the first seconds without quorum, is there. */
static bool contact_is_silence(const struct kube_remote *at, int rc) {
    switch (rc) {
    case 0:
    case ERR_UNAUTHENTICATED:
    case ERR_UPSTREAM_DENIED:
    case ERR_CONFLICT:
    case ERR_TOO_MANY: return false;
    default: return !at->answers.is_readiness_told;
    }
}

static void note_outcome(struct kube_remote *at, int rc, bool is_silent, const struct err *why) {
    const int64_t now_ms = clock_wall_ms();
    const bool is_refused = rc == ERR_UNAUTHENTICATED;
    at->bad_tries = (is_silent && at->silent_since_ms) || (is_refused && at->refused_since_ms) ? at->bad_tries + 1 : 1;
    at->silent_since_ms = !is_silent ? 0 : at->silent_since_ms ? at->silent_since_ms : now_ms;
    at->outcome.checked_at_ms = now_ms;
    if (is_refused)
        note_refusal(at, why, now_ms);
    else if (rc == ERR_CONFLICT)
        note_other_cluster(at, why, now_ms);
    else
        (void)remote_status_set(&at->outcome, rc ? REMOTE_FAILING : REMOTE_OK, rc ? contact_reason(rc) : "", rc ? why : NULL,
                                now_ms);
    if (!is_refused) {
        at->refused_since_ms = 0;
        err_clear(&at->heal_why);
    }
    const bool is_new_silence = is_silent && now_ms - at->silent_since_ms < KUBE_PATIENCE_MS;
    const int64_t pause_ms = is_new_silence ? CONTACT_SOON_MS : is_silent ? CONTACT_SILENT_MS : CONTACT_MS;
    const int64_t asked_for_ms = why->retry_after_s * INT64_C(1000);
    kube_plan(at, asked_for_ms > pause_ms ? asked_for_ms : pause_ms);
}

static int start_watch(struct kube_remote *at, struct err *err) {
    uint8_t pin[32];
    const struct k8s_endpoint endpoint = kube_endpoint(at->k, &at->connection, pin);
    const struct k8s_watch_user user = kube_mirror_user(&at->mirror);
    LOCKED(&at->watching);
    const bool is_first = !at->watch;
    if (remote_is_retired(&at->remote))
        return err_set(err, ERR_CANCELED, "this connection is not ours any more");
    if (at->is_watching || clock_mono_ms() < at->watch_next_ms)
        return 0;
    int rc = is_first ? k8s_watch_new(at->k->streams, &endpoint, &user, &at->watch, err) : 0;
    kube_mirror_begin(&at->mirror);
    rc = rc ? rc : k8s_watch_start(at->watch, at->token, err);
    at->is_watching = !rc;
    at->watch_token_no = at->token_no;
    at->watch_began_ms = clock_mono_ms();
    return rc;
}

/* When the next watch begins: at once after one that was good, and after the first that was not. As the server says, where it does. */
static void watch_plan(struct kube_remote *at, const struct err *why) {
    const int64_t now_ms = clock_mono_ms(), asked_for_ms = why->retry_after_s * INT64_C(1000);
    at->watch_failures = now_ms - at->watch_began_ms < WATCH_GOOD_MS ? at->watch_failures + 1 : 0;
    const int64_t pause_ms = at->watch_failures ? backoff_delay_ms(&watch_retry, at->watch_failures - 1, 0) : 0;
    at->watch_next_ms = now_ms + (asked_for_ms > pause_ms ? asked_for_ms : pause_ms);
}

/* The watch has ended; the caller begins the next one. A token that was renewed meanwhile is no reason to wait. Needs the lock of `watching`. */
static void watch_take_end(struct kube_remote *at, const struct err *why) {
    at->is_watching = false;
    at->watch_next_ms = 0;
    if (why->code == ERR_UNAUTHENTICATED && at->watch_token_no != at->token_no)
        return;
    watch_plan(at, why);
    at->watch_why = *why;
    if (why->code == ERR_UPSTREAM_DENIED)
        kube_probe_note_denied(at);
}

/* A watch that the server refuses, or that fails again and again, says so by its end; that is an answer like that to a question, until a watch is good. What a 403 takes
 * away is told with the right that is missing. */
static int watch_outcome(struct kube_remote *at, struct err *err) {
    struct err why = {0};
    LOCKED(&at->watching);
    if (at->is_watching && kube_mirror_has_ended(&at->mirror, &why))
        watch_take_end(at, &why);
    else if (at->is_watching && clock_mono_ms() - at->watch_began_ms >= WATCH_GOOD_MS)
        at->watch_failures = 0;
    const int code = at->watch_failures ? at->watch_why.code : 0;
    if (code == ERR_UNAUTHENTICATED || (code != ERR_UPSTREAM_DENIED && at->watch_failures > WATCH_FAILURES_MAX))
        return err_move(err, code, &at->watch_why);
    return 0;
}

/* Without etcd no token is made: the question would keep a thread for nothing, and there is half a day left. */
static int renew_if_due(struct kube_remote *at, struct err *err) {
    const bool is_due = clock_wall_ms() >= at->status.token_renew_at_ms && at->answers.readyz.etcd != KUBE_FALSE;
    return is_due ? kube_renew_token(at, err) : 0;
}

/* What a 403 takes away is told with the right that is missing; the rest goes on. *is_silent: the server does not answer. Trouble with token or watch beside good answers
 * is told, and no silence. */
static int visit(struct kube_remote *at, bool *is_silent, struct err *err) {
    struct err why = {0}, ended = {0};
    int rc = kube_probe(at, err);
    *is_silent = contact_is_silence(at, rc);
    if (rc)
        return rc;
    rc = renew_if_due(at, &why);
    if (rc == ERR_UPSTREAM_DENIED)
        kube_probe_note_denied(at);
    else if (rc)
        return err_move(err, rc, &why);
    rc = watch_outcome(at, &ended);
    err_clear(&why);
    int begun = start_watch(at, &why);
    return rc ? err_move(err, rc, &ended) : err_move(err, begun, &why);
}

/* What the server has no part in: kaasd stops, or has trouble with its own database or memory. */
static bool is_ours_alone(int rc) {
    return rc == ERR_CANCELED || rc == ERR_DATABASE || rc == ERR_PRECONDITION || rc == ERR_NOMEM || rc == ERR_INTERNAL;
}

static int kube_contact(struct remote *remote, struct err *err) {
    struct kube_remote *at = kube_remote_of(remote);
    struct err why = {0};
    bool is_other = false, is_silent = false;
    if (!kube_is_holder(at)) {
        kube_rest(at);
        int rc = kube_take_lease(at, &why);
        if (rc)
            return rc == ERR_BUSY ? 0 : err_move(err, rc, &why);
    }
    int rc = at->client ? 0 : kube_read_token(at, &is_other, &why);
    if (rc && rc != ERR_UNAUTHENTICATED)
        return err_move(err, rc, &why);
    rc = rc ? rc : visit(at, &is_silent, &why);
    if (rc == ERR_UNAUTHENTICATED && !kube_read_token(at, &is_other, NULL) && is_other) {
        err_clear(&why);
        rc = visit(at, &is_silent, &why);
    }
    if (rc == ERR_CONFLICT)
        drop_watch(at);
    if (rc == ERR_UNAUTHENTICATED && kube_heal(at, &why)) {
        kube_plan(at, CONTACT_MS);
        return 0;
    }
    if (is_ours_alone(rc))
        return err_move(err, rc, &why);
    note_outcome(at, rc, is_silent, &why);
    return kube_remote_save(remote, err);
}

const struct remote_kind kube_remote_kind = {
    .name = "kubernetes",
    .contact = kube_contact,
    .begin_end = kube_begin_end,
    .end = kube_end,
    .free = kube_remote_free,
};
