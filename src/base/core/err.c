/* Error codes and the error record that travels with a call. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "err.h"

#include <stdio.h>
#include <string.h>

struct err_row {
    int code, status;
    const char *slug, *text;
};

static const struct err_row rows[] = {
#define ERR(symbol, slug, status, text) {ERR_##symbol, status, #slug, text},
#include "err_codes.def"
#undef ERR
};

static const struct err_row *err_find_row(int code) {
    size_t index = (size_t)-code - 1;
    if (code >= 0 || index >= sizeof(rows) / sizeof(rows[0]))
        return NULL;
    return &rows[index];
}

/* For callers that pass no record: the code of their last err_set, so that "return err_remedy(err, ...)" behind it never
 * turns a failure into 0. */
static _Thread_local int unrecorded_code;

int err_set_at(struct err *err, int code, const char *file, int line, const char *fmt, ...) {
    va_list args;
    if (!err)
        unrecorded_code = code;
    if (!err || err->code)
        return code;
    err->code = code;
    err->file = file;
    err->line = line;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    return code;
}

/* `text`: the member of `err` to be set, unless it is. */
static int __attribute__((format(printf, 4, 0)))
err_add(struct err *err, char *text, size_t bytes, const char *fmt, va_list args) {
    if (err->code && !text[0])
        (void)vsnprintf(text, bytes, fmt, args);
    return err->code;
}

int err_remedy(struct err *err, const char *fmt, ...) {
    va_list args;
    int rc;
    va_start(args, fmt);
    rc = err ? err_add(err, err->remedy, sizeof(err->remedy), fmt, args) : unrecorded_code;
    va_end(args);
    return rc;
}

int err_detail(struct err *err, const char *fmt, ...) {
    va_list args;
    int rc;
    va_start(args, fmt);
    rc = err ? err_add(err, err->detail, sizeof(err->detail), fmt, args) : unrecorded_code;
    va_end(args);
    return rc;
}

int err_because(struct err *err, enum err_cause cause) {
    if (!err)
        return unrecorded_code;
    if (err->code && !err->cause)
        err->cause = cause;
    return err->code;
}

int err_move(struct err *err, int code, const struct err *from) {
    if (code && !err)
        unrecorded_code = code;
    if (code && err && !err->code) {
        *err = *from;
        if (from->code)
            err->code = code;
    }
    return code;
}

void err_clear(struct err *err) {
    if (err)
        memset(err, 0, sizeof(*err));
}

const char *err_slug(int code) {
    const struct err_row *row = err_find_row(code);
    if (!code)
        return "ok";
    return row ? row->slug : "internal";
}

const char *err_default_text(int code) {
    const struct err_row *row = err_find_row(code);
    if (!code)
        return "no error";
    return row ? row->text : "internal error";
}

int err_http_status(int code) {
    const struct err_row *row = err_find_row(code);
    if (!code)
        return 200;
    return row ? row->status : 500;
}

int err_code_of_slug(const char *slug) {
    for (size_t i = 0; slug && i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!strcmp(rows[i].slug, slug))
            return rows[i].code;
    return ERR_INTERNAL;
}
