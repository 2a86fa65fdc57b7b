/* Helpers of this folder: structs full of malloc'ed texts, and words of enums. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "texts.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"

static char **text_at(void *object, size_t offset) {
    void *at = (char *)object + offset;
    return at;
}

void texts_free(void *object, const size_t *offsets, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char **text = text_at(object, offsets[i]);
        free(*text);
        *text = NULL;
    }
}

bool texts_dup(void *object, const size_t *offsets, size_t count) {
    bool is_complete = true;
    for (size_t i = 0; i < count; i++) {
        char **text = text_at(object, offsets[i]);
        const char *original = *text;
        *text = str_dup(original);
        if (original && !*text)
            is_complete = false;
    }
    return is_complete;
}

size_t texts_bytes(const void *object, const size_t *offsets, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const void *at = (const char *)object + offsets[i];
        const char *text = *(char *const *)at;
        bytes += text ? strlen(text) + 1 : 0;
    }
    return bytes;
}

char *texts_put(void *object, const size_t *offsets, size_t count, char *to) {
    for (size_t i = 0; i < count; i++) {
        char **text = text_at(object, offsets[i]);
        const size_t bytes = *text ? strlen(*text) + 1 : 0;
        if (!bytes)
            continue;
        memcpy(to, *text, bytes);
        *text = to;
        to += bytes;
    }
    return to;
}

const char *words_get(const char *const *words, size_t count, size_t value, const char *fallback) {
    return value < count && words[value] ? words[value] : fallback;
}

bool words_find(const char *const *words, size_t count, const char *word, size_t *out) {
    for (size_t i = 0; word && i < count; i++) {
        if (!str_eq(words[i], word))
            continue;
        *out = i;
        return true;
    }
    return false;
}
