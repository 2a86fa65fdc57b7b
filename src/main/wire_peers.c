/* Controllers of HX clusters that kaasd signs in to, in the daemon: making it, and what log and health say of them. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "log.h"
#include "wire_private.h"

static void on_news(void *arg, const struct hx_peer *peer) {
    const struct hx_peer_result *r = &peer->result;
    const bool is_good = r->state == HX_PEER_OK;
    (void)arg;
    log_event(is_good ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "hx_peer", "hx_cluster", peer->hx_id, "state",
              hx_peer_state_name(r->state), "principal", r->signed_in_as[0] ? r->signed_in_as : NULL, "reason",
              is_good ? NULL : r->reason, "detail", is_good ? NULL : r->detail, "remedy", is_good ? NULL : r->remedy, NULL);
}

static void on_set(void *arg) {
    const struct wire *w = arg;
    scheduler_wake(w->scheduler, "peers");
}

int wire_make_peers(struct wire *w, struct err *err) {
    const struct peers_options options = {
        .store = w->store,
        .kerberos = w->kerberos,
        .keytab = w->config.auth_kerberos_keytab,
        .connect_timeout_ms = (long)w->config.peers_call_timeout_ms,
        .call_timeout_ms = (long)w->config.peers_call_timeout_ms,
        .check_every_ms = w->config.peers_check_interval_ms,
        .thread_begin = store_thread_begin,
        .thread_end = store_thread_end,
        .on_news = on_news,
        .on_news_arg = w,
        .on_set = on_set,
        .on_set_arg = w,
    };
    return peers_new(&options, &w->peers, err);
}

struct sink {
    const struct dir_platform *platform;
    api_check_fn *fn;
    void *arg;
};

static void check_peer(void *arg, const struct hx_peer *peer) {
    const struct sink *sink = arg;
    const struct hx_cluster *hx = dir_find_hx(sink->platform, peer->hx_id);
    char name[64], words[ERR_TEXT_BYTES + 300];
    struct api_check check = {.name = name, .since_ms = peer->since_ms};
    (void)snprintf(name, sizeof(name), "hx_peer:%s", peer->hx_id);
    if (peer->result.state == HX_PEER_FAILING) {
        (void)snprintf(words, sizeof(words), "%.255s: %s", hx ? hx->name : "its HX cluster is gone", peer->result.detail);
        check.status = 1;
        check.detail = words;
        check.remedy = peer->result.remedy;
    }
    sink->fn(sink->arg, &check);
}

void wire_check_peers(struct wire *w, api_check_fn *fn, void *sink) {
    struct dir_snapshot *snapshot = directory_get(w->directory);
    if (!snapshot)
        return;
    peers_each(w->peers, check_peer, &(struct sink){snapshot->platform, fn, sink});
    dir_snapshot_unref(snapshot);
}
