/* Helpers of this folder: structs full of malloc'ed texts, and words of enums. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A struct names its texts once, as a list of offsets, and both freeing and copying go by it: no text is forgotten in one of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"

/* Frees the texts at these offsets of `object` and sets them to NULL. */
void texts_free(void *object, const size_t *offsets, size_t count);

/* `object` is a bitwise copy of another: replaces its texts by own duplicates. False without memory: then what could not be
 * duplicated is NULL, so that texts_free is safe. */
bool texts_dup(void *object, const size_t *offsets, size_t count);

/* What the texts at these offsets need, each with its NUL. */
size_t texts_bytes(const void *object, const size_t *offsets, size_t count);

/* Copies the texts at these offsets to `to`, one after the other, and has `object` point there. Returns what follows the last. */
char *texts_put(void *object, const size_t *offsets, size_t count, char *to);

/* Where a struct node_observation has its texts. */
extern const size_t observation_texts[];
extern const size_t observation_texts_count;

/* The word at `value`, or `fallback` when there is none. */
const char *words_get(const char *const *words, size_t count, size_t value, const char *fallback);

/* Place of a word; false if it is not there or NULL. */
bool words_find(const char *const *words, size_t count, const char *word, size_t *out);
