/* A cluster that kaasd has made heals its connection: where our token is refused for good, it is connected anew by a certificate of its own CA. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

#include "backoff.h"
#include "clock.h"
#include "kube_admin.h"

#define HEAL_AFTER_MS 6000                    /* an API server that starts refuses every token for some seconds */
#define HEAL_FORGET_MS (7200 * INT64_C(1000)) /* the next one behind a longer pause is the first again */

/* Somebody who takes our account away again and again is not to be met by a loop. */
static const struct backoff heal_retry = {.first_ms = 60000, .max_ms = 3600 * INT64_C(1000)};

struct kube_heals kube_get_heals(struct kube_remote *at) {
    LOCKED(&at->remote.lock);
    return at->heals;
}

static bool heal_is_wanted(const struct kube_remote *at) {
    const int64_t now_ms = clock_wall_ms();
    const bool is_lost = !at->client || now_ms >= at->status.token_until_ms;
    return is_lost || (at->refused_since_ms && now_ms - at->refused_since_ms >= HEAL_AFTER_MS);
}

/* True: it is time, and that is noted. */
static bool heal_begin(struct kube_remote *at) {
    const int64_t now_ms = clock_mono_ms();
    LOCKED(&at->remote.lock);
    if (at->heals.count && now_ms - at->heals.last_ms >= HEAL_FORGET_MS)
        at->heals.count = 0;
    if (at->heals.count && now_ms - at->heals.last_ms < backoff_delay_ms(&heal_retry, at->heals.count, 0))
        return false;
    at->heals = (struct kube_heals){.count = at->heals.count + 1, .last_ms = now_ms};
    return true;
}

static int heal_connect(struct kube_remote *at, const struct kube_admin *admin, struct err *err) {
    _cleanup_done_(kube_connected_done) struct kube_connected out = {.contexts_count = 0};
    const struct kube_wish wish = {
        .cluster_id = at->remote.id, .address = at->connection.address, .admin = admin, .version_no = at->connection.version_no};
    return kubernetes_connect(at->k, NULL, &wish, &out, err);
}

/* Of a cluster that was not made here nothing is told. */
static int heal_try(struct kube_remote *at, struct err *err) {
    const struct kubernetes_options *options = &at->k->options;
    _cleanup_done_(kube_admin_done) struct kube_admin admin = {.ca_pem = NULL};
    struct err why = {0};
    int rc = options->issue_admin(options->arg, at->remote.id, &admin, &why);
    if (rc == ERR_NOT_FOUND)
        return rc;
    rc = rc ? rc : heal_connect(at, &admin, &why);
    if (!rc)
        return 0;
    (void)err_set(err, ERR_UNAUTHENTICATED, "our token is refused, and connecting anew by the cluster's own CA failed: %s",
                  why.text);
    (void)err_remedy(err, "%s", why.remedy);
    return rc;
}

bool kube_heal(struct kube_remote *at, struct err *why) {
    if (at->k->options.issue_admin && heal_is_wanted(at) && heal_begin(at)) {
        err_clear(&at->heal_why);
        if (!heal_try(at, &at->heal_why))
            return true;
    }
    if (at->heal_why.code)
        *why = at->heal_why;
    return false;
}
