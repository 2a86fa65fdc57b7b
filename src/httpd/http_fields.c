/* Header fields of a request: what may come in, whether the message has one clear length, who the client behind proxies is. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http_request_private.h"
#include "http_text.h"
#include "str.h"

/* -- taken over from the library ------------------------------------------------------------------------------------ */

/* Two lines of such a field have no meaning that everybody shares: they say what the message is, or who sends it. All others are lists, or count as such. */
enum single {
    SINGLE_HOST,
    SINGLE_EXPECT,
    SINGLE_X_KAAS,
    SINGLE_TYPE,
    SINGLE_AUTHORIZATION,
    SINGLE_REPLACES,
    SINGLE_LENGTH,
    SINGLE_CODING,
    SINGLE_PLUGIN,
    SINGLES
};
static const struct {
    const char *name;
    unsigned len;
} singles[SINGLES] = {
    {"Host", 4},
    {"Expect", 6},
    {"X-KaaS", 6},
    {"Content-Type", 12},
    {"Authorization", 13},
    {"KaaS-Replaces", 13},
    {"Content-Length", 14},
    {"Transfer-Encoding", 17},
    {"vmware-api-session-id", 21},
};

static bool http_fields_is_named(const struct http_field *field, const char *name, unsigned len) {
    return field->name_len == len && !strncasecmp(field->name, name, len);
}

static unsigned find_single(const struct http_field *field) {
    unsigned i = 0;
    while (i < SINGLES && !http_fields_is_named(field, singles[i].name, singles[i].len))
        i++;
    return i;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

int http_fields_add(struct http_request *req, struct http_field field, struct err *err) {
    if (req->fields_count == HTTP_FIELDS_MAX)
        return err_set(err, ERR_HEADERS_TOO_LARGE, "the request has more than %u header fields", HTTP_FIELDS_MAX);
    field.single = find_single(&field);
    /* The library has read these two already, blanks and all: what it saw is what http_fields_check has to judge. */
    const bool is_framing = field.single == SINGLE_LENGTH || field.single == SINGLE_CODING;
    while (!is_framing && field.value_len && is_blank(field.value[0]))
        field.value++, field.value_len--;
    while (!is_framing && field.value_len && is_blank(field.value[field.value_len - 1]))
        field.value_len--;
    if (field.value[field.value_len])
        ((char *)(uintptr_t)field.value)[field.value_len] = '\0';
    req->fields[req->fields_count++] = field;
    return 0;
}

static struct http_field *find_authorization(struct http_request *req) {
    for (unsigned i = 0; i < req->fields_count; i++)
        if (req->fields[i].single == SINGLE_AUTHORIZATION)
            return &req->fields[i];
    return NULL;
}

int http_fields_restore(struct http_request *req, struct err *err) {
    const struct strbuf *held = &req->authorization;
    struct http_field *field = req->authorization_at ? find_authorization(req) : NULL;
    const size_t at = field ? req->authorization_at - (size_t)(field->value - field->name) : 0;
    struct strbuf all;
    if (!req->authorization_at)
        return 0;
    if (!field || at > field->value_len)
        return err_set(err, ERR_INVALID, "the header field Authorization is malformed");
    strbuf_init_secret(&all, field->value_len + held->len);
    strbuf_add(&all, field->value, at);
    strbuf_add(&all, held->data, held->len);
    strbuf_add(&all, field->value + at, field->value_len - at);
    strbuf_done(&req->authorization);
    req->authorization = all;
    field->value = all.data;
    field->value_len = (unsigned)all.len;
    return all.failed ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

static int http_fields_make_room(struct http_request *req) {
    for (unsigned i = 0; i < req->fields_count; i++)
        req->joined_bytes += req->fields[i].value_len + 3; /* with separator and NUL */
    req->joined = req->joined_end = malloc(req->joined_bytes);
    return req->joined ? 0 : ERR_NOMEM;
}

/* Appends to the text that is made last. */
static void append_value(struct http_request *req, const char *separator, const struct http_field *line) {
    const size_t n = strlen(separator);
    memcpy(req->joined_end, separator, n);
    memcpy(req->joined_end + n, line->value, line->value_len);
    req->joined_end += n + line->value_len;
    *req->joined_end = '\0';
}

/* Adds to the i-th field the values of all further lines of its name, which are marked as done: without a value. */
static int join_lines(struct http_request *req, unsigned i) {
    struct http_field *first = &req->fields[i], *line;
    const char *separator = http_fields_is_named(first, "Cookie", 6) ? "; " : ", ", *begin = NULL;
    for (unsigned j = i + 1; j < req->fields_count; j++) {
        line = &req->fields[j];
        if (!line->value || !http_fields_is_named(line, first->name, first->name_len))
            continue;
        if (!req->joined && http_fields_make_room(req))
            return ERR_NOMEM;
        if (!begin) {
            begin = req->joined_end;
            append_value(req, "", first);
        }
        append_value(req, separator, line);
        line->value = NULL;
    }
    if (begin) {
        first->value = begin;
        first->value_len = (unsigned)(req->joined_end++ - begin);
    }
    return 0;
}

int http_fields_join(struct http_request *req, struct err *err) {
    unsigned kept = 0;
    int r = 0;
    for (unsigned i = 0; i < req->fields_count && !r; i++) {
        if (!req->fields[i].value)
            continue;
        if (req->fields[i].single == SINGLES)
            r = join_lines(req, i);
        req->fields[kept++] = req->fields[i];
    }
    req->fields_count = kept;
    return r ? err_set(err, r, "out of memory") : 0;
}

/* -- as handlers read them ---------------------------------------------------------------------------------------------- */

const char *http_request_header(const struct http_request *req, const char *name) {
    const unsigned n = (unsigned)strlen(name);
    for (unsigned i = 0; i < req->fields_count; i++)
        if (http_fields_is_named(&req->fields[i], name, n))
            return req->fields[i].value;
    return NULL;
}

const char *http_request_credentials(const struct http_request *req, const char *scheme) {
    const char *value = http_request_header(req, "Authorization");
    const size_t n = strlen(scheme);
    if (!value || strncasecmp(value, scheme, n) != 0 || (value[n] && value[n] != ' '))
        return NULL;
    return value + n + strspn(value + n, " ");
}

const char *http_request_cookie(const struct http_request *req, const char *name, size_t *len) {
    const char *at = http_request_header(req, "Cookie");
    const size_t n = strlen(name);
    for (; at; at = strchr(at, ';'), at = at ? at + 1 : NULL) {
        at += strspn(at, " \t");
        if (strncmp(at, name, n) != 0 || at[n] != '=')
            continue;
        at += n + 1;
        *len = strcspn(at, "; \t");
        return at;
    }
    return NULL;
}

bool http_request_is_media_type(const struct http_request *req, const char *type) {
    const char *value = http_request_header(req, "Content-Type");
    size_t n = strlen(type);
    if (!value || strncasecmp(value, type, n) != 0)
        return false;
    value += n;
    return value[strspn(value, " \t")] == '\0' || value[strspn(value, " \t")] == ';';
}

/* -- header fields: what may come in, and whether the message has one clear length --------------------------------- */

/* The library reads a body by Transfer-Encoding and ignores a Content-Length beside it; a proxy in front may do the opposite and
 * would then see other requests than we do (RFC 9112 11.2, request smuggling). So everything ambiguous is refused. */

static int check_syntax(const struct http_field *field, struct err *err) {
    if (!http_is_token(field->name, field->name_len))
        return err_set(err, ERR_INVALID, "a header field has a malformed name");
    if (http_has_control(field->value, field->value_len))
        return err_set(err, ERR_INVALID, "the header field %.64s has a control character", field->name);
    return 0;
}

int http_fields_too_large(struct err *err) {
    (void)err_set(err, ERR_HEADERS_TOO_LARGE, "the header fields have more than %u bytes, or %u without Authorization",
                  KAAS_HTTP_HEADER_BYTES_MAX, KAAS_HTTP_OTHER_FIELDS_BYTES_MAX);
    return err_remedy(
        err,
        "in a browser: clear the cookies of this site and its parent domain; people in very many groups sign in by password; "
        "programs send a Kerberos token in the body: {\"token\": \"...\"}");
}

/* Notes the value of each single field in `found`. */
static int http_request_check_each(const struct http_request *req, const char *found[SINGLES], struct err *err) {
    size_t bytes = 0, others = 0;
    for (unsigned i = 0; i < req->fields_count; i++) {
        const struct http_field *field = &req->fields[i];
        const unsigned single = field->single;
        int r = check_syntax(field, err);
        if (r)
            return r;
        if (single < SINGLES && found[single])
            return err_set(err, ERR_INVALID, "the header field %s is given twice", singles[single].name);
        if (single < SINGLES)
            found[single] = field->value;
        bytes += field->name_len + field->value_len + 4;
        others += single == SINGLE_AUTHORIZATION ? 0 : field->name_len + field->value_len + 4;
    }
    return bytes > KAAS_HTTP_HEADER_BYTES_MAX || others > KAAS_HTTP_OTHER_FIELDS_BYTES_MAX ? http_fields_too_large(err) : 0;
}

/* RFC 3986 3.2.2 and 3.2.3: letters, digits and these. */
static bool is_host_char(char c) {
    const char lower = (char)(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || (c && strchr("0123456789-._~!$&'()*+,;=%:[]", c));
}

/* RFC 9112 3.2: a Host that is no host, with or without port, must be refused. */
static int check_host(const char *host, bool is_http10, struct err *err) {
    if (!host && !is_http10)
        return err_set(err, ERR_INVALID, "the header field Host is missing");
    while (host && is_host_char(*host))
        host++;
    if (host && *host)
        return err_set(err, ERR_INVALID, "the header field Host holds no host name");
    return 0;
}

int http_fields_check(const struct http_request *req, bool *has_body, int64_t *body_bytes, struct err *err) {
    const char *found[SINGLES] = {NULL};
    int r = http_request_check_each(req, found, err);
    const char *length = found[SINGLE_LENGTH], *coding = found[SINGLE_CODING];
    int64_t n = 0;
    r = r ? r : check_host(found[SINGLE_HOST], req->is_http10, err);
    if (r)
        return r;
    if (found[SINGLE_EXPECT] && !str_eq_nocase(found[SINGLE_EXPECT], "100-continue"))
        return err_set(err, ERR_EXPECTATION, "the only expectation known here is \"100-continue\"");
    if (coding && req->is_http10)
        return err_set(err, ERR_INVALID, "HTTP/1.0 knows no Transfer-Encoding");
    if (length && coding)
        return err_set(err, ERR_INVALID, "Content-Length and Transfer-Encoding cannot be given together");
    if (coding && !str_eq_nocase(coding, "chunked"))
        return err_set(err, ERR_INVALID, "the only transfer coding known here is \"chunked\"");
    if (length && !str_to_i64(length, 0, INT64_MAX, &n))
        return err_set(err, ERR_INVALID, "Content-Length is not a number");
    *has_body = coding || n > 0;
    *body_bytes = coding ? -1 : n;
    return 0;
}

/* -- who the client is when trusted proxies stand between ---------------------------------------------------------- */

static bool http_fields_is_port(const char *text) {
    const size_t n = strspn(text, "0123456789");
    return n && n <= 5 && !text[n];
}

/* Reads one element ("192.0.2.1", "192.0.2.1:4711", "[2001:db8::1]:80", blanks around). */
static bool parse_element(const char *text, size_t len, uint8_t out[16]) {
    char addr[INET6_ADDRSTRLEN + 8];
    while (len && is_blank(*text))
        text++, len--;
    while (len && is_blank(text[len - 1]))
        len--;
    if (!len || len >= sizeof(addr))
        return false;
    memcpy(addr, text, len);
    addr[len] = '\0';
    char *end = strchr(addr, addr[0] == '[' ? ']' : ':'), *port = end;
    if (addr[0] == '[' && (!end || (*++port && *port != ':')))
        return false;
    if (addr[0] != '[' && end && strchr(end + 1, ':')) /* several colons: IPv6 */
        end = port = NULL;
    if (port && *port && !http_fields_is_port(port + 1))
        return false;
    if (end)
        *end = '\0';
    return net_addr_parse(addr + (addr[0] == '['), out);
}

/* From the right: each trusted proxy vouches for the element before it; the first address that is not a proxy's is the client.
 * An element that is no address ends the walk, since nobody vouches for what stands left of it. */
void http_client_behind(const char *forwarded, const struct net_block *nets, size_t count, char out[INET6_ADDRSTRLEN]) {
    size_t end = strlen(forwarded);
    uint8_t addr[16];
    while (end) {
        size_t start = end;
        while (start && forwarded[start - 1] != ',')
            start--;
        if (!parse_element(forwarded + start, end - start, addr))
            return;
        net_addr_format(addr, out);
        if (!net_block_has(nets, count, addr) || !start)
            return;
        end = start - 1;
    }
}
