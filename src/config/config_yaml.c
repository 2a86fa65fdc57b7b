/* From YAML to options. Layer 1 (config), the only file that knows libyaml.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two passes: the first looks at the stream of events and refuses what a configuration has no use for (anchors and aliases, which
 * the document API would silently resolve, even to cycles; further documents; deep nesting); the second walks the tree. */
#include <string.h>
#include <yaml.h>

#include "cleanup.h"
#include "option_table.h"
#include "str.h"

#define DEPTH_MAX 8
#define KEY_BYTES_MAX 128
#define SHOWN_BYTES 60

struct reader {
    const struct option_table *table;
    const struct config_source *source;
    struct config_report *report;
    void *target;
    unsigned *lines;
    yaml_document_t *document;
    int rc; /* ERR_NOMEM ends the walk */
};

static void add_fault(const struct reader *r, const yaml_mark_t *mark, const struct err *fault) {
    const struct config_place place = {r->source->name, mark->line + 1, mark->column + 1};
    config_report_add(r->report, &place, fault->text, fault->remedy);
}

static void refuse_event(const struct reader *r, const yaml_event_t *event, const char *text, const char *remedy) {
    struct err fault = {0};
    (void)err_set(&fault, ERR_CONFIG, "%s", text);
    (void)err_remedy(&fault, "%s", remedy);
    add_fault(r, &event->start_mark, &fault);
}

static void report_syntax(const struct reader *r, const yaml_parser_t *parser) {
    struct err fault = {0};
    yaml_mark_t mark = parser->problem_mark;
    bool is_encoding = parser->error == YAML_READER_ERROR;
    const char *problem = parser->problem ? parser->problem : "unknown error", *context = parser->context ? parser->context : "";
    (void)err_set(&fault, ERR_CONFIG, "not valid YAML: %s%s%s", context, *context ? " " : "", problem);
    if (is_encoding)
        (void)err_remedy(&fault, "save the file as UTF-8 without control characters (byte %zu)", parser->problem_offset);
    else if (strstr(problem, "cannot start any token"))
        (void)err_remedy(&fault, "indent by blanks, not tabs, and put texts with special characters into quotes");
    else if (strstr(context, "alias") || strstr(context, "anchor"))
        (void)err_remedy(&fault, "put a text that starts with * or & into quotes");
    if (is_encoding)
        mark = parser->mark;
    add_fault(r, &mark, &fault);
}

static const yaml_char_t *anchor_of(const yaml_event_t *event) {
    switch ((int)event->type) {
    case YAML_SCALAR_EVENT: return event->data.scalar.anchor;
    case YAML_SEQUENCE_START_EVENT: return event->data.sequence_start.anchor;
    case YAML_MAPPING_START_EVENT: return event->data.mapping_start.anchor;
    default: return NULL;
    }
}

/* True if the event has a place in a configuration. */
static bool accept_event(const struct reader *r, const yaml_event_t *event, unsigned *documents, unsigned *depth) {
    bool opens = event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
    bool closes = event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT;
    if (event->type == YAML_DOCUMENT_START_EVENT && ++*documents > 1)
        refuse_event(r, event, "a second document is not allowed", "remove the line ---");
    else if (event->type == YAML_ALIAS_EVENT || anchor_of(event))
        refuse_event(r, event, "anchors and aliases (& and *) are not allowed",
                     "write the value itself, in quotes if it starts with & or *");
    else if (opens && ++*depth > DEPTH_MAX)
        refuse_event(r, event, "nested too deeply", "");
    else
        return *depth -= closes, true;
    return false;
}

static bool begin_parser(const struct reader *r, yaml_parser_t *parser) {
    if (!yaml_parser_initialize(parser))
        return false;
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)r->source->text, r->source->n);
    return true;
}

/* First pass; false when nothing can be read. */
static bool scan_events(struct reader *r) {
    yaml_parser_t parser;
    yaml_event_t event;
    unsigned documents = 0, depth = 0;
    bool goes_on = true, is_end = false;
    if (!begin_parser(r, &parser)) {
        r->rc = ERR_NOMEM;
        return false;
    }
    while (goes_on && !is_end) {
        if (!yaml_parser_parse(&parser, &event)) {
            report_syntax(r, &parser);
            goes_on = false;
            break;
        }
        goes_on = accept_event(r, &event, &documents, &depth);
        is_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return goes_on;
}

/* The text of a scalar; NULL if it is none or holds a NUL. */
static const char *scalar_text(const yaml_node_t *node) {
    if (node->type != YAML_SCALAR_NODE || strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
        return NULL;
    return (const char *)node->data.scalar.value;
}

static bool is_null(const yaml_node_t *node) {
    const char *text = scalar_text(node);
    return text && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && (!*text || !strcmp(text, "~") || !strcmp(text, "null"));
}

/* !!int and the like; without one libyaml gives the three default tags. */
static bool has_own_tag(const yaml_node_t *node) {
    const char *tag = (const char *)node->tag;
    return tag && strcmp(tag, YAML_DEFAULT_SCALAR_TAG) && strcmp(tag, YAML_DEFAULT_SEQUENCE_TAG) &&
           strcmp(tag, YAML_DEFAULT_MAPPING_TAG);
}

/* Puts the key before a fault of its value and reports it. */
static void add_value_fault(struct reader *r, const yaml_node_t *node, const char *key, const struct err *fault) {
    struct err whole = {0};
    if (fault->code == ERR_NOMEM) {
        r->rc = ERR_NOMEM;
        return;
    }
    (void)err_set(&whole, ERR_CONFIG, "%s %s", key, fault->text);
    (void)err_remedy(&whole, "%s", fault->remedy);
    add_fault(r, &node->start_mark, &whole);
}

static void config_yaml_read_list(struct reader *r, const struct option *o, const yaml_node_t *node) {
    option_done(o, r->target); /* the file's list replaces the default */
    for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
        const yaml_node_t *value = yaml_document_get_node(r->document, *item);
        const char *text = scalar_text(value);
        struct err fault = {0};
        if (!text || is_null(value) || has_own_tag(value))
            (void)err_set(&fault, ERR_CONFIG, "has an item that is no text");
        else
            (void)option_add_item(o, text, r->target, &fault);
        if (fault.code)
            add_value_fault(r, value, o->key, &fault);
        if (r->rc || config_report_is_full(r->report))
            return;
    }
}

static void read_option(struct reader *r, const struct option *o, const yaml_node_t *node) {
    struct err fault = {0};
    const char *text = scalar_text(node);
    if (o->kind == OPTION_LIST && node->type == YAML_SEQUENCE_NODE && !has_own_tag(node)) {
        config_yaml_read_list(r, o, node);
    } else if (is_null(node)) {
        (void)err_set(&fault, ERR_CONFIG, "has no value");
        (void)err_remedy(&fault, "remove the line to get the default, or write \"\" for an empty text");
    } else if (has_own_tag(node)) {
        (void)err_set(&fault, ERR_CONFIG, "has a tag (!), which is not allowed");
    } else if (!text || o->kind == OPTION_LIST) {
        _cleanup_strbuf_ struct strbuf what;
        strbuf_init(&what, 300);
        option_describe(o, &what);
        (void)err_set(&fault, ERR_CONFIG, "must be %s", what.data);
        if (o->kind == OPTION_LIST)
            (void)err_remedy(&fault, "write [\"first\", \"second\"]");
    } else {
        (void)option_parse(o, text, node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE, r->target, &fault);
    }
    if (fault.code)
        add_value_fault(r, node, o->key, &fault);
    r->lines[o - r->table->rows] = (unsigned)node->start_mark.line + 1;
}

static void config_yaml_refuse_key(struct reader *r, const yaml_node_t *key, const char *prefix, const char *name) {
    struct err fault = {0};
    const char *nearest = option_nearest(r->table, prefix, name);
    if (nearest)
        (void)err_set(&fault, ERR_CONFIG, "unknown key \"%s%s%s\", did you mean \"%s\"", prefix, *prefix ? "." : "", name,
                      nearest);
    else
        (void)err_set(&fault, ERR_CONFIG, "unknown key \"%s%s%s\"", prefix, *prefix ? "." : "", name);
    (void)err_remedy(&fault, "%s", nearest ? "" : "see the reference page for all keys, or remove the line");
    add_fault(r, &key->start_mark, &fault);
}

static bool is_given_before(const struct reader *r, const yaml_node_t *mapping, const yaml_node_pair_t *pair, const char *name) {
    for (const yaml_node_pair_t *other = mapping->data.mapping.pairs.start; other < pair; other++) {
        const char *text = scalar_text(yaml_document_get_node(r->document, other->key));
        if (text && !strcmp(text, name))
            return true;
    }
    return false;
}

static void config_yaml_read_mapping(struct reader *r, const char *prefix, const yaml_node_t *mapping);

static void read_section(struct reader *r, const char *path, const yaml_node_t *value) {
    struct err fault = {0};
    if (value->type == YAML_MAPPING_NODE && !has_own_tag(value)) {
        config_yaml_read_mapping(r, path, value);
    } else if (!is_null(value)) { /* a section with all keys commented out is fine */
        (void)err_set(&fault, ERR_CONFIG, "is a section, not a value");
        (void)err_remedy(&fault, "put its keys below it, indented by two blanks");
        add_value_fault(r, value, path, &fault);
    }
}

static void read_pair(struct reader *r, const char *prefix, const yaml_node_t *mapping, const yaml_node_pair_t *pair) {
    const yaml_node_t *key = yaml_document_get_node(r->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(r->document, pair->value);
    const char *name = scalar_text(key);
    char path[2 * KEY_BYTES_MAX];
    struct err fault = {0};
    bool is_sound = name && *name && strlen(name) < SHOWN_BYTES && !str_has_control(name) && !strchr(name, '.');
    if (!is_sound || has_own_tag(key)) {
        (void)err_set(&fault, ERR_CONFIG, "a key must be a short word");
        if (name && strchr(name, '.'))
            (void)err_remedy(&fault, "write nested sections instead of dots");
        add_fault(r, &key->start_mark, &fault);
        return;
    }
    (void)snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", name);
    const struct option *option = option_find(r->table, path);
    if (!option && !option_is_section(r->table, path)) {
        config_yaml_refuse_key(r, key, prefix, name);
    } else if (is_given_before(r, mapping, pair, name)) {
        (void)err_set(&fault, ERR_CONFIG, "key \"%s\" is given twice", path);
        add_fault(r, &key->start_mark, &fault);
    } else if (option) {
        read_option(r, option, value);
    } else {
        read_section(r, path, value);
    }
}

/* Ends when the report is full: every pair either belongs to the table or is a fault, so the work is bounded by both. */
static void config_yaml_read_mapping(struct reader *r, const char *prefix, const yaml_node_t *mapping) {
    const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < end; pair++) {
        if (r->rc || config_report_is_full(r->report))
            return;
        read_pair(r, prefix, mapping, pair);
    }
}

static void read_document(struct reader *r) {
    const yaml_node_t *root = yaml_document_get_root_node(r->document);
    struct err fault = {0};
    if (!root || is_null(root))
        return; /* nothing but comments: all defaults */
    if (root->type == YAML_MAPPING_NODE && !has_own_tag(root)) {
        config_yaml_read_mapping(r, "", root);
        return;
    }
    (void)err_set(&fault, ERR_CONFIG, "the file must consist of sections, as in \"server:\"");
    add_fault(r, &root->start_mark, &fault);
}

int config_yaml_read(const struct option_table *table, const struct config_source *source, void *target, unsigned *lines,
                     struct config_report *report, struct err *err) {
    yaml_parser_t parser;
    yaml_document_t document;
    struct reader r = {
        .table = table, .source = source, .report = report, .target = target, .lines = lines, .document = &document};
    if (!scan_events(&r))
        return r.rc ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    if (!begin_parser(&r, &parser))
        return err_set(err, ERR_NOMEM, "out of memory");
    if (yaml_parser_load(&parser, &document)) {
        read_document(&r);
        yaml_document_delete(&document);
    } else {
        report_syntax(&r, &parser);
    }
    yaml_parser_delete(&parser);
    return r.rc ? err_set(err, r.rc, "out of memory") : 0;
}
