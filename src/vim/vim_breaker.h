/* Circuit breaker: stops asking a server that only times out. Layer 2 (vim), private; pure, the caller locks.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

/* All-zero is closed: everything passes. */
struct vim_breaker {
    unsigned timeouts;     /* in a row */
    int64_t open_until_ms; /* monotonic */
    bool is_probing;       /* one call is out to see whether the server is back */
};

/* Asks to make a call at `now_ms`. 0, or ERR_UNREACHABLE with retry_after_s while open. Every 0 must be followed by vim_breaker_leave. */
int vim_breaker_enter(struct vim_breaker *breaker, int64_t now_ms, struct err *err);

/* Tells how the call ended (0 or an ERR_* code); `random` spreads the back-off. */
void vim_breaker_leave(struct vim_breaker *breaker, int64_t now_ms, int outcome, uint32_t random);
