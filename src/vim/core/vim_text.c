/* Texts of a vCenter's answers, made whole. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gSOAP takes seven characters of a character reference and loses what is behind them, "&#x1F680;" and "&#0000038;" among them, which other programs write; and it
 * gives characters on that XML itself forbids (XML 1.0 sections 2.2 and 4.1). */
#include "vim_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define UNICODE_MAX 0x10FFFFU
#define REFERENCE_BYTES 8 /* the longest that is written: "&#x3e;" */

static bool is_surrogate(uint32_t point) {
    return point >= 0xD800 && point <= 0xDFFF;
}

static bool is_text(uint32_t point) {
    if (point < 0x20)
        return point == '\t' || point == '\n' || point == '\r';
    return (point < 0x7F || point > 0x9F) && !is_surrogate(point) && point != 0xFFFE && point != 0xFFFF && point <= UNICODE_MAX;
}

/* Those that mean something else as themselves, in a text or in an attribute. */
static bool is_markup(uint32_t point) {
    return point < 0x20 || point == '&' || point == '<' || point == '>' || point == '"' || point == '\'';
}

static int digit_of(char c, unsigned base) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return base == 16 && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number of the character reference at `at`. Returns its length, 0 if it is none. */
static size_t read_reference(const char *at, uint32_t *point) {
    const unsigned base = at[0] == '&' && at[1] == '#' && at[2] == 'x' ? 16 : 10;
    const char *digits = at + (base == 16 ? 3 : 2), *from = digits;
    uint32_t value = 0;
    if (at[0] != '&' || at[1] != '#')
        return 0;
    for (; digit_of(*from, base) >= 0; from++)
        value = value > UNICODE_MAX ? value : value * base + (uint32_t)digit_of(*from, base);
    if (from == digits || *from != ';')
        return 0;
    *point = value;
    return (size_t)(from + 1 - at);
}

static size_t write_utf8(uint32_t point, char *to) {
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    const size_t more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    to[0] = (char)(first[more] | point >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (point >> 6 * (more - i) & 0x3F));
    return more + 1;
}

/* Never longer than the reference was: two digits are the fewest that such a one has, but for line ends. */
static size_t write_point(uint32_t point, char *to) {
    char reference[REFERENCE_BYTES];
    if (!is_text(point))
        point = ' ';
    if (!is_markup(point))
        return write_utf8(point, to);
    const int n = snprintf(reference, sizeof(reference), "&#%u;", (unsigned)point);
    memcpy(to, reference, (size_t)n);
    return (size_t)n;
}

/* A pair of surrogates, as some programs write what lies above U+FFFF, is one character. */
static size_t mend_reference(const char *from, char *to, size_t *written) {
    uint32_t point = 0, low = 0;
    size_t n = read_reference(from, &point), more = 0;
    if (!n)
        return 0;
    if (point >= 0xD800 && point <= 0xDBFF && (more = read_reference(from + n, &low)) && low >= 0xDC00 && low <= 0xDFFF) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        n += more;
    }
    *written = write_point(point, to);
    return n;
}

/* The length of a forbidden character that stands there as itself, in UTF-8; 0: it is none. */
static size_t forbidden_bytes(const unsigned char *s) {
    if (s[0] < 0x20 || s[0] == 0x7F)
        return s[0] != '\t' && s[0] != '\n' && s[0] != '\r';
    if (s[0] == 0xC2 && s[1] >= 0x80 && s[1] <= 0x9F)
        return 2;
    if (s[0] == 0xEF && s[1] == 0xBF && (s[2] == 0xBE || s[2] == 0xBF))
        return 3;
    return s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2] >= 0x80 && s[2] <= 0xBF ? 3 : 0;
}

#define CDATA_BEGIN "<![CDATA["
#define CDATA_END "]]>"

void vim_text_mend(char *xml, size_t *n) {
    const char *from = xml, *end = xml + *n;
    bool is_raw = false; /* in a section where '&' is a character as any other */
    char *to = xml;
    while (from < end) {
        size_t written = 0, read = *from == '&' && !is_raw ? mend_reference(from, to, &written) : 0;
        if (!read && (read = forbidden_bytes((const unsigned char *)from))) {
            *to = ' ';
            written = 1;
        }
        if (!read) {
            if (*from == '<' && !strncmp(from, CDATA_BEGIN, sizeof(CDATA_BEGIN) - 1))
                is_raw = true;
            if (*from == ']' && !strncmp(from, CDATA_END, sizeof(CDATA_END) - 1))
                is_raw = false;
            *to = *from;
            written = read = 1;
        }
        from += read;
        to += written;
    }
    *to = '\0';
    *n = (size_t)(to - xml);
}

void vim_text_one_line(char *text) {
    for (; text && *text; text++)
        if (*text == '\t' || *text == '\n' || *text == '\r')
            *text = ' ';
}
