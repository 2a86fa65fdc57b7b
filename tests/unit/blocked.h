/* Knowing that another thread waits, instead of sleeping and hoping: for tests in which somebody must wait for what the test holds. A program that uses it
 * is linked with $(WRAP_FOR_BLOCKED), by which each lock and condition of the code under test is seen. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdatomic.h>

#include "unit.h"

/* All-zero before its thread begins. */
struct blocked {
    atomic_bool waits; /* for a lock that somebody else has, or on a condition */
    atomic_bool is_over;
};

/* From now on this thread tells whether it waits; it has come to what it was made for. */
void blocked_begin(struct blocked *own);
void blocked_end(struct blocked *own);

/* Waits until that thread waits; one that comes to its end without is a mistake. */
#define BLOCKED_AWAIT(thread)                                                            \
    do {                                                                                 \
        UNIT_WAIT_FOR(atomic_load(&(thread)->waits) || atomic_load(&(thread)->is_over)); \
        if (atomic_load(&(thread)->is_over))                                             \
            fail_msg("%s came to its end where it has to wait", #thread);                \
    } while (0)
