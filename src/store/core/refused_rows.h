/* Rows of observed objects that the database refuses: they are left out, counted and reported. Layer 2 (store).
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

/* If `why` is ERR_UNPROCESSABLE (the database refused the values of a row), counts the row and clears `why`, so that the caller goes on with the others.
 * `names` are the texts of the row that come from outside, ended by NULL; one that is too long becomes the reason. Does nothing if `rows` is NULL or for
 * another error. Returns the code that `why` has then. */
int refused_rows_note(struct refused_rows *rows, const char *id, const char *const *names, struct err *why);
