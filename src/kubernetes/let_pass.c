/* What an API server says for a while only, as the steps of jobs take it. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "kubernetes_private.h"
#include "str.h"

#define DENIED_SINCE "denied_since"

/* In s; 0: it was not denied. */
static int64_t let_pass_denied_since(const struct job_call *call) {
    const char *known = json_get_string(call->data, DENIED_SINCE);
    int64_t since_s = 0;
    return known && str_to_i64(known, 1, INT64_MAX, &since_s) ? since_s : 0;
}

static int let_pass_keep(struct job_call *call, int64_t since_s, struct err *err) {
    char text[24] = "";
    if (since_s)
        (void)snprintf(text, sizeof(text), "%" PRId64, since_s);
    return job_decide(call, DENIED_SINCE, text, err);
}

int kubernetes_let_pass(struct job_call *call, int rc, const struct err *why, struct err *err) {
    const bool is_denied = rc == ERR_UNAUTHENTICATED || rc == ERR_UPSTREAM_DENIED;
    const int64_t now_s = clock_wall_s(), known_s = let_pass_denied_since(call);
    const bool is_over = known_s && now_s - known_s >= KUBE_DENIED_S;
    const int64_t first_s = known_s ? known_s : now_s;
    const int64_t since_s = is_denied && !is_over ? first_s : 0;
    const int kept = since_s == known_s ? 0 : let_pass_keep(call, since_s, err);
    if (kept)
        return kept;
    return err_move(err, rc == ERR_UPSTREAM || since_s ? ERR_UNAVAILABLE : rc, why);
}
