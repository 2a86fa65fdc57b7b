/* Growing text buffer with a cap and a sticky error. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "secret.h"

#define FIRST_ALLOC_BYTES 64

/* What `data` points to while nothing is allocated. Never written, so that threads may share it. */
static char empty_text[1];

void strbuf_init(struct strbuf *b, size_t max_bytes) {
    /* Half the address space: sums of lengths below cannot overflow. */
    size_t cap = max_bytes < SIZE_MAX / 2 ? max_bytes : SIZE_MAX / 2 - 1;
    *b = (struct strbuf){.data = empty_text, .max_bytes = cap};
}

void strbuf_init_secret(struct strbuf *b, size_t max_bytes) {
    strbuf_init(b, max_bytes);
    b->is_secret = true;
}

static void free_memory(struct strbuf *b) {
    if (b->alloc && b->is_secret)
        secret_wipe(b->data, b->alloc);
    if (b->alloc)
        free(b->data);
    b->data = empty_text;
    b->len = 0;
    b->alloc = 0;
}

void strbuf_done(struct strbuf *b) {
    if (!b)
        return;
    free_memory(b);
    b->failed = 0;
}

void strbuf_reset(struct strbuf *b) {
    if (b->alloc && b->is_secret)
        secret_wipe(b->data, b->alloc);
    if (b->alloc)
        b->data[0] = '\0';
    b->len = 0;
    b->failed = 0;
}

/* A secret must not be moved by realloc, which would leave a copy behind. */
static char *move_memory(const struct strbuf *b, size_t alloc) {
    char *moved;
    if (!b->is_secret)
        return realloc(b->alloc ? b->data : NULL, alloc);
    moved = malloc(alloc);
    if (!moved || !b->alloc)
        return moved;
    memcpy(moved, b->data, b->len + 1);
    secret_wipe(b->data, b->alloc);
    free(b->data);
    return moved;
}

void strbuf_reserve(struct strbuf *b, size_t n) {
    size_t alloc;
    char *moved;
    if (b->failed)
        return;
    if (n > b->max_bytes - b->len) {
        b->failed = ERR_TOO_LARGE;
        return;
    }
    if (b->len + n < b->alloc)
        return;
    alloc = b->alloc ? b->alloc * 2 : FIRST_ALLOC_BYTES;
    if (alloc > b->max_bytes + 1)
        alloc = b->max_bytes + 1;
    if (alloc < b->len + n + 1)
        alloc = b->len + n + 1;
    moved = move_memory(b, alloc);
    if (!moved) {
        b->failed = ERR_NOMEM;
        return;
    }
    b->data = moved;
    b->data[b->len] = '\0';
    b->alloc = alloc;
}

void strbuf_add(struct strbuf *b, const void *bytes, size_t n) {
    if (!n)
        return;
    strbuf_reserve(b, n);
    if (b->failed)
        return;
    memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void strbuf_adds(struct strbuf *b, const char *text) {
    strbuf_add(b, text, strlen(text));
}

void strbuf_addc(struct strbuf *b, char c) {
    strbuf_add(b, &c, 1);
}

void strbuf_drop(struct strbuf *b, size_t n) {
    if (!n)
        return;
    b->len -= n;
    memmove(b->data, b->data + n, b->len + 1);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...) {
    va_list args;
    int n;
    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0 && !b->failed)
        b->failed = ERR_TOO_LARGE;
    if (n <= 0)
        return;
    strbuf_reserve(b, (size_t)n);
    if (b->failed)
        return;
    va_start(args, fmt);
    (void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, args);
    va_end(args);
    b->len += (size_t)n;
}

int strbuf_check(const struct strbuf *b, const char *what, struct err *err) {
    if (b->failed == ERR_TOO_LARGE)
        return err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", what, b->max_bytes);
    if (b->failed)
        return err_set(err, b->failed, "no memory for %s", what);
    return 0;
}

char *strbuf_steal(struct strbuf *b) {
    char *text;
    strbuf_reserve(b, 0);
    if (b->failed) {
        free_memory(b);
        return NULL;
    }
    text = b->data;
    b->data = empty_text;
    b->len = 0;
    b->alloc = 0;
    return text;
}
