/* A list of clusters as kaasctl prints it, made into what is imported. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "strbuf.h"

/* Where `text` is an array of JSON, as of `cluster list -o json`, it becomes one record a line; else it stays as it is. What kaasd sets, and what it sees
 * by itself, is left out; `left` (initialised) gets the names, with a comma between. With `is_update` that is also the placement that is seen, not declared.
 * ERR_JSON, ERR_NOMEM, ERR_TOO_LARGE. */
int cluster_listed_to_lines(struct strbuf *text, bool is_update, struct strbuf *left, struct err *err);
