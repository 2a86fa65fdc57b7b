/* From YAML to options. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "cleanup.h"
#include "option_table.h"
#include "str.h"
#include "yaml.h"

#define KEY_BYTES_MAX 128
#define SHOWN_BYTES 60

static const struct yaml_limits limits = {.bytes = CONFIG_FILE_BYTES_MAX, .depth = 8, .nodes = 10000};

struct reader {
    const struct option_table *table;
    const struct config_source *source;
    struct config_report *report;
    void *target;
    unsigned *lines;
    int rc; /* ERR_NOMEM ends the walk */
};

static void add_fault(const struct reader *r, struct yaml_place at, const struct err *fault) {
    const struct config_place place = {r->source->name, at.line, at.column};
    config_report_add(r->report, &place, fault->text, fault->remedy);
}

static bool is_null(const struct yaml_node *node) {
    return node->is_plain && (!*node->text || !strcmp(node->text, "~") || !strcmp(node->text, "null"));
}

/* Puts the key before a fault of its value and reports it. */
static void add_value_fault(struct reader *r, const struct yaml_node *node, const char *key, const struct err *fault) {
    struct err whole = {0};
    if (fault->code == ERR_NOMEM) {
        r->rc = ERR_NOMEM;
        return;
    }
    (void)err_set(&whole, ERR_CONFIG, "%s %s", key, fault->text);
    (void)err_remedy(&whole, "%s", fault->remedy);
    add_fault(r, node->place, &whole);
}

static void config_yaml_read_list(struct reader *r, const struct option *o, const struct yaml_node *node) {
    option_done(o, r->target); /* the file's list replaces the default */
    for (const struct yaml_node *item = node + 1; item < yaml_next(node); item = yaml_next(item)) {
        struct err fault = {0};
        if (!item->text || is_null(item) || item->has_tag)
            (void)err_set(&fault, ERR_CONFIG, "has an item that is no text");
        else
            (void)option_add_item(o, item->text, r->target, &fault);
        if (fault.code)
            add_value_fault(r, item, o->key, &fault);
        if (r->rc || config_report_is_full(r->report))
            return;
    }
}

static void read_option(struct reader *r, const struct option *o, const struct yaml_node *node) {
    struct err fault = {0};
    if (o->kind == OPTION_LIST && node->kind == YAML_LIST && !node->has_tag) {
        config_yaml_read_list(r, o, node);
    } else if (is_null(node)) {
        (void)err_set(&fault, ERR_CONFIG, "has no value");
        (void)err_remedy(&fault, "remove the line to get the default, or write \"\" for an empty text");
    } else if (node->has_tag) {
        (void)err_set(&fault, ERR_CONFIG, "has a tag (!), which is not allowed");
    } else if (!node->text || o->kind == OPTION_LIST) {
        _cleanup_strbuf_ struct strbuf what;
        strbuf_init(&what, 300);
        option_describe(o, &what);
        (void)err_set(&fault, ERR_CONFIG, "must be %s", what.data);
        if (o->kind == OPTION_LIST)
            (void)err_remedy(&fault, "write [\"first\", \"second\"]");
    } else {
        (void)option_parse(o, node->text, !node->is_plain, r->target, &fault);
    }
    if (fault.code)
        add_value_fault(r, node, o->key, &fault);
    r->lines[o - r->table->rows] = node->place.line;
}

static void config_yaml_refuse_key(struct reader *r, const struct yaml_node *key, const char *prefix, const char *name) {
    struct err fault = {0};
    const char *nearest = option_nearest(r->table, prefix, name);
    if (nearest)
        (void)err_set(&fault, ERR_CONFIG, "unknown key \"%s%s%s\", did you mean \"%s\"", prefix, *prefix ? "." : "", name,
                      nearest);
    else
        (void)err_set(&fault, ERR_CONFIG, "unknown key \"%s%s%s\"", prefix, *prefix ? "." : "", name);
    (void)err_remedy(&fault, "%s", nearest ? "" : "see the reference page for all keys, or remove the line");
    add_fault(r, key->place, &fault);
}

static bool is_given_before(const struct yaml_node *mapping, const struct yaml_node *key) {
    for (const struct yaml_node *in = mapping + 1; in < key; in = yaml_next(yaml_next(in)))
        if (str_eq(in->text, key->text))
            return true;
    return false;
}

static void config_yaml_read_mapping(struct reader *r, const char *prefix, const struct yaml_node *mapping);

static void read_section(struct reader *r, const char *path, const struct yaml_node *value) {
    struct err fault = {0};
    if (value->kind == YAML_MAP && !value->has_tag) {
        config_yaml_read_mapping(r, path, value);
    } else if (!is_null(value)) { /* a section with all keys commented out is fine */
        (void)err_set(&fault, ERR_CONFIG, "is a section, not a value");
        (void)err_remedy(&fault, "put its keys below it, indented by two blanks");
        add_value_fault(r, value, path, &fault);
    }
}

static void read_pair(struct reader *r, const char *prefix, const struct yaml_node *mapping, const struct yaml_node *key) {
    const struct yaml_node *value = yaml_next(key);
    const char *name = key->text;
    char path[2 * KEY_BYTES_MAX];
    struct err fault = {0};
    bool is_sound = name && *name && strlen(name) < SHOWN_BYTES && !str_has_control(name) && !strchr(name, '.');
    if (!is_sound || key->has_tag) {
        (void)err_set(&fault, ERR_CONFIG, "a key must be a short word");
        if (name && strchr(name, '.'))
            (void)err_remedy(&fault, "write nested sections instead of dots");
        add_fault(r, key->place, &fault);
        return;
    }
    (void)snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", name);
    const struct option *option = option_find(r->table, path);
    if (!option && !option_is_section(r->table, path)) {
        config_yaml_refuse_key(r, key, prefix, name);
    } else if (is_given_before(mapping, key)) {
        (void)err_set(&fault, ERR_CONFIG, "key \"%s\" is given twice", path);
        add_fault(r, key->place, &fault);
    } else if (option) {
        read_option(r, option, value);
    } else {
        read_section(r, path, value);
    }
}

/* Ends when the report is full: every pair either belongs to the table or is a fault, so the work is bounded by both. */
static void config_yaml_read_mapping(struct reader *r, const char *prefix, const struct yaml_node *mapping) {
    for (const struct yaml_node *key = mapping + 1; key < yaml_next(mapping); key = yaml_next(yaml_next(key))) {
        if (r->rc || config_report_is_full(r->report))
            return;
        read_pair(r, prefix, mapping, key);
    }
}

static void read_root(struct reader *r, const struct yaml_node *root) {
    struct err fault = {0};
    if (is_null(root))
        return; /* all defaults */
    if (root->kind == YAML_MAP && !root->has_tag) {
        config_yaml_read_mapping(r, "", root);
        return;
    }
    (void)err_set(&fault, ERR_CONFIG, "the file must consist of sections, as in \"server:\"");
    add_fault(r, root->place, &fault);
}

int config_yaml_read(const struct option_table *table, const struct config_source *source, void *target, unsigned *lines,
                     struct config_report *report, struct err *err) {
    _cleanup_yaml_ struct yaml_doc doc = {0};
    struct reader r = {.table = table, .source = source, .report = report, .target = target, .lines = lines};
    struct yaml_place where;
    struct err fault = {0};
    r.rc = yaml_parse(source->text, source->n, &limits, &doc, &where, &fault);
    if (!r.rc && doc.count)
        read_root(&r, doc.nodes);
    if (r.rc == ERR_NOMEM)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (r.rc)
        add_fault(&r, where, &fault);
    return 0;
}
