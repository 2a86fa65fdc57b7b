/* Answers of kaasd for people. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli_yaml.h"
#include "clock.h"
#include "str.h"

#define CELL_BYTES_MAX 65536U
#define INDENT 2
#define NAME_BYTES 64

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

/* Strings and numbers. */
static void show_text(struct table *t, const json_t *value) {
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

void show_bytes(struct table *t, const json_t *value) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double left = json_number_value(value);
    size_t i = 0;
    for (; left >= 1024 && i + 1 < ARRAY_COUNT(units); i++)
        left /= 1024;
    if (!json_is_number(value))
        table_add(t, NULL);
    else if (left < 999.5)
        table_addf(t, "%.3g %s", left, units[i]);
    else
        table_addf(t, "%.0f %s", left, units[i]);
}

void show_replicas(struct table *t, const json_t *value) {
    const json_t *ready = json_object_get(value, "ready");
    long long desired = (long long)json_get_int(value, "desired", 0);
    if (json_is_integer(ready))
        table_addf(t, "%lld/%lld", (long long)json_integer_value(ready), desired);
    else
        table_addf(t, "-/%lld", desired);
}

/* A record that was added without a state has an unknown one, which nobody entered. */
static bool is_by_hand(const json_t *cluster) {
    return str_eq(json_get_string(cluster, "state_source"), "declared") && !str_eq(json_get_string(cluster, "state"), "unknown");
}

void show_state(struct table *t, const json_t *value) {
    table_addf(t, "%s%s", json_get_string(value, "state"), is_by_hand(value) ? " (by hand)" : "");
}

/* "3 h": long enough ago that seconds do not matter. */
static void put_age(int64_t age_ms, struct strbuf *out) {
    static const struct {
        long long minutes;
        const char *unit;
    } units[] = {{24LL * 60, "d"}, {60, "h"}, {1, "min"}};
    const long long minutes = age_ms < 60000 ? 1 : (long long)(age_ms / 60000);
    size_t at = 0;
    while (minutes < units[at].minutes)
        at++;
    strbuf_addf(out, "%s%lld %s", age_ms < 60000 ? "less than " : "", minutes / units[at].minutes, units[at].unit);
}

const char *show_source_word(const char *state_source) {
    return str_eq(state_source, "asked") ? "Kubernetes" : state_source;
}

void show_state_source(struct table *t, const json_t *value) {
    const char *source = show_source_word(json_get_string(value, "state_source")), *by = json_get_string(value, "state_by");
    const char *since = json_get_string(value, "state_since");
    int64_t since_ms = 0;
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, CELL_BYTES_MAX);
    strbuf_adds(&text, is_by_hand(value) ? "entered by hand" : source ? source : "-");
    if (by)
        strbuf_addf(&text, " by %s", by);
    if (since && clock_parse(since, &since_ms)) {
        strbuf_adds(&text, is_by_hand(value) ? ", " : ", for ");
        put_age(clock_wall_ms() - since_ms, &text);
        strbuf_adds(&text, is_by_hand(value) ? " ago" : "");
    }
    table_add(t, text.data);
}

/* Joins texts into one cell. */
static void show_joined(struct table *t, const json_t *list, char *(*text_of)(const json_t *item)) {
    _cleanup_strbuf_ struct strbuf text;
    size_t i;
    const json_t *item;
    strbuf_init(&text, CELL_BYTES_MAX);
    json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
        _cleanup_free_ char *word = text_of(item);
        strbuf_addf(&text, "%s%s", i ? ", " : "", word ? word : "?");
    }
    table_add(t, text.len ? text.data : NULL);
}

static char *show_word(const json_t *item) {
    return str_dup(json_string_value(item));
}

static char *show_place(const json_t *item) {
    const char *name = json_get_string(item, "name"), *datacenter = json_get_string(item, "datacenter");
    return name ? str_format("%s/%s", datacenter ? datacenter : "?", name) : str_dup(json_get_string(item, "moref"));
}

static char *show_certificate(const json_t *item) {
    const char *sha256 = json_get_string(item, "sha256"), *end = json_get_string(item, "not_after");
    if (end && strlen(end) >= 20)
        return str_format("%s (until %.10s %.8s UTC)", sha256, end, end + 11);
    return str_format("%s (end not known yet)", sha256);
}

void show_words(struct table *t, const json_t *value) {
    show_joined(t, value, show_word);
}

static char *show_name(const json_t *item) {
    return str_dup(json_get_string(item, "name"));
}

void show_object_names(struct table *t, const json_t *value) {
    show_joined(t, value, show_name);
}

static size_t count_named(const json_t *list, const char *name) {
    size_t i, found = 0;
    const json_t *item;
    json_array_foreach ((json_t *)(uintptr_t)list, i, item)
        found += str_eq(json_get_string(item, "name"), name);
    return found;
}

void show_found(struct table *t, const json_t *value) {
    const char *path = json_get_string(value, "path"), *moref = json_get_string(value, "moref");
    _cleanup_free_ char *text = path && moref ? str_format("%s (%s)", path, moref) : NULL;
    table_add(t, text);
}

/* A service of the version before tells no place. */
void show_hx_names(struct table *t, const json_t *value) {
    _cleanup_strbuf_ struct strbuf text;
    size_t i;
    const json_t *item;
    strbuf_init(&text, CELL_BYTES_MAX);
    json_array_foreach ((json_t *)(uintptr_t)value, i, item) {
        const char *name = json_get_string(item, "name"), *path = json_get_string(item, "path");
        strbuf_addf(&text, "%s%s", i ? ", " : "", name ? name : "?");
        if (count_named(value, name) > 1)
            strbuf_addf(&text, " (%s)", path ? path : json_get_string(item, "id"));
    }
    table_add(t, text.len ? text.data : NULL);
}

void show_service_certificates(struct table *t, const json_t *value) {
    show_joined(t, value, show_certificate);
}

void show_places(struct table *t, const json_t *value) {
    _cleanup_json_ json_t *one = json_is_object(value) ? json_pack("[O]", value) : NULL;
    show_joined(t, one ? one : value, show_place);
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

static void show_add_items(struct table *t, const json_t *items, const struct cli_column *columns) {
    const json_t *item;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)items, i, item)
        for (const struct cli_column *c = columns; c->title; c++)
            (c->add ? c->add : show_text)(t, show_member(item, c->member));
}

static size_t show_count(const struct cli_column *columns) {
    size_t n = 0;
    while (columns[n].title)
        n++;
    return n;
}

int show_rows(const json_t *items, const struct cli_column *columns, struct strbuf *out, struct err *err) {
    _cleanup_table_ struct table t;
    table_init(&t, show_count(columns), INDENT);
    show_add_items(&t, items, columns);
    return table_write(&t, out, err);
}

int show_list(struct cli *cli, const json_t *items, const struct cli_column *columns, struct err *err) {
    _cleanup_table_ struct table t = {0};
    if (cli->is_json)
        return show_json(cli, items, err);
    table_init(&t, show_count(columns), 0);
    for (const struct cli_column *c = columns; c->title && !opt_get_common(&cli->given, "no-headers"); c++)
        table_add(&t, c->title);
    show_add_items(&t, items, columns);
    return table_write(&t, &cli->out, err);
}

int show_pairs(const json_t *object, const struct cli_column *columns, struct strbuf *out, struct err *err) {
    _cleanup_table_ struct table t;
    table_init(&t, 2, 0);
    for (const struct cli_column *c = columns; c->title; c++) {
        table_add(&t, c->title);
        (c->add ? c->add : show_text)(&t, show_member(object, c->member));
    }
    return table_write(&t, out, err);
}

int show_object(struct cli *cli, const json_t *object, const struct cli_column *columns, struct err *err) {
    return cli->is_json ? show_json(cli, object, err) : show_pairs(object, columns, &cli->out, err);
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

void show_lines(struct cli *cli, const char *title, const json_t *list) {
    const json_t *item;
    size_t i;
    show_line(cli, "%s", title);
    json_array_foreach ((json_t *)(uintptr_t)list, i, item)
        show_line(cli, "  %s", json_string_value(item));
}

void show_gap(struct cli *cli) {
    if (!cli->is_json)
        strbuf_addc(&cli->out, '\n');
}

/* -- for programs ----------------------------------------------------------------------------------------------------------------- */

/* A line for each that other commands and xargs(1) take as one argument: the name, or the id where the name is of several, or has what xargs takes apart. */
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/@:+=-"

static const char *show_first_of(const json_t *item, const char *const *members) {
    const char *text = NULL;
    while (!text && *members)
        text = json_string_value(show_member(item, *members++));
    return text;
}

static const char *show_name_of(const json_t *item) {
    static const char *const members[] = {"name", "path", "hx_cluster.name", NULL};
    return show_first_of(item, members);
}

static const char *show_id_of(const json_t *item) {
    static const char *const members[] = {"id", "moref", "hx_cluster.id", "kid", NULL};
    return show_first_of(item, members);
}

static bool show_is_argument(const char *name) {
    return *name && *name != '-' && !name[strspn(name, NAME_CHARS)];
}

static int show_names_of(struct cli *cli, const json_t *items, struct err *err) {
    _cleanup_json_ json_t *counts = json_object();
    const json_t *item;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)items, i, item) {
        const char *name = show_name_of(item);
        if (name)
            json_put_int(counts, name, json_get_int(counts, name, 0) + 1);
    }
    json_array_foreach ((json_t *)(uintptr_t)items, i, item) {
        const char *name = show_name_of(item), *id = show_id_of(item);
        const bool is_good = name && !cli->has_ids && show_is_argument(name) && json_get_int(counts, name, 0) == 1;
        if (!name && !id)
            return cli_usage(cli, err, "what this command shows has neither names nor ids");
        text_add_clean(&cli->out, is_good || !id ? name : id);
        strbuf_addc(&cli->out, '\n');
    }
    return strbuf_check(&cli->out, "output", err);
}

static int show_yaml(struct cli *cli, const json_t *value, struct err *err) {
    if (cli->documents++)
        strbuf_adds(&cli->out, "---\n");
    return yaml_write(value, &cli->out, err);
}

static int show_json_as(struct cli *cli, const json_t *value, size_t flags, struct err *err) {
    _cleanup_json_ json_t *one = json_is_array(value) ? NULL : json_pack("[O]", value);
    char *text;
    if (cli->format == CLI_NAME)
        return show_names_of(cli, one ? one : value, err);
    if (cli->format == CLI_YAML)
        return show_yaml(cli, value, err);
    text = json_dumps(value, flags | JSON_ENCODE_ANY);
    if (!text)
        return err_set(err, ERR_NOMEM, "out of memory");
    text_add_json(&cli->out, text, strlen(text));
    strbuf_addc(&cli->out, '\n');
    free(text);
    return strbuf_check(&cli->out, "output", err);
}

int show_json(struct cli *cli, const json_t *value, struct err *err) {
    return show_json_as(cli, value, JSON_INDENT(INDENT), err);
}

int show_json_line(struct cli *cli, const json_t *value, struct err *err) {
    return show_json_as(cli, value, JSON_COMPACT, err);
}

/* -- what step-by-step examinations found, laid out for people ----------------------------------------------------- */

#define TITLE_WIDTH 22

/* The remedy stands below, since both may be long. */
static void findings_write_finding(struct cli *cli, const json_t *finding) {
    static const char *const shown[][2] = {{"ok", "ok"}, {"warning", "WARNING"}, {"failed", "FAILED"}, {"skipped", "-"}};
    const char *status = json_get_string(finding, "status"), *remedy = json_get_string(finding, "remedy");
    _cleanup_strbuf_ struct strbuf title, text;
    for (size_t i = 0; i < ARRAY_COUNT(shown); i++)
        if (str_eq(status, shown[i][0]))
            status = shown[i][1];
    strbuf_init(&title, 4096);
    strbuf_init(&text, 65536);
    text_add_clean(&title, json_get_string(finding, "title"));
    text_add_clean(&text, json_get_string(finding, "finding"));
    strbuf_addf(&cli->out, "%-8s %-*s %s\n", status ? status : "?", TITLE_WIDTH, title.data, text.data);
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
                show_gap(cli);
            show_line(cli, "%s", next);
        }
        server = next;
        findings_write_finding(cli, finding);
    }
    show_gap(cli);
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
