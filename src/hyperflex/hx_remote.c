/* HX clusters as remotes: who asks one of them has it alone. Layer 4 (hyperflex). SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex_private.h"

#include <stdlib.h>

#include "clock.h"

struct hx_remote *hx_remote_of(struct remote *remote) {
    return (struct hx_remote *)(void *)remote;
}

static int hx_remote_new(struct hyperflex *h, const char *hx_id, struct hx_remote **out, struct err *err) {
    struct hx_remote *at = calloc(1, sizeof(*at));
    if (!at)
        return err_set(err, ERR_NOMEM, "out of memory");
    at->h = h;
    at->remote.workers = h->workers;
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

int hx_remote_enter(struct hx_remote *at, bool waits, struct err *err) {
    LOCKED(&at->remote.lock);
    while (at->is_entered && waits && !at->remote.is_retired)
        (void)pthread_cond_wait(&at->left, &at->remote.lock);
    if (at->remote.is_retired)
        return err_set(err, ERR_CANCELED, "kaasd is stopping");
    if (at->is_entered)
        return err_set(err, ERR_BUSY, "this HX cluster is asked already");
    at->is_entered = true;
    return 0;
}

int hx_remote_show(struct hx_remote *at, struct hx_client *client, struct err *err) {
    LOCKED(&at->remote.lock);
    if (at->remote.is_retired)
        return err_set(err, ERR_CANCELED, "kaasd is stopping");
    at->client = client;
    return 0;
}

void hx_remote_leave(struct hx_remote *at) {
    LOCKED(&at->remote.lock);
    at->is_entered = false;
    at->client = NULL;
    (void)pthread_cond_broadcast(&at->left);
}

void hx_remote_begin_end(struct remote *remote) {
    struct hx_remote *at = hx_remote_of(remote);
    LOCKED(&remote->lock);
    if (at->client)
        hx_client_cancel(at->client);
    (void)pthread_cond_broadcast(&at->left);
}
