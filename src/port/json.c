/* JSON: parsing with limits, checks of closed objects, typed getters. Only this folder talks to jansson's parser. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "str.h"
#include "strbuf.h"

struct json_size {
    unsigned depth;
    size_t values; /* about: commas and openings */
};

/* Nesting is measured before jansson, which recurses, sees the text; and values, each of which may take a hundred times the memory of its text ("{},"). Texts
 * that are no JSON may be measured wrongly, in either direction; jansson then refuses them, with its own bound on recursion (2,048). */
static struct json_size json_measure(const char *text, size_t n) {
    struct json_size size = {0};
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        if (in_string) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                in_string = false;
        } else if (text[i] == '"') {
            in_string = true;
        } else if (text[i] == '{' || text[i] == '[') {
            size.values++;
            if (++depth > size.depth)
                size.depth = depth;
        } else if (text[i] == ',') {
            size.values++;
        } else if ((text[i] == '}' || text[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return size;
}

/* jansson's own texts quote the input, which may hold a password; these do not. */
static const char *json_describe_fault(enum json_error_code code) {
    switch ((int)code) {
    case json_error_premature_end_of_input: return "the text ends too early";
    case json_error_end_of_input_expected: return "there is text behind the value";
    case json_error_invalid_utf8: return "the text is not valid UTF-8";
    case json_error_duplicate_key: return "a member is given twice";
    case json_error_null_character:
    case json_error_null_byte_in_key: return "a NUL character is not allowed";
    case json_error_numeric_overflow: return "a number is too large";
    default: return "the syntax is wrong";
    }
}

static int json_parse_by(const char *text, size_t n, size_t flags, json_t **out, struct err *err) {
    const struct json_size size = json_measure(text, n);
    json_error_t fault;
    if (size.depth > KAAS_JSON_DEPTH_MAX)
        return err_set(err, ERR_TOO_LARGE, "the JSON text is nested deeper than %d levels", KAAS_JSON_DEPTH_MAX);
    if (size.values > KAAS_JSON_VALUES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the JSON text has more than %d values", KAAS_JSON_VALUES_MAX);
    json_t *value = json_loadb(text, n, flags, &fault);
    if (value) {
        *out = value;
        return 0;
    }
    enum json_error_code code = json_error_code(&fault);
    if (code == json_error_out_of_memory)
        return err_set(err, ERR_NOMEM, "out of memory while reading JSON");
    if (code == json_error_stack_overflow)
        return err_set(err, ERR_TOO_LARGE, "the JSON text is nested too deeply");
    return err_set(err, ERR_JSON, "the text is not valid JSON: %s (line %d, column %d)", json_describe_fault(code),
                   fault.line > 0 ? fault.line : 1, fault.column > 0 ? fault.column : 1);
}

int json_parse(const char *text, size_t n, json_t **out, struct err *err) {
    return json_parse_by(text, n, JSON_REJECT_DUPLICATES, out, err);
}

int json_parse_nul(const char *text, size_t n, json_t **out, struct err *err) {
    return json_parse_by(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, out, err);
}

const char *json_get_string(const json_t *object, const char *name) {
    return json_string_value(json_object_get(object, name));
}

int64_t json_get_int(const json_t *object, const char *name, int64_t fallback) {
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : fallback;
}

bool json_get_bool(const json_t *object, const char *name, bool fallback) {
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

void json_wipe_string(json_t *value) {
    if (json_is_string(value))
        /* the only way to the bytes; jansson allocated them writable */
        explicit_bzero((void *)(uintptr_t)json_string_value(value), json_string_length(value));
}

/* -- JSON: check of an object from outside against the list of its members ----------------------------------------- */

#define NAME_SHOWN_BYTES 64          /* of a member name that was not expected */
#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

static const char *json_kind_text(enum json_kind kind) {
    switch (kind) {
    case JSON_KIND_STRING: return "a string";
    case JSON_KIND_INTEGER: return "an integer";
    case JSON_KIND_BOOLEAN: return "true or false";
    case JSON_KIND_OBJECT: return "an object";
    case JSON_KIND_ARRAY: return "an array";
    case JSON_KIND_ANY: break;
    }
    return "a value";
}

/* JSON Schema counts 3.0 as an integer (2020-12 validation, section 6.1.1), and so do we: such a number is made one, so that readers
 * need not know. Beyond 2^53 a double does not tell neighbours apart, so there it stays a fraction. */
static int make_whole(json_t *object, const char *name, struct err *err) {
    double number = json_real_value(json_object_get(object, name));
    if (number < -WHOLE_MAX || number > WHOLE_MAX || number != (double)(int64_t)number)
        return 0;
    if (json_object_set_new(object, name, json_integer((json_int_t)number)))
        return err_set(err, ERR_NOMEM, "out of memory while reading JSON");
    return 0;
}

static bool json_is_of_kind(const json_t *value, enum json_kind kind) {
    switch (kind) {
    case JSON_KIND_STRING: return json_is_string(value);
    case JSON_KIND_INTEGER: return json_is_integer(value);
    case JSON_KIND_BOOLEAN: return json_is_boolean(value);
    case JSON_KIND_OBJECT: return json_is_object(value);
    case JSON_KIND_ARRAY: return json_is_array(value);
    case JSON_KIND_ANY: break;
    }
    return !json_is_null(value);
}

static const struct json_member *find_member(const struct json_member *members, const char *name) {
    for (; members->name; members++)
        if (!strcmp(members->name, name))
            return members;
    return NULL;
}

/* The nearest expected name, or NULL if none is near enough to be a slip of the finger. */
static const char *nearest_name(const struct json_member *members, const char *name) {
    size_t len = strlen(name);
    unsigned best = len < 4 ? 1 : (unsigned)len / 3 + 1;
    const char *nearest = NULL;
    for (; members->name; members++) {
        unsigned distance = str_distance(members->name, name);
        if (distance <= best && (!nearest || distance < best)) {
            best = distance;
            nearest = members->name;
        }
    }
    return nearest;
}

/* Bytes of the name that may be shown: whole characters, no control characters. */
static int shown_bytes(const char *name) {
    size_t n = strnlen(name, NAME_SHOWN_BYTES);
    while (n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80)
        n--;
    return str_has_control(name) ? 0 : (int)n;
}

static int refuse_unknown(const struct json_member *members, const char *name, const char *prefix, const char *dot,
                          struct err *err) {
    const char *nearest = nearest_name(members, name);
    int n = shown_bytes(name);
    if (nearest)
        return err_set(err, ERR_UNPROCESSABLE, "unknown member \"%s%s%.*s\", did you mean \"%s\"?", prefix, dot, n, name,
                       nearest);
    return err_set(err, ERR_UNPROCESSABLE, "unknown member \"%s%s%.*s\"", prefix, dot, n, name);
}

static int check_present(const struct json_member *m, const json_t *value, const char *prefix, const char *dot, struct err *err) {
    if (!value)
        return m->is_required ? err_set(err, ERR_UNPROCESSABLE, "member \"%s%s%s\" is missing", prefix, dot, m->name) : 0;
    if (json_is_null(value) ? m->may_be_null : json_is_of_kind(value, m->kind))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "member \"%s%s%s\" must be %s%s", prefix, dot, m->name, json_kind_text(m->kind),
                   m->may_be_null ? " or null" : "");
}

int json_check(json_t *object, const struct json_member *members, const char *where, struct err *err) {
    const char *prefix = where ? where : "", *dot = *prefix ? "." : "", *name;
    json_t *value;
    if (!json_is_object(object))
        return err_set(err, ERR_UNPROCESSABLE, "%s must be an object", *prefix ? prefix : "the value");
    json_object_foreach (object, name, value) {
        if (!find_member(members, name))
            return refuse_unknown(members, name, prefix, dot, err);
    }
    for (const struct json_member *m = members; m->name; m++) {
        int rc = 0;
        if (m->kind == JSON_KIND_INTEGER && json_is_real(json_object_get(object, m->name)))
            rc = make_whole(object, m->name, err);
        if (!rc)
            rc = check_present(m, json_object_get(object, m->name), prefix, dot, err);
        if (rc)
            return rc;
    }
    return 0;
}
