/* The status of a vCenter, laid out for people. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "json.h"

/* Appends what of the API's VcenterStatus is not as it should be, in one line; nothing if all is. */
void status_view_problems(const json_t *status, struct strbuf *out);

/* Appends it as a block of lines. ERR_NOMEM. */
int status_view_write(struct cli *cli, const json_t *status, struct err *err);
