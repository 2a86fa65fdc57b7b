/* From the arguments of the program to a command with its options, or to a help text. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include <string.h>

#include "cli_command.h"
#include "cli_table.h"
#include "str.h"

/* -- help ---------------------------------------------------------------------------------------------------------------------- */

static void help_add_row(struct table *t, const struct cli_command *c) {
    const char *verb = c->verb ? c->verb : "";
    table_addf(t, "%s%s%s%s%s", c->group, *verb ? " " : "", verb, *c->arguments ? " " : "", c->arguments);
    table_add(t, c->about);
}

/* All commands, or those of a group. */
static void help_add_commands(struct strbuf *out, const char *group) {
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 2);
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (!group || str_eq(c->group, group))
            help_add_row(&t, c);
    (void)table_write(&t, out, NULL);
}

static void help_add_options(struct strbuf *out, const struct opt_spec *options) {
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 2);
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
                "The administrator's command line of Harmony KaaS. Speaks to kaasd on this machine through its admin socket.\n\n"
                "Commands:\n");
    help_add_commands(out, NULL);
    strbuf_adds(out, "\nOptions of all commands, before or behind the command:\n");
    help_add_options(out, cli_common_options);
    strbuf_adds(out, "\nkaasctl COMMAND --help tells the options of a command. Passwords are never taken as arguments.\n\n"
                     "Exit status: 0 done, 1 failed, 2 wrong usage, 3 kaasd or its database cannot be reached,\n"
                     "4 there is no such thing, 5 sign-in refused or not allowed, 6 a confirmation is missing.\n");
}

static void help_add_group(struct strbuf *out, const char *group) {
    strbuf_addf(out, "Usage: kaasctl %s COMMAND [ARGUMENT] [OPTION...]\n\nCommands:\n", group);
    help_add_commands(out, group);
    strbuf_addf(out, "\nkaasctl %s COMMAND --help tells the options of a command.\n", group);
}

static void help_add_command(struct strbuf *out, const struct cli_command *c) {
    strbuf_addf(out, "Usage: kaasctl %s%s%s%s%s [OPTION...]\n\n", c->group, c->verb ? " " : "", c->verb ? c->verb : "",
                *c->arguments ? " " : "", c->arguments);
    strbuf_addf(out, "%c%s.\n", *c->about - 'a' + 'A', c->about + 1);
    if (c->options) {
        strbuf_adds(out, "\nOptions:\n");
        help_add_options(out, c->options);
    }
    strbuf_adds(out, "\nOptions of all commands: see kaasctl --help\n");
}

/* -- commands ------------------------------------------------------------------------------------------------------------------- */

static bool parse_is_group(const char *word) {
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (c->verb && str_eq(c->group, word))
            return true;
    return false;
}

static const struct cli_command *parse_find_command(const char *group, const char *verb) {
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (str_eq(c->group, group) && str_eq(c->verb, verb))
            return c;
    return NULL;
}

/* `group` is NULL when the first word is unknown. */
static int parse_unknown_command(const char *group, const char *word, struct err *err) {
    const char *lead = group ? group : "", *blank = group ? " " : "";
    struct cli_near near;
    cli_near_init(&near, word);
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (!group || str_eq(c->group, group))
            cli_near_try(&near, group ? c->verb : c->group);
    (void)err_set(err, ERR_INVALID, "unknown command \"%s%s%s\"", lead, blank, word);
    if (near.best)
        return err_remedy(err, "did you mean \"%s%s%s\"?", lead, blank, near.best);
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

static bool parse_is_asked(const struct cli *cli, const char *option) {
    return opt_get_common(&cli->given, option);
}

/* Reads the one or two words of the command. *group gets the first of them. */
static int parse_command(struct cli *cli, const char *const **argv, const char **group, struct err *err) {
    int rc = parse_leading(cli, argv, err);
    if (rc || !**argv)
        return rc;
    *group = *(*argv)++;
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

static int parse_no_command(const char *group, struct err *err) {
    (void)err_set(err, ERR_INVALID, "no command is given%s%s", group ? " behind " : "", group ? group : "");
    return err_remedy(err, "see: kaasctl%s%s --help", group ? " " : "", group ? group : "");
}

static void parse_answer_help(struct cli *cli, const char *group) {
    if (cli->command)
        help_add_command(&cli->out, cli->command);
    else if (group)
        help_add_group(&cli->out, group);
    else
        help_add_program(&cli->out);
    cli->command = NULL;
}

/* How many arguments a text such as "NAME [USER]" names: at least, and at most. */
static void parse_count_words(const char *arguments, size_t *least, size_t *most) {
    *least = *most = 0;
    for (const char *at = arguments; *at; at += strspn(at, " ")) {
        ++*most;
        *least += *at != '[';
        at += strcspn(at, " ");
    }
}

static int parse_check_words(const struct cli *cli, struct err *err) {
    const struct cli_command *c = cli->command;
    const char *verb = c->verb ? c->verb : "", *blank = c->verb ? " " : "";
    size_t count = cli->given.words_count, least, most;
    parse_count_words(c->arguments, &least, &most);
    if (count > most) {
        (void)err_set(err, ERR_INVALID, "unexpected argument \"%s\"", cli->given.words[most]);
        return err_remedy(err, "see: kaasctl %s%s%s --help", c->group, blank, verb);
    }
    if (count >= least)
        return 0;
    (void)err_set(err, ERR_INVALID, "%s is missing", c->arguments);
    return err_remedy(err, "kaasctl %s%s%s %s", c->group, blank, verb, c->arguments);
}

static int parse_check_required(const struct cli *cli, struct err *err) {
    for (const struct opt_spec *o = cli->command->options; o && o->name; o++)
        if (o->is_required && !opt_get(&cli->given, o->name))
            return err_set(err, ERR_INVALID, "--%s is missing", o->name);
    return 0;
}

static int parse_check_common(struct cli *cli, struct err *err) {
    const char *format = opt_get_common(&cli->given, "output");
    cli->is_json = str_eq(format, "json");
    if (format && !cli->is_json && !str_eq(format, "table"))
        return err_set(err, ERR_INVALID, "--output must be table or json, not \"%s\"", format);
    if (parse_is_asked(cli, "server") && parse_is_asked(cli, "config"))
        return err_set(err, ERR_INVALID, "give either --server or --config, not both");
    return 0;
}

static int parse_all(struct cli *cli, const char *const *argv, struct err *err) {
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
    if (parse_is_asked(cli, "help")) {
        parse_answer_help(cli, group);
        return 0;
    }
    if (parse_is_asked(cli, "version")) {
        strbuf_adds(&cli->out, "kaasctl " PACKAGE_VERSION "\n");
        cli->command = NULL;
        return 0;
    }
    if (!cli->command)
        return parse_no_command(group, err);
    rc = parse_check_words(cli, err);
    if (rc)
        return rc;
    rc = parse_check_required(cli, err);
    return rc ? rc : parse_check_common(cli, err);
}

int cli_parse(struct cli *cli, int argc, char **argv, struct err *err) {
    int rc = opt_init(&cli->given, (size_t)argc, err);
    if (!rc)
        rc = parse_all(cli, (const char *const *)argv + 1, err);
    if (rc)
        cli->status = CLI_USAGE;
    return rc;
}
