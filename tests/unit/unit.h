/* What every unit test includes first: cmocka with the headers it needs, and waiting for events.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define UNIT_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Far beyond any honest duration: it ends a test that would hang, and asserts no speed. */
#define UNIT_WAIT_TRIES 60000

/* Waits until the condition holds, looking every millisecond; it may be for a moment only. */
#define UNIT_WAIT_FOR(condition)                                  \
    do {                                                          \
        const struct timespec unit_pause_ = {.tv_nsec = 1000000}; \
        int unit_tries_ = 0;                                      \
        bool unit_is_so_ = (condition);                           \
        while (!unit_is_so_ && unit_tries_++ < UNIT_WAIT_TRIES) { \
            (void)nanosleep(&unit_pause_, NULL);                  \
            unit_is_so_ = (condition);                            \
        }                                                         \
        if (!unit_is_so_)                                         \
            fail_msg("never came about: %s", #condition);         \
    } while (0)
