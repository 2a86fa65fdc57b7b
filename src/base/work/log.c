/* Log lines on stderr, as key=value or as JSON, one write per line. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "str.h"

/* Writes of up to PIPE_BUF bytes (4,096 on Linux, pipe(7)) are never mixed with those of other threads or processes. */
#define LINE_BYTES 4096
#define CUT_MARK " cut=yes\n"
#define CUT_MARK_JSON ",\"cut\":\"yes\"}\n"
#define KEY_BYTES_MAX 64    /* ours, all of them */
#define PLAIN_BYTES_MAX 256 /* longer values are quoted, so that a cut shows what fits */
#define REQUEST_ID_BYTES 64
#define FMT_SLOTS_COUNT 8
#define FMT_SLOT_BYTES 256

struct line {
    char text[LINE_BYTES];
    size_t len;
    bool is_json, is_cut, is_in_quotes;
};

static const char *const level_words[] = {[LOG_LEVEL_ERROR] = "error",
                                          [LOG_LEVEL_WARNING] = "warning",
                                          [LOG_LEVEL_NOTICE] = "notice",
                                          [LOG_LEVEL_INFO] = "info",
                                          [LOG_LEVEL_DEBUG] = "debug"};

static atomic_int least_urgent = LOG_LEVEL_INFO;
static atomic_bool writes_json;
static _Thread_local char request_id[REQUEST_ID_BYTES];

void log_set_level(enum log_level level) {
    atomic_store(&least_urgent, (int)level);
}

enum log_level log_get_level(void) {
    return (enum log_level)atomic_load(&least_urgent);
}

void log_set_format(enum log_format format) {
    atomic_store(&writes_json, format == LOG_FORMAT_JSON);
}

void log_set_request_id(const char *id) {
    size_t n = id ? strnlen(id, sizeof(request_id) - 1) : 0;
    memcpy(request_id, id ? id : "", n); /* several times in every request: no snprintf */
    request_id[n] = '\0';
}

const char *log_request_id(void) {
    return request_id;
}

/* Appends whole pieces only, so that a cut never leaves half an escape. Room for the mark always stays. */
static void log_put(struct line *line, const char *bytes, size_t n) {
    if (line->is_cut || line->len + n > LINE_BYTES - sizeof("\"" CUT_MARK_JSON)) {
        line->is_cut = true;
        return;
    }
    memcpy(line->text + line->len, bytes, n);
    line->len += n;
}

static bool log_is_plain(const char *value) {
    size_t len = strlen(value);
    for (const char *c = value; *c; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '=' || *c == '\\')
            return false;
    return len > 0 && len <= PLAIN_BYTES_MAX;
}

/* `point` is that of the `n` bytes; 0xfffd, as JSON has it, where they are none of UTF-8. JSON knows characters by their number only (RFC 8259 section 7). */
static void log_put_escaped(struct line *line, const char *bytes, size_t n, uint32_t point) {
    char escape[13];
    switch (point) {
    case '"': log_put(line, "\\\"", 2); return;
    case '\\': log_put(line, "\\\\", 2); return;
    case '\n': log_put(line, "\\n", 2); return;
    case '\r': log_put(line, "\\r", 2); return;
    case '\t': log_put(line, "\\t", 2); return;
    default: break;
    }
    if (line->is_json && point > 0xffff) { /* two halves (RFC 8259 section 7) */
        const unsigned above = (unsigned)point - 0x10000;
        (void)snprintf(escape, sizeof(escape), "\\u%04x\\u%04x", 0xd800U | (above >> 10 & 0x3ff), 0xdc00U | (above & 0x3ff));
        log_put(line, escape, 12);
        return;
    }
    if (line->is_json) {
        (void)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)point & 0xffffU);
        log_put(line, escape, 6);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)bytes[i]);
        log_put(line, escape, 4);
    }
}

/* Control characters, and the Unicode line ends that some viewers honour, must not reach a terminal or split a line; what turns the direction of writing, or
 * is not seen, must not make it look like another. */
static bool must_escape(uint32_t point) {
    return point < 0x20 || point == '"' || point == '\\' || (point >= 0x7f && point <= 0x9f) || str_is_invisible(point);
}

/* The value and the quote behind it; the one before it is there already. */
static void put_quoted(struct line *line, const char *value) {
    size_t left = strlen(value);
    if (line->is_cut)
        return;
    line->is_in_quotes = true;
    while (left && !line->is_cut) {
        uint32_t point;
        size_t n = str_utf8_next(value, left, &point);
        if (n && !must_escape(point)) {
            log_put(line, value, n);
        } else {
            point = n ? point : 0xfffd;
            n = n ? n : 1;
            log_put_escaped(line, value, n, point);
        }
        value += n;
        left -= n;
    }
    log_put(line, "\"", 1);
    line->is_in_quotes = line->is_cut;
}

/* Key and quote are one piece: no key is left without a value. */
static void put_pair_json(struct line *line, const char *key, const char *value) {
    const bool is_first = line->text[line->len - 1] == '{';
    char head[KEY_BYTES_MAX + sizeof(",\"\":\"")];
    (void)snprintf(head, sizeof(head), "%s\"%.*s\":\"", is_first ? "" : ",", KEY_BYTES_MAX, key);
    log_put(line, head, strlen(head));
    put_quoted(line, value);
}

static void put_pair(struct line *line, const char *key, const char *value) {
    if (!value)
        return;
    if (line->is_json) {
        put_pair_json(line, key, value);
        return;
    }
    if (line->len && line->text[line->len - 1] != '>')
        log_put(line, " ", 1);
    log_put(line, key, strlen(key));
    log_put(line, "=", 1);
    if (log_is_plain(value)) {
        log_put(line, value, strlen(value));
        return;
    }
    log_put(line, "\"", 1);
    put_quoted(line, value);
}

/* systemd.exec(5): JOURNAL_STREAM names device and inode; comparing them tells whether stderr still goes to the journal. */
static bool is_journal(void) {
    const char *stream = getenv("JOURNAL_STREAM"); /* NOLINT(concurrency-mt-unsafe): nobody sets variables while threads run */
    char own[64];
    struct stat st;
    if (!stream || fstat(STDERR_FILENO, &st))
        return false;
    (void)snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return str_eq(stream, own);
}

/* The journal stamps lines and takes the level from "<N>" (sd-daemon(3)); elsewhere the line says both itself. */
static void log_begin(struct line *line, enum log_level level, const char *event) {
    char text[CLOCK_RFC3339_BYTES];
    line->len = 0;
    line->is_cut = line->is_in_quotes = false;
    line->is_json = atomic_load(&writes_json);
    const bool has_time = !is_journal();
    if (!has_time) {
        (void)snprintf(text, sizeof(text), "<%u>", (unsigned)level & 7U);
        log_put(line, text, 3);
    }
    if (line->is_json)
        log_put(line, "{", 1);
    if (has_time) {
        clock_format(clock_wall_ms(), text);
        put_pair(line, "time", text);
    }
    put_pair(line, "level", level_words[level]);
    put_pair(line, "event", event);
    if (request_id[0])
        put_pair(line, "request_id", request_id);
}

/* Builds outside the source folder put a path in front of file names; it is no business of the log. */
static const char *short_file(const char *file) {
    const char *src = NULL;
    for (const char *at = strstr(file, "src/"); at; at = strstr(at + 1, "src/"))
        src = at;
    return src ? src : file;
}

static void put_error(struct line *line, const struct err *err) {
    char place[128];
    if (!err || !err->code)
        return;
    put_pair(line, "error", err_slug(err->code));
    put_pair(line, "text", err->text);
    put_pair(line, "detail", err->detail[0] ? err->detail : NULL);
    if (!err->file)
        return;
    (void)snprintf(place, sizeof(place), "%s:%d", short_file(err->file), err->line);
    put_pair(line, "place", place);
}

/* The pairs of `args`, ended by NULL, then the error. */
static void log_finish(struct line *line, va_list args, const struct err *err) {
    const char *tail = line->is_json ? "}\n" : "\n", *key;
    int saved = errno; /* logging must not disturb the caller */
    ssize_t n;
    while ((key = va_arg(args, const char *)))
        put_pair(line, key, va_arg(args, const char *));
    put_error(line, err);
    if (line->is_cut && line->is_json)
        tail = line->is_in_quotes ? "\"" CUT_MARK_JSON : CUT_MARK_JSON;
    else if (line->is_cut)
        tail = line->is_in_quotes ? "\"" CUT_MARK : CUT_MARK;
    memcpy(line->text + line->len, tail, strlen(tail));
    line->len += strlen(tail);
    do {
        n = write(STDERR_FILENO, line->text, line->len);
    } while (n < 0 && errno == EINTR);
    errno = saved;
}

void log_event(enum log_level level, const char *event, ...) {
    struct line line;
    va_list args;
    if (level > log_get_level())
        return;
    log_begin(&line, level, event);
    va_start(args, event);
    log_finish(&line, args, NULL);
    va_end(args);
}

void log_error(enum log_level level, const char *event, const struct err *err, ...) {
    struct line line;
    va_list args;
    if (level > log_get_level())
        return;
    log_begin(&line, level, event);
    va_start(args, err);
    log_finish(&line, args, err);
    va_end(args);
}

const char *log_fmt(const char *fmt, ...) {
    static _Thread_local char slots[FMT_SLOTS_COUNT][FMT_SLOT_BYTES];
    static _Thread_local unsigned next;
    char *slot = slots[next++ % FMT_SLOTS_COUNT];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(slot, FMT_SLOT_BYTES, fmt, args);
    va_end(args);
    return slot;
}

bool log_limit_pass(struct log_limit *state, long interval_ms, long cause, unsigned long *suppressed) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards every struct log_limit */
    int64_t now_ms = clock_mono_ms();
    bool passes;
    (void)pthread_mutex_lock(&lock);
    passes = now_ms >= state->next_ms || cause != state->cause;
    if (passes) {
        *suppressed = state->dropped;
        state->dropped = 0;
        state->cause = cause;
        state->next_ms = now_ms + interval_ms;
    } else {
        state->dropped++;
    }
    (void)pthread_mutex_unlock(&lock);
    return passes;
}
