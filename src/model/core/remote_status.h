/* How we stand with a system out there that we keep in touch with. Layer 1 (model); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

enum remote_state {
    REMOTE_NEW,     /* not tried since it was set */
    REMOTE_OK,      /* the last try went well */
    REMOTE_FAILING, /* it is not reached, or does not answer as it should; tried again by itself */
    REMOTE_REFUSED, /* it refuses us */
    REMOTE_IDLE,    /* there is nothing to keep in touch for */
};

/* A plain value: copied whole, nothing to free. All zero at first. */
struct remote_status {
    enum remote_state state;
    int64_t since_ms;              /* wall clock: since when it is in this state */
    int64_t checked_at_ms;         /* wall clock: the last try; 0: never */
    int64_t next_at_ms;            /* wall clock: not tried earlier by itself */
    char reason[31];               /* stable word; "": there is none */
    char detail[ERR_TEXT_BYTES];   /* why it is not well, for people; "": it is */
    char remedy[ERR_REMEDY_BYTES]; /* likewise */
};

/* Sets state and reason, and detail and remedy by `why`; NULL: none. What is too long is cut between characters. True if state or reason is another one than
 * before: since_ms is `now_ms` (wall clock) then. */
bool remote_status_set(struct remote_status *status, enum remote_state state, const char *reason, const struct err *why,
                       int64_t now_ms);

/* True if the next try by itself is due. One that lies more than two days ahead is, too: a clock was put back. */
bool remote_status_is_time(const struct remote_status *status, int64_t now_ms);
