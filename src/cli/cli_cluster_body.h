/* From the options of `kaasctl cluster add|set|status` to the body of the request. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "json.h"

/* Puts everything that was given into `body`. Connects if vSphere clusters must be told apart. ERR_INVALID for wrong usage. */
int cluster_body_fill(struct cli *cli, json_t *body, struct err *err);
