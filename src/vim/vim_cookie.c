/* The session cookie: reading it from an answer, sending it, telling it from a session key. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * vCenter sends `Set-Cookie: vmware_soap_session="<40 hex>"; Path=/; HttpOnly; Secure;`. The quotes are part of what it takes back
 * most willingly, so the value stays raw (RFC 6265 section 4.1.1 allows them). */
#include "vim_cookie.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "secret.h"
#include "str.h"
#include "uuid.h"
#include "vim_session.h"

#define COOKIE_CHARS_MIN 16U
#define COOKIE_CHARS_MAX 128U

/* RFC 6265 cookie-octet. */
static bool is_cookie_octet(char c) {
    return c > 0x20 && c < 0x7f && c != '"' && c != ',' && c != ';' && c != '\\';
}

/* Length of the value at `s`, quotes included; 0 if malformed or empty. */
static size_t value_length(const char *s, size_t n) {
    size_t i = 0, quotes = n && s[0] == '"';
    for (i = quotes; i < n && is_cookie_octet(s[i]); i++)
        ;
    if (i == quotes || i > VIM_COOKIE_BYTES_MAX)
        return 0;
    if (!quotes)
        return i == n || s[i] == ';' || s[i] == ' ' ? i : 0;
    return i < n && s[i] == '"' ? i + 1 : 0;
}

char *vim_cookie_of_header(const char *line, size_t n) {
    static const char header[] = "set-cookie:", name[] = VIM_COOKIE_NAME "=";
    size_t i = sizeof(header) - 1, len;
    if (n < i || strncasecmp(line, header, i) != 0)
        return NULL;
    while (i < n && (line[i] == ' ' || line[i] == '\t'))
        i++;
    if (n - i < sizeof(name) || strncmp(line + i, name, sizeof(name) - 1) != 0)
        return NULL;
    i += sizeof(name) - 1;
    len = value_length(line + i, n - i);
    return len ? strndup(line + i, len) : NULL;
}

char *vim_cookie_header(const char *value) {
    return str_format("Cookie: " VIM_COOKIE_NAME "=%s", value);
}

/* The text between surrounding quotes, if both are there. */
static const char *bare_of(const char *text, size_t *n) {
    *n = strlen(text);
    if (*n >= 2 && text[0] == '"' && text[*n - 1] == '"') {
        *n -= 2;
        return text + 1;
    }
    return text;
}

int vim_cookie_check(const char *text, struct err *err) {
    char uuid[UUID_TEXT_BYTES] = "";
    const char *bare;
    size_t n;
    if (str_empty(text))
        return err_set(err, ERR_UNPROCESSABLE, "the session id is empty");
    bare = bare_of(text, &n);
    if (n == sizeof(uuid) - 1)
        memcpy(uuid, bare, n);
    if (uuid_is_valid(uuid)) {
        err_set(err, ERR_UNPROCESSABLE, "this is the key of a session, which proves nothing; the session's cookie is needed");
        return err_remedy(err, "send the value of the cookie " VIM_COOKIE_NAME " (40 hex digits), or better a clone ticket");
    }
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)bare[i]) && bare[i] != '-' && bare[i] != '_')
            n = 0;
    if (n >= COOKIE_CHARS_MIN && n <= COOKIE_CHARS_MAX)
        return 0;
    err_set(err, ERR_UNPROCESSABLE, "this is not a vCenter session id");
    return err_remedy(err, "send the value of the cookie " VIM_COOKIE_NAME " (40 hex digits), or the id of a REST session");
}
