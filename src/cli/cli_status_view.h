/* The status of a vCenter, laid out for people. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "json.h"

/* Appends the API's VcenterStatus as a block of lines. ERR_NOMEM. */
int status_view_write(struct cli *cli, const json_t *status, struct err *err);
