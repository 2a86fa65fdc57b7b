/* (vCenter instance UUID, managed object id): names one object of one vCenter; and sets of them. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define MOREF_BYTES 81

/* Comparable by value; both texts are NUL-terminated inside. */
struct object_ref {
    char vcenter_id[37];
    char moref[MOREF_BYTES];
};

/* Builds a reference; texts that do not fit give ERR_UNPROCESSABLE. */
int object_ref_make(const char *vcenter_id, const char *moref, struct object_ref *out, struct err *err);
int object_ref_compare(const struct object_ref *a, const struct object_ref *b); /* <0, 0, >0: by vCenter, then moref */
bool object_ref_eq(const struct object_ref *a, const struct object_ref *b);

/* A sorted set without duplicates. All-zero is the empty set. */
struct object_set {
    struct object_ref *items;
    size_t count, alloc;
};
void object_set_done(struct object_set *set);                                              /* NULL is allowed */
int object_set_add(struct object_set *set, const struct object_ref *ref, struct err *err); /* ERR_NOMEM */
bool object_set_has(const struct object_set *set, const struct object_ref *ref);
/* Copy into an uninitialised struct. ERR_NOMEM. */
int object_set_copy(const struct object_set *from, struct object_set *out, struct err *err);
