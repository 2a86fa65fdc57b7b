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

/* -- memory that is given back as a whole: holds a record with all its texts and lists ----------------------------- */

struct vim_arena;

/* NULL without memory. Freed by vim_arena_free. */
struct vim_arena *vim_arena_new(void);
void vim_arena_free(struct vim_arena *arena); /* NULL is allowed */

/* Zeroed room for `count` items of `size` bytes, valid until the arena is freed. NULL without memory (sticky) or for none. */
void *vim_arena_alloc(struct vim_arena *arena, size_t count, size_t size);

/* A copy of a text; NULL for NULL, and without memory (sticky). */
const char *vim_arena_text(struct vim_arena *arena, const char *text);

/* True if any of the above found no memory. */
bool vim_arena_has_failed(const struct vim_arena *arena);
