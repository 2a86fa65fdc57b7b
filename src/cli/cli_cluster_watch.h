/* kaasctl cluster list --watch. Layer 6 (cli). SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "cli_show.h"

/* Shows the list at this path now and whenever it changes. Returns only with an error that does not pass. */
int cli_cluster_watch(struct cli *cli, const char *path, const struct cli_column *columns, struct err *err);
