/* Help texts, made from the tables of commands and options. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_help.h"

#include "cli_table.h"
#include "str.h"

static void add_command_row(struct table *t, const struct cli_command *c) {
    const char *verb = c->verb ? c->verb : "";
    table_addf(t, "%s%s%s%s%s", c->group, *verb ? " " : "", verb, *c->arguments ? " " : "", c->arguments);
    table_add(t, c->about);
}

/* All commands, or those of a group. */
static void add_commands(struct strbuf *out, const char *group) {
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 2);
    for (const struct cli_command *c = cli_commands; c->group; c++)
        if (!group || str_eq(c->group, group))
            add_command_row(&t, c);
    (void)table_write(&t, out, NULL);
}

static void add_options(struct strbuf *out, const struct opt_spec *options) {
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 2);
    for (const struct opt_spec *o = options; o->name; o++) {
        char letter[] = {'-', o->letter, ',', ' ', 0};
        table_addf(&t, "%s--%s%s%s", o->letter ? letter : "    ", o->name, o->value ? " " : "", o->value ? o->value : "");
        table_add(&t, o->about);
    }
    (void)table_write(&t, out, NULL);
}

void help_add_program(struct strbuf *out) {
    strbuf_adds(out,
                "Usage: kaasctl [OPTION...] COMMAND [ARGUMENT] [OPTION...]\n\n"
                "The administrator's command line of Harmony KaaS. Speaks to kaasd on this machine through its admin socket.\n\n"
                "Commands:\n");
    add_commands(out, NULL);
    strbuf_adds(out, "\nOptions of all commands, before or behind the command:\n");
    add_options(out, cli_common_options);
    strbuf_adds(out, "\nkaasctl COMMAND --help tells the options of a command. Passwords are never taken as arguments.\n\n"
                     "Exit status: 0 done, 1 failed, 2 wrong usage, 3 kaasd or its database cannot be reached,\n"
                     "4 there is no such thing, 5 sign-in refused or not allowed, 6 a confirmation is missing.\n");
}

void help_add_group(struct strbuf *out, const char *group) {
    strbuf_addf(out, "Usage: kaasctl %s COMMAND [ARGUMENT] [OPTION...]\n\nCommands:\n", group);
    add_commands(out, group);
    strbuf_addf(out, "\nkaasctl %s COMMAND --help tells the options of a command.\n", group);
}

void help_add_command(struct strbuf *out, const struct cli_command *c) {
    strbuf_addf(out, "Usage: kaasctl %s%s%s%s%s [OPTION...]\n\n", c->group, c->verb ? " " : "", c->verb ? c->verb : "",
                *c->arguments ? " " : "", c->arguments);
    strbuf_addf(out, "%c%s.\n", *c->about - 'a' + 'A', c->about + 1);
    if (c->options) {
        strbuf_adds(out, "\nOptions:\n");
        add_options(out, c->options);
    }
    strbuf_adds(out, "\nOptions of all commands: see kaasctl --help\n");
}
