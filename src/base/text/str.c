/* Small text helpers: equality, strict numbers, hex, base64url, UTF-8. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "str.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"

#define DISTANCE_BYTES_MAX 64

bool str_span_eq(struct str_span span, const char *text) {
    return span.n == strlen(text) && (!span.n || !memcmp(span.at, text, span.n));
}

bool str_eq(const char *a, const char *b) {
    if (!a || !b)
        return a == b;
    return strcmp(a, b) == 0;
}

static char str_lower_char(char c) {
    if (c >= 'A' && c <= 'Z')
        c = (char)(c - 'A' + 'a');
    return c;
}

/* Not strcasecmp: that one follows the locale. */
bool str_eq_nocase(const char *a, const char *b) {
    if (!a || !b)
        return a == b;
    if (!strcmp(a, b)) /* nearly always, when they are equal at all */
        return true;
    while (*a && str_lower_char(*a) == str_lower_char(*b)) {
        a++;
        b++;
    }
    return str_lower_char(*a) == str_lower_char(*b);
}

bool str_starts(const char *s, const char *prefix) {
    return s && strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix) {
    size_t len = s ? strlen(s) : 0, tail = strlen(suffix);
    return s && len >= tail && memcmp(s + len - tail, suffix, tail) == 0;
}

bool str_empty(const char *s) {
    return !s || !*s;
}

char *str_dup(const char *s) {
    return s ? strdup(s) : NULL;
}

int str_replace(char **text, const char *with, struct err *err) {
    char *copy = str_dup(with);
    if (with && !copy)
        return err_set(err, ERR_NOMEM, "out of memory");
    free(*text);
    *text = copy;
    return 0;
}

char *str_format(const char *fmt, ...) {
    char *text = NULL;
    va_list args;
    int n;
    va_start(args, fmt);
    n = vasprintf(&text, fmt, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

bool str_to_i64(const char *s, int64_t min, int64_t max, int64_t *out) {
    char *end;
    long long value;
    if (str_empty(s) || !((*s >= '0' && *s <= '9') || (*s == '-' && s[1] >= '0' && s[1] <= '9')))
        return false;
    errno = 0;
    value = strtoll(s, &end, 10);
    if (errno || *end || value < min || value > max)
        return false;
    *out = value;
    return true;
}

/* Lead byte -> length in bytes and the bits it carries; 0 for a byte that cannot lead (RFC 3629 section 3). */
static size_t utf8_lead(unsigned char c, uint32_t *bits) {
    if (c < 0x80)
        return *bits = c, 1;
    if (c >= 0xc2 && c <= 0xdf)
        return *bits = c & 0x1fU, 2;
    if (c >= 0xe0 && c <= 0xef)
        return *bits = c & 0x0fU, 3;
    if (c >= 0xf0 && c <= 0xf4)
        return *bits = c & 0x07U, 4;
    return 0;
}

size_t str_utf8_next(const char *s, size_t len, uint32_t *out) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t point = 0;
    size_t n = len ? utf8_lead((unsigned char)s[0], &point) : 0;
    if (!n || n > len)
        return 0;
    for (size_t i = 1; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if ((c & 0xc0U) != 0x80U)
            return 0;
        point = (point << 6) | (c & 0x3fU);
    }
    if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    *out = point;
    return n;
}

long str_utf8_chars(const char *s, size_t len_bytes) {
    long count = 0;
    size_t at = 0;
    while (at < len_bytes) {
        uint32_t point;
        size_t n = str_utf8_next(s + at, len_bytes - at, &point);
        if (!n)
            return -1;
        at += n;
        count++;
    }
    return count;
}

void str_trim_utf8(char *s) {
    size_t n = strlen(s);
    while (n && str_utf8_chars(s, n) < 0)
        s[--n] = '\0';
}

bool str_has_control(const char *s) {
    const unsigned char *at = (const unsigned char *)s;
    for (; *at; at++) {
        if (*at < 0x20 || *at == 0x7f)
            return true;
        if (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f) /* C1, U+0080 to U+009F */
            return true;
    }
    return false;
}

bool str_is_invisible(uint32_t point) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
        {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},
        {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff9, 0xfffb},
        {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < ARRAY_COUNT(ranges); i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    return false;
}

void str_lower(char *s) {
    for (; *s; s++)
        *s = str_lower_char(*s);
}

void str_hex(const uint8_t *bytes, size_t n, char *out) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

int str_hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = str_lower_char(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool str_unhex(const char *hex, uint8_t *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int high, low;
        if (i && *hex == ':')
            hex++;
        high = str_hex_value(hex[0]);
        low = high < 0 ? -1 : str_hex_value(hex[1]);
        if (low < 0)
            return false;
        out[i] = (uint8_t)(high * 16 + low);
        hex += 2;
    }
    return *hex == '\0';
}

bool str_to_sha256(const char *text, uint8_t out[32]) {
    static const char *const before[] = {"sha256 Fingerprint=", "SHA256:", "SHA-256:"};
    text += strspn(text, " \t");
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        const size_t n = strlen(before[i]);
        if (!strncasecmp(text, before[i], n)) {
            text += n + strspn(text + n, " ");
            break;
        }
    }
    return str_unhex(text, out, 32);
}

static void base64_add(struct strbuf *b, const uint8_t *bytes, size_t n, const char digits[64]) {
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < n; i++) {
        bits = (bits << 8) | bytes[i];
        for (held += 8; held >= 6; held -= 6)
            strbuf_addc(b, digits[(bits >> (held - 6)) & 63]);
    }
    if (held)
        strbuf_addc(b, digits[(bits << (6 - held)) & 63]);
}

void str_base64(struct strbuf *b, const uint8_t *bytes, size_t n) {
    base64_add(b, bytes, n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
}

void str_base64url(struct strbuf *b, const uint8_t *bytes, size_t n) {
    base64_add(b, bytes, n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
}

/* `last` are the two digits in which the alphabets differ. */
static int base64_value(char c, const char last[2]) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == last[0] ? 62 : c == last[1] ? 63 : -1;
}

static long base64_read(const char *text, size_t len, const char last[2], uint8_t *out, size_t max) {
    uint32_t bits = 0;
    unsigned held = 0;
    size_t n = 0;
    if (len % 4 == 1 || len / 4 * 3 + len % 4 * 3 / 4 > max)
        return -1;
    for (size_t i = 0; i < len; i++) {
        int value = base64_value(text[i], last);
        if (value < 0)
            return -1;
        bits = ((bits << 6) | (uint32_t)value) & 0xffffff;
        held += 6;
        if (held < 8)
            continue;
        held -= 8;
        out[n++] = (uint8_t)(bits >> held);
    }
    /* One text per value: left-over bits must be zero (RFC 4648 section 3.5), else a token has several spellings. */
    if (bits & ((1U << held) - 1))
        return -1;
    return (long)n;
}

long str_unbase64(const char *text, size_t len, uint8_t *out, size_t max) {
    return base64_read(text, len, "+/", out, max);
}

long str_unbase64url(const char *text, size_t len, uint8_t *out, size_t max) {
    return base64_read(text, len, "-_", out, max);
}

static unsigned least_of(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

unsigned str_distance(const char *a, const char *b) {
    unsigned row[DISTANCE_BYTES_MAX + 1];
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len > DISTANCE_BYTES_MAX || b_len > DISTANCE_BYTES_MAX)
        return UINT_MAX;
    for (unsigned j = 0; j <= b_len; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned above = row[j];
            row[j] = least_of(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}
