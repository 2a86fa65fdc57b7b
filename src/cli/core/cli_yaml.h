/* Answers of kaasd as YAML. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "json.h"
#include "strbuf.h"

/* Appends a value as a document of YAML 1.2, which YAML 1.1 reads as the same: blocks, members in the order in which they came. Texts that could be read as
 * something else are quoted as in JSON; those of several lines are blocks. ERR_NOMEM, ERR_TOO_LARGE by the buffer's cap. */
int yaml_write(const json_t *value, struct strbuf *out, struct err *err);
