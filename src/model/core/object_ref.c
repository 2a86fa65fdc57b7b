/* (vCenter instance UUID, managed object id) and sets of them. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "object_ref.h"

#include <stdlib.h>
#include <string.h>

int object_ref_make(const char *vcenter_id, const char *moref, struct object_ref *out, struct err *err) {
    size_t id_len = strlen(vcenter_id), moref_len = strlen(moref);
    if (!id_len || id_len >= sizeof(out->vcenter_id))
        return err_set(err, ERR_UNPROCESSABLE, "\"%.80s\" is not the instance UUID of a vCenter", vcenter_id);
    if (!moref_len || moref_len >= sizeof(out->moref))
        return err_set(err, ERR_UNPROCESSABLE, "\"%.100s\" is not a managed object id: 1 to %zu characters", moref,
                       sizeof(out->moref) - 1);
    *out = (struct object_ref){{0}, {0}};
    memcpy(out->vcenter_id, vcenter_id, id_len);
    memcpy(out->moref, moref, moref_len);
    return 0;
}

int object_ref_compare(const struct object_ref *a, const struct object_ref *b) {
    int order = strcmp(a->vcenter_id, b->vcenter_id);
    return order ? order : strcmp(a->moref, b->moref);
}

bool object_ref_eq(const struct object_ref *a, const struct object_ref *b) {
    return object_ref_compare(a, b) == 0;
}

void object_set_done(struct object_set *set) {
    if (!set)
        return;
    free(set->items);
    *set = (struct object_set){0};
}

/* Where the reference is or belongs. */
static size_t object_ref_find_place(const struct object_set *set, const struct object_ref *ref, bool *is_found) {
    size_t low = 0, high = set->count;
    *is_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = object_ref_compare(&set->items[middle], ref);
        if (!order) {
            *is_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int object_ref_make_room(struct object_set *set, struct err *err) {
    size_t alloc = set->alloc ? set->alloc * 2 : 8;
    struct object_ref *items;
    if (set->count < set->alloc)
        return 0;
    items = reallocarray(set->items, alloc, sizeof(*items));
    if (!items)
        return err_set(err, ERR_NOMEM, "no memory for a set of objects");
    set->items = items;
    set->alloc = alloc;
    return 0;
}

int object_set_add(struct object_set *set, const struct object_ref *ref, struct err *err) {
    struct object_ref added = *ref; /* it may lie in the set itself, which moves */
    bool is_found;
    size_t place = object_ref_find_place(set, ref, &is_found);
    int rc = is_found ? 0 : object_ref_make_room(set, err);
    if (rc || is_found)
        return rc;
    if (place < set->count)
        memmove(set->items + place + 1, set->items + place, (set->count - place) * sizeof(*set->items));
    set->items[place] = added;
    set->count++;
    return 0;
}

bool object_set_has(const struct object_set *set, const struct object_ref *ref) {
    bool is_found;
    (void)object_ref_find_place(set, ref, &is_found);
    return is_found;
}

int object_set_copy(const struct object_set *from, struct object_set *out, struct err *err) {
    struct object_set copy = {.count = from->count, .alloc = from->count};
    if (from->count) {
        copy.items = calloc(from->count, sizeof(*copy.items));
        if (!copy.items)
            return err_set(err, ERR_NOMEM, "no memory for a set of objects");
        memcpy(copy.items, from->items, from->count * sizeof(*copy.items));
    }
    *out = copy;
    return 0;
}
