/* Texts of exchanges without what tells whose they are. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pilot_pseudonym.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "digest.h"
#include "json.h"
#include "names.h"
#include "net_addr.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"

#define TEXT_CHARS_MAX 64U /* longer ones become one word, as do those with blanks */
#define DIGITS "0123456789"
#define HEX DIGITS "abcdefABCDEF"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define SEPARATORS "\\@/:,;.=\"'()[]{}<>?&|+*#!$~^`"
#define HX_KEY "com.springpath.sysmgmt"
#define HX_CONTROLLER "stCtlVM"
#define NO_TIME "1970-01-01T00:00:00Z"
#define REDACTED "redacted"

void pseudonyms_init(struct pseudonyms *p) {
    random_bytes(p->key, sizeof(p->key));
    p->now_ms = 0;
}

void pseudonyms_done(struct pseudonyms *p) {
    secret_wipe(p, sizeof(*p));
}

/* -- what is kept ------------------------------------------------------------------------------------------------------------ */

static bool is_protocol_word(const char *text) {
    static const char *const words[] = {
#define WORD(word) word,
#include "pilot_words.def"
#undef WORD
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (str_eq(words[i], text))
            return true;
    return false;
}

static bool is_made_of(const char *text, const char *chars) {
    return *text && text[strspn(text, chars)] == '\0';
}

/* "domain-c7", "vm-102", "group-d1": a few small letters and a number. */
static bool is_moref(const char *text) {
    const size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz");
    const char *at = text + word;
    if (word < 2 || word > 16 || *at++ != '-')
        return false;
    at += strspn(at, "cdhnosv") > 1 ? 0 : strspn(at, "cdhnosv");
    return strlen(at) <= 9 && is_made_of(at, DIGITS);
}

static bool is_small_number(const char *text) {
    text += *text == '-';
    return strlen(text) <= 2 && is_made_of(text, DIGITS);
}

/* "8.0.3.0", "5.5.2a-39363", "24022515" */
static bool is_version(const char *text) {
    return strlen(text) <= 24 && isdigit((unsigned char)*text) && is_made_of(text, DIGITS ".-abcdef") &&
           strspn(text, DIGITS ".") >= 3;
}

/* -- pseudonyms -------------------------------------------------------------------------------------------------------------- */

static void pseudonym_digest(const struct pseudonyms *p, const char *text, uint8_t out[DIGEST_SHA256_BYTES]) {
    _cleanup_free_ char *lower = str_dup(text);
    if (lower)
        name_fold(lower);
    digest_hmac_sha256(p->key, sizeof(p->key), lower ? lower : "", lower ? strlen(lower) : 0, out);
}

static void put_word(const struct pseudonyms *p, const char *prefix, const char *text, struct strbuf *out) {
    static const char letters[] = "abcdefghjkmnpqrstuvwxyz3456789x?";
    const bool is_upper = strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && !strpbrk(text, "abcdefghijklmnopqrstuvwxyz");
    uint8_t digest[DIGEST_SHA256_BYTES];
    pseudonym_digest(p, text, digest);
    strbuf_adds(out, prefix);
    for (size_t i = 0; i < 10; i++) {
        const char c = letters[digest[i] % 30];
        strbuf_addc(out, is_upper ? (char)toupper((unsigned char)c) : c);
    }
}

/* As many digits, below whatever bound the number had: "1" and "0" come first. */
static void put_number(const struct pseudonyms *p, const char *text, struct strbuf *out) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    pseudonym_digest(p, text, digest);
    for (size_t i = 0; text[i]; i++)
        strbuf_addc(out, i == 0 ? '1' : i == 1 ? '0' : (char)('0' + digest[i % sizeof(digest)] % 10));
}

static void put_hex(const struct pseudonyms *p, const char *text, struct strbuf *out) {
    static const char digits[] = "0123456789abcdef";
    const bool is_upper = strpbrk(text, "ABCDEF") != NULL;
    uint8_t digest[DIGEST_SHA256_BYTES];
    size_t n = 0;
    pseudonym_digest(p, text, digest);
    for (; *text; text++) {
        const char c = digits[(digest[n / 2 % sizeof(digest)] >> (n % 2 ? 4 : 0)) & 15U];
        if (!strchr(HEX, *text)) {
            strbuf_addc(out, *text);
            continue;
        }
        strbuf_addc(out, is_upper ? (char)toupper((unsigned char)c) : c);
        n++;
    }
}

/* Of the networks for documentation and benchmarks (RFC 2544, RFC 3849). */
static void put_address(const struct pseudonyms *p, const char *text, struct strbuf *out) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    pseudonym_digest(p, text, digest);
    if (strchr(text, ':'))
        strbuf_addf(out, "2001:db8::%x:%x:%x", digest[0] << 8 | digest[1] | 0x1000, digest[2] << 8 | digest[3] | 0x1000,
                    digest[4] << 8 | digest[5] | 0x1000);
    else
        strbuf_addf(out, "198.%u.%u.%u", 18 + digest[0] % 2U, digest[1], 1 + digest[2] % 250U);
}

/* One word without separators. */
static void put_token(const struct pseudonyms *p, const char *token, struct strbuf *out) {
    const size_t n = strlen(token);
    if (!n || is_protocol_word(token) || is_small_number(token))
        strbuf_adds(out, token);
    else if (uuid_is_valid(token) || (n >= 16 && is_made_of(token, HEX) && strpbrk(token, "abcdefABCDEF")))
        put_hex(p, token, out);
    else if (*token == '-' && is_made_of(token + 1, DIGITS)) {
        strbuf_addc(out, '-');
        put_number(p, token + 1, out);
    } else if (is_made_of(token, DIGITS))
        put_number(p, token, out);
    else if (str_starts(token, HX_CONTROLLER)) /* by which controllers of HX are known */
        put_word(p, HX_CONTROLLER "-", token, out);
    else
        put_word(p, "x", token, out);
}

/* How many characters of the text are an address, as in "https://192.0.2.1:443" and "[2001:db8::1]". Its parts would be small numbers. */
static size_t address_length(const char *text) {
    static const char *const chars[] = {DIGITS ".", HEX ":."};
    uint8_t address[16];
    for (size_t i = 0; i < ARRAY_COUNT(chars); i++) {
        size_t n = strspn(text, chars[i]);
        for (; n > 2 && n < NET_ADDRESS_BYTES; n--) { /* what follows may begin with such a sign: ":443", "." */
            char part[NET_ADDRESS_BYTES];
            (void)snprintf(part, sizeof(part), "%.*s", (int)n, text);
            if (net_addr_parse(part, address))
                return n;
        }
    }
    return 0;
}

/* A small number that is a part of something tells what that is: "k8s-10.20.30.40" would keep three of four. */
static void put_tokens(const struct pseudonyms *p, const char *text, struct strbuf *out) {
    const bool is_alone = is_small_number(text);
    while (*text) {
        const size_t address = address_length(text), n = address ? address : strcspn(text, SEPARATORS);
        _cleanup_free_ char *token = str_format("%.*s", (int)n, text);
        if (token && address)
            put_address(p, token, out);
        else if (token && !is_alone && is_made_of(token, DIGITS))
            put_number(p, token, out);
        else if (token)
            put_token(p, token, out);
        text += n;
        if (*text)
            strbuf_addc(out, *text++);
    }
}

/* "com.springpath.sysmgmt", and behind it a managed object id, perhaps after "uuid" or one. Only the last part is such an id: "k-10.20.30.40" is none. */
static void put_hx_key(const struct pseudonyms *p, const char *text, struct strbuf *out) {
    const char *behind = text + strlen(HX_KEY), *last = strrchr(behind, '.');
    const bool is_kept = last && is_moref(last + 1);
    _cleanup_free_ char *between = str_format("%.*s", (int)(is_kept ? (size_t)(last - behind) : strlen(behind)), behind);
    strbuf_adds(out, HX_KEY);
    if (between)
        put_tokens(p, between, out);
    if (is_kept)
        strbuf_adds(out, last);
}

static bool is_time(const char *text) {
    int64_t ms;
    char utc[128];
    (void)snprintf(utc, sizeof(utc), "%sZ", text);
    return strlen(text) > 18 && text[4] == '-' && (clock_parse(text, &ms) || clock_parse(utc, &ms));
}

/* "AB:CD:...", also the six bytes of a network card */
static bool is_thumbprint(const char *text) {
    return strlen(text) >= 17 && is_made_of(text, HEX ":") && text[2] == ':' && text[5] == ':';
}

void pseudonym_text(const struct pseudonyms *p, const char *text, struct strbuf *out) {
    uint8_t address[16];
    if (!*text || is_protocol_word(text))
        strbuf_adds(out, text);
    else if (is_time(text))
        strbuf_adds(out, NO_TIME);
    else if (net_addr_parse(text, address))
        put_address(p, text, out);
    else if (is_thumbprint(text))
        put_hex(p, text, out);
    else if (str_starts(text, HX_KEY ".") || str_eq(text, HX_KEY))
        put_hx_key(p, text, out);
    else if (strpbrk(text, " \t\r\n") || strlen(text) > 4 * TEXT_CHARS_MAX)
        put_word(p, str_starts(text, HX_CONTROLLER) ? HX_CONTROLLER "-" : "text-", text, out);
    else
        put_tokens(p, text, out);
}

void pseudonym_path(const struct pseudonyms *p, const char *path, struct strbuf *out) {
    while (*path) {
        const size_t n = strcspn(path, "/:%;=?&");
        const bool is_colon = str_starts(path + n, "%3A");
        _cleanup_free_ char *part = str_format("%.*s", (int)n, path);
        if (part && is_moref(part))
            strbuf_adds(out, part);
        else if (part)
            put_token(p, part, out);
        path += n;
        if (is_colon)
            strbuf_adds(out, "%3A");
        else if (*path)
            strbuf_addc(out, *path);
        path += is_colon ? 3 : *path ? 1 : 0;
    }
}

/* -- XML --------------------------------------------------------------------------------------------------------------------- */

#define NAME_BYTES 128

struct element {
    char name[NAME_BYTES];  /* as it stands there, with its prefix */
    bool is_reference;      /* to a managed object: it has an attribute "type" */
    bool is_time_of_server; /* what CurrentTime tells */
    bool is_secret;
};

struct xml_walk {
    const struct pseudonyms *p;
    const char *at, *end;
    struct strbuf *out;
    struct strbuf text; /* since the last tag, entities resolved */
    struct element open[PSEUDONYM_DEPTH_MAX];
    size_t depth;
    struct err *err;
};

static int bad_xml(struct xml_walk *w, const char *what) {
    return err_set(w->err, ERR_PROTOCOL, "it is no XML: %s", what);
}

static const char *local_of(const char *name) {
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static void pseudonym_put_escaped(struct strbuf *out, const char *text) {
    for (; *text; text++)
        switch (*text) {
        case '&': strbuf_adds(out, "&amp;"); break;
        case '<': strbuf_adds(out, "&lt;"); break;
        case '>': strbuf_adds(out, "&gt;"); break;
        case '"': strbuf_adds(out, "&quot;"); break;
        default: strbuf_addc(out, *text);
        }
}

/* A character by its number, as UTF-8. */
static void put_character(struct strbuf *out, unsigned long c) {
    if (c < 0x80) {
        strbuf_addc(out, (char)c);
    } else if (c < 0x800) {
        strbuf_addc(out, (char)(0xc0 | c >> 6));
        strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        strbuf_addc(out, (char)(0xe0 | c >> 12));
        strbuf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
    } else {
        strbuf_addc(out, (char)(0xf0 | c >> 18));
        strbuf_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
        strbuf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
    }
}

/* Bytes between tags or quotes, with their entities. */
static int take_text(struct xml_walk *w, const char *at, size_t n, struct strbuf *out) {
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (const char *end = at + n; at < end;) {
        size_t i, rest = (size_t)(end - at);
        if (*at != '&') {
            strbuf_addc(out, *at++);
            continue;
        }
        for (i = 0; i < ARRAY_COUNT(entities); i++)
            if (rest >= strlen(entities[i].name) && !memcmp(at, entities[i].name, strlen(entities[i].name)))
                break;
        if (i < ARRAY_COUNT(entities)) {
            strbuf_addc(out, entities[i].c);
            at += strlen(entities[i].name);
        } else {
            char number[12] = "";
            const char *semicolon = memchr(at, ';', rest);
            const bool is_hex = rest > 2 && at[2] == 'x';
            const size_t skip = is_hex ? 3 : 2;
            const size_t len = semicolon ? (size_t)(semicolon - at) : 0;
            unsigned long c;
            if (rest < 4 || at[1] != '#' || len <= skip || len - skip >= sizeof(number))
                return bad_xml(w, "an entity that is not known");
            memcpy(number, at + skip, len - skip);
            c = is_made_of(number, is_hex ? HEX : DIGITS) ? strtoul(number, NULL, is_hex ? 16 : 10) : 0;
            if (!c || c > 0x10ffff)
                return bad_xml(w, "a character that there is not");
            put_character(out, c);
            at = semicolon + 1;
        }
    }
    return 0;
}

/* What is kept for what the element is: ids of managed objects, versions, the full name of the product. */
static bool is_kept_value(const struct element *e, const char *text) {
    static const char product[] = "VMware vCenter Server ";
    const char *name = local_of(e->name);
    if (e->is_reference)
        return is_moref(text) || (strlen(text) < 41 && is_made_of(text, LETTERS));
    if (str_eq(name, "version") || str_eq(name, "apiVersion") || str_eq(name, "build"))
        return is_version(text);
    return str_eq(name, "fullName") && str_starts(text, product) && is_made_of(text + strlen(product), DIGITS ". build-");
}

/* The text of an element, by what the element is. */
static void put_value(struct xml_walk *w, const struct element *e, const char *text) {
    _cleanup_strbuf_ struct strbuf value;
    int64_t ms;
    strbuf_init_secret(&value, 1U << 20);
    if (e->is_secret) {
        strbuf_adds(&value, REDACTED);
    } else if (e->is_time_of_server && clock_parse(text, &ms)) {
        char told[CLOCK_RFC3339_BYTES];
        clock_format((ms - w->p->now_ms) / 1000 * 1000, told);
        strbuf_adds(&value, told);
    } else if (is_kept_value(e, text)) {
        strbuf_adds(&value, text);
    } else {
        pseudonym_text(w->p, text, &value);
    }
    pseudonym_put_escaped(w->out, value.data);
}

/* A namespace of the protocols. */
static bool is_namespace(const char *uri) {
    return str_starts(uri, "http://schemas.xmlsoap.org/") || str_starts(uri, "http://www.w3.org/") || str_eq(uri, "urn:vim25");
}

static int put_attribute(struct xml_walk *w, struct element *e, const char *name, const char *value) {
    const bool is_declaration = str_eq(name, "xmlns") || str_starts(name, "xmlns:");
    if (is_declaration ? is_namespace(value) : str_eq(local_of(name), "type") && is_made_of(value, LETTERS ":-_")) {
        strbuf_addf(w->out, " %s=\"", name);
        pseudonym_put_escaped(w->out, value);
        strbuf_addc(w->out, '"');
        e->is_reference |= str_eq(name, "type");
    } else if (is_declaration) { /* the prefix may be used */
        strbuf_addf(w->out, " %s=\"urn:", name);
        put_word(w->p, "x", value, w->out);
        strbuf_addc(w->out, '"');
    }
    return 0;
}

static int take_name(struct xml_walk *w, char out[NAME_BYTES]) {
    size_t n = 0;
    while (w->at + n < w->end && (isalnum((unsigned char)w->at[n]) || strchr("_:.-", w->at[n])) && w->at[n])
        n++;
    if (!n || n >= NAME_BYTES)
        return bad_xml(w, "a name of no or too many characters");
    memcpy(out, w->at, n);
    out[n] = '\0';
    w->at += n;
    return 0;
}

static void skip_blanks(struct xml_walk *w) {
    while (w->at < w->end && strchr(" \t\r\n", *w->at) && *w->at)
        w->at++;
}

static int take_attribute(struct xml_walk *w, struct element *e) {
    char name[NAME_BYTES];
    _cleanup_strbuf_ struct strbuf value;
    const char *close;
    int rc = take_name(w, name);
    strbuf_init_secret(&value, 1U << 16);
    skip_blanks(w);
    if (rc || w->end - w->at < 2 || *w->at != '=')
        return rc ? rc : bad_xml(w, "an attribute without a value");
    w->at++;
    skip_blanks(w);
    close = w->at < w->end && (*w->at == '"' || *w->at == '\'') ? memchr(w->at + 1, *w->at, (size_t)(w->end - w->at - 1)) : NULL;
    if (!close)
        return bad_xml(w, "an attribute without quotes");
    rc = take_text(w, w->at + 1, (size_t)(close - w->at - 1), &value);
    w->at = close + 1;
    if (!rc)
        rc = strbuf_check(&value, "an attribute", w->err);
    return rc ? rc : put_attribute(w, e, name, value.data);
}

/* What the element is, by its name and the one around it. */
static void classify(struct xml_walk *w, struct element *e) {
    const char *name = local_of(e->name), *around = w->depth ? local_of(w->open[w->depth - 1].name) : "";
    const bool is_value = str_eq(name, "returnval");
    e->is_secret =
        str_eq(name, "password") || str_eq(name, "cloneTicket") || (is_value && str_eq(around, "AcquireCloneTicketResponse"));
    e->is_time_of_server = is_value && str_eq(around, "CurrentTimeResponse");
}

static int take_open(struct xml_walk *w) {
    struct element *e = &w->open[w->depth];
    int rc;
    if (w->depth >= PSEUDONYM_DEPTH_MAX)
        return bad_xml(w, "it is nested too deep");
    *e = (struct element){.is_secret = false};
    w->at++;
    rc = take_name(w, e->name);
    if (rc)
        return rc;
    classify(w, e);
    strbuf_addf(w->out, "<%s", e->name);
    for (;;) {
        skip_blanks(w);
        if (w->at >= w->end)
            return bad_xml(w, "a tag without an end");
        if (*w->at == '>') {
            w->at++;
            w->depth++;
            strbuf_addc(w->out, '>');
            return 0;
        }
        if (w->end - w->at >= 2 && w->at[0] == '/' && w->at[1] == '>') {
            w->at += 2;
            strbuf_adds(w->out, "/>");
            return 0;
        }
        rc = take_attribute(w, e);
        if (rc)
            return rc;
    }
}

static int take_close(struct xml_walk *w, bool is_leaf) {
    char name[NAME_BYTES];
    int rc;
    w->at += 2;
    rc = take_name(w, name);
    skip_blanks(w);
    if (rc || w->at >= w->end || *w->at != '>' || !w->depth || !str_eq(name, w->open[w->depth - 1].name))
        return rc ? rc : bad_xml(w, "a tag that closes another one");
    w->at++;
    rc = strbuf_check(&w->text, "a text", w->err);
    if (rc)
        return rc;
    w->depth--;
    if (is_leaf && w->text.len)
        put_value(w, &w->open[w->depth], w->text.data);
    strbuf_addf(w->out, "</%s>", name);
    return 0;
}

/* From the sign at `at` to behind `close`. */
static int skip_to(struct xml_walk *w, const char *close) {
    const char *stop = memmem(w->at, (size_t)(w->end - w->at), close, strlen(close));
    if (!stop)
        return bad_xml(w, "a comment or an instruction without an end");
    w->at = stop + strlen(close);
    return 0;
}

static bool begins(const struct xml_walk *w, const char *sign) {
    return (size_t)(w->end - w->at) >= strlen(sign) && !memcmp(w->at, sign, strlen(sign));
}

static int walk(struct xml_walk *w) {
    bool is_leaf = false; /* nothing but text since an element was opened */
    int rc = 0;
    while (!rc && w->at < w->end) {
        if (*w->at != '<') {
            const char *tag = memchr(w->at, '<', (size_t)(w->end - w->at));
            const size_t n = (size_t)((tag ? tag : w->end) - w->at);
            rc = take_text(w, w->at, n, &w->text);
            w->at += n;
        } else if (begins(w, "<?")) {
            rc = skip_to(w, "?>");
        } else if (begins(w, "<!--")) {
            rc = skip_to(w, "-->");
        } else if (begins(w, "<!")) {
            rc = bad_xml(w, "a document type, or CDATA, which no server of ours sends");
        } else if (begins(w, "</")) {
            rc = take_close(w, is_leaf);
            is_leaf = false;
            strbuf_reset(&w->text);
        } else {
            const size_t depth = w->depth;
            rc = take_open(w);
            is_leaf = w->depth > depth;
            strbuf_reset(&w->text);
        }
    }
    if (!rc && w->depth)
        rc = bad_xml(w, "it ends too early");
    return rc ? rc : strbuf_check(w->out, "the text", w->err);
}

int pseudonym_xml(const struct pseudonyms *p, const char *text, size_t n, struct strbuf *out, struct err *err) {
    struct xml_walk *w = calloc(1, sizeof(*w));
    int rc;
    if (!w)
        return err_set(err, ERR_NOMEM, "out of memory");
    *w = (struct xml_walk){.p = p, .at = text, .end = text + n, .out = out, .err = err};
    strbuf_init_secret(&w->text, 1U << 20);
    rc = memchr(text, '\0', n) ? bad_xml(w, "it has a NUL") : walk(w);
    strbuf_done(&w->text);
    free(w);
    return rc;
}

/* -- JSON -------------------------------------------------------------------------------------------------------------------- */

static json_t *json_of(const struct pseudonyms *p, const char *member, const json_t *value);

static bool is_secret_member(const char *member) {
    return str_eq(member, "password") || str_eq(member, "access_token") || str_eq(member, "refresh_token") ||
           str_eq(member, "id_token") || str_eq(member, "client_secret");
}

static json_t *json_text(const struct pseudonyms *p, const char *member, const char *text) {
    _cleanup_strbuf_ struct strbuf out;
    const size_t n = strlen(text);
    const bool is_state = str_ends(member, "tate") || str_ends(member, "tatus");
    const bool is_plain = (is_state && n <= 24 && is_made_of(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")) ||
                          (str_ends(member, "ersion") && is_version(text)) ||
                          /* how HX wants it back depends on its blanks */
                          (str_eq(member, "token_type") && n <= 24 && is_made_of(text, LETTERS " "));
    strbuf_init_secret(&out, 1U << 20);
    if (is_secret_member(member))
        strbuf_adds(&out, REDACTED);
    else if (is_plain)
        strbuf_adds(&out, text);
    else
        pseudonym_text(p, text, &out);
    return json_string(out.data);
}

static json_t *json_number(const struct pseudonyms *p, json_int_t number) {
    char text[32];
    _cleanup_strbuf_ struct strbuf out;
    int64_t replaced = 0;
    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    strbuf_init(&out, 64);
    put_token(p, text, &out);
    return json_integer(str_to_i64(out.data, INT64_MIN, INT64_MAX, &replaced) ? replaced : 0);
}

/* Names of members are those of the interface: letters, in capitals somewhere behind a small one, or a single word that is known: those of a login (RFC 6749) too. */
static bool is_member_name(const char *name) {
    static const char *const known[] = {"uuid",         "name",         "about",         "state",      "messages",
                                        "alarms",       "health",       "code",          "message",    "detail",
                                        "version",      "access_token", "refresh_token", "token_type", "id_token",
                                        "expires_in",   "scope",        "username",      "password",   "grant_type",
                                        "redirect_uri", "client_id",    "client_secret", "error",      "error_description"};
    if (strlen(name) < 48 && is_made_of(name, LETTERS))
        for (const char *at = name; at[0] && at[1]; at++)
            if (islower((unsigned char)at[0]) && isupper((unsigned char)at[1]))
                return islower((unsigned char)*name);
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (str_eq(known[i], name))
            return true;
    return is_protocol_word(name);
}

static json_t *json_members(const struct pseudonyms *p, const json_t *object) {
    json_t *out = json_object(), *value;
    const char *name;
    json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
        _cleanup_strbuf_ struct strbuf replaced;
        strbuf_init(&replaced, 1U << 16);
        if (is_member_name(name))
            strbuf_adds(&replaced, name);
        else
            put_word(p, "member", name, &replaced);
        if (json_object_set_new(out, replaced.data, json_of(p, name, value))) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *json_of(const struct pseudonyms *p, const char *member, const json_t *value) {
    json_t *out, *item;
    size_t i;
    switch (json_typeof(value)) {
    case JSON_OBJECT: return json_members(p, value);
    case JSON_STRING: return json_text(p, member, json_string_value(value));
    case JSON_INTEGER: return json_number(p, json_integer_value(value));
    case JSON_REAL: return json_real(1.5);
    case JSON_ARRAY: break;
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL: return json_incref((json_t *)(uintptr_t)value);
    }
    out = json_array();
    json_array_foreach ((json_t *)(uintptr_t)value, i, item)
        if (json_array_append_new(out, json_of(p, member, item))) {
            json_decref(out);
            return NULL;
        }
    return out;
}

int pseudonym_json(const struct pseudonyms *p, const char *text, size_t n, struct strbuf *out, struct err *err) {
    _cleanup_json_ json_t *value = NULL, *replaced = NULL;
    int rc = json_parse(text, n, &value, err);
    if (rc)
        return rc;
    replaced = json_of(p, "", value);
    return replaced ? json_write(replaced, out, err) : err_set(err, ERR_NOMEM, "out of memory");
}
