/* Rows of what was observed that the database refuses: they are left out, and told. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"

#define REFUSED_ROWS_ID_BYTES 81
#define REFUSED_ROWS_WHY_BYTES 160

/* A plain value; all zero: none. */
struct refused_rows {
    unsigned count;
    char id[REFUSED_ROWS_ID_BYTES];   /* of the first: its managed object id */
    char why[REFUSED_ROWS_WHY_BYTES]; /* "a name of it has 300 characters, 255 are the most" */
};

/* If `why` says that the database refused the values of a row, notes it and empties `why`: the rest goes on. `names` are those of its texts that come from outside, ended by
 * NULL; none: whatever. `rows` NULL, or another error: does nothing. Returns the code that is left. */
int refused_rows_note(struct refused_rows *rows, const char *id, const char *const *names, struct err *why);
