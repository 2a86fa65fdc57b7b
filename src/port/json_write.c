/* JSON: building and writing values. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "clock.h"
#include "json.h"
#include "str.h"

/* A failed json_put_* is remembered per thread and reported by the next json_write of that thread: answers are built and written
 * by one thread, and callers would otherwise test every member. */
static _Thread_local bool has_put_failed;

void json_put(json_t *object, const char *name, json_t *value) {
    if (json_object_set_new(object, name, value)) /* a NULL value fails, too */
        has_put_failed = true;
}

void json_add(json_t *array, json_t *value) {
    if (json_array_append_new(array, value))
        has_put_failed = true;
}

/* Length of the longest valid UTF-8 sequence of 1 to 4 bytes at s, 0 if there is none. */
static size_t sequence_bytes(const char *s, size_t left) {
    for (size_t n = 1; n <= 4 && n <= left; n++)
        if (str_utf8_chars(s, n) == 1)
            return n;
    return 0;
}

/* Texts from outside that were cut in the middle of a character must not lose the whole member. */
static json_t *repaired_string(const char *text) {
    _cleanup_free_ char *copy = str_dup(text);
    if (!copy)
        return NULL;
    size_t len = strlen(copy);
    for (size_t i = 0; i < len;) {
        size_t n = sequence_bytes(copy + i, len - i);
        if (!n)
            copy[i] = '?';
        i += n ? n : 1;
    }
    return json_string(copy);
}

void json_put_string(json_t *object, const char *name, const char *value) {
    if (!value)
        return;
    json_t *text = json_string(value);
    json_put(object, name, text ? text : repaired_string(value));
}

void json_put_int(json_t *object, const char *name, int64_t value) {
    json_put(object, name, json_integer(value));
}

void json_put_bool(json_t *object, const char *name, bool value) {
    json_put(object, name, json_boolean(value));
}

void json_put_time(json_t *object, const char *name, int64_t wall_ms) {
    char text[CLOCK_RFC3339_BYTES];
    if (!wall_ms)
        return;
    clock_format(wall_ms, text);
    json_put_string(object, name, text);
}

static int add_chunk(const char *chunk, size_t n, void *arg) {
    struct strbuf *out = arg;
    strbuf_add(out, chunk, n);
    return out->failed ? -1 : 0;
}

int json_write(const json_t *value, struct strbuf *out, struct err *err) {
    bool is_incomplete = has_put_failed || !value;
    has_put_failed = false;
    if (is_incomplete)
        return err_set(err, ERR_NOMEM, "out of memory while building JSON");
    int rc = json_dump_callback(value, add_chunk, out, JSON_COMPACT | JSON_ENCODE_ANY);
    if (out->failed)
        return strbuf_check(out, "JSON text", err);
    return rc ? err_set(err, ERR_NOMEM, "out of memory while writing JSON") : 0;
}
