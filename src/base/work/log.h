/* Log lines on stderr, as key=value or as JSON, with the request id. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When stderr is the journal (JOURNAL_STREAM names it) a line starts with "<N>", the priority, and has no time of its own;
 * elsewhere it starts with time=. Both carry level= and event=. Lines end at 4,096 bytes, then with cut=yes.
 * As JSON each line is one object with the same keys, all values texts, however it was cut; bytes that are no UTF-8 stand as U+FFFD.
 * Only api/, daemon/ and cli/ log above debug. Values are escaped so that one event is always one line. Each event has a row in src/daemon/events.def.
 * Never pass a password, token, ticket, cookie, key or SOAP body. */
#pragma once

#include <stdbool.h>

#include "err.h"

enum log_level { LOG_LEVEL_ERROR = 3, LOG_LEVEL_WARNING = 4, LOG_LEVEL_NOTICE = 5, LOG_LEVEL_INFO = 6, LOG_LEVEL_DEBUG = 7 };

/* Lines above this level are dropped. Default info. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

enum log_format { LOG_FORMAT_KV, LOG_FORMAT_JSON };
/* Sets the format of all later lines of all threads. Default key=value. */
void log_set_format(enum log_format format);

/* Id put into every line of this thread until changed (up to 63 bytes are kept); NULL clears it. */
void log_set_request_id(const char *id);
/* The current id of this thread, "" if none. Travels to vCenter as operationID. */
const char *log_request_id(void);

/* Writes one line: `event` is a stable word (snake_case), then pairs of key (const char *) and value (const char *, NULL
 * values are left out), ended by NULL. */
void log_event(enum log_level level, const char *event, ...) __attribute__((sentinel));

/* As log_event, with the parts of `err` added (code, text, detail, place). */
void log_error(enum log_level level, const char *event, const struct err *err, ...) __attribute__((sentinel));

/* A value made from a format, up to 255 bytes, valid until the eighth later call in the same thread: log_event(..., "n", log_fmt("%d", n), NULL). */
const char *log_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Lets a repeated warning through at most once per interval, or at once when `cause` (any number) changes.
 * `state` is a zeroed static of the caller; thread-safe. *suppressed gets the number dropped since the last. */
struct log_limit {
    long long next_ms;
    long cause;
    unsigned long dropped;
};
bool log_limit_pass(struct log_limit *state, long interval_ms, long cause, unsigned long *suppressed);
