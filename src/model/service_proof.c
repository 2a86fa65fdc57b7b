/* Service accounts: the spelling of what they prove themselves by. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "service_account.h"
#include "str.h"
#include "strbuf.h"

int service_fingerprint_read(const char *text, char out[SERVICE_FINGERPRINT_BYTES], struct err *err) {
    uint8_t bytes[(SERVICE_FINGERPRINT_BYTES - 1) / 2];
    if (str_unhex(text, bytes, sizeof(bytes))) {
        str_hex(bytes, sizeof(bytes), out);
        return 0;
    }
    /* What comes in PEM may be a private key: never repeated. */
    if (strstr(text, "-----BEGIN"))
        (void)err_set(err, ERR_UNPROCESSABLE, "the text in PEM holds no certificate that can be read");
    else
        (void)err_set(err, ERR_UNPROCESSABLE, "\"%.100s\" is not the SHA-256 fingerprint of a certificate", text);
    return err_remedy(
        err, "give the 64 hexadecimal digits that `openssl x509 -fingerprint -sha256` prints, or the certificate itself");
}

static const char *skip_blanks(const char *p) {
    while (*p == ' ')
        p++;
    return p;
}

static bool is_type_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

/* "cn =" to "CN="; NULL if it is none. Returns what follows. */
static const char *copy_type(const char *p, struct strbuf *out) {
    const char *begin = p = skip_blanks(p);
    for (; is_type_char(*p); p++) {
        const char upper = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
        strbuf_add(out, &upper, 1);
    }
    if (p == begin)
        return NULL;
    p = skip_blanks(p);
    strbuf_adds(out, "=");
    return *p == '=' ? skip_blanks(p + 1) : NULL;
}

/* Up to the next separator that is not escaped; blanks before it do not count unless escaped (RFC 4514 section 2.4). */
static const char *copy_value(const char *p, struct strbuf *out) {
    const char *begin = p, *end = p;
    for (; *p && *p != ',' && *p != '+'; p++) {
        if (strchr("\";<>", *p)) /* must be escaped */
            return NULL;
        if (*p == '\\' && !*++p)
            return NULL;
        if (*p != ' ' || p[-1] == '\\')
            end = p + 1;
    }
    if (end == begin)
        return NULL;
    strbuf_add(out, begin, (size_t)(end - begin));
    return p;
}

static bool copy_subject(const char *text, struct strbuf *out) {
    const char *p = text;
    for (;;) {
        p = copy_type(p, out);
        p = p ? copy_value(p, out) : NULL;
        if (!p || !*p)
            return p != NULL;
        strbuf_add(out, p++, 1);
    }
}

int service_subject_read(const char *text, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf made;
    strbuf_init(&made, SERVICE_SUBJECT_BYTES_MAX);
    if (str_utf8_chars(text, strlen(text)) < 0 || str_has_control(text) || !copy_subject(text, &made) || made.failed) {
        (void)err_set(err, ERR_UNPROCESSABLE, "\"%.200s\" is not the subject of a certificate", text);
        return err_remedy(
            err, "write it most specific part first, as `openssl x509 -subject -nameopt RFC2253` does: CN=hx-east,O=Example");
    }
    *out = str_dup(made.data);
    return *out ? 0 : err_set(err, ERR_NOMEM, "no memory for a subject");
}

int service_kerberos_read(const char *text, char **out, struct err *err) {
    const char *at = strrchr(text, '@');
    if (!at || at == text || !at[1] || strchr(text, ' ') || strchr(text, '@') != at || text[0] == '/' || at[-1] == '/' ||
        strlen(text) > SERVICE_KERBEROS_BYTES_MAX || str_utf8_chars(text, strlen(text)) < 0 || str_has_control(text)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "\"%.100s\" is not a Kerberos principal", text);
        return err_remedy(err, "write it with its realm: hx-east@EXAMPLE.COM or HTTP/hx-east.example.com@EXAMPLE.COM");
    }
    *out = str_dup(text);
    return *out ? 0 : err_set(err, ERR_NOMEM, "no memory for a principal");
}
