/* Command line options, read by tables. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

#define NAME_BYTES 64 /* of an option, in messages */

/* Where reading stands. */
struct opt_reader {
    const struct opt_tables *tables;
    const char *const *argv;
    size_t at;
    struct opt_given *given;
};

int opt_init(struct opt_given *given, size_t argc, struct err *err) {
    memset(given, 0, sizeof(*given));
    given->values = calloc(argc + 1, sizeof(*given->values));
    given->words = calloc(argc + 1, sizeof(*given->words));
    if (given->values && given->words)
        return 0;
    opt_done(given);
    return err_set(err, ERR_NOMEM, "out of memory");
}

void opt_done(struct opt_given *given) {
    free(given->values);
    free(given->words);
    memset(given, 0, sizeof(*given));
}

/* -- did you mean -------------------------------------------------------------------------------------------------------------- */

void cli_near_init(struct cli_near *near, const char *typed) {
    size_t n = strlen(typed);
    near->typed = typed;
    near->best = NULL;
    /* a third of the letters may be wrong; in a very short word one */
    near->distance = n < 6 ? 2 : (unsigned)(n < 64 ? n : 64) / 3 + 1;
    if (n < 3)
        near->distance = 1;
}

/* Two neighbours have changed places, which is one slip. */
static bool near_is_swapped(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a && a[1] && a[0] == b[1] && a[1] == b[0] && str_eq(a + 2, b + 2);
}

void cli_near_try(struct cli_near *near, const char *word) {
    unsigned distance;
    bool is_begun;
    if (!word)
        return;
    is_begun = strlen(near->typed) >= 2 && str_starts(word, near->typed);
    distance = is_begun ? 0 : near_is_swapped(near->typed, word) ? 1 : str_distance(near->typed, word);
    if (near->best ? distance >= near->distance : distance > near->distance)
        return;
    near->best = word;
    near->distance = distance;
}

/* -- reading ------------------------------------------------------------------------------------------------------------------- */

static const struct opt_spec *opt_find_in(const struct opt_spec *list, const char *name, char letter) {
    for (; list && list->name; list++)
        if (letter ? list->letter == letter : str_eq(list->name, name) || str_eq(list->also, name))
            return list;
    return NULL;
}

static const struct opt_spec *opt_find(const struct opt_tables *tables, const char *name, char letter, bool *is_common) {
    const struct opt_spec *own = opt_find_in(tables->own, name, letter);
    *is_common = !own;
    return own ? own : opt_find_in(tables->common, name, letter);
}

/* People try it; the value is in the list of processes already, but need not go to logs of the terminal as well. */
static bool opt_is_password(const char *name) {
    return str_eq(name, "password") || str_eq(name, "passwd") || str_eq(name, "pass");
}

static int opt_refuse_unknown(const struct opt_tables *tables, const char *name, struct err *err) {
    struct cli_near near;
    if (opt_is_password(name)) {
        (void)err_set(err, ERR_INVALID, "a password is not taken as an argument, where everybody on this machine could read it");
        return err_remedy(err, "use --password-file FILE, --password-file - for standard input, or neither to be asked");
    }
    cli_near_init(&near, name);
    for (const struct opt_spec *o = tables->own; o && o->name; o++)
        cli_near_try(&near, o->name);
    for (const struct opt_spec *o = tables->common; o && o->name; o++)
        cli_near_try(&near, o->name);
    (void)err_set(err, ERR_INVALID, "unknown option --%s", name);
    return near.best ? err_remedy(err, "did you mean --%s?", near.best) : err_remedy(err, "--help lists the options");
}

static int opt_add(struct opt_reader *r, const struct opt_spec *spec, bool is_common, const char *value, struct err *err) {
    struct opt_given *given = r->given;
    for (size_t i = 0; !spec->is_repeatable && i < given->values_count; i++)
        if (given->values[i].spec == spec)
            return err_set(err, ERR_INVALID, "the option --%s is given twice", spec->name);
    given->values[given->values_count++] = (struct opt_value){.spec = spec, .value = value, .is_common = is_common};
    return 0;
}

/* "[NAME]": the value may be left out, so that it must stand in the same argument. */
static bool opt_is_optional(const struct opt_spec *spec) {
    return spec->value && spec->value[0] == '[' && str_ends(spec->value, "]");
}

/* The option is known; `value` is what stood in the same argument, or NULL. */
static int opt_take(struct opt_reader *r, const struct opt_spec *spec, bool is_common, const char *value, struct err *err) {
    if (!spec->value && value)
        return err_set(err, ERR_INVALID, "the option --%s takes no value", spec->name);
    if (opt_is_optional(spec))
        return opt_add(r, spec, is_common, value, err);
    if (spec->value && !value)
        value = r->argv[r->at] ? r->argv[r->at++] : NULL;
    if (spec->value && !value)
        return err_set(err, ERR_INVALID, "the option --%s needs a value: --%s %s", spec->name, spec->name, spec->value);
    return opt_add(r, spec, is_common, value, err);
}

static int opt_read_long(struct opt_reader *r, const char *text, struct err *err) {
    char name[NAME_BYTES];
    size_t n = strcspn(text, "=");
    bool is_common = false;
    const struct opt_spec *spec;
    (void)snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name) - 1), text);
    spec = opt_find(r->tables, name, 0, &is_common);
    return spec ? opt_take(r, spec, is_common, text[n] ? text + n + 1 : NULL, err) : opt_refuse_unknown(r->tables, name, err);
}

static int opt_read_short(struct opt_reader *r, const char *text, struct err *err) {
    bool is_common = false;
    const struct opt_spec *spec = opt_find(r->tables, NULL, text[0], &is_common);
    const char *rest = text[1] == '=' ? text + 2 : text + 1;
    if (!spec)
        return err_set(err, ERR_INVALID, "unknown option -%c", text[0]);
    return opt_take(r, spec, is_common, text[1] ? rest : NULL, err);
}

int opt_read(const struct opt_tables *tables, const char *const *argv, bool stop_at_word, size_t *used, struct opt_given *given,
             struct err *err) {
    struct opt_reader r = {.tables = tables, .argv = argv, .given = given};
    bool has_ended = false; /* by "--" */
    int rc = 0;
    while (!rc && argv[r.at]) {
        const char *text = argv[r.at];
        bool is_option = !has_ended && text[0] == '-' && text[1];
        if (!is_option && stop_at_word)
            break;
        r.at++;
        if (!is_option)
            given->words[given->words_count++] = text;
        else if (text[1] != '-')
            rc = opt_read_short(&r, text + 1, err);
        else if (text[2])
            rc = opt_read_long(&r, text + 2, err);
        else
            has_ended = true;
    }
    if (!rc)
        *used = r.at;
    return rc;
}

static const char *opt_get_from(const struct opt_given *given, const char *name, bool is_common) {
    for (size_t i = given->values_count; i > 0; i--) {
        const struct opt_value *v = &given->values[i - 1];
        if (v->is_common == is_common && str_eq(v->spec->name, name))
            return v->value ? v->value : "";
    }
    return NULL;
}

const char *opt_get(const struct opt_given *given, const char *name) {
    return opt_get_from(given, name, false);
}

const char *opt_get_common(const struct opt_given *given, const char *name) {
    return opt_get_from(given, name, true);
}

const char *opt_next(const struct opt_given *given, const char *name, size_t *at) {
    while (*at < given->values_count) {
        const struct opt_value *v = &given->values[(*at)++];
        if (!v->is_common && str_eq(v->spec->name, name))
            return v->value ? v->value : "";
    }
    return NULL;
}
