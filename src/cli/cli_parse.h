/* From the arguments of the program to a command with its options. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"

/* Reads argv into cli->command and cli->given. cli->command stays NULL when there is nothing to run because a help or the version was asked for; it
 * is in cli->out then. Everything wrong: ERR_INVALID with exit status 2. */
int cli_parse(struct cli *cli, int argc, char **argv, struct err *err);
