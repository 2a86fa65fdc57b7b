/* Extension records between our structs and the codec's. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "vim_context.h"

struct vim_extension;

/* Builds the record to send in the context's memory. What is missing or cannot be sent is noted in ctx->err, naming the member. */
struct vim25__Extension *vim_in_extension(struct vim_context *ctx, const struct vim_extension *from);

/* A deep copy of a decoded record. ERR_NOMEM; ERR_PROTOCOL without key. Freed by vim_extension_free. */
int vim_extension_of_wire(const struct vim25__Extension *from, struct vim_extension **out, struct err *err);
