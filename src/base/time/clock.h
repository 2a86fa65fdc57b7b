/* The two clocks, replaceable in tests. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Milliseconds of a clock that never jumps: for durations and deadlines. */
int64_t clock_mono_ms(void);
/* As clock_mono_ms, up to 10 ms behind, but much cheaper: for limits of seconds. */
int64_t clock_mono_coarse_ms(void);

/* Milliseconds since 1970-01-01 UTC: for records and token times. */
int64_t clock_wall_ms(void);

/* Same in whole seconds. */
int64_t clock_wall_s(void);

/* Tests only: both clocks stand at these values from now on, until clock_advance_ms moves them. */
void clock_fake(int64_t mono_ms, int64_t wall_ms);

/* Tests only: moves fake clocks forward. */
void clock_advance_ms(int64_t by_ms);

/* Tests only: back to the real clocks. */
void clock_unfake(void);

/* The absolute time `ms` milliseconds from now, for a timed wait on a condition of clock_init_cond. By the real clock even after clock_fake: threads
 * can wait by no other. */
struct timespec clock_deadline(int64_t ms);

/* Initialises a condition whose timed waits use the clock that never jumps. */
void clock_init_cond(pthread_cond_t *cond);

#define CLOCK_DAY_MS (24 * 3600 * INT64_C(1000))

#define CLOCK_RFC3339_BYTES 32
/* Writes UTC as RFC 3339 with milliseconds ("2026-01-31T12:00:00.000Z"); `out` needs CLOCK_RFC3339_BYTES. */
void clock_format(int64_t wall_ms, char *out);

/* Reads a time of RFC 3339 ("2026-03-01T00:00:00.5+01:00"; what is finer than ms is cut) into *wall_ms, which may be before 1970. False if
 * it is none, or no day of the calendar. */
bool clock_parse(const char *text, int64_t *wall_ms);
