/* Options as rows of a table: finding, guessing, defaults. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "option_table.h"

#include <string.h>

#include "cleanup.h"
#include "str.h"

static const struct option rows[] = {
#define OPTION(kind, member, key, fallback, min, max, words, flags, check, help) \
    {OPTION_##kind, offsetof(struct config, member), key, fallback, min, max, words, flags, check, help},
#include "options.def"
#undef OPTION
};

const struct option_table option_table_daemon = {rows, ARRAY_COUNT(rows)};

const struct option *option_find(const struct option_table *table, const char *key) {
    for (size_t i = 0; i < table->count; i++)
        if (!strcmp(table->rows[i].key, key))
            return &table->rows[i];
    return NULL;
}

bool option_is_section(const struct option_table *table, const char *path) {
    size_t n = strlen(path);
    for (size_t i = 0; i < table->count; i++)
        if (!strncmp(table->rows[i].key, path, n) && table->rows[i].key[n] == '.')
            return true;
    return false;
}

/* How far the typed word is from the part of the key that stands in its place. */
static unsigned distance_in_place(const char *key, size_t prefix_len, const char *name) {
    char part[64];
    const char *at = key + prefix_len;
    size_t n = strcspn(at, ".");
    if (n >= sizeof(part))
        return UINT32_MAX;
    memcpy(part, at, n);
    part[n] = '\0';
    return str_distance(part, name);
}

static const char *last_part(const char *key) {
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

const char *option_nearest(const struct option_table *table, const char *prefix, const char *name) {
    size_t prefix_len = *prefix ? strlen(prefix) + 1 : 0;
    size_t len = strlen(name);
    unsigned best = len < 4 ? 2 : (unsigned)len / 3 + 2;
    const char *nearest = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const char *key = table->rows[i].key;
        if (prefix_len && !(str_starts(key, prefix) && key[prefix_len - 1] == '.'))
            continue;
        unsigned distance = distance_in_place(key, prefix_len, name);
        if (distance < best) {
            best = distance;
            nearest = key;
        }
    }
    /* a right word in the wrong place, or one that says the whole beside more ("password" for "password_file") */
    for (size_t i = 0; i < table->count && !nearest; i++)
        if (str_eq(last_part(table->rows[i].key), name))
            nearest = table->rows[i].key;
    for (size_t i = 0; i < table->count && !nearest && len >= 4; i++)
        if (str_starts(table->rows[i].key, prefix) && str_starts(last_part(table->rows[i].key), name))
            nearest = table->rows[i].key;
    return nearest;
}

int option_defaults(const struct option_table *table, void *target, struct err *err) {
    int rc = 0;
    for (size_t i = 0; !rc && i < table->count; i++)
        if (table->rows[i].kind != OPTION_LIST) /* lists are empty by default */
            rc = option_parse(&table->rows[i], table->rows[i].fallback, false, target, err);
    if (rc)
        option_done_all(table, target);
    return rc;
}

void option_done_all(const struct option_table *table, void *target) {
    for (size_t i = 0; i < table->count; i++)
        option_done(&table->rows[i], target);
}
