/* YAML over libyaml: events to nodes, nodes to JSON. The only file that knows libyaml. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Of libyaml only the events are used: its documents resolve aliases, even to cycles. */
#include "yaml.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "secret.h"
#include "str.h"

#define KEY_SHOWN_BYTES 60
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct yaml_reader {
    yaml_parser_t parser;
    const char *text;
    const struct yaml_limits *limits;
    struct yaml_doc doc;
    unsigned depth, documents;
    unsigned open; /* index of the list or map that is being read */
    struct yaml_place *where;
    struct err *err;
};

static struct yaml_place yaml_place_of(const yaml_mark_t *mark) {
    return (struct yaml_place){(unsigned)mark->line + 1, (unsigned)mark->column + 1};
}

static struct yaml_place yaml_place_at(const char *text, size_t offset) {
    struct yaml_place at = {1, 1};
    for (size_t i = 0; i < offset; i++) {
        at.column += ((unsigned char)text[i] & 0xC0) != 0x80; /* a character is counted at its first byte */
        if (text[i] == '\n')
            at = (struct yaml_place){at.line + 1, 1};
    }
    return at;
}

static int yaml_refuse(struct yaml_place at, int code, const char *text, const char *remedy, struct yaml_place *where,
                       struct err *err) {
    *where = at;
    (void)err_set(err, code, "%s", text);
    return err_remedy(err, "%s", remedy);
}

static int refuse_syntax(struct yaml_reader *r) {
    const yaml_parser_t *p = &r->parser;
    const char *problem = p->problem ? p->problem : "unknown error", *context = p->context ? p->context : "";
    if (p->error == YAML_MEMORY_ERROR)
        return err_set(r->err, ERR_NOMEM, "out of memory while reading YAML");
    const bool is_encoding = p->error == YAML_READER_ERROR; /* which is met ahead of the mark */
    *r->where = is_encoding ? yaml_place_at(r->text, p->problem_offset) : yaml_place_of(&p->problem_mark);
    (void)err_set(r->err, ERR_UNPROCESSABLE, "not valid YAML: %s%s%s", context, *context ? " " : "", problem);
    if (is_encoding)
        return err_remedy(r->err, "save the file as UTF-8 without control characters (byte %zu)", p->problem_offset);
    if (strstr(problem, "cannot start any token"))
        return err_remedy(r->err, "indent by blanks, not tabs, and put texts with special characters into quotes");
    if (strstr(context, "alias") || strstr(context, "anchor"))
        return err_remedy(r->err, "put a text that starts with * or & into quotes");
    return ERR_UNPROCESSABLE;
}

static int refuse_event(struct yaml_reader *r, const yaml_event_t *event, int code, const char *text, const char *remedy) {
    return yaml_refuse(yaml_place_of(&event->start_mark), code, text, remedy, r->where, r->err);
}

static int refuse_anchor(struct yaml_reader *r, const yaml_event_t *event) {
    return refuse_event(r, event, ERR_UNPROCESSABLE, "anchors and aliases (& and *) are not allowed",
                        "write the value itself, in quotes if it starts with & or *");
}

static int yaml_add_node(struct yaml_reader *r, const yaml_event_t *event, enum yaml_kind kind, const yaml_char_t *anchor,
                         const yaml_char_t *tag) {
    if (anchor)
        return refuse_anchor(r, event);
    if (r->doc.count == r->limits->nodes)
        return refuse_event(r, event, ERR_TOO_LARGE, "too many keys and values", "");
    r->doc.nodes[r->doc.count++] =
        (struct yaml_node){.kind = kind, .has_tag = tag, .place = yaml_place_of(&event->start_mark), .span = 1};
    return 0;
}

static int add_scalar(struct yaml_reader *r, yaml_event_t *event) {
    char *text = (char *)event->data.scalar.value;
    int rc = yaml_add_node(r, event, YAML_SCALAR, event->data.scalar.anchor, event->data.scalar.tag);
    if (rc)
        return rc;
    if (strlen(text) != event->data.scalar.length)
        return refuse_event(r, event, ERR_UNPROCESSABLE, "a NUL character is not allowed", "");
    struct yaml_node *node = &r->doc.nodes[r->doc.count - 1];
    node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->text = text; /* taken over: libyaml's memory is malloc's */
    event->data.scalar.value = NULL;
    event->data.scalar.length = 0;
    return 0;
}

/* While a list or map is open, its span is the index of the one around it. */
static int open_node(struct yaml_reader *r, const yaml_event_t *event, enum yaml_kind kind, const yaml_char_t *anchor,
                     const yaml_char_t *tag) {
    int rc = yaml_add_node(r, event, kind, anchor, tag);
    if (rc)
        return rc;
    if (r->depth++ == r->limits->depth)
        return refuse_event(r, event, ERR_TOO_LARGE, "nested too deeply", "");
    r->doc.nodes[r->doc.count - 1].span = r->open;
    r->open = r->doc.count - 1;
    return 0;
}

static int close_node(struct yaml_reader *r) {
    struct yaml_node *node = &r->doc.nodes[r->open];
    const unsigned around = node->span;
    node->span = r->doc.count - r->open;
    r->open = around;
    r->depth--;
    return 0;
}

static int take_event(struct yaml_reader *r, yaml_event_t *event) {
    switch ((int)event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->documents++
                   ? refuse_event(r, event, ERR_UNPROCESSABLE, "a second document is not allowed", "remove the line ---")
                   : 0;
    case YAML_ALIAS_EVENT: return refuse_anchor(r, event);
    case YAML_SCALAR_EVENT: return add_scalar(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(r, event, YAML_LIST, event->data.sequence_start.anchor, event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return open_node(r, event, YAML_MAP, event->data.mapping_start.anchor, event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return close_node(r);
    default: return 0;
    }
}

static int take_events(struct yaml_reader *r) {
    int rc = 0;
    for (bool is_end = false; !rc && !is_end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event))
            return refuse_syntax(r);
        is_end = event.type == YAML_STREAM_END_EVENT;
        rc = take_event(r, &event);
        if (event.type == YAML_SCALAR_EVENT)
            secret_wipe(event.data.scalar.value, event.data.scalar.length);
        yaml_event_delete(&event);
    }
    return rc;
}

/* libyaml compares each %TAG with all before it, so that 1 MiB of them takes 20 s. They stand behind any of its line ends: LF, CR, and U+0085, U+2028 and
 * U+2029, of which the last byte is looked at. */
static int refuse_tag_lines(struct yaml_reader *r, size_t n) {
    static const char tag[] = "%TAG", ends[] = "\n\r\x85\xa8\xa9";
    const char *text = r->text;
    for (size_t i = 0; i + strlen(tag) <= n; i++)
        if (text[i] == '%' && !memcmp(text + i, tag, strlen(tag)) && (!i || strchr(ends, text[i - 1])))
            return yaml_refuse(yaml_place_at(text, i), ERR_UNPROCESSABLE, "tags (%TAG and !) are not allowed", "remove the line",
                               r->where, r->err);
    return 0;
}

int yaml_parse(const char *text, size_t n, const struct yaml_limits *limits, struct yaml_doc *out, struct yaml_place *where,
               struct err *err) {
    const size_t mark_bytes = n >= strlen(BYTE_ORDER_MARK) && str_starts(text, BYTE_ORDER_MARK) ? strlen(BYTE_ORDER_MARK) : 0;
    struct yaml_reader r = {.text = text + mark_bytes, .limits = limits, .where = where, .err = err};
    *where = (struct yaml_place){0};
    if (n > limits->bytes)
        return err_set(err, ERR_TOO_LARGE, "larger than %zu bytes", limits->bytes);
    n -= mark_bytes;
    int rc = refuse_tag_lines(&r, n);
    if (rc)
        return rc;
    r.doc.nodes = calloc(limits->nodes, sizeof(*r.doc.nodes));
    if (!r.doc.nodes || !yaml_parser_initialize(&r.parser)) {
        yaml_done(&r.doc);
        return err_set(err, ERR_NOMEM, "out of memory while reading YAML");
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)r.text, n);
    rc = take_events(&r);
    secret_wipe(r.parser.raw_buffer.start, (size_t)(r.parser.raw_buffer.end - r.parser.raw_buffer.start));
    secret_wipe(r.parser.buffer.start, (size_t)(r.parser.buffer.end - r.parser.buffer.start));
    yaml_parser_delete(&r.parser);
    if (rc)
        yaml_done(&r.doc);
    else
        *out = r.doc;
    return rc;
}

void yaml_done(struct yaml_doc *doc) {
    for (unsigned i = 0; i < doc->count; i++)
        secret_free(doc->nodes[i].text);
    free(doc->nodes);
    *doc = (struct yaml_doc){0};
}

/* -- JSON ---------------------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *text, const char *const *words) {
    while (*words && strcmp(text, *words))
        words++;
    return *words;
}

static size_t skip_digits(const char **text) {
    const size_t n = strspn(*text, "0123456789");
    *text += n;
    return n;
}

/* The base of an integer, 0 for a real, -1 for what is no number. The whole text is looked at. */
static int number_base(const char *text) {
    static const char hex[] = "0123456789abcdefABCDEF", octal[] = "01234567";
    int base = 10;
    if (str_starts(text, "0x"))
        return text[2] && !text[2 + strspn(text + 2, hex)] ? 16 : -1;
    if (str_starts(text, "0o"))
        return text[2] && !text[2 + strspn(text + 2, octal)] ? 8 : -1;
    text += *text == '-' || *text == '+';
    size_t digits = skip_digits(&text);
    if (*text == '.') {
        base = 0;
        text++;
        digits += skip_digits(&text);
    }
    if (digits && (*text == 'e' || *text == 'E')) {
        base = 0;
        text++;
        text += *text == '-' || *text == '+';
        digits = skip_digits(&text);
    }
    return digits && !*text ? base : -1;
}

/* What a plain scalar stands for. NULL with errno ERANGE for a number that JSON cannot hold, else without memory. */
static json_t *plain_json(const char *text) {
    const int base = number_base(text);
    if (is_one_of(text, WORDS("", "~", "null", "Null", "NULL")))
        return json_null();
    if (is_one_of(text, WORDS("true", "True", "TRUE")))
        return json_true();
    if (is_one_of(text, WORDS("false", "False", "FALSE")))
        return json_false();
    errno = 0;
    if (is_one_of(text + (*text == '-' || *text == '+'), WORDS(".inf", ".Inf", ".INF")) ||
        is_one_of(text, WORDS(".nan", ".NaN", ".NAN")))
        errno = ERANGE;
    const long long whole = base > 0 ? strtoll(base == 10 ? text : text + 2, NULL, base) : 0;
    const double real = base == 0 ? strtod(text, NULL) : 0;
    if (errno == ERANGE)
        return NULL;
    return base > 0 ? json_integer(whole) : base == 0 ? json_real(real) : json_string(text);
}

static int node_json(const struct yaml_node *node, json_t **out, struct yaml_place *where, struct err *err);

static int scalar_json(const struct yaml_node *node, json_t **out, struct yaml_place *where, struct err *err) {
    *out = node->is_plain ? plain_json(node->text) : json_string(node->text);
    if (*out)
        return 0;
    if (node->is_plain && errno == ERANGE)
        return yaml_refuse(node->place, ERR_UNPROCESSABLE, "a number that JSON cannot hold", "put it into quotes if it is a text",
                           where, err);
    return err_set(err, ERR_NOMEM, "out of memory while reading YAML");
}

static int check_key(const struct yaml_node *key, const json_t *map, struct yaml_place *where, struct err *err) {
    _cleanup_json_ json_t *name = NULL;
    char text[KEY_SHOWN_BYTES + 40] = "a key is given twice";
    int rc = node_json(key, &name, where, err);
    if (rc)
        return rc;
    if (!json_is_string(name))
        return yaml_refuse(key->place, ERR_UNPROCESSABLE, "a key must be a text", "put it into quotes", where, err);
    if (key->is_plain && !strcmp(key->text, "<<"))
        return yaml_refuse(key->place, ERR_UNPROCESSABLE, "merge keys (<<) are not allowed", "write the values themselves", where,
                           err);
    if (!json_object_get(map, key->text))
        return 0;
    if (strlen(key->text) <= KEY_SHOWN_BYTES && !str_has_control(key->text))
        (void)snprintf(text, sizeof(text), "key \"%s\" is given twice", key->text);
    return yaml_refuse(key->place, ERR_UNPROCESSABLE, text, "remove one", where, err);
}

static int inside_json(const struct yaml_node *node, json_t *out, struct yaml_place *where, struct err *err) {
    for (const struct yaml_node *in = node + 1; in < yaml_next(node); in = yaml_next(in)) {
        const struct yaml_node *key = node->kind == YAML_MAP ? in : NULL;
        json_t *value = NULL;
        int rc = key ? check_key(key, out, where, err) : 0;
        if (key)
            in = yaml_next(key);
        if (!rc)
            rc = node_json(in, &value, where, err);
        if (rc)
            return rc;
        if (key ? json_object_set_new(out, key->text, value) : json_array_append_new(out, value))
            return err_set(err, ERR_NOMEM, "out of memory while reading YAML");
    }
    return 0;
}

/* Recursive: depth was limited when the text was read. */
static int node_json(const struct yaml_node *node, json_t **out, struct yaml_place *where, struct err *err) {
    if (node->has_tag)
        return yaml_refuse(node->place, ERR_UNPROCESSABLE, "tags (!) are not allowed",
                           "write the value without it, in quotes if it is a text that starts with !", where, err);
    if (node->kind == YAML_SCALAR)
        return scalar_json(node, out, where, err);
    _cleanup_json_ json_t *all = node->kind == YAML_LIST ? json_array() : json_object();
    int rc = all ? inside_json(node, all, where, err) : err_set(err, ERR_NOMEM, "out of memory while reading YAML");
    if (!rc)
        *out = STEAL(all);
    return rc;
}

int yaml_json(const struct yaml_doc *doc, json_t **out, struct yaml_place *where, struct err *err) {
    *where = (struct yaml_place){0};
    if (doc->count)
        return node_json(doc->nodes, out, where, err);
    *out = json_null();
    return 0;
}

/* -- places -------------------------------------------------------------------------------------------------------- */

static const struct yaml_node *find_item(const struct yaml_node *list, unsigned long index) {
    if (list->kind == YAML_LIST)
        for (const struct yaml_node *in = list + 1; in < yaml_next(list); in = yaml_next(in))
            if (!index--)
                return in;
    return NULL;
}

static const struct yaml_node *find_value(const struct yaml_node *map, const char *name, size_t n) {
    if (map->kind == YAML_MAP)
        for (const struct yaml_node *key = map + 1; key < yaml_next(map); key = yaml_next(yaml_next(key)))
            if (key->text && strlen(key->text) == n && !memcmp(key->text, name, n))
                return yaml_next(key);
    return NULL;
}

const struct yaml_node *yaml_find(const struct yaml_doc *doc, const char *path) {
    const struct yaml_node *node = doc->count ? doc->nodes : NULL;
    while (node && *path) {
        if (*path == '[') {
            node = find_item(node, strtoul(path + 1, NULL, 10));
            path += strcspn(path, "]");
            path += *path == ']';
        } else {
            path += *path == '.';
            const size_t n = strcspn(path, ".[");
            node = find_value(node, path, n);
            path += n;
        }
    }
    return node;
}
