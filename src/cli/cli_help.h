/* Help texts, made from the tables of commands and options. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli_commands.h"
#include "strbuf.h"

/* Appends the help of the whole program. */
void help_add_program(struct strbuf *out);

/* Appends the commands of one group. */
void help_add_group(struct strbuf *out, const char *group);

/* Appends the help of one command. */
void help_add_command(struct strbuf *out, const struct cli_command *command);
