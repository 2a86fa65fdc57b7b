/* The newest release file that was accepted, shared by all replicas, and the result of the last look at its source. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "store.h"

#define RELEASE_FILE_BYTES_MAX 65536U
#define RELEASE_SIGNATURE_BYTES 64U

struct release_row {
    uint8_t content[RELEASE_FILE_BYTES_MAX]; /* exactly as it was read */
    size_t content_bytes;                    /* 0: none was accepted yet */
    uint8_t signature[RELEASE_SIGNATURE_BYTES];
    size_t signature_bytes;
    bool was_looked;              /* some replica has looked at the source */
    bool is_due;                  /* the next look at the source is due, by the database's clock */
    char problem[ERR_TEXT_BYTES]; /* why the last look failed; "": it did not */
    char remedy[ERR_REMEDY_BYTES];
    int64_t problem_since_ms; /* database time: since when looks have failed, or succeeded, in a row */
};

/* Reads the row into *out. Without a row was_looked is false and is_due true. */
int release_store_load(struct store *store, struct release_row *out, struct err *err);

/* The result of a look. */
struct release_look {
    const void *content; /* the accepted file; NULL: the stored one stays */
    size_t content_bytes;
    const void *signature;
    size_t signature_bytes;
    const struct err *problem; /* code 0: none */
    int64_t again_after_ms;    /* the next look is due after a random time between four fifths of this and all of it */
};
int release_store_save(struct store *store, const struct release_look *look, struct err *err);
