/* Bytes of a message: what may stand in names, values and targets. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every byte of every request comes through here, so sixteen are looked at at a time. */
#include "http_text.h"

#include <stdint.h>
#include <string.h>

#include "str.h"

typedef unsigned char bytes16 __attribute__((vector_size(16)));

enum forbidden { CONTROLS_BUT_TAB, CONTROLS_AND_HIGH };

/* Nonzero where a byte is forbidden. */
static bytes16 forbidden_in(bytes16 bytes, enum forbidden what) {
    const bytes16 controls = (bytes16)(bytes < 0x20) | (bytes16)(bytes == 0x7f);
    return what == CONTROLS_BUT_TAB ? controls & (bytes16)(bytes != '\t') : controls | (bytes & 0x80);
}

static inline bool has_forbidden(const char *text, size_t len, enum forbidden what) {
    bytes16 bytes, found = {0};
    uint64_t half[2];
    size_t i = 0;
    for (; i + sizeof(bytes) <= len; i += sizeof(bytes)) {
        memcpy(&bytes, text + i, sizeof(bytes));
        found |= forbidden_in(bytes, what);
    }
    if (i < len) {
        memset(&bytes, ' ', sizeof(bytes));
        memcpy(&bytes, text + i, len - i);
        found |= forbidden_in(bytes, what);
    }
    memcpy(half, &found, sizeof(half));
    return (half[0] | half[1]) != 0;
}

bool http_has_control(const char *text, size_t len) {
    return has_forbidden(text, len, CONTROLS_BUT_TAB);
}

int http_check_text(const char *text, size_t len, const char *what, struct err *err) {
    if (!has_forbidden(text, len, CONTROLS_AND_HIGH)) /* plain ASCII */
        return 0;
    if (str_utf8_chars(text, len) < 0)
        return err_set(err, ERR_INVALID, "the %s is not valid UTF-8", what);
    if (str_has_control(text))
        return err_set(err, ERR_INVALID, "the %s has a control character", what);
    return 0;
}

/* RFC 9110 5.6.2 */
static const bool is_token_char[256] = {
    ['!'] = 1,         ['#' ... '\''] = 1, ['*'] = 1,         ['+'] = 1, ['-'] = 1, ['.'] = 1,
    ['0' ... '9'] = 1, ['A' ... 'Z'] = 1,  ['^' ... 'z'] = 1, ['|'] = 1, ['~'] = 1,
};

bool http_is_token(const char *text, size_t len) {
    bool is_token = len > 0;
    for (size_t i = 0; i < len; i++)
        is_token &= is_token_char[(unsigned char)text[i]];
    return is_token;
}

long http_decode(char *text, bool is_form) {
    char *to = text + strcspn(text, is_form ? "%+" : "%"); /* most texts have none */
    for (const char *from = to; *from; from++) {
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
