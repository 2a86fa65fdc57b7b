/* Memory that is given back as a whole. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_arena.h"

#include <stdlib.h>
#include <string.h>

struct block {
    struct block *next;
    max_align_t bytes[];
};

struct vim_arena {
    struct block *blocks;
    bool has_failed;
};

struct vim_arena *vim_arena_new(void) {
    return calloc(1, sizeof(struct vim_arena));
}

void vim_arena_free(struct vim_arena *arena) {
    if (!arena)
        return;
    for (struct block *b = arena->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(arena);
}

void *vim_arena_alloc(struct vim_arena *arena, size_t count, size_t size) {
    struct block *b;
    size_t bytes;
    if (!count || !size)
        return NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, sizeof(*b), &bytes) ||
        !(b = calloc(1, bytes))) {
        arena->has_failed = true;
        return NULL;
    }
    b->next = arena->blocks;
    arena->blocks = b;
    return b->bytes;
}

const char *vim_arena_text(struct vim_arena *arena, const char *text) {
    char *copy;
    size_t n;
    if (!text)
        return NULL;
    n = strlen(text) + 1;
    copy = vim_arena_alloc(arena, n, 1);
    if (copy)
        memcpy(copy, text, n);
    return copy;
}

bool vim_arena_has_failed(const struct vim_arena *arena) {
    return arena->has_failed;
}
