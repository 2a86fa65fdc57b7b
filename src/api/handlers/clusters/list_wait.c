/* A call in the waiting room. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "list_wait.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "live_session.h"

static int list_wait_go_and_wait(void *arg, worker_fn *run, void *run_arg, struct err *err) {
    return cluster_watch_wait(arg, run, run_arg, err);
}

static void waiter_free(void *waiter) {
    cluster_watch_leave(waiter);
    free(waiter);
}

struct cluster_waiter *list_waiter(struct api_call *call, unsigned wait_s) {
    struct cluster_waiter *waiter = call->feature.data;
    if (!waiter) {
        waiter = calloc(1, sizeof(*waiter));
        if (!waiter)
            return NULL;
        waiter->until_ms = clock_mono_ms() + (int64_t)wait_s * 1000;
        api_set_part(&call->feature, waiter, waiter_free);
    }
    waiter->seen = call->list_mark;
    return waiter;
}

/* On the admin socket, a user of this host. */
static struct watch_owner owner_of(const struct api_call *call) {
    struct live_session *session = call->bearer.session;
    char text[32];
    uid_t uid = 0;
    if (session) {
        _cleanup_free_ char *account = principal_account(live_session_who(session));
        return (struct watch_owner){.session = cluster_watch_key(live_session_sid(session)),
                                    .principal = cluster_watch_key(account ? account : "")};
    }
    (void)http_request_peer_uid(call->req, &uid);
    (void)snprintf(text, sizeof(text), "uid %u", (unsigned)uid);
    return (struct watch_owner){.session = cluster_watch_key(text), .principal = cluster_watch_key(text)};
}

/* Nothing that may grow old is held meanwhile, least of all a snapshot. */
int list_wait_on(struct api_call *call, struct cluster_waiter *waiter, struct err *err) {
    const struct watch_owner owner = owner_of(call);
    int rc = cluster_watch_enter(call->api->list_watch, waiter, &owner, err);
    if (rc)
        return rc;
    waiter->looked = waiter->seen;
    waiter->req = call->req;
    api_let_go(call);
    return http_request_go_waiting(call->req,
                                   &(struct http_wait){list_wait_go_and_wait, waiter, api_look_again, waiter->until_ms});
}
