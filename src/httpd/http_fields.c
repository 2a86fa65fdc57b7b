/* Header fields of a request: what may come in, whether the message has one clear length, who the client behind proxies is. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <strings.h>

#include "http_request_private.h"
#include "http_text.h"
#include "str.h"

const char *http_request_header(const struct http_request *req, const char *name) {
    size_t n = strlen(name);
    for (unsigned i = 0; i < req->fields_count; i++)
        if (req->fields[i].name_len == n && !strncasecmp(req->fields[i].name, name, n))
            return req->fields[i].value;
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

/* Fields that change what the message is or who sends it: two of them have no meaning that everybody shares. */
enum single { SINGLE_HOST, SINGLE_EXPECT, SINGLE_TYPE, SINGLE_AUTHORIZATION, SINGLE_LENGTH, SINGLE_CODING, SINGLES };
static const char *const single_names[SINGLES] = {"Host",          "Expect",         "Content-Type",
                                                  "Authorization", "Content-Length", "Transfer-Encoding"};
static const unsigned char single_lens[SINGLES] = {4, 6, 12, 13, 14, 17}; /* all different: the length picks the candidate */

static int find_single(const struct http_field *field) {
    for (int i = 0; i < SINGLES; i++)
        if (single_lens[i] == field->name_len)
            return strncasecmp(field->name, single_names[i], field->name_len) ? SINGLES : i;
    return SINGLES;
}

static int check_syntax(const struct http_field *field, struct err *err) {
    if (!http_is_token(field->name, field->name_len))
        return err_set(err, ERR_INVALID, "a header field has a malformed name");
    if (http_has_control(field->value, field->value_len))
        return err_set(err, ERR_INVALID, "the header field %.64s has a control character", field->name);
    return 0;
}

/* Tokens of SPNEGO hold what a domain says of somebody's groups; they may be larger than all other fields together (RFC 4559). */
static bool is_negotiate(const struct http_field *field, int single) {
    static const char scheme[] = "Negotiate ";
    return single == SINGLE_AUTHORIZATION && field->value_len >= sizeof(scheme) - 1 &&
           strncasecmp(field->value, scheme, sizeof(scheme) - 1) == 0;
}

static int http_request_check_size(size_t bytes, size_t token_bytes, struct err *err) {
    if (bytes > KAAS_HTTP_HEADER_BYTES_MAX)
        return err_set(err, ERR_HEADERS_TOO_LARGE, "the header fields have more than %u bytes", KAAS_HTTP_HEADER_BYTES_MAX);
    if (token_bytes <= KAAS_HTTP_NEGOTIATE_BYTES_MAX)
        return 0;
    (void)err_set(err, ERR_HEADERS_TOO_LARGE, "the token in the header has more than %u bytes", KAAS_HTTP_NEGOTIATE_BYTES_MAX);
    return err_remedy(err, "send it in the body: {\"token\": \"...\"}");
}

/* Notes the value of each single field in `found`. */
static int http_request_check_each(const struct http_request *req, const char *found[SINGLES], struct err *err) {
    size_t bytes = 0, token_bytes = 0;
    for (unsigned i = 0; i < req->fields_count; i++) {
        const struct http_field *field = &req->fields[i];
        int r = check_syntax(field, err), single = find_single(field);
        if (r)
            return r;
        if (single < SINGLES && found[single])
            return err_set(err, ERR_INVALID, "the header field %s is given twice", single_names[single]);
        if (single < SINGLES)
            found[single] = field->value;
        *(is_negotiate(field, single) ? &token_bytes : &bytes) += field->name_len + field->value_len + 4;
    }
    return http_request_check_size(bytes, token_bytes, err);
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

/* Reads one element ("192.0.2.1", "192.0.2.1:4711", "[2001:db8::1]:80", blanks around). */
static bool parse_element(const char *text, size_t len, uint8_t out[16]) {
    char addr[INET6_ADDRSTRLEN + 8];
    while (len && (*text == ' ' || *text == '\t'))
        text++, len--;
    while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    if (!len || len >= sizeof(addr))
        return false;
    memcpy(addr, text, len);
    addr[len] = '\0';
    if (addr[0] == '[') {
        addr[strcspn(addr, "]")] = '\0';
        return net_addr_parse(addr + 1, out);
    }
    char *colon = strchr(addr, ':');
    if (colon && !strchr(colon + 1, ':')) /* one colon: IPv4 with port */
        *colon = '\0';
    return net_addr_parse(addr, out);
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
