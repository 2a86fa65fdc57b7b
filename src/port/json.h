/* JSON: bounded parsing and typed getters over jansson. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * json_t is deliberately visible to all layers; jansson.h is included only here. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "strbuf.h"

CLEANUP_DEFINE(json_t, json_decref);
#define _cleanup_json_ _cleanup_(json_decref)

/* Parses a whole text: valid UTF-8, no duplicate keys, nothing behind the value, nesting at most KAAS_JSON_DEPTH_MAX, about
 * KAAS_JSON_VALUES_MAX values at most, no NUL in strings. The outermost value must be an object or array. Caller json_decref's *out. ERR_JSON with line
 * and column, ERR_TOO_LARGE for depth and values, ERR_NOMEM. */
int json_parse(const char *text, size_t n, json_t **out, struct err *err);
/* As json_parse, for texts that others put into a body which must be readable all the same: NUL is allowed in strings, which are to be read by
 * json_string_length; in names of members it is not. */
int json_parse_nul(const char *text, size_t n, json_t **out, struct err *err);

/* One expected member of a closed object, for json_check. */
enum json_kind { JSON_KIND_STRING, JSON_KIND_INTEGER, JSON_KIND_BOOLEAN, JSON_KIND_OBJECT, JSON_KIND_ARRAY, JSON_KIND_ANY };
struct json_member {
    const char *name;
    enum json_kind kind;
    bool is_required;
    bool may_be_null; /* JSON null is accepted (JSON merge patch: remove) */
};

/* Rows of a member list (required; optional; optional and may be null), and the list itself:
 * JSON_MEMBERS(JSON_NEEDS(STRING, "name"), JSON_TAKES(BOOLEAN, "disabled")). */
#define JSON_NEEDS(kind_, name_) \
    { name_, JSON_KIND_##kind_, true, false }
#define JSON_TAKES(kind_, name_) \
    { name_, JSON_KIND_##kind_, false, false }
#define JSON_TAKES_NULL(kind_, name_) \
    { name_, JSON_KIND_##kind_, false, true }
#define JSON_MEMBERS(...) ((const struct json_member[]){__VA_ARGS__, {NULL, JSON_KIND_ANY, false, false}})

/* Checks that `object` is an object with only the listed members, of the listed kinds, and all required ones. `members` ends
 * with a NULL name. ERR_UNPROCESSABLE naming the member, with "did you mean" where near; `where` is put before the name ("nodes[2]"). A
 * member of integer kind that was written as 3.0 is an integer afterwards. */
int json_check(json_t *object, const struct json_member *members, const char *where, struct err *err);

/* The string member, or NULL if missing, null or no string. Borrowed. */
const char *json_get_string(const json_t *object, const char *name);
/* The integer member, or `fallback`. */
int64_t json_get_int(const json_t *object, const char *name, int64_t fallback);
/* The boolean member, or `fallback`. */
bool json_get_bool(const json_t *object, const char *name, bool fallback);

/* Sets a string member; a NULL value sets nothing. Running out of memory is reported by the last json_write. */
void json_put_string(json_t *object, const char *name, const char *value);
/* Sets any member, or appends to an array; takes `value` over. A NULL value counts as running out of memory. */
void json_put(json_t *object, const char *name, json_t *value);
void json_add(json_t *array, json_t *value);
void json_put_int(json_t *object, const char *name, int64_t value);
void json_put_bool(json_t *object, const char *name, bool value);
/* RFC 3339 UTC text of a wall-clock time in ms; 0 sets nothing. */
void json_put_time(json_t *object, const char *name, int64_t wall_ms);

/* Appends compact text of `value`. ERR_NOMEM, or ERR_TOO_LARGE by the buffer's cap. */
int json_write(const json_t *value, struct strbuf *out, struct err *err);

/* Overwrites the text of a string value (a password that was read from a request) before it is released. NULL is allowed. */
void json_wipe_string(json_t *value);
