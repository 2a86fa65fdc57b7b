/* JSON: parsing with limits, checks of closed objects, typed getters. Only this folder talks to jansson's parser. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "json.h"

#include <string.h>

#include "limits.h"
#include "str.h"
#include "strbuf.h"

/* Nesting is measured before jansson, which recurses, sees the text. Texts that are no JSON may be measured wrongly, in either
 * direction; jansson then refuses them, with its own bound on recursion (2,048). */
static unsigned measure_depth(const char *text, size_t n) {
    unsigned depth = 0, deepest = 0;
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
            if (++depth > deepest)
                deepest = depth;
        } else if ((text[i] == '}' || text[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return deepest;
}

/* jansson's own texts quote the input, which may hold a password; these do not. */
static const char *describe_fault(enum json_error_code code) {
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

int json_parse(const char *text, size_t n, json_t **out, struct err *err) {
    json_error_t fault;
    if (measure_depth(text, n) > KAAS_JSON_DEPTH_MAX)
        return err_set(err, ERR_TOO_LARGE, "the JSON text is nested deeper than %d levels", KAAS_JSON_DEPTH_MAX);
    json_t *value = json_loadb(text, n, JSON_REJECT_DUPLICATES, &fault);
    if (value) {
        *out = value;
        return 0;
    }
    enum json_error_code code = json_error_code(&fault);
    if (code == json_error_out_of_memory)
        return err_set(err, ERR_NOMEM, "out of memory while reading JSON");
    if (code == json_error_stack_overflow)
        return err_set(err, ERR_TOO_LARGE, "the JSON text is nested too deeply");
    return err_set(err, ERR_JSON, "the text is not valid JSON: %s (line %d, column %d)", describe_fault(code),
                   fault.line > 0 ? fault.line : 1, fault.column > 0 ? fault.column : 1);
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
