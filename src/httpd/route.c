/* The route table, compiled into a tree of path segments. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "route.h"

#include <assert.h>
#include <stdbool.h>

#include "http_text.h"

enum node_kind { NODE_LITERAL, NODE_PARAM, NODE_REST };

struct node {
    enum node_kind kind;
    const char *text; /* in the pattern, not NUL-terminated */
    size_t len;
    struct node *child, *sibling; /* children: literals first, then {name}, then "*" */
    const struct route *by_method[HTTP_METHOD_COUNT_];
    unsigned methods;
};

struct route_table {
    struct node root;
    struct node *nodes; /* one block */
    size_t used;
};

static const char *const method_names[HTTP_METHOD_OTHER] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

enum http_method http_method_parse(const char *name) {
    for (unsigned i = 0; i < HTTP_METHOD_OTHER; i++)
        if (!strcmp(name, method_names[i]))
            return (enum http_method)i;
    return HTTP_METHOD_OTHER;
}

void route_format_allow(unsigned allowed, char *out) {
    size_t at = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < HTTP_METHOD_OTHER; i++) {
        if (!(allowed & (1U << i)))
            continue;
        at += (size_t)snprintf(out + at, ROUTE_ALLOW_BYTES - at, "%s%s", at ? ", " : "", method_names[i]);
        assert(at < ROUTE_ALLOW_BYTES);
    }
}

/* Kind of a pattern's segment, or -1 if it is malformed. */
static int segment_kind(const char *text, size_t len, bool is_last) {
    bool has_brace = memchr(text, '{', len) || memchr(text, '}', len);
    if (len == 1 && *text == '*')
        return is_last ? NODE_REST : -1;
    if (!has_brace)
        return memchr(text, '*', len) || memchr(text, '%', len) ? -1 : NODE_LITERAL;
    if (len < 3 || text[0] != '{' || text[len - 1] != '}' || memchr(text + 1, '{', len - 1) || memchr(text, '}', len - 1))
        return -1;
    return NODE_PARAM;
}

static bool node_is(const struct node *node, enum node_kind kind, const char *text, size_t len) {
    if (node->kind != kind)
        return false;
    return kind != NODE_LITERAL || (node->len == len && !memcmp(node->text, text, len));
}

/* Finds or adds the child; children stay ordered by kind. */
static struct node *node_child(struct route_table *table, struct node *parent, enum node_kind kind, const char *text,
                               size_t len) {
    struct node **at = &parent->child;
    while (*at && !node_is(*at, kind, text, len) && (*at)->kind <= kind)
        at = &(*at)->sibling;
    if (*at && node_is(*at, kind, text, len))
        return *at;
    struct node *fresh = &table->nodes[table->used++];
    *fresh = (struct node){.kind = kind, .text = text, .len = len, .sibling = *at};
    *at = fresh;
    return fresh;
}

static int add_method(struct node *node, const struct route *route, struct err *err) {
    if (route->method == HTTP_METHOD_HEAD || route->method == HTTP_METHOD_OPTIONS || route->method >= HTTP_METHOD_OTHER ||
        !route->handler)
        return err_set(err, ERR_CONFIG, "route %s: method or handler cannot be in a table", route->pattern);
    if (node->by_method[route->method])
        return err_set(err, ERR_CONFIG, "routes %s %s and %s mean the same", method_names[route->method],
                       node->by_method[route->method]->pattern, route->pattern);
    node->by_method[route->method] = route;
    node->methods |= 1U << route->method | 1U << HTTP_METHOD_OPTIONS;
    if (route->method == HTTP_METHOD_GET) {
        node->by_method[HTTP_METHOD_HEAD] = route;
        node->methods |= 1U << HTTP_METHOD_HEAD;
    }
    return 0;
}

static int add_route(struct route_table *table, const struct route *route, struct err *err) {
    struct node *node = &table->root;
    const char *at = route->pattern;
    unsigned segments = 0, params = 0;
    if (!at || *at != '/')
        return err_set(err, ERR_CONFIG, "route pattern \"%s\" must start with '/'", at ? at : "");
    while (*at == '/') {
        const char *text = at + 1;
        size_t len = strcspn(text, "/");
        int kind = segment_kind(text, len, !text[len]);
        params += kind > NODE_LITERAL;
        if (kind < 0 || ++segments > ROUTE_SEGMENTS_MAX || params > ROUTE_PARAMS_MAX)
            return err_set(err, ERR_CONFIG, "route pattern \"%s\" is malformed at \"%s\"", route->pattern, text);
        node = node_child(table, node, (enum node_kind)kind, text, len);
        at = text + len;
    }
    return add_method(node, route, err);
}

int route_table_new(const struct route *routes, size_t count, struct route_table **out, struct err *err) {
    struct route_table *table = calloc(1, sizeof(*table));
    if (table)
        table->nodes = calloc(count * ROUTE_SEGMENTS_MAX + 1, sizeof(*table->nodes));
    if (!table || !table->nodes) {
        route_table_free(table);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        int r = add_route(table, &routes[i], err);
        if (r) {
            route_table_free(table);
            return r;
        }
    }
    *out = table;
    return 0;
}

unsigned route_table_methods(const struct route_table *table) {
    unsigned methods = 0;
    for (size_t i = 0; i < table->used; i++)
        methods |= table->nodes[i].methods;
    return methods;
}

void route_table_free(struct route_table *table) {
    if (!table)
        return;
    free(table->nodes);
    free(table);
}

/* Decodes one segment from *from to *to, up to '/' or the end; both move on. -1 for a bad percent sequence. */
static int decode_segment(const char **from, char **to, struct route_path *path) {
    char *segment = *to;
    size_t len = strcspn(*from, "/");
    memmove(segment, *from, len);
    *from += len;
    char behind = **from; /* decoding ends at a NUL, which the next segment's slash must not lose */
    segment[len] = '\0';
    long n = http_decode(segment, false);
    if (n < 0)
        return -1;
    if (memchr(segment, '/', (size_t)n))
        path->slashes |= 1U << path->count;
    path->segment[path->count++] = segment;
    *to = segment + n + 1;
    *from += behind == '/';
    return behind == '/';
}

static int check_segments(const struct route_path *path, struct err *err) {
    for (unsigned i = 0; i < path->count; i++) {
        const char *s = path->segment[i];
        if (!strcmp(s, ".") || !strcmp(s, ".."))
            return err_set(err, ERR_INVALID, "the path has a \"%s\" segment", s);
        int r = http_check_text(s, strlen(s), "path", err);
        if (r)
            return r;
    }
    return 0;
}

int route_path_parse(char *path, struct route_path *out, struct err *err) {
    const char *from = path + 1;
    char *to = path;
    int more = 1;
    *out = (struct route_path){0};
    if (*path != '/')
        return err_set(err, ERR_INVALID, "the request target must be a path that starts with '/'");
    while (more > 0) {
        if (out->count == ROUTE_SEGMENTS_MAX)
            return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
        more = decode_segment(&from, &to, out);
    }
    if (more < 0)
        return err_set(err, ERR_INVALID, "the path has a percent sign without two hexadecimal digits, or %%00");
    return check_segments(out, err);
}

static bool route_fits(const struct node *node, const struct route_path *path, unsigned i) {
    const char *s = path->segment[i];
    if (node->kind == NODE_LITERAL)
        return strlen(s) == node->len && !memcmp(s, node->text, node->len);
    if (node->kind == NODE_PARAM)
        return *s != '\0';
    return (*s || i + 1 < path->count) && !(path->slashes >> i);
}

static const struct node *route_find_node(const struct node *parent, const struct route_path *path, unsigned i) {
    if (i == path->count)
        return parent->methods ? parent : NULL;
    for (const struct node *node = parent->child; node; node = node->sibling) {
        if (!route_fits(node, path, i))
            continue;
        const struct node *found = route_find_node(node, path, node->kind == NODE_REST ? path->count : i + 1);
        if (found)
            return found;
    }
    return NULL;
}

/* The segments lie one behind the other with a NUL between: writing the slashes back makes one text of them. */
static const char *join_rest(const struct route_path *path, unsigned i) {
    for (unsigned k = i + 1; k < path->count; k++)
        path->segment[k][-1] = '/';
    return path->segment[i];
}

static void take_params(struct route_match *out, const struct route_path *path) {
    const char *at = out->route->pattern;
    for (unsigned i = 0; *at == '/'; i++) {
        const char *text = at + 1;
        size_t len = strcspn(text, "/");
        if (*text == '{')
            out->params[out->params_count++] = (struct route_param){text + 1, len - 2, path->segment[i]};
        else if (*text == '*')
            out->params[out->params_count++] = (struct route_param){text, 1, join_rest(path, i)};
        at = text + len;
    }
}

void route_find(const struct route_table *table, enum http_method method, const struct route_path *path,
                struct route_match *out) {
    const struct node *node = path->count ? route_find_node(&table->root, path, 0) : NULL;
    *out = (struct route_match){0};
    if (!node)
        return;
    out->allowed = node->methods;
    out->route = node->by_method[method];
    if (out->route)
        take_params(out, path);
}
