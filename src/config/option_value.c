/* Values of options: text to member and back. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "option_table.h"
#include "str.h"

#define ITEM_BYTES_MAX 1024

struct unit {
    const char *name;
    int64_t factor;
};

/* Ascending, so that writing can take the largest that fits. */
static const struct unit durations[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {NULL, 0}};
static const struct unit sizes[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024 * 1024 * 1024}, {NULL, 0}};

static const struct unit *units_of(const struct option *o) {
    return o->kind == OPTION_DURATION ? durations : sizes;
}

static void *option_value_member(const struct option *o, void *target) {
    return (char *)target + o->offset;
}

/* "must be a duration from 1m to 1h" */
static int option_value_refuse(const struct option *o, struct err *err) {
    _cleanup_strbuf_ struct strbuf what;
    strbuf_init(&what, 300);
    option_describe(o, &what);
    return err_set(err, ERR_CONFIG, "must be %s", what.data);
}

/* 1 and the number, 0 if it is none, -1 if there is no or no known unit. */
static int parse_with_unit(const struct unit *units, const char *text, int64_t *out) {
    char digits[20];
    size_t n = strspn(text, "0123456789");
    int64_t number;
    if (n == 0 || n >= sizeof(digits))
        return 0;
    memcpy(digits, text, n);
    digits[n] = '\0';
    if (!str_to_i64(digits, 0, INT64_MAX, &number))
        return 0;
    for (; units->name; units++)
        if (!strcmp(units->name, text + n))
            return __builtin_mul_overflow(number, units->factor, out) ? 0 : 1;
    return -1;
}

static int parse_measure(const struct option *o, const char *text, int64_t *out, struct err *err) {
    int64_t number;
    int found = parse_with_unit(units_of(o), text, &number);
    if (found == 1 && number >= o->min && number <= o->max) {
        *out = number;
        return 0;
    }
    int rc = option_value_refuse(o, err);
    if (found < 0 && o->kind == OPTION_DURATION)
        (void)err_remedy(err, "write a number with one of the units ms, s, m, h, d, as in %s", o->fallback);
    else if (found < 0)
        (void)err_remedy(err, "write a number with one of the units B, KiB, MiB, GiB, as in %s", o->fallback);
    return rc;
}

static int option_value_parse_text(const struct option *o, const char *text, char **out, struct err *err) {
    size_t n = strlen(text);
    bool is_path = o->kind == OPTION_PATH;
    if (str_has_control(text))
        return err_set(err, ERR_CONFIG, "must not hold a line end or another control character");
    if ((int64_t)n < o->min || (int64_t)n > o->max || (is_path && n && text[0] != '/'))
        return option_value_refuse(o, err);
    int rc = n && o->check ? o->check(text, err) : 0;
    if (rc)
        return rc;
    char *copy = str_dup(text);
    if (!copy)
        return err_set(err, ERR_NOMEM, "out of memory");
    free(*out);
    *out = copy;
    return 0;
}

static int parse_word(const struct option *o, const char *text, int *out, struct err *err) {
    size_t n = strlen(text);
    int index = 0;
    for (const char *word = o->words; word; index++) {
        size_t len = strcspn(word, "|");
        if (len == n && !memcmp(word, text, n)) {
            *out = index;
            return 0;
        }
        word = word[len] ? word + len + 1 : NULL;
    }
    return option_value_refuse(o, err);
}

static int parse_bool(const struct option *o, const char *text, bool *out, struct err *err) {
    if (strcmp(text, "true") && strcmp(text, "false"))
        return option_value_refuse(o, err);
    *out = !strcmp(text, "true");
    return 0;
}

int option_parse(const struct option *o, const char *text, bool is_quoted, void *target, struct err *err) {
    if (is_quoted && (o->kind == OPTION_BOOL || o->kind == OPTION_INTEGER)) {
        (void)option_value_refuse(o, err);
        (void)err_remedy(err, "write it without quotes");
        return ERR_CONFIG;
    }
    switch (o->kind) {
    case OPTION_STRING:
    case OPTION_PATH: return option_value_parse_text(o, text, option_value_member(o, target), err);
    case OPTION_BOOL: return parse_bool(o, text, option_value_member(o, target), err);
    case OPTION_INTEGER:
        return str_to_i64(text, o->min, o->max, option_value_member(o, target)) ? 0 : option_value_refuse(o, err);
    case OPTION_DURATION:
    case OPTION_SIZE: return parse_measure(o, text, option_value_member(o, target), err);
    case OPTION_ENUM: return parse_word(o, text, option_value_member(o, target), err);
    case OPTION_LIST: break;
    }
    return option_value_refuse(o, err);
}

int option_add_item(const struct option *o, const char *text, void *target, struct err *err) {
    struct config_list *list = option_value_member(o, target);
    if ((int64_t)list->count >= o->max)
        return option_value_refuse(o, err);
    if (!*text || strlen(text) > ITEM_BYTES_MAX || str_has_control(text))
        return err_set(err, ERR_CONFIG, "has an item that is empty, longer than %d bytes, or holds a control character",
                       ITEM_BYTES_MAX);
    int rc = o->check ? o->check(text, err) : 0;
    if (rc)
        return rc;
    char **longer = reallocarray(list->items, list->count + 2, sizeof(*longer));
    if (longer)
        list->items = longer;
    char *copy = longer ? str_dup(text) : NULL;
    if (!copy)
        return err_set(err, ERR_NOMEM, "out of memory");
    list->items[list->count++] = copy;
    list->items[list->count] = NULL;
    return 0;
}

void option_done(const struct option *o, void *target) {
    if (o->kind == OPTION_STRING || o->kind == OPTION_PATH) {
        char **text = option_value_member(o, target);
        free(*text);
        *text = NULL;
    } else if (o->kind == OPTION_LIST) {
        struct config_list *list = option_value_member(o, target);
        for (size_t i = 0; i < list->count; i++)
            free(list->items[i]);
        free(list->items);
        *list = (struct config_list){0};
    }
}

static void write_quoted(const char *text, struct strbuf *out) {
    strbuf_addc(out, '"');
    for (; text && *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *text);
    }
    strbuf_addc(out, '"');
}

static void write_measure(const struct option *o, int64_t number, struct strbuf *out) {
    const struct unit *best = units_of(o);
    for (const struct unit *unit = best; number && unit->name; unit++)
        if (number % unit->factor == 0)
            best = unit;
    strbuf_addf(out, "%lld%s", (long long)(number / best->factor), best->name);
}

static void option_value_write_list(const struct config_list *list, struct strbuf *out) {
    strbuf_addc(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        strbuf_adds(out, i ? ", " : "");
        write_quoted(list->items[i], out);
    }
    strbuf_addc(out, ']');
}

static void write_word(const char *words, int index, struct strbuf *out) {
    while (index-- > 0)
        words += strcspn(words, "|") + 1;
    strbuf_add(out, words, strcspn(words, "|"));
}

void option_write(const struct option *o, const void *target, struct strbuf *out) {
    const void *place = (const char *)target + o->offset;
    switch (o->kind) {
    case OPTION_STRING:
    case OPTION_PATH: write_quoted(*(char *const *)place, out); return;
    case OPTION_BOOL: strbuf_adds(out, *(const bool *)place ? "true" : "false"); return;
    case OPTION_INTEGER: strbuf_addf(out, "%lld", (long long)*(const int64_t *)place); return;
    case OPTION_DURATION:
    case OPTION_SIZE: write_measure(o, *(const int64_t *)place, out); return;
    case OPTION_ENUM: write_word(o->words, *(const int *)place, out); return;
    case OPTION_LIST: option_value_write_list(place, out); return;
    }
}

bool option_eq(const struct option *o, const void *a, const void *b) {
    _cleanup_strbuf_ struct strbuf left, right;
    strbuf_init(&left, CONFIG_FILE_BYTES_MAX);
    strbuf_init(&right, CONFIG_FILE_BYTES_MAX);
    option_write(o, a, &left);
    option_write(o, b, &right);
    return !left.failed && !right.failed && str_eq(left.data, right.data);
}

static void describe_words(const char *words, struct strbuf *out) {
    for (bool is_first = true; words; is_first = false) {
        size_t n = strcspn(words, "|");
        bool is_last = !words[n];
        strbuf_adds(out, is_first ? "" : is_last ? " or " : ", ");
        strbuf_addf(out, "\"%.*s\"", (int)n, words);
        words = is_last ? NULL : words + n + 1;
    }
}

static void describe_measure(const struct option *o, const char *what, struct strbuf *out) {
    strbuf_addf(out, "a %s from ", what);
    write_measure(o, o->min, out);
    strbuf_adds(out, " to ");
    write_measure(o, o->max, out);
}

void option_describe(const struct option *o, struct strbuf *out) {
    switch (o->kind) {
    case OPTION_STRING: strbuf_addf(out, "a text of %lld to %lld bytes", (long long)o->min, (long long)o->max); return;
    case OPTION_PATH:
        strbuf_addf(out, "an absolute path of up to %lld bytes%s", (long long)o->max, o->min ? "" : ", or empty");
        return;
    case OPTION_BOOL: strbuf_adds(out, "true or false"); return;
    case OPTION_INTEGER: strbuf_addf(out, "a whole number from %lld to %lld", (long long)o->min, (long long)o->max); return;
    case OPTION_DURATION: describe_measure(o, "duration", out); return;
    case OPTION_SIZE: describe_measure(o, "size", out); return;
    case OPTION_ENUM: describe_words(o->words, out); return;
    case OPTION_LIST: strbuf_addf(out, "a list of up to %lld texts", (long long)o->max); return;
    }
}
