/* Bytes of a message: what may stand in names, values and targets. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every byte of every request comes through here, so eight are looked at at a time. */
#include "http_text.h"

#include <stdint.h>
#include <string.h>

#include "str.h"

#define EACH_BYTE 0x0101010101010101ULL
#define HIGH_BITS 0x8080808080808080ULL

/* High bit set in (at least) the first byte of `w` that is below 0x20 or is 0x7f; zero if there is none. */
static uint64_t control_bits(uint64_t w) {
    uint64_t del = w ^ EACH_BYTE * 0x7f;
    uint64_t low = (w - EACH_BYTE * 0x20) & ~w;
    uint64_t is_del = (del - EACH_BYTE) & ~del;
    return (low | is_del) & HIGH_BITS;
}

static bool is_control(char c) {
    return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

bool http_has_control(const char *text, size_t len) {
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t w;
        memcpy(&w, text + i, 8);
        if (!control_bits(w))
            continue;
        for (size_t k = i; k < i + 8; k++) /* may be a tab */
            if (is_control(text[k]))
                return true;
    }
    for (; i < len; i++)
        if (is_control(text[i]))
            return true;
    return false;
}

/* ASCII without control characters. */
static bool http_text_is_plain(const char *text, size_t len) {
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t w;
        memcpy(&w, text + i, 8);
        if ((w & HIGH_BITS) || control_bits(w))
            return false;
    }
    for (; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] >= 0x7f)
            return false;
    return true;
}

int http_check_text(const char *text, size_t len, const char *what, struct err *err) {
    if (http_text_is_plain(text, len))
        return 0;
    if (str_utf8_chars(text, len) < 0)
        return err_set(err, ERR_INVALID, "the %s is not valid UTF-8", what);
    if (str_has_control(text))
        return err_set(err, ERR_INVALID, "the %s has a control character", what);
    return 0;
}

/* RFC 9110 5.6.2: a bit for each ASCII character that a token may have. */
static const uint32_t token_chars[4] = {0, 0x03ff6cfaU, 0xc7fffffeU, 0x57ffffffU};

bool http_is_token(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80 || !(token_chars[c >> 5] >> (c & 31) & 1))
            return false;
    }
    return len > 0;
}

long http_decode(char *text, bool is_form) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from != '%') {
            *to++ = is_form && *from == '+' ? ' ' : *from;
            continue;
        }
        int high = str_hex_value(from[1]);
        int low = high < 0 ? -1 : str_hex_value(from[2]);
        if (low < 0 || (high | low) == 0)
            return -1;
        *to++ = (char)(high << 4 | low);
        from += 2;
    }
    *to = '\0';
    return to - text;
}
