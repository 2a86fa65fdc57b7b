/* JSON: check of an object from outside against the list of its members. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "json.h"
#include "str.h"

#define NAME_SHOWN_BYTES 64          /* of a member name that was not expected */
#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

static const char *kind_text(enum json_kind kind) {
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

static bool is_of_kind(const json_t *value, enum json_kind kind) {
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
    if (json_is_null(value) ? m->may_be_null : is_of_kind(value, m->kind))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "member \"%s%s%s\" must be %s%s", prefix, dot, m->name, kind_text(m->kind),
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
