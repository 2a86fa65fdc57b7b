/* Delay before the next attempt, as a pure function. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

struct backoff {
    int64_t first_ms;        /* delay after the first failure */
    int64_t max_ms;          /* greatest delay */
    unsigned jitter_percent; /* 0 to 100: share of the delay that is spread at random */
};

/* Delay in ms after `failures` failures in a row (1: first_ms, doubling, capped). `random` is any 32-bit random number;
 * the result lies in [delay * (1 - jitter), delay]. 0 failures give 0. */
int64_t backoff_delay_ms(const struct backoff *policy, unsigned failures, uint32_t random);
