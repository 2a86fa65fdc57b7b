/* Delay before the next attempt, as a pure function. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backoff.h"

static int64_t full_delay_ms(const struct backoff *policy, unsigned failures) {
    int64_t delay_ms = policy->first_ms;
    for (unsigned i = 1; i < failures && delay_ms < policy->max_ms; i++)
        delay_ms = delay_ms > policy->max_ms / 2 ? policy->max_ms : delay_ms * 2;
    return delay_ms < policy->max_ms ? delay_ms : policy->max_ms;
}

int64_t backoff_delay_ms(const struct backoff *policy, unsigned failures, uint32_t random) {
    unsigned percent = policy->jitter_percent < 100 ? policy->jitter_percent : 100;
    int64_t delay_ms;
    double spread_ms;
    if (!failures || policy->first_ms <= 0)
        return 0;
    delay_ms = full_delay_ms(policy, failures);
    spread_ms = (double)delay_ms * percent / 100;
    return delay_ms - (int64_t)(spread_ms * random / UINT32_MAX);
}
