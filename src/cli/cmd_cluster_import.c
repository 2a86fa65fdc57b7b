/* kaasctl cluster import: a file with one record a line, in parts that the server takes, and what became of each line. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli_commands.h"
#include "cli_show.h"
#include "fsutil.h"
#include "limits.h"
#include "str.h"

#define FILE_BYTES_MAX (256U * 1024U * 1024U)
#define PART_LINES_MAX 1000U /* with --atomic all of it goes at once, as much as the server takes */
#define PATH_BYTES_MAX 128U

static const char *const results[] = {"created", "changed", "unchanged", "exists", "failed", "skipped"};

static int read_input(struct strbuf *out, struct err *err) {
    char part[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, part, sizeof(part))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            strbuf_add(out, part, (size_t)n);
    if (n < 0)
        return err_set(err, ERR_IO, "standard input cannot be read: %s", strerror(errno));
    return strbuf_check(out, "standard input", err);
}

/* The length of the next part: whole lines, of which *lines are in it. A single line that is too long goes alone: the server tells. */
static size_t next_part(const char *text, size_t len, size_t *lines) {
    size_t at = 0;
    *lines = 0;
    while (at < len && *lines < PART_LINES_MAX) {
        const char *newline = memchr(text + at, '\n', len - at);
        const size_t n = newline ? (size_t)(newline - (text + at)) + 1 : len - at;
        if (*lines && at + n > KAAS_IMPORT_BODY_BYTES_MAX / 2)
            break;
        at += n;
        ++*lines;
    }
    return at;
}

static bool is_blank(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

/* Line numbers are those of the file. */
static int take_lines(json_t *all, json_t *answer, size_t before, struct err *err) {
    json_t *items = json_object_get(answer, "items"), *item;
    size_t i;
    if (!json_is_array(items))
        return err_set(err, ERR_PROTOCOL, "the answer is no result of an import");
    json_array_foreach (items, i, item) {
        json_put_int(item, "line", json_get_int(item, "line", 0) + (int64_t)before);
        (void)json_array_append(all, item);
    }
    return 0;
}

static int send_part(struct cli *cli, const char *path, const struct strbuf *part, size_t before, json_t *all, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    const struct cli_request request = {.method = "POST", .path = path, .text = part, .text_type = "application/x-ndjson"};
    int rc = cli_client_call(cli->client, &request, &answer, err);
    return rc ? rc : take_lines(all, answer, before, err);
}

static int send_parts(struct cli *cli, const struct strbuf *text, json_t *all, struct err *err) {
    const bool is_atomic = opt_get(&cli->given, "atomic");
    _cleanup_free_ char *path = str_format("/v2/clusters:import?atomic=%s&update=%s", is_atomic ? "true" : "false",
                                           opt_get(&cli->given, "update") ? "true" : "false");
    size_t lines = 0, before = 0;
    int rc = path ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    for (size_t at = 0, n; !rc && at < text->len; at += n, before += lines) {
        _cleanup_strbuf_ struct strbuf part;
        n = is_atomic ? text->len : next_part(text->data + at, text->len - at, &lines);
        strbuf_init(&part, FILE_BYTES_MAX);
        strbuf_add(&part, text->data + at, n);
        rc = strbuf_check(&part, "the file", err);
        if (!rc && !is_blank(part.data, part.len))
            rc = send_part(cli, path, &part, before, all, err);
    }
    return rc;
}

/* -- what became of it ------------------------------------------------------------------------------------------------------- */

static int64_t count_of(const json_t *all, const char *result) {
    int64_t n = 0;
    json_t *item;
    size_t i;
    json_array_foreach (all, i, item)
        n += str_eq(json_get_string(item, "result"), result);
    return n;
}

static bool is_worth_telling(const json_t *item) {
    const char *result = json_get_string(item, "result");
    return str_eq(result, "exists") || str_eq(result, "failed") || str_eq(result, "skipped");
}

static int show_faults(struct cli *cli, const json_t *all, struct err *err) {
    static const struct cli_column columns[] = {{"LINE", "line", show_text},
                                                {"NAME", "name", show_text},
                                                {"RESULT", "result", show_text},
                                                {"WHY", "detail", show_text},
                                                {NULL, NULL, NULL}};
    _cleanup_json_ json_t *faults = json_array();
    json_t *item;
    size_t i;
    json_array_foreach (all, i, item)
        if (is_worth_telling(item))
            (void)json_array_append(faults, item);
    return json_array_size(faults) ? show_list(cli, faults, columns, err) : 0;
}

static int show_result(struct cli *cli, const json_t *all, struct err *err) {
    struct strbuf sum _cleanup_strbuf_;
    int rc = cli->is_json ? show_json(cli, all, err) : show_faults(cli, all, err);
    strbuf_init(&sum, 512);
    for (size_t i = 0; i < ARRAY_COUNT(results); i++)
        if (count_of(all, results[i]))
            strbuf_addf(&sum, "%s%lld %s", sum.len ? ", " : "", (long long)count_of(all, results[i]), results[i]);
    if (!rc)
        show_line(cli, "%s", sum.data);
    return rc;
}

/* A name that is taken is no failure: who imports a file again wants what is missing. */
static void set_status(struct cli *cli, const json_t *all) {
    if (count_of(all, "failed") || count_of(all, "skipped"))
        cli->status = CLI_FAILED;
}

int cmd_cluster_import(struct cli *cli, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    _cleanup_json_ json_t *all = json_array();
    const char *path = cli_word(cli, 0);
    struct err why = {0};
    int rc;
    strbuf_init(&text, FILE_BYTES_MAX);
    rc = str_eq(path, "-") ? read_input(&text, err) : fs_read(path, &text, err);
    if (!rc)
        rc = cli_connect(cli, err);
    if (rc)
        return rc;
    rc = send_parts(cli, &text, all, &why);
    if (json_array_size(all)) { /* parts before one that failed have been imported */
        if (show_result(cli, all, err))
            return err ? err->code : ERR_NOMEM;
        set_status(cli, all);
    } else if (!rc) {
        rc = err_set(&why, ERR_INVALID, "%s holds no record", path);
    }
    if (rc && err)
        *err = why;
    return rc;
}
