/* Memory that is given back as a whole: holds a record with all its texts and lists. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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
