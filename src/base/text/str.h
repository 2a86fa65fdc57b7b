/* Small text helpers: equality, strict numbers, hex, base64url, UTF-8. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strbuf.h"

/* A text within another one, as a member of a message that was received: not ended by NUL, and as good as the memory that it lies in. `n` 0: none,
 * whatever `at` is. */
struct str_span {
    const char *at;
    size_t n; /* bytes */
};

/* True if the span holds the bytes of `text`. */
bool str_span_eq(struct str_span span, const char *text);

/* True if both are NULL or hold the same bytes. */
bool str_eq(const char *a, const char *b);

/* ASCII case-insensitive str_eq. */
bool str_eq_nocase(const char *a, const char *b);

bool str_starts(const char *s, const char *prefix); /* s begins with prefix; NULL s: false */
bool str_ends(const char *s, const char *suffix);   /* s ends with suffix; NULL s: false */
bool str_empty(const char *s);                      /* NULL or "" */

/* strdup that accepts NULL (gives NULL). Caller frees. */
char *str_dup(const char *s);

/* Replaces a malloc'ed text (may be NULL) by a copy of another one (NULL: by none). ERR_NOMEM, and then nothing has changed. */
int str_replace(char **text, const char *with, struct err *err);

/* printf into new memory; NULL without memory. Caller frees. */
char *str_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Parses a whole decimal number (optional '-', no blanks, no leading '+'); false if it is not one or out of [min, max]. */
bool str_to_i64(const char *s, int64_t min, int64_t max, int64_t *out);

/* Number of Unicode code points of a UTF-8 text, or -1 if it is not valid UTF-8 (RFC 3629: no surrogates, no overlong forms). */
long str_utf8_chars(const char *s, size_t len_bytes);

/* Cuts an incomplete code point off the end: a text that was cut may end within one. */
void str_trim_utf8(char *s);

/* Length in bytes of the first code point of `len` bytes of UTF-8 and the code point in *out; 0 if it is malformed or cut off. */
size_t str_utf8_next(const char *s, size_t len, uint32_t *out);

/* True for a code point that nobody sees: a format character (general category Cf, Unicode 15), which may change the direction of writing or have no
 * width, or a letter or mark without a shape. False for the variation selectors U+FE0E and U+FE0F, which choose the shape of an emoji. */
bool str_is_invisible(uint32_t point);

/* True if the text has a control character (C0, DEL, C1), valid UTF-8 assumed. */
bool str_has_control(const char *s);

/* Unicode-unaware case folding of ASCII letters in place. */
void str_lower(char *s);

/* Lower-case hex of n bytes; `out` needs 2 * n + 1 bytes. */
void str_hex(const uint8_t *bytes, size_t n, char *out);

/* The value of a hexadecimal digit in either case; -1 if it is none. */
int str_hex_value(char c);

/* Parses a SHA-256 as people have it: 32 pairs of hex, with or without colons, also behind what openssl ("sha256 Fingerprint=") and others ("SHA256:")
 * print before it. False if it is none. */
bool str_to_sha256(const char *text, uint8_t out[32]);

/* Parses exactly n bytes of hex (either case, colons between pairs allowed as in thumbprints). False if malformed. */
bool str_unhex(const char *hex, uint8_t *out, size_t n);

/* Appends base64 or base64url (RFC 4648 sections 4 and 5), both without padding. */
void str_base64(struct strbuf *b, const uint8_t *bytes, size_t n);
void str_base64url(struct strbuf *b, const uint8_t *bytes, size_t n);

/* Decodes base64 or base64url, both without padding; writes at most max bytes; -1 if malformed or too long, else the byte count. */
long str_unbase64(const char *text, size_t len, uint8_t *out, size_t max);
long str_unbase64url(const char *text, size_t len, uint8_t *out, size_t max);

/* Levenshtein distance of two short words (up to 64 bytes each; longer: a large number), for "did you mean". */
unsigned str_distance(const char *a, const char *b);
