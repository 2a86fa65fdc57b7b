/* Circuit breaker: stops asking a server that only times out. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_breaker.h"

#include "backoff.h"

#define TIMEOUTS_TO_OPEN 3U

static const struct backoff pause_policy = {.first_ms = 2000, .max_ms = 60000, .jitter_percent = 25};

int vim_breaker_enter(struct vim_breaker *breaker, int64_t now_ms, struct err *err) {
    int64_t wait_ms = breaker->open_until_ms - now_ms;
    if (breaker->timeouts < TIMEOUTS_TO_OPEN)
        return 0;
    if (wait_ms <= 0 && !breaker->is_probing) {
        breaker->is_probing = true;
        return 0;
    }
    if (err_set(err, ERR_UNREACHABLE, "vCenter did not answer %u calls in a row; calls are held back for a while",
                breaker->timeouts) &&
        err)
        err->retry_after_s = wait_ms > 1000 ? (unsigned)((wait_ms + 999) / 1000) : 1;
    err_remedy(err, "check the vCenter and the network between; kaasd tries again by itself");
    return ERR_UNREACHABLE;
}

/* The server said something, or the failure says nothing about it being there. */
static bool is_answer(int outcome) {
    return outcome != ERR_TIMEOUT && outcome != ERR_UNREACHABLE && outcome != ERR_CANCELED && outcome != ERR_NOMEM &&
           outcome != ERR_UNPROCESSABLE;
}

void vim_breaker_leave(struct vim_breaker *breaker, int64_t now_ms, int outcome, uint32_t random) {
    bool was_probing = breaker->is_probing;
    breaker->is_probing = false;
    if (is_answer(outcome)) {
        breaker->timeouts = 0;
        return;
    }
    if (outcome == ERR_TIMEOUT || (outcome == ERR_UNREACHABLE && was_probing))
        breaker->timeouts++;
    if (breaker->timeouts >= TIMEOUTS_TO_OPEN && outcome != ERR_CANCELED)
        breaker->open_until_ms = now_ms + backoff_delay_ms(&pause_policy, breaker->timeouts - TIMEOUTS_TO_OPEN + 1, random);
}
