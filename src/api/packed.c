/* Answers in their compressed form. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * They are found by the text's address, which is its own as long as a reference is held: no digest is needed. */
#include "packed.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gzip.h"
#include "str.h"

#define SLOTS 32U
#define KEPT_BYTES_MAX (1024U * 1024U) /* of one text */
/* Measured with lists of 20 to 500 clusters: level 3 costs what level 1 does and gives 12.8 : 1 instead of 10.9 : 1; level 6 costs twice as much for 15 : 1. */
#define LEVEL_LIST 3
#define LEVEL_FILE 9

struct slot {
    struct http_shared *text, *form; /* NULL: empty */
    uint64_t used;
};

struct packed {
    pthread_mutex_t lock;
    uint64_t clock;
    struct slot slots[SLOTS];
};

int packed_new(struct packed **out, struct err *err) {
    struct packed *packed = calloc(1, sizeof(*packed));
    if (!packed)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&packed->lock, NULL);
    *out = packed;
    return 0;
}

static void empty(struct slot *slot) {
    http_shared_unref(slot->text);
    http_shared_unref(slot->form);
    *slot = (struct slot){0};
}

void packed_free(struct packed *packed) {
    if (!packed)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        empty(&packed->slots[i]);
    (void)pthread_mutex_destroy(&packed->lock);
    free(packed);
}

bool packed_is_worth(const char *type, size_t bytes) {
    static const char *const texts[] = {"application/json", "application/yaml", "image/svg+xml", "text/"};
    for (size_t i = 0; bytes >= PACKED_BYTES_MIN && i < ARRAY_COUNT(texts); i++)
        if (str_starts(type, texts[i]))
            return true;
    return false;
}

struct http_shared *packed_find(struct packed *packed, const struct http_shared *text) {
    struct http_shared *form = NULL;
    (void)pthread_mutex_lock(&packed->lock);
    for (size_t i = 0; !form && i < SLOTS; i++) {
        if (packed->slots[i].text != text)
            continue;
        packed->slots[i].used = ++packed->clock;
        form = http_shared_ref(packed->slots[i].form);
    }
    (void)pthread_mutex_unlock(&packed->lock);
    return form;
}

/* In place of the one that was not used for the longest time. */
static void keep(struct packed *packed, struct http_shared *text, struct http_shared *form) {
    struct slot *slot = &packed->slots[0], old;
    (void)pthread_mutex_lock(&packed->lock);
    for (size_t i = 0; i < SLOTS; i++) {
        if (packed->slots[i].text == text) { /* somebody was quicker */
            slot = &packed->slots[i];
            break;
        }
        if (packed->slots[i].used < slot->used)
            slot = &packed->slots[i];
    }
    old = *slot;
    *slot = (struct slot){http_shared_ref(text), http_shared_ref(form), ++packed->clock};
    (void)pthread_mutex_unlock(&packed->lock);
    empty(&old);
}

struct http_shared *packed_make(struct packed *packed, struct http_shared *text, bool is_kept, bool is_small) {
    _cleanup_strbuf_ struct strbuf out;
    struct http_shared *form = NULL;
    size_t n = 0;
    const char *data = http_shared_data(text, &n);
    strbuf_init(&out, n); /* what does not get smaller is not worth it */
    if (!gzip_pack(data, n, is_small ? LEVEL_FILE : LEVEL_LIST, &out, NULL))
        form = http_shared_new(&out);
    if (form && is_kept && n <= KEPT_BYTES_MAX)
        keep(packed, text, form);
    return form;
}
