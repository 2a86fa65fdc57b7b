/* GET /v2/clusters?watch=CURSOR: answers when the list is another one than the caller holds. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "list_wait.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cluster_watch.h"
#include "hashmap.h"
#include "limits.h"
#include "problem.h"
#include "reply.h"
#include "str.h"

#define CURSOR_CHARS_MAX 64U
#define CURSOR_BYTES 17

int list_wait_read(struct api_call *call, struct list_wait *out, struct err *err) {
    const char *text = http_request_query(call->req, "wait");
    int64_t seconds = KAAS_WATCH_WAIT_DEFAULT_S;
    out->cursor = http_request_query(call->req, "watch");
    if (text && !out->cursor)
        return problem_parameter(call, "wait", "needs \"watch\" beside it", err);
    if (text && !str_to_i64(text, 1, KAAS_WATCH_WAIT_MAX_S, &seconds))
        return problem_parameter(call, "wait", "must be a whole number of seconds from 1 to 60", err);
    if (out->cursor && strspn(out->cursor, "0123456789abcdefghijklmnopqrstuvwxyz") != strlen(out->cursor))
        return problem_parameter(call, "watch", "is not a cursor that this list gave", err);
    if (out->cursor && strlen(out->cursor) > CURSOR_CHARS_MAX)
        return problem_parameter(call, "watch", "is too long for a cursor", err);
    out->wait_s = (unsigned)seconds;
    out->is_changed = true;
    return 0;
}

/* What is said about freshness belongs to what the caller sees. The cursor is the same on each replica. */
static void format_cursor(struct api_call *call, uint64_t digest, char out[CURSOR_BYTES]) {
    char stale[REPLY_STALE_BYTES];
    reply_format_stale(call, stale);
    (void)snprintf(out, CURSOR_BYTES, "%016" PRIx64, hash64_text(digest, stale));
}

/* -- waiting ----------------------------------------------------------------------------------------------------------------- */

static bool is_gone(const void *req) {
    return http_request_is_abandoned(req);
}

static int list_wait_go_and_wait(void *arg, worker_fn *run, void *run_arg, struct err *err) {
    return cluster_watch_wait(arg, run, run_arg, err);
}

static void waiter_free(void *waiter) {
    cluster_watch_leave(waiter);
    free(waiter);
}

/* The feature of a call that follows a list, from its first look on. NULL without memory. */
static struct cluster_waiter *list_waiter(struct api_call *call, unsigned wait_s) {
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
static int list_wait_on(struct api_call *call, struct cluster_waiter *waiter, struct err *err) {
    const struct watch_owner owner = owner_of(call);
    int rc = cluster_watch_enter(call->api->list_watch, waiter, &owner, err);
    if (rc)
        return rc;
    waiter->looked = waiter->seen;
    waiter->is_gone = is_gone;
    waiter->is_gone_arg = call->req;
    api_let_go(call);
    return http_request_go_waiting(call->req,
                                   &(struct http_wait){list_wait_go_and_wait, waiter, api_look_again, waiter->until_ms});
}

/* Nothing differs from what the caller has. */
static void answer_unchanged(struct api_call *call, const char *cursor, struct http_response *resp) {
    http_response_set_header(resp, "KaaS-Watch-Cursor", cursor);
    http_response_set_status(resp, 204);
    reply_freshness(call, resp);
}

int list_wait_look(struct api_call *call, struct list_wait *wait, const struct inventory_cluster_query *query,
                   struct inventory_candidates *candidates, struct http_response *resp, struct err *err) {
    struct cluster_waiter *waiter = list_waiter(call, wait->wait_s);
    char cursor[CURSOR_BYTES];
    uint64_t digest = 0;
    int rc;
    if (!waiter)
        return err_set(err, ERR_NOMEM, "out of memory");
    const bool is_over = clock_mono_ms() >= waiter->until_ms;
    /* At the end of a wait: no change was noted since the look before, and whoever follows the list looks again at once. */
    if (is_over && waiter->looked == waiter->seen) {
        wait->is_changed = false;
        answer_unchanged(call, wait->cursor, resp);
        return 0;
    }
    rc = inventory_digest_clusters(call->snapshot, &call->viewer, query, candidates, &digest, err);
    if (rc)
        return rc;
    format_cursor(call, digest, cursor);
    wait->is_changed = !str_eq(cursor, wait->cursor);
    if (wait->is_changed)
        http_response_set_header(resp, "KaaS-Watch-Cursor", cursor);
    else if (is_over)
        answer_unchanged(call, cursor, resp);
    else
        return list_wait_on(call, waiter, err);
    return 0;
}
