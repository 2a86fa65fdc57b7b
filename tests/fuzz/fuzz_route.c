/* Fuzz target: paths of requests as they come from the wire, cut, decoded and looked up in a route table.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "route.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int never(struct http_request *req, struct http_response *resp, struct err *err) {
    (void)req;
    (void)resp;
    (void)err;
    abort(); /* routes are only looked up here */
}

static const struct route routes[] = {
    {.method = HTTP_METHOD_GET, .pattern = "/v2/clusters", .handler = never},
    {.method = HTTP_METHOD_GET, .pattern = "/v2/clusters/{id}", .handler = never},
    {.method = HTTP_METHOD_DELETE, .pattern = "/v2/clusters/{id}", .handler = never},
    {.method = HTTP_METHOD_GET, .pattern = "/v2/clusters/{id}/nodes", .handler = never},
    {.method = HTTP_METHOD_GET, .pattern = "/ui/{file}", .handler = never},
    {.method = HTTP_METHOD_GET, .pattern = "/files/*", .handler = never},
};

static struct route_table *make_table(void) {
    struct route_table *table = NULL;
    if (route_table_new(routes, sizeof(routes) / sizeof(routes[0]), &table, NULL))
        abort();
    return table;
}

/* What a handler relies on: decoded values are text without control characters. */
static void check_match(const struct route_match *match) {
    for (unsigned i = 0; i < match->params_count; i++) {
        const char *value = match->params[i].value;
        if (!value || !*value || str_utf8_chars(value, strlen(value)) < 0 || str_has_control(value))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static struct route_table *table;
    struct route_match match;
    struct route_path path;
    struct err err = {0};
    char allow[ROUTE_ALLOW_BYTES];
    char *text = malloc(n + 1);
    if (!table)
        table = make_table();
    if (!text)
        return 0;
    if (n)
        memcpy(text, data, n);
    text[n] = 0;
    (void)http_method_parse(text);
    if (route_path_parse(text, &path, &err)) {
        if (!err.code)
            abort();
    } else {
        for (int method = HTTP_METHOD_GET; method < HTTP_METHOD_COUNT_; method++) {
            route_find(table, (enum http_method)method, &path, &match);
            check_match(&match);
            route_format_allow(match.allowed, allow);
        }
    }
    free(text);
    return 0;
}
