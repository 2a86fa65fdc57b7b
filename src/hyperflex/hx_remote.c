/* HX clusters as remotes: who asks one of them has it alone. Layer 5 (hyperflex). SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "http_client.h"

#define WAITING_MAX 2U /* for one HX cluster: each takes a thread of whoever asked */

struct hx_remote *hx_remote_of(struct remote *remote) {
    return (struct hx_remote *)(void *)remote;
}

static int hx_remote_new(struct hyperflex *h, const char *hx_id, struct hx_remote **out, struct err *err) {
    struct hx_remote *at = calloc(1, sizeof(*at));
    if (!at)
        return err_set(err, ERR_NOMEM, "out of memory");
    at->h = h;
    at->remote.workers = h->workers;
    at->remote.is_wanted = true;
    at->remote.next_try_ms = REMOTE_NEVER;
    at->status.facts = HX_FACTS_NONE;
    (void)pthread_cond_init(&at->left, NULL);
    int rc = remote_init(&at->remote, &hx_remote_kind, h->work, hx_id, err);
    if (rc)
        hx_remote_free(&at->remote);
    else
        *out = at;
    return rc;
}

void hx_remote_free(struct remote *remote) {
    struct hx_remote *at = hx_remote_of(remote);
    hx_status_done(&at->status);
    (void)pthread_cond_destroy(&at->left);
    remote_done(remote);
    free(at);
}

int hx_remote_get(struct hyperflex *h, const char *hx_id, struct hx_remote **out, struct err *err) {
    struct remote *found;
    struct hx_remote *made = NULL;
    LOCKED(&h->making);
    found = remotes_find(h->remotes, hx_id);
    if (found) {
        *out = hx_remote_of(found);
        return 0;
    }
    int rc = hx_remote_new(h, hx_id, &made, err);
    if (rc)
        return rc;
    (void)remote_ref(&made->remote);
    rc = remotes_put(h->remotes, &made->remote, NULL, err);
    if (!rc)
        *out = made;
    return rc;
}

int hx_remote_request(struct hyperflex *h, const char *hx_id, unsigned bits, unsigned tick_no, struct err *err) {
    struct hx_remote *at = NULL;
    int rc = hx_remote_get(h, hx_id, &at, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&at->remote.lock);
    at->tick_no = tick_no;
    (void)pthread_mutex_unlock(&at->remote.lock);
    remote_request_due(&at->remote, bits);
    remote_unref(&at->remote);
    return 0;
}

/* -- alone ------------------------------------------------------------------------------------------------------------------- */

/* A lease holds for all of this replica, so this comes first. */
static int hx_remote_enter_here(struct hx_remote *at, bool waits, struct err *err) {
    LOCKED(&at->remote.lock);
    const bool is_crowded = !waits || at->waiting >= WAITING_MAX;
    at->waiting++;
    while (at->is_entered && !is_crowded && !at->remote.is_retired)
        (void)pthread_cond_wait(&at->left, &at->remote.lock);
    at->waiting--;
    if (at->remote.is_retired)
        return err_set(err, ERR_CANCELED, "kaasd is stopping");
    if (at->is_entered)
        return err_set(err, ERR_BUSY, "this HX cluster is asked already; try again shortly");
    at->is_entered = true;
    return 0;
}

static void hx_remote_leave_here(struct hx_remote *at) {
    LOCKED(&at->remote.lock);
    at->is_entered = false;
    at->client = NULL;
    at->peer = NULL;
    (void)pthread_cond_broadcast(&at->left);
}

int hx_remote_enter(struct hx_remote *at, bool waits, int64_t most_ms, struct err *err) {
    char name[LEASE_NAME_BYTES];
    struct err why = {0};
    int rc = hx_remote_enter_here(at, waits, err);
    if (rc)
        return rc;
    (void)snprintf(name, sizeof(name), "hx:%s", at->remote.id);
    rc = lease_store_take(at->h->options.runtime->store, name, most_ms, &at->fence, &why);
    if (!rc)
        return 0;
    hx_remote_leave_here(at);
    return rc == ERR_BUSY ? err_set(err, ERR_BUSY, "another replica asks this HX cluster just now; try again shortly")
                          : err_move(err, rc, &why);
}

void hx_remote_leave(struct hx_remote *at) {
    lease_store_give_back(at->h->options.runtime->store, &at->fence);
    hx_remote_leave_here(at);
}

int hx_remote_show(struct hx_remote *at, struct hx_client *client, struct http_client *peer, struct err *err) {
    LOCKED(&at->remote.lock);
    if (at->remote.is_retired)
        return err_set(err, ERR_CANCELED, "kaasd is stopping");
    at->client = client ? client : at->client;
    at->peer = peer;
    return 0;
}

void hx_remote_hide(struct hx_remote *at) {
    LOCKED(&at->remote.lock);
    at->peer = NULL;
}

bool hx_remote_is_elsewhere(int rc) {
    return rc == ERR_BUSY || rc == ERR_NOT_FOUND || rc == ERR_CANCELED;
}

void hx_remote_begin_end(struct remote *remote) {
    struct hx_remote *at = hx_remote_of(remote);
    LOCKED(&remote->lock);
    if (at->client)
        hx_client_cancel(at->client);
    if (at->peer)
        http_client_cancel(at->peer);
    (void)pthread_cond_broadcast(&at->left);
}
