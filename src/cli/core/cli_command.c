/* The steps in which a command of kaasctl runs. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"

#include <config.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_address.h"
#include "cli_table.h"
#include "clock.h"
#include "fsutil.h"
#include "names.h"
#include "platform.h"
#include "str.h"
#include "x509.h"
#include "uuid.h"

#define PATH_BYTES_MAX 16384U
#define METHOD_BYTES 8
#define LINES_MAX 500000
#define TEXT_BYTES_MAX 4096U
#define CA_BYTES_MAX 65536U

/* clang-format off */
const struct opt_spec cli_common_options[] = {
    {"config", "FILE", "configuration of kaasd (default " CONFIG_DEFAULT_PATH ")", OPT_OWN, NULL, 'c'},
    {"server", "URL", "talk to https://HOST:PORT instead of the admin socket (also KAAS_SERVER)"},
    {"ca-file", "FILE", "CA of the server's certificate (also KAAS_CA_FILE; default: that of the login, or those of the system)"},
    {"user", "NAME", "who signs in at --server (also KAAS_USER; default: who did so by kaasctl login)", OPT_OWN, NULL, 'u'},
    {"source", "SOURCE", "who checks the password: local (default), vcenter (the only one), vcenter:NAME, or a directory"},
    {"password-file", "FILE", "file with the password, - for standard input (default: ask)"},
    {"output", "FORMAT", "table (default), json, yaml, or name: a name or id each line", OPT_OWN, NULL, 'o'},
    {"no-headers", NULL, "tables without their first line"},
    {"timeout", "DURATION", "wait for kaasd no longer than that in all, as 30s or 5m (default: 3 minutes for each call)"},
    {"yes", NULL, "do not ask for confirmation", OPT_OWN, NULL, 'y'},
    {"help", NULL, "print help, then exit", OPT_OWN, NULL, 'h'},
    {"version", NULL, "print the version, then exit"},
    {NULL},
};
/* clang-format on */

/* -- from options to the request ------------------------------------------------------------------------------------------------ */

static int cli_put_port(struct cli *cli, const struct opt_value *v, json_t *body, struct err *err) {
    int64_t port = 0;
    if (!str_to_i64(v->value, 0, 65535, &port))
        return cli_usage(cli, err, "--%s must be a number from 0 to 65535", v->spec->name);
    json_put_int(body, v->spec->member, port);
    return 0;
}

static int cli_put_sha256(struct cli *cli, const struct opt_value *v, json_t *body, struct err *err) {
    uint8_t sha256[X509_SHA256_BYTES];
    char text[X509_THUMBPRINT_TEXT_BYTES];
    if (!str_to_sha256(v->value, sha256)) {
        (void)cli_usage(cli, err, "--%s is not a SHA-256", v->spec->name);
        return err_remedy(err, "give 32 pairs of hexadecimal digits, with or without colons; SHA-1 (20 pairs) is not accepted");
    }
    x509_thumbprint_text(sha256, text);
    json_put_string(body, v->spec->member, text);
    return 0;
}

/* How long ago; what is none is a time, which kaasd reads. */
static void cli_put_time(const struct opt_value *v, json_t *body) {
    char text[CLOCK_RFC3339_BYTES];
    int64_t ms = 0;
    const bool is_ago = cli_parse_duration(v->value, &ms);
    if (is_ago)
        clock_format(clock_wall_ms() - ms, text);
    json_put_string(body, v->spec->member, is_ago ? text : v->value);
}

static json_t *cli_text_or_null(const char *text) {
    return *text ? json_string(text) : json_null();
}

/* The text of a file here, so that it need not lie on each replica. */
static int cli_put_ca(const struct opt_value *v, json_t *body, struct err *err) {
    _cleanup_strbuf_ struct strbuf pem;
    struct err why = {0};
    strbuf_init(&pem, CA_BYTES_MAX);
    if (*v->value && fs_read_text(v->value, &pem, &why)) { /* a missing file is no missing object */
        (void)err_set(err, ERR_IO, "%s", why.text);
        return *why.remedy ? err_remedy(err, "%s", why.remedy) : ERR_IO;
    }
    if (*v->value && strstr(pem.data, "PRIVATE KEY"))
        return err_set(err, ERR_INVALID, "%s holds a private key, which stays where it is; give the certificates of the CA alone",
                       v->value);
    (void)json_object_set_new(body, v->spec->member, cli_text_or_null(*v->value ? pem.data : ""));
    return 0;
}

/* The member of a list or of an object, made when it is missing. Borrowed. */
static json_t *cli_container(json_t *body, const char *member, json_t *(*make)(void)) {
    json_t *value = json_object_get(body, member);
    if (!value && (value = make()))
        (void)json_object_set_new(body, member, value);
    return value;
}

/* Two options with one member, such as --enable and --disable. */
static int cli_check_member(struct cli *cli, const struct opt_value *v, const json_t *body, struct err *err) {
    const struct opt_spec *spec = v->spec;
    if (spec->is_repeatable || !json_object_get(body, spec->member))
        return 0;
    for (const struct opt_value *o = cli->given.values; o < v; o++)
        if (!o->is_common && str_eq(o->spec->member, spec->member)) {
            const bool is_later = o->spec > spec; /* named in the order of the help */
            return cli_usage(cli, err, "--%s and --%s contradict each other", is_later ? spec->name : o->spec->name,
                             is_later ? o->spec->name : spec->name);
        }
    return 0;
}

static int cli_put_notation(struct cli *cli, const struct opt_value *v, json_t *body, struct err *err) {
    const char *member = v->spec->member;
    json_t *replicas = NULL;
    int rc;
    if (v->spec->kind == OPT_LABEL)
        rc = cli_parse_label(v->value, cli_container(body, member, json_object), err);
    else if (v->spec->kind == OPT_NODE)
        rc = cli_parse_node(v->value, cli_container(body, member, json_array), err);
    else
        rc = cli_parse_replicas(v->value, v->spec->name, &replicas, err);
    if (replicas)
        (void)json_object_set_new(body, member, replicas);
    return cli_as_usage(cli, rc);
}

static int cli_put_option(struct cli *cli, const struct opt_value *v, json_t *body, struct err *err) {
    const char *member = v->spec->member;
    int rc = cli_check_member(cli, v, body, err);
    if (rc)
        return rc;
    switch (v->spec->kind) {
    case OPT_OWN: return 0;
    case OPT_TEXT: json_put_string(body, member, v->value); return 0;
    case OPT_TEXT_OR_NULL: (void)json_object_set_new(body, member, cli_text_or_null(v->value)); return 0;
    case OPT_TIME: cli_put_time(v, body); return 0;
    case OPT_TRUE:
    case OPT_FALSE: json_put_bool(body, member, v->spec->kind == OPT_TRUE); return 0;
    case OPT_PORT: return cli_put_port(cli, v, body, err);
    case OPT_SHA256: return cli_put_sha256(cli, v, body, err);
    case OPT_CA_FILE: return cli_put_ca(v, body, err);
    case OPT_REPLICAS:
    case OPT_LABEL:
    case OPT_NODE: return cli_put_notation(cli, v, body, err);
    case OPT_TEXTS:
        if (*v->value)
            (void)json_array_append_new(cli_container(body, member, json_array), json_string(v->value));
        else
            (void)cli_container(body, member, json_array);
        return 0;
    }
    return 0;
}

static int cli_put_options(struct cli *cli, json_t *body, struct err *err) {
    for (size_t i = 0; i < cli->given.values_count; i++) {
        const struct opt_value *v = &cli->given.values[i];
        int rc = v->is_common || !v->spec->member ? 0 : cli_put_option(cli, v, body, err);
        if (rc)
            return rc;
    }
    return 0;
}

/* -- texts with what they speak of ------------------------------------------------------------------------------------------------ */

/* What stands for the name between braces; "" if there is nothing. Borrowed. */
static const char *cli_value_of(struct cli *cli, const char *name, const json_t *first, const json_t *second) {
    const char *value = json_string_value(show_member(first, name));
    if (*name >= '1' && *name <= '9')
        value = cli_word(cli, (size_t)(*name - '1'));
    else if (!value)
        value = json_string_value(show_member(second, name));
    return value ? value : "";
}

/* In a path values are percent-encoded. Texts are those of the table: a brace that opens is closed. */
static void cli_fill(struct cli *cli, const char *text, const json_t *first, const json_t *second, bool is_path,
                     struct strbuf *out) {
    for (const char *open; (open = strchr(text, '{')) != NULL; text = strchr(open, '}') + 1) {
        const size_t n = strcspn(open + 1, ":}");
        const int most = open[1 + n] == ':' ? (int)strtol(open + n + 2, NULL, 10) : INT_MAX;
        _cleanup_free_ char *name = strndup(open + 1, n);
        const char *value = name ? cli_value_of(cli, name, first, second) : "";
        strbuf_add(out, text, (size_t)(open - text));
        if (is_path)
            cli_path_add(out, value);
        else
            strbuf_addf(out, "%.*s", most, value);
    }
    strbuf_adds(out, text);
}

/* A text of the table; a path is made by cli_add_path. */
static int cli_expand(struct cli *cli, const char *text, const json_t *first, const json_t *second, struct strbuf *out,
                      struct err *err) {
    cli_fill(cli, text, first, second, false, out);
    return strbuf_check(out, "the text", err);
}

int cli_add_path(struct cli *cli, const char *text, const json_t *object, const json_t *query, struct strbuf *path,
                 struct err *err) {
    const char *name;
    json_t *value;
    cli_fill(cli, text, object, NULL, true, path);
    json_object_foreach ((json_t *)(uintptr_t)query, name, value)
        cli_path_add_query(path, name, json_string_value(value));
    return strbuf_check(path, "the address", err);
}

/* -- the steps ------------------------------------------------------------------------------------------------------------------ */

/* The server's remedy speaks of its interface. */
int cli_fail(struct cli *cli, const struct err *why, struct err *err) {
    const char *remedy = cli->command->if_ambiguous;
    if (why->code != ERR_AMBIGUOUS || !remedy)
        return err_move(err, why->code, why);
    cli_add_candidates(cli);
    if (!*remedy)
        return err_move(err, why->code, why);
    (void)err_set(err, why->code, "%s", why->text);
    return err_remedy(err, "%s", remedy);
}

int cli_send(struct cli *cli, const char *call, const json_t *object, json_t *body, json_t **answer, struct err *err) {
    const bool is_read = str_starts(call, "GET "), has_body = !is_read && !str_starts(call, "DELETE ");
    _cleanup_strbuf_ struct strbuf path = {0};
    char method[METHOD_BYTES];
    struct cli_request request = {.method = method, .body = has_body ? body : NULL, .is_merge_patch = str_starts(call, "PATCH ")};
    struct err why = {0};
    int rc = cli_connect(cli, err);
    if (rc)
        return rc;
    (void)snprintf(method, sizeof(method), "%.*s", (int)strcspn(call, " "), call);
    strbuf_init(&path, PATH_BYTES_MAX);
    rc = cli_add_path(cli, strchr(call, ' ') + 1, object, is_read ? body : NULL, &path, err);
    if (rc)
        return rc;
    request.path = path.data;
    rc = cli_client_call(cli->client, &request, answer, &why);
    return rc ? cli_fail(cli, &why, err) : 0;
}

int cli_list(struct cli *cli, const char *path, const json_t *object, const json_t *query, json_t **items, struct err *err) {
    const char *text = opt_get(&cli->given, "lines");
    int64_t lines = cli->command->lines ? cli->command->lines : LINES_MAX;
    _cleanup_strbuf_ struct strbuf full = {0};
    struct err why = {0};
    bool is_more = false;
    int rc;
    if (text && !str_to_i64(text, 1, LINES_MAX, &lines))
        return cli_usage(cli, err, "--lines takes a whole number from 1 to %d", LINES_MAX);
    rc = cli_connect(cli, err);
    if (rc)
        return rc;
    strbuf_init(&full, PATH_BYTES_MAX);
    rc = cli_add_path(cli, path, object, query, &full, err);
    if (rc)
        return rc;
    rc = cli_client_list(cli->client, full.data, (size_t)lines, items, &is_more, &why);
    if (rc)
        return cli_fail(cli, &why, err);
    if (is_more)
        cli_note("kaasctl: there are more than these %lld; --lines NUMBER shows more", (long long)lines);
    return 0;
}

int cli_find_object(struct cli *cli, struct err *err) {
    const char *ref = cli->given.words_count ? cli_word(cli, cli->given.words_count - 1) : NULL;
    return ref && cli->command->of && !cli->object ? cli_find(cli, cli->command->of, ref, &cli->object, err) : 0;
}

int cli_ask(struct cli *cli, struct err *err) {
    _cleanup_strbuf_ struct strbuf question = {0};
    int rc;
    if (!cli->command->question || cli->is_asked)
        return 0;
    strbuf_init(&question, TEXT_BYTES_MAX);
    rc = cli_expand(cli, cli->command->question, cli->object, NULL, &question, err);
    if (rc)
        return rc;
    rc = cli_confirm(cli, question.data, err);
    cli->is_asked = !rc;
    return rc;
}

int cli_call(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    const char *call = cli->call ? cli->call : cli->command->call;
    if (cli->command->list)
        return cli_list(cli, strchr(call, ' ') + 1, cli->object, body, answer, err);
    return call ? cli_send(cli, call, cli->object, body, answer, err) : 0;
}

int cli_show_result(struct cli *cli, json_t *answer, struct err *err) {
    const struct cli_command *c = cli->command;
    _cleanup_strbuf_ struct strbuf line = {0};
    int rc;
    if (c->list)
        return show_list(cli, answer, c->list, err);
    if (c->object)
        return show_object(cli, answer ? answer : cli->object, c->object, err);
    if (cli->is_json)
        return answer ? show_json(cli, answer, err) : 0;
    strbuf_init(&line, TEXT_BYTES_MAX);
    rc = cli_expand(cli, c->says, answer, cli->object, &line, err);
    show_line(cli, "%s", line.data);
    return rc;
}

/* Overwrites all texts in a value. */
static void cli_wipe(json_t *value) {
    const char *name;
    json_t *part;
    json_wipe_string(value);
    json_object_foreach (value, name, part)
        cli_wipe(part);
}

static void cli_body_done(json_t **body) {
    cli_wipe(*body);
    json_decref(*body);
}

int cli_run_steps(struct cli *cli, struct err *err) {
    const struct cli_command *c = cli->command;
    __attribute__((cleanup(cli_body_done))) json_t *body = c->options || c->more ? json_object() : NULL; /* NULL: it sends none */
    _cleanup_json_ json_t *answer = NULL;
    int rc = body ? cli_put_options(cli, body, err) : 0;
    if (rc)
        return rc;
    rc = c->more ? c->more(cli, body, err) : 0;
    if (rc)
        return rc;
    if (c->if_empty && !json_object_size(body))
        return cli_usage(cli, err, "%s", c->if_empty);
    rc = cli_find_object(cli, err);
    if (rc)
        return rc;
    rc = cli_ask(cli, err);
    if (rc)
        return rc;
    rc = c->send ? c->send(cli, body, &answer, err) : cli_call(cli, body, &answer, err);
    if (rc || cli->is_done)
        return rc;
    return c->tell ? c->tell(cli, answer, err) : cli_show_result(cli, answer, err);
}

/* -- help ---------------------------------------------------------------------------------------------------------------------- */

/* A command as it is typed: "vcenter add", "doctor"; three texts for a format. */
#define WORDS_OF(c) (c)->group, (c)->verb ? " " : "", (c)->verb ? (c)->verb : ""

/* All commands, or those of a group. */
static void help_add_commands(struct strbuf *out, const char *group) {
    _cleanup_table_ struct table t;
    table_init(&t, 2, 2);
    for (const struct cli_command *c = cli_commands; c->group; c++) {
        if (group && !str_eq(c->group, group))
            continue;
        table_addf(&t, "%s%s%s%s%s", WORDS_OF(c), *c->arguments ? " " : "", c->arguments);
        table_add(&t, c->about);
    }
    (void)table_write(&t, out, NULL);
}

static void help_add_options(struct strbuf *out, const struct opt_spec *options) {
    _cleanup_table_ struct table t;
    table_init(&t, 2, 2);
    for (const struct opt_spec *o = options; o->name; o++) {
        char letter[] = {'-', o->letter, ',', ' ', 0};
        table_addf(&t, "%s--%s%s%s", o->letter ? letter : "    ", o->name, o->value ? " " : "", o->value ? o->value : "");
        table_add(&t, o->about);
    }
    (void)table_write(&t, out, NULL);
}

static void help_add_program(struct strbuf *out) {
    strbuf_adds(out,
                "Usage: kaasctl [OPTION...] COMMAND [ARGUMENT] [OPTION...]\n\n"
                "The administrator's command line of Harmony KaaS. Speaks to kaasd on this machine through its admin socket,\n"
                "or to one elsewhere: kaasctl login.\n\n"
                "Commands:\n");
    help_add_commands(out, NULL);
    strbuf_adds(out, "\nOptions of all commands, before or behind the command:\n");
    help_add_options(out, cli_common_options);
    strbuf_adds(
        out,
        "\nkaasctl COMMAND --help tells the options of a command. Passwords are never taken as arguments.\n\nExit status:\n");
#define EXIT_STATUS(symbol, number, text) strbuf_adds(out, "  " #number "  " text "\n");
#include "exit_status.def"
#undef EXIT_STATUS
}

static void help_add_group(struct strbuf *out, const char *group) {
    strbuf_addf(out, "Usage: kaasctl %s COMMAND [ARGUMENT] [OPTION...]\n\nCommands:\n", group);
    help_add_commands(out, group);
    strbuf_addf(out, "\nkaasctl %s COMMAND --help tells the options of a command.\n", group);
}

static void help_add_command(struct strbuf *out, const struct cli_command *c) {
    strbuf_addf(out, "Usage: kaasctl %s%s%s%s%s [OPTION...]\n\n%c%s.\n", WORDS_OF(c), *c->arguments ? " " : "", c->arguments,
                *c->about - 'a' + 'A', c->about + 1);
    if (c->options) {
        strbuf_adds(out, "\nOptions:\n");
        help_add_options(out, c->options);
    }
    strbuf_adds(out, "\nOptions of all commands: see kaasctl --help\n");
}

/* -- commands ------------------------------------------------------------------------------------------------------------------- */

/* What people of other tools say for the same; the first word of a verb counts ("remove" of "remove-login-account"). */
static const char *const parse_meanings[][8] = {
    {"list", "ls", "get"},
    {"show", "describe", "get", "view", "info"},
    {"rm", "remove", "delete", "del", "forget"},
    {"add", "create", "new"},
    {"set", "edit", "update", "change", "modify", "patch"},
};

static bool parse_is_of_meaning(size_t meaning, const char *verb, size_t n) {
    for (const char *const *word = parse_meanings[meaning]; *word; word++)
        if (strlen(*word) == n && !memcmp(*word, verb, n))
            return true;
    return false;
}

static bool parse_has_meaning(const char *verb) {
    for (size_t i = 0; i < ARRAY_COUNT(parse_meanings); i++)
        if (parse_is_of_meaning(i, verb, strcspn(verb, "-")))
            return true;
    return false;
}

/* Do both begin with words of one meaning, and go on alike? */
static bool parse_is_same(const char *typed, const char *verb) {
    const size_t n = strcspn(typed, "-"), m = strcspn(verb, "-");
    for (size_t i = 0; i < ARRAY_COUNT(parse_meanings) && str_eq(typed + n, verb + m); i++)
        if (parse_is_of_meaning(i, typed, n) && parse_is_of_meaning(i, verb, m))
            return true;
    return false;
}

static bool parse_is_group(const char *word) {
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (c->verb && str_eq(c->group, word))
            return true;
    return false;
}

/* Verbs that are taken for the one that a group has. The others are said only: what changes something is not guessed. */
static bool parse_is_alias(const char *typed, const char *verb) {
    static const char *const aliases[][5] = {
        {"list", "get", "ls"}, {"show", "describe"}, {"rm", "remove", "delete"}, {"remove", "rm", "delete"}};
    for (size_t i = 0; i < ARRAY_COUNT(aliases); i++)
        for (size_t j = 1; aliases[i][j]; j++)
            if (str_eq(aliases[i][0], verb) && str_eq(aliases[i][j], typed))
                return true;
    return false;
}

static const struct cli_command *parse_find_command(const char *group, const char *verb) {
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (str_eq(c->group, group) && str_eq(c->verb, verb))
            return c;
    for (const struct cli_command *c = cli_commands; verb && c->group; c++)
        if (str_eq(c->group, group) && c->verb && parse_is_alias(verb, c->verb))
            return c;
    return NULL;
}

/* What a verb that the group does not have may mean: by its meaning, if it has one; else a slip of the keys. NULL: nothing. */
static const char *parse_guess_verb(const char *group, const char *typed) {
    struct cli_near near;
    cli_near_init(&near, typed);
    near.distance = strlen(typed) < 6 ? 1 : (unsigned)strlen(typed) / 3;
    for (const struct cli_command *c = cli_commands; c->group; c++) {
        if (!str_eq(c->group, group) || !c->verb)
            continue;
        if (parse_is_same(typed, c->verb))
            return c->verb;
        if (!parse_has_meaning(typed))
            cli_near_try(&near, c->verb);
    }
    return near.best;
}

static const char *parse_guess_group(const char *typed) {
    struct cli_near near;
    cli_near_init(&near, typed);
    near.distance = strlen(typed) < 6 ? 1 : (unsigned)strlen(typed) / 3;
    for (const struct cli_command *c = cli_commands; c->group; c++)
        cli_near_try(&near, c->group);
    return near.best;
}

/* `group` is NULL when the first word is unknown. */
static int parse_unknown_command(const char *group, const char *word, struct err *err) {
    const char *lead = group ? group : "", *blank = group ? " " : "";
    const char *best = group ? parse_guess_verb(group, word) : parse_has_meaning(word) ? NULL : parse_guess_group(word);
    (void)err_set(err, ERR_INVALID, "unknown command \"%s%s%s\"", lead, blank, word);
    if (best)
        return err_remedy(err, "did you mean \"%s%s%s\"?", lead, blank, best);
    if (!group && parse_has_meaning(word))
        return err_remedy(err, "what it is about comes first, as in: kaasctl cluster list; see: kaasctl --help");
    return err_remedy(err, "see: kaasctl %s%s--help", lead, blank);
}

/* Common options up to the next word. */
static int parse_leading(struct cli *cli, const char *const **argv, struct err *err) {
    struct opt_tables tables = {.common = cli_common_options};
    size_t used = 0;
    int rc = opt_read(&tables, *argv, true, &used, &cli->given, err);
    *argv += used;
    return rc;
}

/* Reads the one or two words of the command. *group gets the first of them. */
static int parse_command(struct cli *cli, const char *const **argv, const char **group,
                         struct err *err) { /* NOLINT(misc-no-recursion): once */
    int rc = parse_leading(cli, argv, err);
    if (rc || !**argv)
        return rc;
    *group = *(*argv)++;
    if (str_eq(*group, "help") && !cli->wants_help) { /* "help cluster list" */
        cli->wants_help = true;
        *group = NULL;
        return parse_command(cli, argv, group, err);
    }
    if (!parse_is_group(*group)) {
        cli->command = parse_find_command(*group, NULL);
        return cli->command ? 0 : parse_unknown_command(NULL, *group, err);
    }
    rc = parse_leading(cli, argv, err);
    if (rc || !**argv)
        return rc;
    cli->command = parse_find_command(*group, **argv);
    return cli->command ? (*argv)++, 0 : parse_unknown_command(*group, **argv, err);
}

/* Are there as many arguments as a text such as "NAME [USER]" says, and the options that must be there? */
static int cli_command_parse_check_given(const struct cli *cli, struct err *err) {
    const struct cli_command *c = cli->command;
    size_t count = cli->given.words_count, least = 0, most = 0;
    for (const char *at = c->arguments; *at; at += strspn(at, " ")) {
        most++;
        least += *at != '[';
        at += strcspn(at, " ");
    }
    if (count > most) {
        (void)err_set(err, ERR_INVALID, "unexpected argument \"%s\"", cli->given.words[most]);
        return err_remedy(err, "see: kaasctl %s%s%s --help", WORDS_OF(c));
    }
    if (count < least) {
        (void)err_set(err, ERR_INVALID, "%s is missing", c->arguments);
        return err_remedy(err, "kaasctl %s%s%s %s", WORDS_OF(c), c->arguments);
    }
    for (const struct opt_spec *o = c->options; o && o->name; o++)
        if (o->is_required && !opt_get(&cli->given, o->name))
            return err_set(err, ERR_INVALID, "--%s is missing", o->name);
    return 0;
}

static int parse_timeout(struct cli *cli, struct err *err) {
    const char *text = opt_get_common(&cli->given, "timeout");
    int64_t ms = 0;
    if (text && !cli_parse_duration(text, &ms))
        return err_set(err, ERR_INVALID, "--timeout must be a duration such as 30s, 5m or 1h, not \"%s\"", text);
    cli->ends_at_ms = text ? clock_mono_ms() + ms : 0;
    return 0;
}

static int parse_check_common(struct cli *cli, struct err *err) {
    static const char *const formats[] = {[CLI_TABLE] = "table", [CLI_JSON] = "json", [CLI_YAML] = "yaml", [CLI_NAME] = "name"};
    const char *format = opt_get_common(&cli->given, "output");
    const struct cli_command *c = cli->command;
    const bool is_read = c->list || (c->object && (!c->call || str_starts(c->call, "GET ")));
    size_t i = 0;
    while (format && i < ARRAY_COUNT(formats) && !str_eq(format, formats[i]))
        i++;
    if (i == ARRAY_COUNT(formats))
        return err_set(err, ERR_INVALID, "--output must be table, json, yaml or name, not \"%s\"", format);
    cli->format = (enum cli_format)i;
    cli->is_json = i != CLI_TABLE;
    cli->has_ids = c->has_ids;
    if (i == CLI_NAME && !is_read) /* such as a one-time password would be lost */
        return err_set(err, ERR_INVALID, "--output name is for what lists and shows");
    if (opt_get_common(&cli->given, "server") && opt_get_common(&cli->given, "config"))
        return err_set(err, ERR_INVALID, "give either --server or --config, not both");
    return parse_timeout(cli, err);
}

static int cli_command_parse_all(struct cli *cli, const char *const *argv, struct err *err) {
    struct opt_tables tables = {.common = cli_common_options};
    const char *group = NULL;
    size_t used = 0;
    int rc = parse_command(cli, &argv, &group, err);
    if (!rc && cli->command) {
        tables.own = cli->command->options;
        rc = opt_read(&tables, argv, false, &used, &cli->given, err);
    }
    if (rc)
        return rc;
    if (cli->wants_help || opt_get_common(&cli->given, "help")) {
        if (cli->command)
            help_add_command(&cli->out, cli->command);
        else if (group)
            help_add_group(&cli->out, group);
        else
            help_add_program(&cli->out);
        cli->command = NULL;
        return 0;
    }
    if (opt_get_common(&cli->given, "version")) {
        strbuf_adds(&cli->out, "kaasctl " PACKAGE_VERSION "\n");
        cli->command = NULL;
        return 0;
    }
    if (!cli->command) {
        (void)err_set(err, ERR_INVALID, "no command is given%s%s", group ? " behind " : "", group ? group : "");
        return err_remedy(err, "see: kaasctl%s%s --help", group ? " " : "", group ? group : "");
    }
    rc = cli_command_parse_check_given(cli, err);
    return rc ? rc : parse_check_common(cli, err);
}

/* A terminal of another coding; what kaasd would store of it is not what was typed. */
static int check_coding(int argc, char **argv, struct err *err) {
    for (int i = 1; i < argc; i++)
        if (str_utf8_chars(argv[i], strlen(argv[i])) < 0) {
            (void)err_set(err, ERR_INVALID, "argument %d, \"%.80s\", is not valid UTF-8", i, argv[i]);
            return err_remedy(err, "type it in a terminal whose coding is UTF-8 (see: locale charmap)");
        }
    return 0;
}

int cli_parse(struct cli *cli, int argc, char **argv, struct err *err) {
    int rc = check_coding(argc, argv, err);
    rc = rc ? rc : opt_init(&cli->given, (size_t)argc, err);
    if (!rc)
        rc = cli_command_parse_all(cli, (const char *const *)argv + 1, err);
    return cli_as_usage(cli, rc);
}

/* -- finding what an argument names ---------------------------------------------------------------------- */

#define ADDRESS_BYTES 300
#define PORT_USUAL 443

/* -- vCenters ------------------------------------------------------------------------------------------------------------- */

static void find_address_of(const json_t *vcenter, char out[ADDRESS_BYTES]) {
    const char *address = json_get_string(vcenter, "address");
    bool is_v6 = address && strchr(address, ':');
    (void)snprintf(out, ADDRESS_BYTES, "%s%s%s:%lld", is_v6 ? "[" : "", address ? address : "", is_v6 ? "]" : "",
                   (long long)json_get_int(vcenter, "port", PORT_USUAL));
}

void show_vcenter_address(struct table *t, const json_t *vcenter) {
    char address[ADDRESS_BYTES];
    if (json_get_int(vcenter, "port", PORT_USUAL) == PORT_USUAL) {
        table_add(t, json_get_string(vcenter, "address"));
        return;
    }
    find_address_of(vcenter, address);
    table_add(t, address);
}

/* The spellings of a vCenter, i from 0; NULL after the last. */
static const char *find_spelling(const json_t *vcenter, size_t i, char buffer[ADDRESS_BYTES]) {
    const char *address = json_get_string(vcenter, "address");
    switch (i) {
    case 0: return json_get_string(vcenter, "id");
    case 1: return json_get_string(vcenter, "name");
    case 2: return address;
    case 3: find_address_of(vcenter, buffer); return buffer;
    case 4: (void)snprintf(buffer, ADDRESS_BYTES, "[%s]", address ? address : ""); return buffer;
    default: return NULL;
    }
}

/* Names are compared exactly, host names and ids without regard to case. */
static bool find_is_spelled(const char *name, size_t i, const char *ref) {
    return i == 1 ? str_eq(name, ref) : str_eq_nocase(name, ref);
}

bool cli_is_vcenter(const json_t *vcenter, const char *ref) {
    char buffer[ADDRESS_BYTES];
    const char *name;
    for (size_t i = 0; (name = find_spelling(vcenter, i, buffer)); i++)
        if (find_is_spelled(name, i, ref))
            return true;
    return false;
}

/* Where the text behind "VCENTER:" begins if `text` starts with a name of this vCenter and a colon, else NULL. */
static const char *find_after_vcenter(const json_t *vcenter, const char *text) {
    for (const char *colon = strrchr(text, ':'); colon; colon = memrchr(text, ':', (size_t)(colon - text))) {
        _cleanup_free_ char *head = strndup(text, (size_t)(colon - text));
        if (head && *head && cli_is_vcenter(vcenter, head))
            return colon + 1;
    }
    return NULL;
}

int cli_split_vcenter(const json_t *vcenters, const char *text, const json_t **vcenter, const char **rest, struct err *err) {
    const json_t *item, *found = NULL;
    const char *best = text;
    size_t i, fitting = 0;
    json_array_foreach ((json_t *)(uintptr_t)vcenters, i, item) {
        const char *after = find_after_vcenter(item, text);
        if (!after || after < best)
            continue;
        fitting = after > best ? 1 : fitting + 1;
        best = after;
        found = item;
    }
    if (fitting > 1) {
        (void)err_set(err, ERR_AMBIGUOUS, "\"%.*s\" fits %zu vCenters", (int)(best - text) - 1, text, fitting);
        return err_remedy(err, "use ADDRESS:PORT, the name or the id; see: kaasctl vcenter list");
    }
    *vcenter = !found && json_array_size(vcenters) == 1 ? json_array_get(vcenters, 0) : found;
    *rest = best;
    return 0;
}

/* -- any kind ------------------------------------------------------------------------------------------------------------- */

static bool cli_find_has_name(const json_t *item, const char *ref) {
    return str_eq(json_get_string(item, "name"), ref);
}

bool cli_has_path(const json_t *vsphere, const char *path) {
    const struct vsphere_cluster c = {.datacenter =
                                          (char *)(uintptr_t)json_get_string(vsphere, "datacenter"), /* only looked at */
                                      .name = (char *)(uintptr_t)json_get_string(vsphere, "name")};
    return vsphere_cluster_has_path(&c, path);
}

/* As GET /v2/clusters?hx_cluster= finds it. */
static bool find_hx(const json_t *item, const char *ref) {
    return cli_find_has_name(item, ref) || str_eq(json_get_string(item, "hx_uuid"), ref) ||
           str_eq_nocase(json_get_string(item, "management_address"), ref) ||
           cli_has_path(json_object_get(item, "vsphere_cluster"), ref);
}

static bool find_has_name_nocase(const json_t *item, const char *ref) {
    return name_same(json_get_string(item, "name"), ref);
}

/* clang-format off */
#define SHOWN(...) (const struct cli_column[]){{"ID", "id"}, {"NAME", "name"}, __VA_ARGS__, {NULL}}
const struct cli_kind
    cli_vcenters = {"vCenter", "vcenter", "/v2/vcenters", SHOWN({"ADDRESS", NULL, show_vcenter_address}), cli_is_vcenter, false},
    cli_clusters = {"cluster", "cluster", "/v2/clusters", SHOWN({"ON", "placement.vsphere_clusters", show_places}), cli_find_has_name, true},
    cli_hx_clusters = {"HX cluster", "hx", "/v2/hx-clusters", SHOWN({"ON", "vsphere_cluster", show_places}), find_hx, true},
    cli_users = {"user", "user", "/v2/users", SHOWN({"FULL NAME", "full_name"}), find_has_name_nocase, true},
    cli_services = {"service account", "service", "/v2/services", SHOWN({"FULL NAME", "full_name"}), cli_find_has_name, true};
/* clang-format on */

int cli_find(struct cli *cli, const struct cli_kind *kind, const char *ref, json_t **out, struct err *err) {
    _cleanup_json_ json_t *items = NULL, *found = json_array();
    struct cli_near near;
    json_t *item;
    size_t i;
    int rc;
    if (kind->has_own_path && uuid_is_valid(ref)) { /* an id may be a name as well, in theory: then the id counts */
        _cleanup_free_ char *call = str_format("GET %s/%s", kind->path, ref);
        struct err why = {0};
        rc = call ? cli_send(cli, call, NULL, NULL, out, &why) : err_set(&why, ERR_NOMEM, "out of memory");
        if (rc != ERR_NOT_FOUND)
            return err_move(err, rc, &why);
    }
    rc = cli_list(cli, kind->path, NULL, NULL, &items, err);
    if (rc)
        return rc;
    cli_near_init(&near, ref);
    json_array_foreach (items, i, item) {
        cli_near_try(&near, json_get_string(item, "name"));
        if (kind->fits(item, ref))
            (void)json_array_append(found, item);
    }
    if (!json_array_size(found)) {
        (void)err_set(err, ERR_NOT_FOUND, "there is no %s \"%s\"", kind->word, ref);
        return near.best ? err_remedy(err, "did you mean \"%s\"?", near.best)
                         : err_remedy(err, "see: kaasctl %s list", kind->command);
    }
    if (json_array_size(found) > 1) {
        (void)show_rows(found, kind->shown, &cli->more, NULL);
        (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits %zu %ss", ref, json_array_size(found), kind->word);
        return err_remedy(err, kind == &cli_hx_clusters ? "use the id, or the vSphere cluster that it is on:" : "use the id:");
    }
    *out = json_incref(json_array_get(found, 0));
    return 0;
}

/* -- candidates of the server --------------------------------------------------------------------------------------------- */

static void find_show_place(struct table *t, const json_t *candidate) {
    const char *path = json_get_string(candidate, "path");
    table_add(t, path ? path : json_get_string(candidate, "moref"));
}

void cli_add_candidates(struct cli *cli) {
    (void)show_rows(json_object_get(cli_client_problem(cli->client), "candidates"), SHOWN({"ON", NULL, find_show_place}),
                    &cli->more, NULL);
}
