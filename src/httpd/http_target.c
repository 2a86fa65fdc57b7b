/* Request target: path and query. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * RFC 3986 for the path; the query is form-encoded (WHATWG URL: '+' is a blank), since browsers send it so. */
#include "http_private.h"
#include "str.h"

/* RFC 9112 3.2.2: a server must understand the absolute form "http://authority/path" too. NULL if there is no authority, or one with
 * user information (RFC 9110 4.2.1 and 4.2.4). */
static const char *skip_authority(const char *target) {
    size_t scheme = str_starts(target, "http://") ? 7 : str_starts(target, "https://") ? 8 : 0;
    size_t len = scheme ? strcspn(target + scheme, "/?#") : 0;
    if (!scheme)
        return target;
    if (!len || memchr(target + scheme, '@', len))
        return NULL;
    return target[scheme + len] == '/' ? target + scheme + len : "/";
}

int http_target_check(const struct http_request *req, struct err *err) {
    if (strpbrk(req->path_text, " \t"))
        return err_set(err, ERR_INVALID, "the request target has a blank; write it as %%20");
    return 0;
}

static const char *find_query(const struct http_request *req, const char *name) {
    for (unsigned i = 0; i < req->query_count; i++)
        if (!strcmp(req->query[i].name, name))
            return req->query[i].value;
    return NULL;
}

static int add_pair(struct http_request *req, char *name, struct err *err) {
    char *value = strchr(name, '=');
    if (value)
        *value++ = '\0';
    else
        value = name + strlen(name);
    if (http_decode(name, true) < 0 || http_decode(value, true) < 0)
        return err_set(err, ERR_INVALID, "the query has a percent sign without two hexadecimal digits, or %%00");
    int r = http_check_text(name, strlen(name), "name of a query parameter", err);
    r = r ? r : http_check_text(value, strlen(value), "value of a query parameter", err);
    if (r)
        return r;
    if (!*name)
        return err_set(err, ERR_INVALID, "the query has a parameter without a name");
    if (find_query(req, name))
        return err_set(err, ERR_INVALID, "the query parameter \"%.64s\" is given twice", name);
    if (req->query_count == HTTP_QUERY_MAX)
        return err_set(err, ERR_INVALID, "the query has more than %u parameters", HTTP_QUERY_MAX);
    req->query[req->query_count++] = (struct http_pair){name, value};
    return 0;
}

static int parse_query(struct http_request *req, struct err *err) {
    char *rest = req->query_text;
    while (rest && *rest) {
        char *pair = strsep(&rest, "&");
        int r = *pair ? add_pair(req, pair, err) : 0;
        if (r)
            return r;
    }
    return 0;
}

static int match_path(struct http_request *req, const struct route_table *table, struct err *err) {
    int r = route_path_parse(req->path_text, &req->path, err);
    if (r)
        return r;
    route_find(table, req->method, &req->path, &req->match);
    if (!req->match.allowed)
        return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
    if (!req->match.route && req->method != HTTP_METHOD_OPTIONS)
        return err_set(err, ERR_METHOD, "%.16s is not allowed here", req->method_name);
    return 0;
}

/* RFC 9110 9.3.7: the asterisk asks about the server as a whole. */
static bool is_asterisk(const struct http_request *req) {
    return req->method == HTTP_METHOD_OPTIONS && str_eq(req->path_text, "*");
}

int http_target_parse(struct http_request *req, const struct route_table *table, struct err *err) {
    char *text = req->path_text;
    if (is_asterisk(req)) {
        req->match = (struct route_match){.allowed = route_table_methods(table)};
        return 0;
    }
    if (strlen(text) > KAAS_HTTP_URI_BYTES_MAX)
        return err_set(err, ERR_URI_TOO_LONG, "the request target is longer than %u bytes", KAAS_HTTP_URI_BYTES_MAX);
    const char *path = skip_authority(text);
    if (!path)
        return err_set(err, ERR_INVALID, "the request target names no host, or a user");
    size_t path_len = strcspn(path, "?#");
    bool has_query = path[path_len] == '?';
    memmove(text, path, strlen(path) + 1);
    text[path_len] = '\0';
    if (has_query)
        req->query_text = text + path_len + 1;
    int r = match_path(req, table, err);
    return r ? r : parse_query(req, err);
}
