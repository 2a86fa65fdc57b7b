/* Peers: what is stored, who is tried when. Layer 5 (hyperflex). SPDX-License-Identifier: GPL-3.0-or-later */
#include "peers.h"

#include <stdio.h>
#include <string.h>

#include "audit.h"
#include "clock.h"
#include "http_client.h"
#include "hyperflex_private.h"
#include "peer_store.h"
#include "str.h"

#define SIGN_INS_MAX 3U /* of the worker pool, at a time */

/* -- audit log ----------------------------------------------------------------------------------------------------------- */

/* `actor` NULL: kaasd by itself. */
static struct audit_record peers_make_line(const struct hyperflex *h, const struct actor *actor, const struct audit_event *what) {
    struct audit_event event = *what;
    event.object_kind = "hx_peer";
    if (!actor)
        event.principal_name = store_replica_name(h->options.runtime->store);
    return audit_record_make(actor, &event);
}

/* A refusal is noted, too. */
static int peers_finish(struct hyperflex *h, const struct audit_record *line, int rc, const struct err *why) {
    if (rc)
        audit_store_append_outcome(h->options.runtime->store, line, rc, why);
    return rc;
}

/* -- setting --------------------------------------------------------------------------------------------------------------- */

int peers_list(struct hyperflex *h, struct hx_peer_list *out, struct err *err) {
    return peer_store_list(h->options.runtime->store, out, err);
}

int peers_load(struct hyperflex *h, const char *hx_id, struct hx_peer **out, struct err *err) {
    return peer_store_load(h->options.runtime->store, hx_id, out, err);
}

int peers_check(struct hyperflex *h, const char *hx_id, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    return peers_load(h, hx_id, &peer, err);
}

/* A CA that cannot be read is told now, not by the first failure. */
static int peers_check_trust(const struct hx_peer *peer, struct err *err) {
    const struct http_client_options options = {.trust = {.ca_pem = peer->ca_pem}, .user_agent = "none"};
    struct http_client *client = NULL;
    struct err why = {0};
    int rc = peer->ca_pem ? http_client_new(&options, &client, &why) : 0;
    http_client_free(client);
    return rc == ERR_CONFIG ? err_set(err, ERR_UNPROCESSABLE, "ca_pem: %s", why.text) : rc ? err_set(err, rc, "%s", why.text) : 0;
}

int peers_put(struct hyperflex *h, const struct actor *actor, struct hx_peer *wish, struct err *err) {
    const struct audit_record line =
        peers_make_line(h, actor, &(struct audit_event){.action = "hx_peer.set", .object_id = wish->hx_id, .reason = wish->url});
    int rc = hx_peer_check(wish, err);
    if (!rc)
        rc = peers_check_trust(wish, err);
    if (rc)
        return rc;
    wish->updated_at_ms = clock_wall_ms();
    rc = peers_finish(h, &line, peer_store_put(h->options.runtime->store, wish, &line, err), err);
    if (!rc && h->options.on_set)
        h->options.on_set(h->options.arg);
    return rc;
}

int peers_remove(struct hyperflex *h, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err) {
    const struct audit_record line =
        peers_make_line(h, actor, &(struct audit_event){.action = "hx_peer.remove", .object_id = hx_id});
    const struct peer_removal removal = {.hx_id = hx_id, .version_no = version_no, .audit = &line};
    return peers_finish(h, &line, peer_store_delete(h->options.runtime->store, &removal, err), err);
}

/* -- trying ---------------------------------------------------------------------------------------------------------------- */

/* Signs in, stores what came of it, tells news. One that was stopped says nothing of the peer. */
static int peers_try(struct hx_remote *at, const struct actor *actor, struct hx_peer *peer, struct err *err) {
    struct hyperflex *h = at->h;
    struct audit_record line;
    bool is_news = false;
    long status;
    int rc;
    peer_sign_in(at, peer, NULL, &peer->result, &status);
    if (str_eq(peer->result.reason, "stopped"))
        return err_set(err, ERR_CANCELED, "%s", peer->result.detail);
    line = peers_make_line(h, actor, &(struct audit_event){.action = "hx_peer.state", .object_id = peer->hx_id});
    line.event.result = peer->result.state == HX_PEER_OK ? err_slug(0) : "upstream_error";
    line.event.reason = peer->result.state == HX_PEER_OK ? peer->result.signed_in_as : peer->result.reason;
    rc = peer_store_save_result(h->options.runtime->store, peer, &line, &at->fence, &is_news, err);
    if (!rc && is_news && h->options.on_peer_news)
        h->options.on_peer_news(h->options.arg, peer);
    return rc;
}

/* Loaded when nobody else has it any more: somebody may have set it anew meanwhile. */
static int peers_ask_now(struct hx_remote *at, const struct actor *actor, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = hx_remote_enter(at, true, HX_SIGN_IN_MS(at->h), err);
    if (rc)
        return rc;
    rc = peers_load(at->h, at->remote.id, &peer, err);
    if (!rc)
        rc = peers_try(at, actor, peer, err);
    hx_remote_leave(at);
    return rc;
}

int peers_test(struct hyperflex *h, const struct actor *actor, const char *hx_id, struct hx_peer **out, struct err *err) {
    struct hx_remote *at = NULL;
    int rc = peers_check(h, hx_id, err);
    if (!rc)
        rc = hx_remote_get(h, hx_id, &at, err);
    if (rc)
        return rc;
    rc = peers_ask_now(at, actor, err);
    remote_unref(&at->remote);
    return rc ? rc : peers_load(h, hx_id, out, err);
}

int peers_exchange(struct hx_remote *at, const struct peers_request *request, struct hx_peer_result *out, long *status,
                   struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = peers_load(at->h, at->remote.id, &peer, err);
    if (rc)
        return rc;
    peer_sign_in(at, peer, request, out, status);
    return str_eq(out->reason, "stopped") ? err_set(err, ERR_CANCELED, "%s", out->detail) : 0;
}

/* -- by itself ------------------------------------------------------------------------------------------------------------- */

static bool peers_is_due(const struct hyperflex *h, const struct hx_peer *peer) {
    const int64_t now_ms = clock_wall_ms(), checked_at_ms = peer->result.checked_at_ms;
    return h->options.check_every_ms && (!checked_at_ms || now_ms - checked_at_ms >= h->options.check_every_ms ||
                                         checked_at_ms > now_ms); /* another replica's clock, or ours was put back */
}

/* It is read again: somebody may have tried it a moment ago. If what comes of it cannot be stored, it stays due. */
static int peers_try_due(struct hx_remote *at, struct err *err) {
    _cleanup_(hx_peer_free) struct hx_peer *peer = NULL;
    int rc = hx_remote_enter(at, false, HX_SIGN_IN_MS(at->h), err);
    if (rc)
        return rc;
    rc = peers_load(at->h, at->remote.id, &peer, err);
    if (!rc && peers_is_due(at->h, peer))
        rc = peers_try(at, NULL, peer, err);
    hx_remote_leave(at);
    return rc;
}

/* A KDC or controllers that hang leave threads for reading: beyond that it stays due. */
int peers_work(struct remote *remote, struct err *err) {
    struct hx_remote *at = hx_remote_of(remote);
    struct err why = {0};
    int rc = 0;
    if (atomic_fetch_add(&at->h->signing_in, 1) < SIGN_INS_MAX)
        rc = peers_try_due(at, &why);
    atomic_fetch_sub(&at->h->signing_in, 1);
    return hx_remote_is_elsewhere(rc) ? 0 : err_move(err, rc, &why);
}

int peers_request_due(struct hyperflex *h, unsigned tick_no, struct err *err) {
    _cleanup_done_(hx_peer_list_done) struct hx_peer_list fresh = {0};
    int rc = peers_list(h, &fresh, err);
    for (size_t i = 0; !rc && i < fresh.count; i++)
        if (peers_is_due(h, &fresh.items[i]))
            rc = hx_remote_request(h, fresh.items[i].hx_id, HX_WORK_SIGN_IN, tick_no, err);
    if (rc)
        return rc;
    LOCKED(&h->lock);
    const struct hx_peer_list old = h->peers;
    h->peers = fresh;
    fresh = old;
    return 0;
}

/* -- health ------------------------------------------------------------------------------------------------------------------ */

static void check_peer(const struct hx_peer *peer, const struct inventory_platform *platform, struct findings *out) {
    const struct hx_cluster *hx = inventory_find_hx(platform, peer->hx_id);
    struct finding f = {.step = "hx_peer", .since_ms = peer->since_ms};
    (void)snprintf(f.subject, sizeof(f.subject), "%s", peer->hx_id);
    if (peer->result.state == HX_PEER_FAILING) {
        finding_say(&f, FINDING_WARNING, "%.255s: %s", hx ? hx->name : "its HX cluster is gone", peer->result.detail);
        finding_advise(&f, "%s", peer->result.remedy);
    }
    findings_add(out, &f);
}

void peers_check_health(struct hyperflex *h, const struct inventory_platform *platform, struct findings *out) {
    LOCKED(&h->lock);
    for (size_t i = 0; i < h->peers.count; i++)
        check_peer(&h->peers.items[i], platform, out);
}
