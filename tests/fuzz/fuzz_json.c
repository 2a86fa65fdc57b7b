/* Fuzz target: json_parse, json_check, json_write. Whatever is accepted must survive being written and read again.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "json.h"
#include "limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static unsigned depth_of(const json_t *value) {
    unsigned deepest = 0;
    const char *name;
    json_t *member;
    size_t i;
    if (json_is_object(value)) {
        json_object_foreach ((json_t *)(uintptr_t)value, name, member) {
            unsigned depth = depth_of(member);
            deepest = depth > deepest ? depth : deepest;
        }
    } else if (json_is_array(value)) {
        json_array_foreach (value, i, member) {
            unsigned depth = depth_of(member);
            deepest = depth > deepest ? depth : deepest;
        }
    } else {
        return 0;
    }
    return deepest + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const struct json_member members[] = {
        {.name = "name", .kind = JSON_KIND_STRING, .is_required = true},
        {.name = "count", .kind = JSON_KIND_INTEGER},
        {.name = "list", .kind = JSON_KIND_ARRAY, .may_be_null = true},
        {.name = "flag", .kind = JSON_KIND_BOOLEAN},
        {.name = "where", .kind = JSON_KIND_OBJECT},
        {.name = "any", .kind = JSON_KIND_ANY},
        {.name = NULL},
    };
    _cleanup_json_ json_t *value = NULL, *again = NULL;
    _cleanup_strbuf_ struct strbuf text;
    struct err err = {0};
    strbuf_init(&text, 16 * n + 1024);
    if (json_parse((const char *)data, n, &value, &err)) {
        if (!err.code || !err.text[0] || value)
            abort();
        return 0;
    }
    if (depth_of(value) > KAAS_JSON_DEPTH_MAX)
        abort();
    (void)json_check(value, members, "where", &err);
    (void)json_get_bool(value, "flag", false);
    if (json_write(value, &text, NULL) || json_parse(text.data, text.len, &again, NULL) || !json_equal(value, again))
        abort();
    json_wipe_string(json_object_get(again, "name"));
    return 0;
}
