/* Turns a list of clusters as kaasctl prints it into records that can be imported. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "strbuf.h"

/* Replaces `text`, if it is a JSON array as of `cluster list -o json`, by one record a line; else leaves it as it is. Members that kaasd sets or observes are
 * left out; `left` (initialised) gets their names, separated by commas. With `is_update` an observed placement is left out, too.
 * ERR_JSON, ERR_NOMEM, ERR_TOO_LARGE. */
int cluster_listed_to_lines(struct strbuf *text, bool is_update, struct strbuf *left, struct err *err);
