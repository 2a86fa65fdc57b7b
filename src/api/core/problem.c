/* Errors as application/problem+json (RFC 9457). Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "problem.h"

#include <string.h>

#include "clock.h"
#include "log.h"
#include "str.h"

#define PROBLEM_BYTES_MAX 65536U

/* Phrases of RFC 9110 section 15, for `title`. */
static const char *phrase_of(int status) {
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {409, "Conflict"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Error";
}

/* Inner codes that mean the same to a caller have one public word. */
static int public_code(int code) {
    switch (code) {
    case ERR_NOMEM:
    case ERR_IO:
    case ERR_CONFIG: return ERR_INTERNAL;
    case ERR_PROTOCOL:
    case ERR_UPSTREAM_DENIED: return ERR_UPSTREAM;
    case ERR_CANCELED: return ERR_UNAVAILABLE;
    default: return str_eq(err_slug(code), "internal") ? ERR_INTERNAL : code; /* a number that is no code */
    }
}

/* A fault of ours is told in the log; the caller gets the request id to ask about. */
static const char *detail_for(const struct err *err, int code) {
    if (code == ERR_INTERNAL || !err->text[0])
        return err_default_text(code);
    return err->text;
}

static void add_extras(json_t *problem, const struct api_call *call) {
    if (call && call->problem)
        (void)json_object_update(problem, call->problem);
}

static void write_headers(const struct err *err, int code, struct http_response *resp) {
    bool has_token = code == ERR_TOKEN_EXPIRED || code == ERR_SESSION_ENDED;
    http_response_set_status(resp, err_http_status(code));
    if (err_http_status(code) == 401)
        http_response_set_header(resp, "WWW-Authenticate", has_token ? "Bearer error=\"invalid_token\"" : "Bearer");
    if (err->retry_after_s)
        http_response_set_header(resp, "Retry-After", log_fmt("%u", err->retry_after_s));
    else if (err_http_status(code) == 503 || err_http_status(code) == 429)
        http_response_set_header(resp, "Retry-After", "2");
}

void problem_write(struct http_request *req, const struct err *err, struct http_response *resp) {
    const struct api_call *call = http_request_data(req);
    int code = public_code(err->code);
    _cleanup_json_ json_t *problem = json_object();
    _cleanup_strbuf_ struct strbuf text;

    strbuf_init(&text, PROBLEM_BYTES_MAX);
    json_put_string(problem, "type", "about:blank");
    json_put_string(problem, "title", phrase_of(err_http_status(code)));
    json_put_int(problem, "status", err_http_status(code));
    json_put_string(problem, "code", err_slug(code));
    json_put_string(problem, "detail", detail_for(err, code));
    json_put_string(problem, "request_id", http_request_id(req));
    if (err->remedy[0] && code != ERR_INTERNAL)
        json_put_string(problem, "remedy", err->remedy);
    add_extras(problem, call);
    if (!json_write(problem, &text, NULL))
        http_response_set_text(resp, "application/problem+json", &text);
    write_headers(err, code, resp);
    if (code == ERR_INTERNAL)
        log_error(LOG_LEVEL_ERROR, "request_failed", err, "path", http_request_path(req), NULL);
}

void problem_add(struct api_call *call, const char *member, json_t *value) {
    if (!call->problem)
        call->problem = json_object();
    json_put(call->problem, member, value);
}

int problem_parameter(struct api_call *call, const char *name, const char *text, struct err *err) {
    problem_add(call, "parameter", json_string(name));
    return err_set(err, ERR_INVALID, "the query parameter \"%s\" %s", name, text);
}

/* A certificate may be valid from the epoch on: time 0, which json_put_time takes for no time. */
static void put_validity(json_t *object, const char *name, int64_t wall_ms) {
    char text[CLOCK_RFC3339_BYTES];
    clock_format(wall_ms, text);
    json_put_string(object, name, text);
}

json_t *problem_certificate(const struct x509_info *info) {
    json_t *object = json_object(), *san = json_array();
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES];
    char *rest = info->san;
    x509_thumbprint_text(info->sha256, thumbprint);
    json_put_string(object, "subject", info->subject);
    json_put_string(object, "issuer", info->issuer);
    json_put_string(object, "sha256", thumbprint);
    put_validity(object, "not_before", info->not_before_ms);
    put_validity(object, "not_after", info->not_after_ms);
    while (rest && *rest) {
        size_t n = strcspn(rest, ",");
        json_add(san, json_stringn(rest, n));
        rest += n;
        rest += strspn(rest, ", ");
    }
    json_put(object, "san", san);
    return object;
}
