/* How we stand with a system out there that we keep in touch with. Layer 1 (model); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#include "remote_status.h"

#include <stdio.h>

#include "clock.h"
#include "str.h"

#define AHEAD_MAX_MS (2 * CLOCK_DAY_MS)

bool remote_status_set(struct remote_status *status, enum remote_state state, const char *reason, const struct err *why,
                       int64_t now_ms) {
    const bool is_news = state != status->state || !str_eq(reason, status->reason);
    status->state = state;
    (void)snprintf(status->reason, sizeof(status->reason), "%s", reason);
    (void)snprintf(status->detail, sizeof(status->detail), "%s", why ? why->text : "");
    (void)snprintf(status->remedy, sizeof(status->remedy), "%s", why ? why->remedy : "");
    str_trim_utf8(status->detail);
    str_trim_utf8(status->remedy);
    if (is_news)
        status->since_ms = now_ms;
    return is_news;
}

bool remote_status_is_time(const struct remote_status *status, int64_t now_ms) {
    return now_ms >= status->next_at_ms || status->next_at_ms - now_ms > AHEAD_MAX_MS;
}
