/* Fuzz target: yaml_parse, yaml_json, yaml_find. What is refused has a place in the text; what is taken has nodes in order, a JSON form that survives being
 * written and read again, and a node for each value of it. What is JSON has the value that it has as JSON, or is refused.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "strbuf.h"
#include "yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_place(const struct yaml_place *where, const uint8_t *data, size_t n) {
    unsigned lines = 2;            /* one more than line ends, and the end itself */
    for (size_t i = 0; i < n; i++) /* CR, LF, and the last bytes of U+0085, U+2028, U+2029 */
        lines += data[i] == '\n' || data[i] == '\r' || (data[i] >= 0x85 && data[i] <= 0xa9);
    if (!where->line || !where->column || where->line > lines || where->column > n + 2)
        abort();
}

/* Each node has its inside right behind it. */
static void check_nodes(const struct yaml_node *node, const struct yaml_node *end) {
    for (; node < end; node = yaml_next(node)) {
        if (!node->span || yaml_next(node) > end || (node->kind == YAML_SCALAR) != (node->text != NULL))
            abort();
        if (node->kind == YAML_SCALAR ? node->span != 1 : node->is_plain)
            abort();
        check_nodes(node + 1, yaml_next(node));
    }
}

static bool fits_kind(const struct yaml_node *node, const json_t *value) {
    return node && (json_is_object(value)  ? node->kind == YAML_MAP
                    : json_is_array(value) ? node->kind == YAML_LIST
                                           : node->kind == YAML_SCALAR);
}

static void check_found(const struct yaml_doc *doc, const json_t *value, struct strbuf *path) {
    const size_t len = path->len;
    const struct yaml_node *found = yaml_find(doc, path->data);
    const char *key;
    json_t *inside;
    size_t i;
    if (!fits_kind(found, value) || (json_is_string(value) && strcmp(found->text, json_string_value(value)) != 0))
        abort();
    json_array_foreach (value, i, inside) {
        strbuf_addf(path, "[%zu]", i);
        check_found(doc, inside, path);
        path->data[path->len = len] = '\0';
    }
    json_object_foreach ((json_t *)(uintptr_t)value, key, inside) {
        if (!*key || strpbrk(key, ".["))
            continue;
        strbuf_addf(path, "%s%s", len ? "." : "", key);
        found = yaml_find(doc, path->data);
        if (!found || strcmp(found[-1].text, key) != 0)
            abort();
        check_found(doc, inside, path);
        path->data[path->len = len] = '\0';
    }
}

/* libyaml takes more for line ends than JSON does, and folds them. */
static bool has_other_line_ends(const char *text, size_t n) {
    return memmem(text, n, "\xc2\x85", 2) || memmem(text, n, "\xe2\x80\xa8", 3) || memmem(text, n, "\xe2\x80\xa9", 3);
}

static void check_json(const struct yaml_doc *doc, const json_t *value, const char *text, size_t n) {
    _cleanup_json_ json_t *again = NULL, *as_json = NULL;
    _cleanup_strbuf_ struct strbuf out, path;
    strbuf_init(&out, 16 * n + 1024);
    strbuf_init(&path, 16 * n + 1024);
    check_found(doc, value, &path);
    if (!json_is_object(value) && !json_is_array(value))
        return;
    if (json_write(value, &out, NULL) || json_parse(out.data, out.len, &again, NULL) || !json_equal(value, again))
        abort();
    if (!has_other_line_ends(text, n) && !json_parse(text, n, &as_json, NULL) && !json_equal(value, as_json))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const struct yaml_limits limits = {.bytes = 65536, .depth = 10, .nodes = 500};
    _cleanup_yaml_ struct yaml_doc doc = {0};
    _cleanup_json_ json_t *value = NULL;
    const char *text = (const char *)data;
    struct yaml_place where;
    struct err err = {0};
    int rc = yaml_parse(text, n, &limits, &doc, &where, &err);
    if (rc ? doc.nodes != NULL : !doc.nodes || doc.count > limits.nodes)
        abort();
    if (!rc) {
        check_nodes(doc.nodes, doc.nodes + doc.count);
        rc = yaml_json(&doc, &value, &where, &err);
    }
    if (rc != err.code || !rc != !err.text[0] || !rc != !!value || (rc && rc != ERR_UNPROCESSABLE && rc != ERR_TOO_LARGE))
        abort();
    if (rc && n <= limits.bytes)
        check_place(&where, data, n);
    if (value && doc.count)
        check_json(&doc, value, text, n);
    return 0;
}
