/* Answers of kaasd as YAML. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "json.h"
#include "strbuf.h"

/* Appends a value as a document of YAML 1.2 that means the same in YAML 1.1: in block style, members in the order of the value. Texts that could be read as
 * something else are quoted as in JSON; texts of several lines are block scalars. ERR_NOMEM, ERR_TOO_LARGE by the buffer's cap. */
int yaml_write(const json_t *value, struct strbuf *out, struct err *err);
