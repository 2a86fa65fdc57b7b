/* Growing text buffer with a cap and a sticky error. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Invariants: after strbuf_init, `data` is never NULL and always NUL-terminated at `len`. An append that would pass
 * `max_bytes`, or finds no memory, changes nothing, sets the sticky `failed` code, and every later append is ignored:
 * chain appends and test once with strbuf_check. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct strbuf {
    char *data;
    size_t len;       /* bytes without NUL */
    size_t alloc;     /* bytes behind data; 0 while data is the shared empty text */
    size_t max_bytes; /* greatest len allowed */
    int failed;       /* 0, ERR_TOO_LARGE or ERR_NOMEM */
    bool is_secret;   /* wiped on growth and on done */
};

/* Makes an empty buffer that may hold up to `max_bytes`. Allocates nothing. */
void strbuf_init(struct strbuf *b, size_t max_bytes);

/* As strbuf_init, for secrets: memory is wiped whenever it is given back. */
void strbuf_init_secret(struct strbuf *b, size_t max_bytes);

/* Frees the contents; the buffer is empty and usable again. NULL and a zeroed struct are allowed. */
void strbuf_done(struct strbuf *b);

/* Empties the buffer, keeps memory, clears the sticky error. */
void strbuf_reset(struct strbuf *b);

void strbuf_add(struct strbuf *b, const void *bytes, size_t n); /* append n bytes */
void strbuf_adds(struct strbuf *b, const char *text);           /* append a C string */
void strbuf_addc(struct strbuf *b, char c);                     /* append one byte */
void strbuf_addf(struct strbuf *b, const char *fmt, ...)        /* append formatted text */
    __attribute__((format(printf, 2, 3)));

/* Makes room for n more bytes, so that a following add cannot fail. Sets the sticky error when it cannot. */
void strbuf_reserve(struct strbuf *b, size_t n);

/* Removes the first n bytes (at most len), which were used; the memory stays. */
void strbuf_drop(struct strbuf *b, size_t n);

/* 0, or the sticky error, described in `err`; `what` names the text for the message ("answer of vCenter"). */
int strbuf_check(const struct strbuf *b, const char *what, struct err *err);

/* Hands the malloc'ed text to the caller, who frees it (NULL only if the buffer failed: then
 * strbuf_check still tells why); the buffer is empty again. */
char *strbuf_steal(struct strbuf *b);

#define _cleanup_strbuf_ __attribute__((cleanup(strbuf_done)))
