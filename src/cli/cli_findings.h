/* What step-by-step examinations found, laid out for people. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "cli.h"
#include "json.h"

/* How many findings have this status. */
size_t findings_count(const json_t *findings, const char *status);

/* Appends findings (objects with title, status, finding, remedy, and server if there are several), a remedy below each, and a line that sums them up. */
int findings_write(struct cli *cli, const json_t *findings, struct err *err);

/* The program's exit status is "failed" if one of them is. */
void findings_judge(struct cli *cli, const json_t *findings);
