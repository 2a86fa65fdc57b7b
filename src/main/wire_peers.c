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
    struct findings *out;
};

static void check_peer(void *arg, const struct hx_peer *peer) {
    const struct sink *sink = arg;
    const struct hx_cluster *hx = dir_find_hx(sink->platform, peer->hx_id);
    struct finding f = {.step = "hx_peer", .since_ms = peer->since_ms};
    (void)snprintf(f.subject, sizeof(f.subject), "%s", peer->hx_id);
    if (peer->result.state == HX_PEER_FAILING) {
        finding_say(&f, FINDING_WARNING, "%.255s: %s", hx ? hx->name : "its HX cluster is gone", peer->result.detail);
        finding_advise(&f, "%s", peer->result.remedy);
    }
    findings_add(sink->out, &f);
}

void wire_check_peers(struct wire *w, struct findings *out) {
    struct dir_snapshot *snapshot = directory_get(w->directory);
    if (!snapshot)
        return;
    peers_each(w->peers, check_peer, &(struct sink){snapshot->platform, out});
    dir_snapshot_unref(snapshot);
}
