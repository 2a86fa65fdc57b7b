/* Takes secrets out of texts. Layer 4 (setup). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * At each place of the text first the secrets of the host are tried, then shapes. A secret is held in three forms: as it is, as base64 at each of the three
 * alignments that it may have in a longer text, and as hexadecimal digits. Escapes of JSON, XML and URLs are resolved while comparing, so that any mix of
 * them fits. */
#include "masker.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "secret.h"
#include "str.h"

#define NEEDLES_MAX 20000U
#define PIECE_BYTES 64U       /* of what is long or binary */
#define VALUE_BYTES_MAX 1024U /* longer ones are taken in pieces */
#define RUN_BYTES_MIN 16U  /* of letters and digits within a secret that are one of their own: a line of PEM, a member of a JWK */
#define BACKSLASHES_MAX 8U /* JSON within JSON within JSON */
#define KEY_BYTES_MAX 64U  /* of the name of a value */
#define URL_USER_BYTES_MAX 2048U
#define TAG_BYTES_MAX 256U
#define JWT_HEAD_BYTES_MAX 1024U
#define JWT_BYTES_MIN 20U
#define HEX_DIGITS_MIN 32U   /* one-time codes; sessions of vCenter have 40 */
#define BASE64_CHARS_MIN 40U /* 30 bytes */

enum needle_form { NEEDLE_TEXT, NEEDLE_BASE64, NEEDLE_HEX };

struct needle {
    char *bytes;
    size_t n;
    enum needle_form form;
    unsigned next; /* with the same first byte; 0: none */
};

struct masker {
    struct needle *needles; /* the first one is none */
    unsigned count, alloc;
    unsigned first[256]; /* by first byte */
};

int masker_new(struct masker **out, struct err *err) {
    struct masker *m = calloc(1, sizeof(*m));
    if (!m)
        return err_set(err, ERR_NOMEM, "out of memory");
    m->count = 1;
    *out = m;
    return 0;
}

void masker_free(struct masker *m) {
    if (!m)
        return;
    for (unsigned i = 1; i < m->count; i++) {
        secret_wipe(m->needles[i].bytes, m->needles[i].n);
        free(m->needles[i].bytes);
    }
    free(m->needles);
    free(m);
}

/* -- what is known ------------------------------------------------------------------------------------------------------------ */

static int masker_put(struct masker *m, const char *bytes, size_t n, enum needle_form form, struct err *err) {
    const unsigned char bucket = (unsigned char)bytes[0];
    if (m->count == NEEDLES_MAX)
        return err_set(err, ERR_TOO_LARGE, "this host has more secrets than can be looked for");
    if (m->count >= m->alloc) {
        const unsigned alloc = m->alloc ? 2 * m->alloc : 256;
        struct needle *needles = reallocarray(m->needles, alloc, sizeof(*needles));
        if (!needles)
            return err_set(err, ERR_NOMEM, "out of memory");
        m->needles = needles;
        m->alloc = alloc;
    }
    char *copy = malloc(n);
    if (!copy)
        return err_set(err, ERR_NOMEM, "out of memory");
    memcpy(copy, bytes, n);
    m->needles[m->count] = (struct needle){copy, n, form, m->first[bucket]};
    m->first[bucket] = m->count++;
    return 0;
}

/* What base64 makes of the bytes behind `shift` others, without the characters in which neighbours have a part. */
static int masker_put_base64(struct masker *m, const uint8_t *bytes, size_t n, size_t shift, struct err *err) {
    _cleanup_strbuf_ struct strbuf shifted, text;
    const size_t skip = (shift * 8 + 5) / 6;
    strbuf_init_secret(&shifted, VALUE_BYTES_MAX + 2);
    strbuf_init_secret(&text, 2 * VALUE_BYTES_MAX);
    strbuf_add(&shifted, "\0\0", shift);
    strbuf_add(&shifted, bytes, n);
    str_base64(&text, (const uint8_t *)shifted.data, shifted.len);
    if (shifted.failed || text.failed)
        return err_set(err, ERR_NOMEM, "out of memory");
    const size_t whole = (n + shift) * 8 / 6; /* characters without a part of what follows */
    return masker_put(m, text.data + skip, whole - skip, NEEDLE_BASE64, err);
}

static int masker_put_hex(struct masker *m, const uint8_t *bytes, size_t n, struct err *err) {
    char text[2 * VALUE_BYTES_MAX + 1];
    str_hex(bytes, n, text);
    int rc = masker_put(m, text, 2 * n, NEEDLE_HEX, err);
    secret_wipe(text, sizeof(text));
    return rc;
}

/* One value of at most VALUE_BYTES_MAX, in all forms. */
static int masker_put_value(struct masker *m, const uint8_t *bytes, size_t n, bool is_text, struct err *err) {
    int rc = is_text ? masker_put(m, (const char *)bytes, n, NEEDLE_TEXT, err) : 0;
    for (size_t shift = 0; !rc && shift < 3; shift++)
        rc = masker_put_base64(m, bytes, n, shift, err);
    return rc ? rc : masker_put_hex(m, bytes, n, err);
}

/* Something longer in pieces; the last one has what is left, so that none is short. */
static int masker_put_pieces(struct masker *m, const uint8_t *bytes, size_t n, bool is_text, struct err *err) {
    int rc = 0;
    while (!rc && n) {
        const size_t piece = n < 2 * PIECE_BYTES ? n : PIECE_BYTES;
        rc = masker_put_value(m, bytes, piece, is_text, err);
        bytes += piece;
        n -= piece;
    }
    return rc;
}

static bool masker_is_base64(char c) {
    return isalnum((unsigned char)c) || c == '+' || c == '/' || c == '-' || c == '_';
}

static int masker_add_line(struct masker *m, const char *line, size_t n, bool *is_known, struct err *err) {
    for (; n && isspace((unsigned char)*line); n--)
        line++;
    while (n && isspace((unsigned char)line[n - 1]))
        n--;
    if (n < MASKER_SECRET_BYTES_MIN || str_starts(line, "-----")) /* what begins or ends PEM is in all of them */
        return 0;
    *is_known = true;
    int rc = n <= VALUE_BYTES_MAX ? masker_put_value(m, (const uint8_t *)line, n, true, err)
                                  : masker_put_pieces(m, (const uint8_t *)line, n, true, err);
    for (size_t at = 0, run; !rc && at < n; at += run + 1) {
        for (run = 0; at + run < n && masker_is_base64(line[at + run]);)
            run++;
        if (run >= RUN_BYTES_MIN && run < n)
            rc = masker_put_pieces(m, (const uint8_t *)line + at, run, true, err);
    }
    return rc;
}

int masker_add(struct masker *m, const void *secret, size_t n, bool *out_is_known, struct err *err) {
    const char *text = secret;
    bool is_text = str_utf8_chars(text, n) >= 0, is_known = false;
    int rc = 0;
    for (size_t i = 0; i < n && is_text; i++)
        is_text = (unsigned char)text[i] >= ' ' || isspace((unsigned char)text[i]);
    if (!is_text) {
        is_known = n >= MASKER_SECRET_BYTES_MIN;
        rc = is_known ? masker_put_pieces(m, secret, n, false, err) : 0;
    }
    while (is_text && !rc && n) {
        const char *end = memchr(text, '\n', n);
        const size_t line = end ? (size_t)(end - text) : n;
        rc = masker_add_line(m, text, line, &is_known, err);
        n -= line + (end != NULL);
        text += line + (end != NULL);
    }
    *out_is_known = is_known;
    return rc;
}

/* -- escapes ------------------------------------------------------------------------------------------------------------------ */

/* A piece of text: what is left of it. */
struct view {
    const char *at, *end;
};

static size_t view_left(const struct view *v) {
    return (size_t)(v->end - v->at);
}

static bool view_starts(const struct view *v, const char *with) {
    const size_t n = strlen(with);
    return view_left(v) >= n && !memcmp(v->at, with, n);
}

/* -1: they are not there. */
static long masker_hex_number(const struct view *v, size_t from, size_t digits) {
    long number = 0;
    if (view_left(v) < from + digits)
        return -1;
    for (size_t i = 0; i < digits; i++) {
        const int value = str_hex_value(v->at[from + i]);
        if (value < 0)
            return -1;
        number = 16 * number + value;
    }
    return number;
}

static size_t masker_utf8(unsigned long c, char out[4]) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00U >> n) | c);
    return n;
}

static size_t masker_backslashes(const struct view *v) {
    size_t n = 0;
    while (n < BACKSLASHES_MAX && n < view_left(v) && v->at[n] == '\\')
        n++;
    return n;
}

/* "\n", "\u00e4", "\xe4", as JSON and our log write them; with more backslashes where one text is in another. */
static size_t masker_unescape_json(const struct view *v, char out[4], size_t *out_n) {
    static const char letters[] = "nrtbf", values[] = "\n\r\t\b\f";
    const size_t n = masker_backslashes(v);
    const char c = n < view_left(v) ? v->at[n] : '\0';
    const char *letter = c ? strchr(letters, c) : NULL;
    long number, low;
    if (c == 'u' && (number = masker_hex_number(v, n + 1, 4)) >= 0) {
        const struct view rest = {v->at + n + 5, v->end};
        const bool is_pair = number >= 0xd800 && number < 0xdc00 && masker_backslashes(&rest) == n && view_left(&rest) > n &&
                             rest.at[n] == 'u' && (low = masker_hex_number(&rest, n + 1, 4)) >= 0xdc00 && low < 0xe000;
        *out_n = masker_utf8((unsigned long)(is_pair ? 0x10000 + ((number - 0xd800) << 10) + (low - 0xdc00) : number), out);
        return is_pair ? 2 * (n + 5) : n + 5;
    }
    *out_n = 1;
    if (c == 'x' && (number = masker_hex_number(v, n + 1, 2)) >= 0) {
        out[0] = (char)number;
        return n + 3;
    }
    if (!letter)
        return 0;
    out[0] = values[letter - letters];
    return n + 1;
}

static size_t masker_unescape_xml(const struct view *v, char out[4], size_t *out_n) {
    static const struct {
        const char *entity;
        char value;
    } named[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    *out_n = 1;
    for (size_t i = 0; i < ARRAY_COUNT(named); i++)
        if (view_starts(v, named[i].entity)) {
            out[0] = named[i].value;
            return strlen(named[i].entity);
        }
    if (!view_starts(v, "&#"))
        return 0;
    const bool is_hex = view_left(v) > 2 && (v->at[2] | 0x20) == 'x';
    const size_t from = is_hex ? 3 : 2;
    unsigned long number = 0;
    size_t n = from;
    for (; n < view_left(v) && n < from + 7; n++) {
        const int value = str_hex_value(v->at[n]);
        if (value < 0 || (!is_hex && value > 9))
            break;
        number = number * (is_hex ? 16 : 10) + (unsigned)value;
    }
    if (n == from || n == view_left(v) || v->at[n] != ';' || number > 0x10ffff)
        return 0;
    *out_n = masker_utf8(number, out);
    return n + 1;
}

/* What an escape at the beginning stands for. Returns its length; 0: there is none. */
static size_t masker_unescape(const struct view *v, char out[4], size_t *out_n) {
    const char c = view_left(v) ? *v->at : '\0';
    const long number = c == '%' ? masker_hex_number(v, 1, 2) : -1;
    *out_n = 1;
    if (c == '\\')
        return masker_unescape_json(v, out, out_n);
    if (c == '&')
        return masker_unescape_xml(v, out, out_n);
    out[0] = c == '+' ? ' ' : (char)number;
    return c == '+' ? 1 : number >= 0 ? 3 : 0;
}

/* -- finding what is known ---------------------------------------------------------------------------------------------------- */

static bool needle_is(enum needle_form form, char text, char secret) {
    if (form == NEEDLE_HEX)
        return tolower((unsigned char)text) == secret;
    return text == secret || (form == NEEDLE_BASE64 && ((secret == '+' && text == '-') || (secret == '/' && text == '_')));
}

/* Goes on by one character of the text, escaped or not. */
static bool needle_step(const struct needle *needle, size_t *i, struct view *v) {
    char got[4];
    size_t n = 0, same = 0, used = masker_unescape(v, got, &n);
    if (used && n <= needle->n - *i)
        while (same < n && needle_is(needle->form, got[same], needle->bytes[*i + same]))
            same++;
    if (!used || same != n) { /* as it is, or behind backslashes that say nothing */
        const size_t skip = needle->bytes[*i] == '\\' ? 0 : masker_backslashes(v);
        if (skip >= view_left(v) || !needle_is(needle->form, v->at[skip], needle->bytes[*i]))
            return false;
        used = skip + 1;
        n = 1;
    }
    *i += n;
    v->at += used;
    return true;
}

/* How much of the text is the secret; 0: it is not. */
static size_t needle_match(const struct needle *needle, const struct view *from) {
    struct view v = *from;
    if (needle->form == NEEDLE_TEXT && view_left(&v) >= needle->n && !memcmp(v.at, needle->bytes, needle->n))
        return needle->n;
    for (size_t i = 0; i < needle->n;) {
        if (needle->form == NEEDLE_HEX && i && i % 2 == 0 && view_left(&v) && (*v.at == ':' || *v.at == ' '))
            v.at++;
        while (needle->form == NEEDLE_BASE64 && i && view_left(&v) && (*v.at == '\n' || *v.at == '\r'))
            v.at++;
        if (!needle_step(needle, &i, &v))
            return 0;
    }
    while (needle->form == NEEDLE_BASE64 && view_left(&v) && (masker_is_base64(*v.at) || *v.at == '='))
        v.at++; /* what else was encoded with it */
    return (size_t)(v.at - from->at);
}

static void masker_try(const struct masker *m, char first, const struct view *v, size_t *longest) {
    for (unsigned i = m->first[(unsigned char)first]; i; i = m->needles[i].next) {
        const size_t n = needle_match(&m->needles[i], v);
        *longest = n > *longest ? n : *longest;
    }
}

/* Length of the longest known secret here; 0: none. */
static size_t masker_find_known(const struct masker *m, const struct view *v) {
    const char c = *v->at;
    char got[4];
    size_t n = 0, longest = 0;
    masker_try(m, c, v, &longest);
    if (c >= 'A' && c <= 'F')
        masker_try(m, (char)tolower((unsigned char)c), v, &longest); /* hexadecimal */
    if (c == '-' || c == '_')
        masker_try(m, c == '-' ? '+' : '/', v, &longest); /* base64url */
    if (c == '\\' && masker_backslashes(v) < view_left(v))
        masker_try(m, v->at[masker_backslashes(v)], v, &longest);
    if (masker_unescape(v, got, &n))
        masker_try(m, got[0], v, &longest);
    return longest;
}

/* -- shapes -------------------------------------------------------------------------------------------------------------------- */

/* A shape looks at the beginning of `v`; `before` is what stands before it, '\0' at the beginning of the text. It returns how much to mask, 0 if it is none of
 * its kind, and puts in *skip how much before that stays as it is. */
typedef size_t shape_fn(const struct view *v, char before, size_t *skip);

static size_t masker_run_of(const struct view *v, bool (*is)(char c), size_t max) {
    size_t n = 0;
    while (n < max && n < view_left(v) && is(v->at[n]))
        n++;
    return n;
}

static bool masker_is_in_pem(char c) {
    return isalnum((unsigned char)c) || isspace((unsigned char)c) || (c && strchr("+/=-\\:,", c));
}

/* Up to its end; one that was cut off, up to where it can be no more. */
static size_t shape_pem(const struct view *v, char before, size_t *skip) {
    static const char begin[] = "-----BEGIN ", end[] = "-----END ", private[] = "PRIVATE KEY-----";
    struct view at = *v;
    (void)before, (void)skip;
    if (!view_starts(v, begin) || !memmem(v->at, view_left(v) < 64 ? view_left(v) : 64, private, strlen(private)))
        return 0;
    for (; view_left(&at) && masker_is_in_pem(*at.at); at.at++)
        if (view_starts(&at, end)) {
            const char *last = memmem(at.at + strlen(end), view_left(&at) - strlen(end), "-----", 5);
            at.at = last && last - at.at < 64 ? last + 5 : at.at + strlen(end);
            break;
        }
    return (size_t)(at.at - v->at);
}

static bool masker_is_in_jwt(char c) {
    return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* RFC 7519: the header is a JSON object, and what begins with {" is eyJ in base64url. */
static size_t shape_jwt(const struct view *v, char before, size_t *skip) {
    (void)before, (void)skip;
    if (!view_starts(v, "eyJ"))
        return 0;
    const size_t head = masker_run_of(v, masker_is_in_jwt, JWT_HEAD_BYTES_MAX);
    if (head < JWT_BYTES_MIN || !memchr(v->at, '.', head))
        return 0;
    return masker_run_of(v, masker_is_in_jwt, SIZE_MAX);
}

/* "cst-VCT-52d6...--tp-...": SessionManager.AcquireCloneTicket, vSphere Web Services API; "VCT-" and a UUID before 5.0. */
static size_t shape_ticket(const struct view *v, char before, size_t *skip) {
    (void)before, (void)skip;
    const size_t n = view_starts(v, "cst-") || view_starts(v, "VCT-") ? masker_run_of(v, masker_is_in_jwt, SIZE_MAX) : 0;
    return n >= 12 ? n : 0;
}

static bool masker_is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* As passwd_generate makes them: four groups of five characters. */
static size_t shape_generated(const struct view *v, char before, size_t *skip) {
    static const char letters[] = "0123456789abcdefghjkmnpqrstvwxyz";
    (void)skip;
    if (masker_is_word(before) || view_left(v) < 23 || (view_left(v) > 23 && (masker_is_word(v->at[23]) || v->at[23] == '-')))
        return 0;
    for (size_t i = 0; i < 23; i++)
        if (i % 6 == 5 ? v->at[i] != '-' : !v->at[i] || !strchr(letters, v->at[i]))
            return 0;
    return 23;
}

static bool masker_is_in_token68(char c) {
    return isalnum((unsigned char)c) || (c && strchr("-._~+/=%", c));
}

/* RFC 9110, section 11.4: a scheme and its credentials. Words of prose are lower-case letters alone. */
static size_t shape_credentials(const struct view *v, char before, size_t *skip) {
    static const char *const schemes[] = {"bearer", "basic", "negotiate", "ntlm", "digest", "kerberos"};
    for (size_t i = 0; i < ARRAY_COUNT(schemes) && !masker_is_word(before); i++) {
        const size_t n = strlen(schemes[i]);
        if (view_left(v) <= n + 1 || strncasecmp(v->at, schemes[i], n) != 0 || (v->at[n] != ' ' && v->at[n] != '+'))
            continue;
        const struct view rest = {v->at + n + 1, v->end};
        const size_t run = masker_run_of(&rest, masker_is_in_token68, SIZE_MAX);
        bool is_prose = true;
        for (size_t c = 0; c < run && is_prose; c++)
            is_prose = islower((unsigned char)rest.at[c]) || rest.at[c] == '.' || rest.at[c] == '-';
        *skip = n + 1;
        return run >= 8 && !is_prose ? run : 0;
    }
    return 0;
}

/* RFC 3986, section 3.2.1. */
static size_t shape_userinfo(const struct view *v, char before, size_t *skip) {
    (void)before;
    *skip = 3;
    if (!view_starts(v, "://"))
        return 0;
    size_t at = 0;
    for (size_t n = 3;
         n < view_left(v) && n < URL_USER_BYTES_MAX && !isspace((unsigned char)v->at[n]) && !strchr("/?#\"'<>", v->at[n]); n++)
        if (v->at[n] == '@')
            at = n;
    return at > 3 ? at - 3 : 0;
}

static bool masker_is_hex(char c) {
    return isxdigit((unsigned char)c);
}

static size_t shape_hex(const struct view *v, char before, size_t *skip) {
    (void)skip;
    const size_t n = masker_is_hex(before) ? 0 : masker_run_of(v, masker_is_hex, SIZE_MAX);
    return n >= HEX_DIGITS_MIN ? n : 0;
}

/* Random bytes have letters of both cases and digits; paths and names hardly do in such a length. */
static size_t shape_base64(const struct view *v, char before, size_t *skip) {
    (void)skip;
    const size_t n = masker_is_base64(before) ? 0 : masker_run_of(v, masker_is_base64, SIZE_MAX);
    size_t upper = 0, lower = 0, digits = 0;
    for (size_t i = 0; i < n && n >= BASE64_CHARS_MIN; i++) {
        upper += isupper((unsigned char)v->at[i]) != 0;
        lower += islower((unsigned char)v->at[i]) != 0;
        digits += isdigit((unsigned char)v->at[i]) != 0;
    }
    return upper >= 4 && lower >= 4 && digits ? n : 0;
}

/* -- key and value -------------------------------------------------------------------------------------------------------------- */

static bool masker_is_in_key(char c) {
    return masker_is_word(c) || c == '-' || c == '.';
}

enum value_kind {
    VALUE_PLAIN,
    VALUE_FIELD, /* of HTTP: up to the end of its line */
    VALUE_FILE,  /* a path, or by mistake the secret itself, which our messages quote; what else follows is the message */
};

/* Ends of names, without case and marks, whose value is a secret. */
static bool masker_is_secret_key(const char *key, size_t n, enum value_kind *kind) {
    static const char *const ends[] = {"password",      "passwd",       "passphrase", "pass",       "pwd",       "secret",
                                       "token",         "cookie",       "apikey",     "privatekey", "sessionid", "soapsession",
                                       "ticket",        "credential",   "masterkey",  "signingkey", "bindpw",    "onetimecode",
                                       "authorization", "passwordfile", "tokenfile"};
    char plain[KEY_BYTES_MAX + 1];
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        if (isalnum((unsigned char)key[i]))
            plain[len++] = (char)tolower((unsigned char)key[i]);
    plain[len] = '\0';
    *kind = str_ends(plain, "cookie") || str_ends(plain, "authorization") ? VALUE_FIELD
            : str_ends(plain, "file")                                     ? VALUE_FILE
                                                                          : VALUE_PLAIN;
    for (size_t i = 0; i < ARRAY_COUNT(ends); i++)
        if (str_ends(plain, ends[i]))
            return true;
    return false;
}

/* Takes one character, escaped or not, if it is one of these. */
static bool masker_take(struct view *v, const char *wanted) {
    char got[4];
    size_t n = 0, used = masker_unescape(v, got, &n);
    const size_t skip = used && n == 1 && strchr(wanted, got[0]) ? 0 : masker_backslashes(v);
    if (used && n == 1 && got[0] && strchr(wanted, got[0])) {
        v->at += used;
        return true;
    }
    if (skip >= view_left(v) || !v->at[skip] || !strchr(wanted, v->at[skip]))
        return false;
    v->at += skip + 1;
    return true;
}

/* The value from its first quotation mark on, which is `depth` backslashes deep, up to the last one: that is as deep or less. */
static size_t masker_quoted(const struct view *v, char mark, size_t depth) {
    size_t n = 0, backslashes = 0;
    for (; n < view_left(v) && v->at[n] != '\n'; n++) {
        if (v->at[n] == mark && backslashes <= depth)
            return n - backslashes;
        backslashes = v->at[n] == '\\' ? backslashes + 1 : 0;
    }
    return n;
}

static bool masker_is_no_secret(const struct view *v, size_t n, enum value_kind kind) {
    static const char *const words[] = {"null", "true", "false", "-", "none", MASKER_WORD};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (n == strlen(words[i]) && !memcmp(v->at, words[i], n))
            return true;
    return !n || (kind == VALUE_FILE && *v->at == '/');
}

static size_t masker_value(struct view *v, enum value_kind kind, bool is_colon) {
    const size_t depth = masker_backslashes(v);
    const char mark = depth < view_left(v) ? v->at[depth] : '\0';
    size_t n = 0;
    if (mark == '"' || mark == '\'') {
        v->at += depth + 1;
        n = masker_quoted(v, mark, depth);
    } else if (kind == VALUE_FIELD && is_colon) {
        while (n < view_left(v) && v->at[n] != '\n' && v->at[n] != '\r')
            n++;
    } else if (kind != VALUE_FILE) {
        while (n < view_left(v) && !isspace((unsigned char)v->at[n]) && (!v->at[n] || !strchr("\"'&;,)}]<>", v->at[n])))
            n++;
    }
    return masker_is_no_secret(v, n, kind) ? 0 : n;
}

/* <password>, <ns:password xsi:type="..."> */
static bool masker_take_tag(struct view *v, char before) {
    if (masker_take(v, ">"))
        return true;
    if (before != '<' && before != ':')
        return false;
    const size_t n = view_left(v) < TAG_BYTES_MAX ? view_left(v) : TAG_BYTES_MAX;
    const char *end = memchr(v->at, '>', n);
    if (!end || memchr(v->at, '<', (size_t)(end - v->at)) || !isspace((unsigned char)*v->at))
        return false;
    v->at = end + 1;
    return true;
}

/* password=..., "token": "...", Cookie: ..., <password>...; escaped or not. */
static size_t shape_value(const struct view *v, char before, size_t *skip) {
    const size_t key = masker_is_in_key(before) ? 0 : masker_run_of(v, masker_is_in_key, SIZE_MAX);
    const char *name = key > KEY_BYTES_MAX ? v->at + key - KEY_BYTES_MAX : v->at;
    struct view at = {v->at + key, v->end};
    enum value_kind kind = VALUE_PLAIN;
    size_t n = 0;
    if (!key || !masker_is_secret_key(name, (size_t)(at.at - name), &kind))
        return 0;
    const struct view behind_key = at;
    (void)masker_take(&at, "\"'");
    while (view_left(&at) && (*at.at == ' ' || *at.at == '\t'))
        at.at++;
    const bool is_colon = masker_take(&at, ":");
    if (is_colon || masker_take(&at, "=")) {
        while (view_left(&at) && (*at.at == ' ' || *at.at == '\t'))
            at.at++;
        n = is_colon && before == '/' ? 0 : masker_value(&at, kind, is_colon); /* the name of a file, and what is said of it */
    } else {
        at = behind_key;
        if (!masker_take_tag(&at, before))
            return 0;
        while (n < view_left(&at) && at.at[n] != '<' && at.at[n] != '\n')
            n++;
    }
    *skip = (size_t)(at.at - v->at);
    return n;
}

/* -- all together ----------------------------------------------------------------------------------------------------------------- */

static size_t masker_find_shape(const struct view *v, char before, size_t *skip) {
    static shape_fn *const shapes[] = {shape_pem,      shape_jwt,   shape_ticket, shape_generated, shape_credentials,
                                       shape_userinfo, shape_value, shape_hex,    shape_base64};
    for (size_t i = 0; i < ARRAY_COUNT(shapes); i++) {
        *skip = 0;
        const size_t n = shapes[i](v, before, skip);
        if (n)
            return n;
    }
    *skip = 0;
    return 0;
}

/* A secret may begin within what is masked, and go on behind it. Returns where all of them end. */
static const char *masker_extend(const struct masker *m, struct view v, const char *to) {
    for (; v.at < to; v.at++) {
        const size_t n = masker_find_known(m, &v);
        to = v.at + n > to ? v.at + n : to;
    }
    return to;
}

int masker_run(const struct masker *m, const char *text, size_t n, struct strbuf *out, size_t *count, struct err *err) {
    struct view v = {text, text + n};
    const char *from = text, *to = text; /* of the shape found last */
    while (view_left(&v)) {
        const size_t known = masker_find_known(m, &v);
        if (!known && v.at >= to) {
            size_t skip = 0;
            const size_t shape = masker_find_shape(&v, v.at > text ? v.at[-1] : '\0', &skip);
            from = v.at + skip;
            to = from + shape;
        }
        const char *end = v.at >= from && v.at < to ? to : v.at + known;
        if (end == v.at) {
            strbuf_addc(out, *v.at++);
            continue;
        }
        strbuf_adds(out, MASKER_WORD);
        v.at = masker_extend(m, v, end);
        *count += 1;
    }
    return strbuf_check(out, "the text without secrets", err);
}
