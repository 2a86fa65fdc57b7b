/* Answers of kaasd for people. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "str.h"

#define CELL_BYTES_MAX 65536U
#define INDENT 2
#define NAME_BYTES 64
#define COLUMNS_MAX 16

const json_t *show_member(const json_t *object, const char *path) {
    char name[NAME_BYTES];
    while (object && path) {
        const char *dot = strchr(path, '.');
        (void)snprintf(name, sizeof(name), "%.*s", (int)(dot ? dot - path : (long)strlen(path)), path);
        object = json_object_get(object, name);
        path = dot ? dot + 1 : NULL;
    }
    return object;
}

/* -- cells ---------------------------------------------------------------------------------------------------------------- */

void show_text(struct table *t, const json_t *value) {
    if (json_is_integer(value))
        table_addf(t, "%lld", (long long)json_integer_value(value));
    else
        table_add(t, json_string_value(value));
}

void show_time(struct table *t, const json_t *value) {
    const char *text = json_string_value(value);
    if (text && strlen(text) >= 20 && text[10] == 'T')
        table_addf(t, "%.10s %.8s UTC", text, text + 11);
    else
        table_add(t, text);
}

void show_yes_no(struct table *t, const json_t *value) {
    table_add(t, json_is_boolean(value) ? json_is_true(value) ? "yes" : "no" : NULL);
}

void show_replicas(struct table *t, const json_t *value) {
    const json_t *ready = json_object_get(value, "ready");
    long long desired = (long long)json_get_int(value, "desired", 0);
    if (json_is_integer(ready))
        table_addf(t, "%lld/%lld", (long long)json_integer_value(ready), desired);
    else
        table_addf(t, "-/%lld", desired);
}

static void show_add_word(struct strbuf *text, const char *word) {
    strbuf_addf(text, "%s%s", text->len ? ", " : "", word ? word : "?");
}

/* Joins what `add` makes of each item into one cell. */
static void show_joined(struct table *t, const json_t *list, void (*add)(struct strbuf *text, const json_t *item)) {
    _cleanup_strbuf_ struct strbuf text;
    size_t i;
    const json_t *item;
    strbuf_init(&text, CELL_BYTES_MAX);
    json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
        add(&text, item);
    }
    table_add(t, text.len ? text.data : NULL);
}

static void show_add_string(struct strbuf *text, const json_t *item) {
    show_add_word(text, json_string_value(item));
}

static void show_add_name(struct strbuf *text, const json_t *item) {
    show_add_word(text, json_get_string(item, "name"));
}

static void show_add_place(struct strbuf *text, const json_t *item) {
    const char *name = json_get_string(item, "name"), *datacenter = json_get_string(item, "datacenter");
    _cleanup_free_ char *path =
        name ? str_format("%s/%s", datacenter ? datacenter : "?", name) : str_dup(json_get_string(item, "moref"));
    show_add_word(text, path);
}

void show_words(struct table *t, const json_t *value) {
    show_joined(t, value, show_add_string);
}

void show_names(struct table *t, const json_t *value) {
    show_joined(t, value, show_add_name);
}

void show_places(struct table *t, const json_t *value) {
    _cleanup_json_ json_t *one = NULL;
    if (json_is_object(value))
        value = one = json_pack("[O]", value);
    show_joined(t, value, show_add_place);
}

void show_labels(struct table *t, const json_t *value) {
    _cleanup_strbuf_ struct strbuf text;
    const char *key;
    json_t *label;
    strbuf_init(&text, CELL_BYTES_MAX);
    json_object_foreach ((json_t *)(uintptr_t)value, key, label) {
        strbuf_addf(&text, "%s%s=%s", text.len ? ", " : "", key, json_string_value(label));
    }
    table_add(t, text.len ? text.data : NULL);
}

void show_given(struct table *t, const json_t *value) {
    table_add(t, json_is_string(value) ? "given" : NULL);
}

void show_service_certificates(struct table *t, const json_t *value) {
    _cleanup_strbuf_ struct strbuf text;
    const json_t *item;
    size_t i;
    strbuf_init(&text, 4096);
    json_array_foreach ((json_t *)(uintptr_t)value, i, item) {
        const char *end = json_get_string(item, "not_after");
        strbuf_addf(&text, "%s%s (", i ? ", " : "", json_get_string(item, "sha256"));
        if (end && strlen(end) >= 20)
            strbuf_addf(&text, "until %.10s %.8s UTC)", end, end + 11);
        else
            strbuf_adds(&text, "end not known yet)");
    }
    table_add(t, text.len ? text.data : "-");
}

void show_certificate_count(struct table *t, const json_t *value) {
    static const char begin[] = "-----BEGIN CERTIFICATE-----";
    const char *at = json_string_value(value);
    unsigned count = 0;
    for (; at && (at = strstr(at, begin)) != NULL; at += strlen(begin))
        count++;
    if (count)
        table_addf(t, "%u certificate%s", count, count == 1 ? "" : "s");
    else
        table_add(t, NULL);
}

/* -- whole answers -------------------------------------------------------------------------------------------------------- */

static int show_table(struct cli *cli, const json_t *items, const struct cli_column *columns, struct err *err) {
    const char *titles[COLUMNS_MAX] = {NULL};
    _cleanup_table_ struct table t;
    const json_t *item;
    size_t i;
    for (i = 0; columns[i].title && i < COLUMNS_MAX - 1; i++)
        titles[i] = columns[i].title;
    table_init(&t, titles);
    json_array_foreach ((json_t *)(uintptr_t)items, i, item) {
        for (const struct cli_column *c = columns; c->title; c++)
            (c->add ? c->add : show_text)(&t, show_member(item, c->member));
    }
    return table_write(&t, &cli->out, err);
}

int show_list(struct cli *cli, const json_t *items, const struct cli_column *columns, struct err *err) {
    return cli->is_json ? show_json(cli, items, err) : show_table(cli, items, columns, err);
}

static int show_pairs(struct cli *cli, const json_t *object, const struct cli_column *columns, struct err *err) {
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 0);
    for (const struct cli_column *c = columns; c->title; c++) {
        table_add(&t, c->title);
        (c->add ? c->add : show_text)(&t, show_member(object, c->member));
    }
    return table_write(&t, &cli->out, err);
}

int show_object(struct cli *cli, const json_t *object, const struct cli_column *columns, struct err *err) {
    return cli->is_json ? show_json(cli, object, err) : show_pairs(cli, object, columns, err);
}

void show_line(struct cli *cli, const char *fmt, ...) {
    _cleanup_free_ char *text = NULL;
    va_list args;
    if (cli->is_json)
        return;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    text_add_clean(&cli->out, text ? text : "");
    strbuf_addc(&cli->out, '\n');
}

/* -- JSON ----------------------------------------------------------------------------------------------------------------- */

/* JSON leaves DEL, C1 and the marks of writing direction as they are, but a terminal acts on them. They stand in strings only, where
 * the escape means the same (RFC 8259 section 7). */
static void show_add_harmless(struct strbuf *out, const char *text, size_t len) {
    while (len) {
        uint32_t c = 0;
        size_t n = str_utf8_next(text, len, &c);
        if (!n)
            n = 1;
        if (c >= 0x7f && c < 0x10000 && text_is_harmful(c))
            strbuf_addf(out, "\\u%04x", (unsigned)c);
        else
            strbuf_add(out, text, n);
        text += n;
        len -= n;
    }
}

int show_json(struct cli *cli, const json_t *value, struct err *err) {
    char *text = json_dumps(value, JSON_INDENT(INDENT) | JSON_ENCODE_ANY);
    if (!text)
        return err_set(err, ERR_NOMEM, "out of memory");
    show_add_harmless(&cli->out, text, strlen(text));
    strbuf_addc(&cli->out, '\n');
    free(text);
    return strbuf_check(&cli->out, "output", err);
}

/* -- what step-by-step examinations found, laid out for people ----------------------------------------------------- */

#define TITLE_WIDTH 22

/* -- one finding ------------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *status, *shown;
} findings_marks[] = {{"ok", "ok"}, {"warning", "WARNING"}, {"failed", "FAILED"}, {"skipped", "-"}};

static const char *findings_mark_of(const char *status) {
    for (size_t i = 0; i < ARRAY_COUNT(findings_marks); i++)
        if (str_eq(findings_marks[i].status, status))
            return findings_marks[i].shown;
    return status ? status : "?";
}

/* The remedy stands below, since both may be long. */
static void findings_write_finding(struct cli *cli, const json_t *finding) {
    const char *remedy = json_get_string(finding, "remedy");
    _cleanup_strbuf_ struct strbuf title, text;
    strbuf_init(&title, 4096);
    strbuf_init(&text, 65536);
    text_add_clean(&title, json_get_string(finding, "title"));
    text_add_clean(&text, json_get_string(finding, "finding"));
    strbuf_addf(&cli->out, "%-8s %-*s %s\n", findings_mark_of(json_get_string(finding, "status")), TITLE_WIDTH, title.data,
                text.data);
    if (!remedy)
        return;
    strbuf_reset(&text);
    text_add_clean(&text, remedy);
    strbuf_addf(&cli->out, "%*s -> %s\n", 8 + TITLE_WIDTH, "", text.data);
}

size_t findings_count(const json_t *findings, const char *status) {
    const json_t *finding;
    size_t i, n = 0;
    json_array_foreach ((json_t *)(uintptr_t)findings, i, finding)
        n += str_eq(json_get_string(finding, "status"), status);
    return n;
}

/* What failed first is most often why the rest did. */
static const char *findings_first_failure(const json_t *findings) {
    const json_t *finding;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)findings, i, finding)
        if (str_eq(json_get_string(finding, "status"), "failed"))
            return json_get_string(finding, "title");
    return NULL;
}

int findings_write(struct cli *cli, const json_t *findings, struct err *err) {
    size_t failed = findings_count(findings, "failed"), warnings = findings_count(findings, "warning");
    const char *server = NULL, *next;
    const json_t *finding;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)findings, i, finding) {
        next = json_get_string(finding, "server");
        if (next && !str_eq(next, server)) {
            if (i)
                strbuf_addc(&cli->out, '\n'); /* a line break in the text of a line would be shown as \n */
            show_line(cli, "%s", next);
        }
        server = next;
        findings_write_finding(cli, finding);
    }
    strbuf_addc(&cli->out, '\n');
    if (failed)
        show_line(cli,
                  failed == 1 ? "%zu failed, %zu warning%s: mend \"%s\"."
                              : "%zu failed, %zu warning%s. Begin with \"%s\": what follows may come from it.",
                  failed, warnings, warnings == 1 ? "" : "s", findings_first_failure(findings));
    else if (warnings)
        show_line(cli, "nothing failed, %zu warning%s.", warnings, warnings == 1 ? "" : "s");
    else
        show_line(cli, "nothing is wrong.");
    return strbuf_check(&cli->out, "report", err);
}

void findings_judge(struct cli *cli, const json_t *findings) {
    if (findings_count(findings, "failed"))
        cli->status = CLI_FAILED;
}
