/* Peers: what is stored, who is tried when, and what is told of it. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "peers.h"

#include <stdlib.h>

#include "clock.h"
#include "lease_store.h"
#include "peer_store.h"
#include "peers_private.h"
#include "str.h"

#define LANE_THREADS 2U
#define LANE_QUEUE_COUNT (PEERS_WAITING_MAX - LANE_THREADS)
#define ASKING_MAX 2U
#define LEASE_NAME "peers"
#define LEASE_MS 30000

/* -- life ------------------------------------------------------------------------------------------------------------------ */

int peers_new(const struct peers_options *options, struct peers **out, struct err *err) {
    const struct lane_options lane = {.name = "peers",
                                      .threads = LANE_THREADS,
                                      .queue_count = LANE_QUEUE_COUNT,
                                      .thread_begin = options->thread_begin,
                                      .thread_end = options->thread_end};
    struct peers *peers = calloc(1, sizeof(*peers));
    int rc;
    if (!peers)
        return err_set(err, ERR_NOMEM, "out of memory");
    peers->options = *options;
    (void)pthread_mutex_init(&peers->lock, NULL);
    peers->keytab = str_dup(options->keytab ? options->keytab : "");
    rc = peers->keytab ? lane_new(&lane, &peers->lane, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        peers_free(peers);
    else
        *out = peers;
    return rc;
}

void peers_stop(struct peers *peers) {
    if (!peers)
        return;
    (void)pthread_mutex_lock(&peers->lock);
    peers->is_stopped = true;
    for (size_t i = 0; i < PEERS_AT_ONCE; i++)
        if (peers->clients[i])
            http_client_cancel(peers->clients[i]);
    (void)pthread_mutex_unlock(&peers->lock);
    if (peers->lane)
        lane_stop(peers->lane);
}

void peers_free(struct peers *peers) {
    if (!peers)
        return;
    peers_stop(peers);
    lane_free(peers->lane);
    for (size_t i = 0; i < PEERS_WAITING_MAX; i++)
        free(peers->under_way[i]);
    hx_peer_list_done(&peers->list);
    free(peers->keytab);
    (void)pthread_mutex_destroy(&peers->lock);
    free(peers);
}

/* -- audit trail ----------------------------------------------------------------------------------------------------------- */

/* `actor` NULL: kaasd by itself. */
static struct audit_record make_line(const struct peers *peers, const struct actor *actor, const struct audit_event *what) {
    struct audit_event event = *what;
    event.object_kind = "hx_peer";
    if (!actor)
        event.principal_name = store_replica_name(peers->options.store);
    return audit_record_make(actor, &event);
}

/* A refusal is noted, too. */
static int finish(struct peers *peers, const struct audit_record *line, int rc) {
    if (rc)
        audit_store_append_outcome(peers->options.store, line, rc);
    return rc;
}

/* -- setting --------------------------------------------------------------------------------------------------------------- */

int peers_list(struct peers *peers, struct hx_peer_list *out, struct err *err) {
    return peer_store_list(peers->options.store, out, err);
}

int peers_load(struct peers *peers, const char *hx_id, struct hx_peer **out, struct err *err) {
    return peer_store_load(peers->options.store, hx_id, out, err);
}

/* A CA that cannot be read is told now, not by the first failure. */
static int check_trust(const struct hx_peer *peer, struct err *err) {
    const struct http_client_options options = {.trust = {.ca_pem = peer->ca_pem}, .user_agent = "none"};
    struct http_client *client = NULL;
    struct err why = {0};
    int rc = peer->ca_pem ? http_client_new(&options, &client, &why) : 0;
    http_client_free(client);
    return rc == ERR_CONFIG ? err_set(err, ERR_UNPROCESSABLE, "ca_pem: %s", why.text) : rc ? err_set(err, rc, "%s", why.text) : 0;
}

int peers_put(struct peers *peers, const struct actor *actor, struct hx_peer *wish, struct err *err) {
    const struct audit_record line =
        make_line(peers, actor, &(struct audit_event){.action = "hx_peer.set", .object_id = wish->hx_id, .reason = wish->url});
    int rc = hx_peer_check(wish, err);
    if (!rc)
        rc = check_trust(wish, err);
    if (rc)
        return rc;
    wish->updated_at_ms = clock_wall_ms();
    rc = finish(peers, &line, peer_store_put(peers->options.store, wish, &line, err));
    if (!rc && peers->options.on_set)
        peers->options.on_set(peers->options.on_set_arg);
    return rc;
}

int peers_remove(struct peers *peers, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err) {
    const struct audit_record line =
        make_line(peers, actor, &(struct audit_event){.action = "hx_peer.remove", .object_id = hx_id});
    const struct peer_removal removal = {.hx_id = hx_id, .version_no = version_no, .audit = &line};
    return finish(peers, &line, peer_store_delete(peers->options.store, &removal, err));
}

/* -- trying ---------------------------------------------------------------------------------------------------------------- */

/* Signs in, stores what came of it, tells news. One that was stopped says nothing of the peer. */
static int try(struct peers *peers, const struct actor *actor, struct hx_peer *peer, struct err *err) {
    struct audit_record line;
    bool is_news = false;
    int rc;
    peer_sign_in(peers, peer, &peer->result);
    if (str_eq(peer->result.reason, "stopped"))
        return err_set(err, ERR_CANCELED, "%s", peer->result.detail);
    line = make_line(peers, actor, &(struct audit_event){.action = "hx_peer.state", .object_id = peer->hx_id});
    line.event.result = peer->result.state == HX_PEER_OK ? err_slug(0) : "upstream_error";
    line.event.reason = peer->result.state == HX_PEER_OK ? peer->result.signed_in_as : peer->result.reason;
    rc = peer_store_save_result(peers->options.store, peer, &line, &is_news, err);
    if (!rc && is_news && peers->options.on_news)
        peers->options.on_news(peers->options.on_news_arg, peer);
    return rc;
}

int peers_test(struct peers *peers, const struct actor *actor, const char *hx_id, struct hx_peer **out, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = peers_load(peers, hx_id, &peer, err);
    if (rc)
        return rc;
    if (atomic_fetch_add(&peers->asking, 1) >= ASKING_MAX)
        rc = err_set(err, ERR_BUSY, "%u peers are tried already; try again shortly", ASKING_MAX);
    else
        rc = try(peers, actor, peer, err);
    atomic_fetch_sub(&peers->asking, 1);
    return rc ? rc : peers_load(peers, hx_id, out, err);
}

/* -- by itself ------------------------------------------------------------------------------------------------------------- */

static bool is_due(const struct peers *peers, const struct hx_peer *peer) {
    const int64_t now_ms = clock_wall_ms(), checked_at_ms = peer->result.checked_at_ms;
    return !checked_at_ms || now_ms - checked_at_ms >= peers->options.check_every_ms ||
           checked_at_ms > now_ms; /* another replica's clock, or ours was put back */
}

struct errand {
    struct peers *peers;
    char *hx_id; /* the text of its place: valid until that is given back */
};

static void leave_place(struct peers *peers, const char *hx_id) {
    (void)pthread_mutex_lock(&peers->lock);
    for (size_t i = 0; i < PEERS_WAITING_MAX; i++)
        if (peers->under_way[i] == hx_id)
            free(STEAL(peers->under_way[i]));
    (void)pthread_mutex_unlock(&peers->lock);
}

/* It is read again: somebody may have tried it a moment ago. If what comes of it cannot be stored, it stays due. */
static void run_errand(void *arg, bool is_canceled) {
    _cleanup_free_ struct errand *errand = arg;
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    struct err err = {0};
    if (!is_canceled && !peers_load(errand->peers, errand->hx_id, &peer, &err) && is_due(errand->peers, peer))
        (void)try(errand->peers, NULL, peer, &err);
    leave_place(errand->peers, errand->hx_id);
}

/* Takes a place in the lane. NULL if all are taken, or it is tried already. */
static char *take_place(struct peers *peers, const char *hx_id) {
    size_t place = PEERS_WAITING_MAX;
    char *taken = NULL;
    bool is_there = false;
    (void)pthread_mutex_lock(&peers->lock);
    for (size_t i = 0; i < PEERS_WAITING_MAX; i++) {
        is_there = is_there || str_eq(peers->under_way[i], hx_id);
        if (!peers->under_way[i])
            place = i;
    }
    if (!is_there && place < PEERS_WAITING_MAX)
        taken = peers->under_way[place] = str_dup(hx_id);
    (void)pthread_mutex_unlock(&peers->lock);
    return taken;
}

static void send_off(struct peers *peers, const struct hx_peer *peer) {
    char *place = take_place(peers, peer->hx_id);
    struct errand *errand = place ? calloc(1, sizeof(*errand)) : NULL;
    if (errand)
        *errand = (struct errand){peers, place};
    if (errand && !lane_submit(peers->lane, run_errand, errand, NULL))
        return;
    free(errand);
    if (place)
        leave_place(peers, place);
}

static int send_all(struct peers *peers, const struct hx_peer_list *list, struct err *err) {
    struct store *store = peers->options.store;
    bool is_mine = false;
    int rc = lease_store_acquire(store, LEASE_NAME, store_replica_name(store), LEASE_MS, &is_mine, err);
    for (size_t i = 0; !rc && is_mine && i < list->count; i++)
        if (is_due(peers, &list->items[i]))
            send_off(peers, &list->items[i]);
    return rc;
}

int peers_tick(struct peers *peers, struct err *err) {
    struct hx_peer_list fresh = {0}, old;
    int rc = peers_list(peers, &fresh, err);
    if (rc)
        return rc;
    if (fresh.count && peers->options.check_every_ms)
        rc = send_all(peers, &fresh, err);
    (void)pthread_mutex_lock(&peers->lock);
    old = peers->list;
    peers->list = fresh;
    (void)pthread_mutex_unlock(&peers->lock);
    hx_peer_list_done(&old);
    return rc;
}

void peers_each(struct peers *peers, void (*fn)(void *arg, const struct hx_peer *peer), void *arg) {
    (void)pthread_mutex_lock(&peers->lock);
    for (size_t i = 0; i < peers->list.count; i++)
        fn(arg, &peers->list.items[i]);
    (void)pthread_mutex_unlock(&peers->lock);
}
