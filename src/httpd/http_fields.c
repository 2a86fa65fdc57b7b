/* Header fields: what may come in, and whether the message has one clear length. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library reads a body by Transfer-Encoding and ignores a Content-Length beside it; a proxy in front may do the opposite and
 * would then see other requests than we do (RFC 9112 11.2, request smuggling). So everything ambiguous is refused. */
#include <strings.h>

#include "http_private.h"
#include "str.h"

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

static int check_size(size_t bytes, size_t token_bytes, struct err *err) {
    if (bytes > KAAS_HTTP_HEADER_BYTES_MAX)
        return err_set(err, ERR_HEADERS_TOO_LARGE, "the header fields have more than %u bytes", KAAS_HTTP_HEADER_BYTES_MAX);
    if (token_bytes <= KAAS_HTTP_NEGOTIATE_BYTES_MAX)
        return 0;
    (void)err_set(err, ERR_HEADERS_TOO_LARGE, "the token in the header has more than %u bytes", KAAS_HTTP_NEGOTIATE_BYTES_MAX);
    return err_remedy(err, "send it in the body: {\"token\": \"...\"}");
}

/* Notes the value of each single field in `found`. */
static int check_each(const struct http_request *req, const char *found[SINGLES], struct err *err) {
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
    return check_size(bytes, token_bytes, err);
}

/* RFC 9112 3.2: a Host that is no host of RFC 3986 3.2.2, with or without port, must be refused. */
static int check_host(const char *host, bool is_http10, struct err *err) {
    static const char hosts[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=%:[]";
    if (!host && !is_http10)
        return err_set(err, ERR_INVALID, "the header field Host is missing");
    if (host && host[strspn(host, hosts)])
        return err_set(err, ERR_INVALID, "the header field Host holds no host name");
    return 0;
}

int http_fields_check(const struct http_request *req, bool *has_body, int64_t *body_bytes, struct err *err) {
    const char *found[SINGLES] = {NULL};
    int r = check_each(req, found, err);
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
