/* What an API server says for a while only, as the steps of jobs take it. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "kubernetes_private.h"
#include "str.h"

#define DENIED_SINCE "denied_since"

/* Since when without a break, in s; 0: it is not denied. */
static int let_pass_note_denied(struct job_call *call, bool is_denied, int64_t now_s, int64_t *since_s, struct err *err) {
    const char *known = json_get_string(call->data, DENIED_SINCE);
    char text[24] = "";
    if (!known || !str_to_i64(known, 1, INT64_MAX, since_s))
        *since_s = 0;
    if (is_denied == (*since_s > 0))
        return 0;
    *since_s = is_denied ? now_s : 0;
    if (is_denied)
        (void)snprintf(text, sizeof(text), "%" PRId64, now_s);
    return job_decide(call, DENIED_SINCE, text, err);
}

int kubernetes_let_pass(struct job_call *call, int rc, const struct err *why, struct err *err) {
    const bool is_denied = rc == ERR_UNAUTHENTICATED || rc == ERR_UPSTREAM_DENIED;
    const int64_t now_s = clock_wall_s();
    int64_t since_s = 0;
    const int noted = let_pass_note_denied(call, is_denied, now_s, &since_s, err);
    if (noted)
        return noted;
    if (rc == ERR_UPSTREAM || (is_denied && now_s - since_s < KUBE_DENIED_S))
        rc = ERR_UNAVAILABLE;
    return err_move(err, rc, why);
}
