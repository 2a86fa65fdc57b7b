/* From the arguments of the program to a command with its options. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_parse.h"

#include <config.h>

#include "cli_commands.h"
#include "cli_help.h"
#include "cli_near.h"
#include "str.h"

static bool is_group(const char *word) {
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (c->verb && str_eq(c->group, word))
            return true;
    return false;
}

static const struct cli_command *find_command(const char *group, const char *verb) {
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (str_eq(c->group, group) && str_eq(c->verb, verb))
            return c;
    return NULL;
}

/* `group` is NULL when the first word is unknown. */
static int unknown_command(const char *group, const char *word, struct err *err) {
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
static int read_leading(struct cli *cli, const char *const **argv, struct err *err) {
    struct opt_tables tables = {.common = cli_common_options};
    size_t used = 0;
    int rc = opt_read(&tables, *argv, true, &used, &cli->given, err);
    *argv += used;
    return rc;
}

static bool is_asked(const struct cli *cli, const char *option) {
    return opt_get_common(&cli->given, option);
}

/* Reads the one or two words of the command. *group gets the first of them. */
static int read_command(struct cli *cli, const char *const **argv, const char **group, struct err *err) {
    int rc = read_leading(cli, argv, err);
    if (rc || !**argv)
        return rc;
    *group = *(*argv)++;
    if (!is_group(*group)) {
        cli->command = find_command(*group, NULL);
        return cli->command ? 0 : unknown_command(NULL, *group, err);
    }
    rc = read_leading(cli, argv, err);
    if (rc || !**argv)
        return rc;
    cli->command = find_command(*group, **argv);
    return cli->command ? (*argv)++, 0 : unknown_command(*group, **argv, err);
}

static int no_command(const char *group, struct err *err) {
    (void)err_set(err, ERR_INVALID, "no command is given%s%s", group ? " behind " : "", group ? group : "");
    return err_remedy(err, "see: kaasctl%s%s --help", group ? " " : "", group ? group : "");
}

static void answer_help(struct cli *cli, const char *group) {
    if (cli->command)
        help_add_command(&cli->out, cli->command);
    else if (group)
        help_add_group(&cli->out, group);
    else
        help_add_program(&cli->out);
    cli->command = NULL;
}

static int check_words(const struct cli *cli, struct err *err) {
    const struct cli_command *c = cli->command;
    const char *verb = c->verb ? c->verb : "", *blank = c->verb ? " " : "";
    size_t count = cli->given.words_count;
    if (count > c->words_max) {
        (void)err_set(err, ERR_INVALID, "unexpected argument \"%s\"", cli->given.words[c->words_max]);
        return err_remedy(err, "see: kaasctl %s%s%s --help", c->group, blank, verb);
    }
    if (count >= c->words_min)
        return 0;
    (void)err_set(err, ERR_INVALID, "%s is missing", c->arguments);
    return err_remedy(err, "kaasctl %s%s%s %s", c->group, blank, verb, c->arguments);
}

static int check_common(struct cli *cli, struct err *err) {
    const char *format = opt_get_common(&cli->given, "output");
    cli->is_json = str_eq(format, "json");
    if (format && !cli->is_json && !str_eq(format, "table"))
        return err_set(err, ERR_INVALID, "--output must be table or json, not \"%s\"", format);
    if (is_asked(cli, "server") && is_asked(cli, "config"))
        return err_set(err, ERR_INVALID, "give either --server or --config, not both");
    return 0;
}

static int parse(struct cli *cli, const char *const *argv, struct err *err) {
    struct opt_tables tables = {.common = cli_common_options};
    const char *group = NULL;
    size_t used = 0;
    int rc = read_command(cli, &argv, &group, err);
    if (!rc && cli->command) {
        tables.own = cli->command->options;
        rc = opt_read(&tables, argv, false, &used, &cli->given, err);
    }
    if (rc)
        return rc;
    if (is_asked(cli, "help")) {
        answer_help(cli, group);
        return 0;
    }
    if (is_asked(cli, "version")) {
        strbuf_adds(&cli->out, "kaasctl " PACKAGE_VERSION "\n");
        cli->command = NULL;
        return 0;
    }
    if (!cli->command)
        return no_command(group, err);
    rc = check_words(cli, err);
    return rc ? rc : check_common(cli, err);
}

int cli_parse(struct cli *cli, int argc, char **argv, struct err *err) {
    int rc = opt_init(&cli->given, (size_t)argc, err);
    if (!rc)
        rc = parse(cli, (const char *const *)argv + 1, err);
    if (rc)
        cli->status = CLI_USAGE;
    return rc;
}
