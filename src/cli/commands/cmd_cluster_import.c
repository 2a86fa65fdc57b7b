/* kaasctl cluster import: a file with one record a line, in parts that the server takes, and what became of each line. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli_command.h"
#include "cli_prompt.h"
#include "cmd_cluster_listed.h"
#include "fsutil.h"
#include "limits.h"
#include "str.h"

#define FILE_BYTES_MAX (256U * 1024U * 1024U)
#define LEFT_BYTES_MAX 4096U
#define PART_LINES_MAX 1000U /* with --atomic all of it goes at once, as much as the server takes */

/* The length of the next part: whole lines, of which *lines are in it. A single line that is too long goes alone: the server tells. */
static size_t cmd_import_next_part(const char *text, size_t len, size_t *lines) {
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

static bool cmd_import_is_blank(const char *text, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

/* -- signals ------------------------------------------------------------------------------------------------------------------ */

static volatile sig_atomic_t cmd_import_signal;

/* The part under way goes on: what became of it must be told. The second one finds the usual action again. */
static void cmd_import_on_signal(int number) {
    static const char text[] = "\nending after the lines that are being imported now; once more ends at once\n";
    const int kept = errno;
    cmd_import_signal = number;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        errno = 0; /* nobody reads it */
    errno = kept;
}

static const int cmd_import_watched[] = {SIGINT, SIGTERM};

/* What was ignored before, as under nohup, stays so. */
static void cmd_import_watch_signals(struct sigaction old[ARRAY_COUNT(cmd_import_watched)]) {
    struct sigaction action = {.sa_handler = cmd_import_on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_COUNT(cmd_import_watched); i++) {
        (void)sigaction(cmd_import_watched[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN)
            (void)sigaction(cmd_import_watched[i], &action, NULL);
    }
}

static void cmd_import_unwatch_signals(const struct sigaction old[ARRAY_COUNT(cmd_import_watched)]) {
    for (size_t i = 0; i < ARRAY_COUNT(cmd_import_watched); i++)
        (void)sigaction(cmd_import_watched[i], &old[i], NULL);
}

/* -- sending ------------------------------------------------------------------------------------------------------------------ */

/* A file on its way in. */
struct cmd_import {
    struct cli *cli;
    const struct strbuf *text;
    bool is_atomic;
    size_t lines, done; /* of the file; how many of them were imported, or refused one by one */
    json_t *all;        /* what became of each record among these */
    const json_t *full; /* the one for which there was no room, where each is for itself; NULL: none. Borrowed from `all` */
};

static size_t cmd_import_count_lines(const char *text, size_t len) {
    size_t lines = 0;
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n' || i + 1 == len;
    return lines;
}

/* For a person who waits; a file or a program gets no such lines. */
static void cmd_import_show_progress(const struct cmd_import *im, bool is_over) {
    if (im->lines <= PART_LINES_MAX || im->is_atomic || !isatty(STDERR_FILENO))
        return;
    if (is_over)
        (void)fputs("\r\x1b[K", stderr);
    else
        (void)fprintf(stderr, "\r\x1b[K%zu of %zu lines", im->done, im->lines);
    (void)fflush(stderr);
}

/* Line numbers are those of the file. */
static int cmd_import_take_lines(struct cmd_import *im, json_t *answer, struct err *err) {
    json_t *items = json_object_get(answer, "items"), *item;
    size_t i;
    if (!json_is_array(items))
        return err_set(err, ERR_PROTOCOL, "the answer is no result of an import");
    json_array_foreach (items, i, item) {
        json_put_int(item, "line", json_get_int(item, "line", 0) + (int64_t)im->done);
        (void)json_array_append(im->all, item);
        if (!im->full && !im->is_atomic && str_eq(json_get_string(item, "code"), "directory_full"))
            im->full = item;
    }
    return 0;
}

static int cmd_import_send_part(struct cmd_import *im, const struct strbuf *part, size_t lines, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    _cleanup_free_ char *path = str_format("/v2/clusters:import?atomic=%s&update=%s", im->is_atomic ? "true" : "false",
                                           opt_get(&im->cli->given, "update") ? "true" : "false");
    const struct cli_request request = {.method = "POST", .path = path, .text = part, .text_type = "application/x-ndjson"};
    int rc;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = cmd_import_is_blank(part->data, part->len) ? 0 : cli_client_call(im->cli->client, &request, &answer, err);
    if (!rc && answer)
        rc = cmd_import_take_lines(im, answer, err);
    if (rc && im->lines > lines)
        strbuf_addf(&im->cli->more, "That was said to lines %zu to %zu of %zu; lines behind them were not sent.\n", im->done + 1,
                    im->done + lines, im->lines);
    if (!rc)
        im->done += lines;
    return rc;
}

/* Until all is sent, a part fails, the directory is full, or somebody wants an end. */
static int cmd_import_send_parts(struct cmd_import *im, struct err *err) {
    const struct strbuf *text = im->text;
    size_t lines = im->lines;
    int rc = 0;
    for (size_t at = 0, n; !rc && at < text->len && !im->full && !cmd_import_signal; at += n) {
        _cleanup_strbuf_ struct strbuf part;
        n = im->is_atomic ? text->len : cmd_import_next_part(text->data + at, text->len - at, &lines);
        strbuf_init(&part, FILE_BYTES_MAX);
        strbuf_add(&part, text->data + at, n);
        rc = strbuf_check(&part, "the file", err);
        cmd_import_show_progress(im, false);
        if (!rc)
            rc = cmd_import_send_part(im, &part, lines, err);
    }
    cmd_import_show_progress(im, true);
    return rc;
}

/* -- what became of it ------------------------------------------------------------------------------------------------------- */

static int64_t cmd_import_count_of(const struct cmd_import *im, const char *result) {
    int64_t n = 0;
    json_t *item;
    size_t i;
    json_array_foreach (im->all, i, item)
        n += str_eq(json_get_string(item, "result"), result);
    return n;
}

/* "3 created, 1 exists". */
static void cmd_import_add_counts(const struct cmd_import *im, struct strbuf *out) {
    static const char *const results[] = {"created", "changed", "unchanged", "exists", "failed", "skipped"};
    const size_t before = out->len;
    for (size_t i = 0; i < ARRAY_COUNT(results); i++)
        if (cmd_import_count_of(im, results[i]))
            strbuf_addf(out, "%s%lld %s", out->len > before ? ", " : "", (long long)cmd_import_count_of(im, results[i]),
                        results[i]);
}

/* Of a full directory one line is enough. */
static bool cmd_import_is_worth_telling(const struct cmd_import *im, const json_t *item) {
    const char *result = json_get_string(item, "result");
    return str_eq(result, "exists") || str_eq(result, "failed") || (str_eq(result, "skipped") && !im->full);
}

static int cmd_import_show_faults(const struct cmd_import *im, struct err *err) {
    static const struct cli_column columns[] = {
        {"LINE", "line"}, {"NAME", "name"}, {"RESULT", "result"}, {"WHY", "detail"}, {NULL}};
    _cleanup_json_ json_t *faults = json_array();
    json_t *item;
    size_t i;
    json_array_foreach (im->all, i, item)
        if (cmd_import_is_worth_telling(im, item))
            (void)json_array_append(faults, item);
    return json_array_size(faults) ? show_list(im->cli, faults, columns, err) : 0;
}

static int cmd_import_show_result(const struct cmd_import *im, struct err *err) {
    _cleanup_strbuf_ struct strbuf sum;
    int rc = im->cli->is_json ? show_json(im->cli, im->all, err) : cmd_import_show_faults(im, err);
    strbuf_init(&sum, 512);
    cmd_import_add_counts(im, &sum);
    if (!rc)
        show_line(im->cli, "%s", sum.data);
    return rc;
}

/* Why it ended before the end of the file, if it did. What is there already is no failure: who imports a file again wants what is missing. */
static int cmd_import_judge(struct cmd_import *im, struct err *err) {
    _cleanup_strbuf_ struct strbuf sum;
    strbuf_init(&sum, 512);
    cmd_import_add_counts(im, &sum);
    if (im->full) {
        (void)err_set(err, ERR_INVENTORY_FULL, "%.200s: line %lld of %zu lines is the first that was not imported; before it: %s",
                      json_get_string(im->full, "detail"), (long long)json_get_int(im->full, "line", 0), im->lines, sum.data);
        return err_remedy(err, "make room, then import the file again: what is there stays as it is");
    }
    if (cmd_import_signal && im->done < im->lines) {
        im->cli->signal = cmd_import_signal;
        return err_set(err, ERR_CANCELED, "ended after line %zu of %zu: %s; the lines behind it were not sent", im->done,
                       im->lines, sum.data);
    }
    if (cmd_import_count_of(im, "failed") || cmd_import_count_of(im, "skipped"))
        im->cli->status = CLI_FAILED;
    return 0;
}

static int cmd_import_run(struct cmd_import *im, const char *path, struct err *err) {
    struct sigaction old[ARRAY_COUNT(cmd_import_watched)];
    struct err why = {0};
    int rc;
    cmd_import_watch_signals(old);
    rc = cmd_import_send_parts(im, &why);
    cmd_import_unwatch_signals(old);
    if (json_array_size(im->all)) { /* parts before one that failed have been imported */
        if (cmd_import_show_result(im, err))
            return err ? err->code : ERR_NOMEM;
        if (!rc)
            rc = cmd_import_judge(im, &why);
    } else if (!rc) {
        rc = err_set(&why, ERR_INVALID, "%s holds no record", path);
    }
    return err_move(err, rc, &why);
}

/* What a terminal or editor of another coding wrote. */
static int cmd_import_check_coding(const char *path, const struct strbuf *text, struct err *err) {
    size_t line = 1;
    for (size_t at = 0; at < text->len;) {
        const char *end = memchr(text->data + at, '\n', text->len - at);
        const size_t n = end ? (size_t)(end - text->data) - at : text->len - at;
        if (str_utf8_chars(text->data + at, n) < 0 || memchr(text->data + at, 0, n)) {
            (void)err_set(err, ERR_INVALID, "%s is not valid UTF-8: see line %zu", path, line);
            return err_remedy(err, "write it in UTF-8; iconv -f CODING -t UTF-8 turns it");
        }
        at += n + 1;
        line++;
    }
    return 0;
}

int cmd_cluster_import(struct cli *cli, struct err *err) {
    _cleanup_strbuf_ struct strbuf text = {0}, left = {0};
    _cleanup_json_ json_t *all = json_array();
    const char *path = cli_word(cli, 0);
    struct cmd_import im = {.cli = cli, .text = &text, .is_atomic = opt_get(&cli->given, "atomic"), .all = all};
    int rc;
    strbuf_init(&text, FILE_BYTES_MAX);
    strbuf_init(&left, LEFT_BYTES_MAX);
    rc = str_eq(path, "-") ? prompt_read_input(&text, err) : fs_read_text(path, &text, err);
    rc = rc ? rc : cmd_import_check_coding(path, &text, err);
    rc = rc ? rc : cluster_listed_to_lines(&text, opt_get(&cli->given, "update"), &left, err);
    if (rc)
        return rc;
    if (left.len)
        cli_note("kaasctl: left out of what is sent, since kaasd sets it or sees it by itself: %s", left.data);
    im.lines = cmd_import_count_lines(text.data, text.len);
    rc = cli_connect(cli, err);
    return rc ? rc : cmd_import_run(&im, path, err);
}
