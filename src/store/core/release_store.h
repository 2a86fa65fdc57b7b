/* The newest release file that was accepted, shared by all replicas, and what came of the last look at its source. Layer 2 (store). Common errors: store.h.
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
    bool was_looked;              /* some replica looked at the source */
    bool is_due;                  /* it is to be looked at, by the database's clock */
    char problem[ERR_TEXT_BYTES]; /* why the last look ended badly; "": it did not */
    char remedy[ERR_REMEDY_BYTES];
    int64_t problem_since_ms; /* database time: since when looks end so, well or badly */
};

/* Reads the row into *out, all of it; without a row nothing was looked at, and it is due. */
int release_store_load(struct store *store, struct release_row *out, struct err *err);

/* What a look brought. */
struct release_look {
    const void *content; /* accepted; NULL: the one that is there stays */
    size_t content_bytes;
    const void *signature;
    size_t signature_bytes;
    const struct err *problem; /* code 0: none */
    int64_t again_after_ms;    /* the next look is due within the last fifth of this time, by chance */
};
int release_store_save(struct store *store, const struct release_look *look, struct err *err);
