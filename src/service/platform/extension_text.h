/* Extension records for people: one line per member, as it is and as it should be. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "vim_extension.h"

/* One member. Texts malloc'ed; NULL: not set. Long texts (certificates) are told by their SHA-256. */
struct record_line {
    char *member; /* "server[0].url" */
    char *now, *wanted;
    bool is_kept; /* not ours to change: an update keeps it */
};
struct record_lines {
    struct record_line *items;
    size_t count;
};
void record_lines_done(struct record_lines *lines); /* NULL is allowed */

/* Lists the members of both records in the order of vim.Extension; either may be NULL (no record; none wanted). A member that neither has is
 * left out. *out (uninitialised) is given back by record_lines_done. ERR_NOMEM. */
int extension_text_lines(const struct vim_extension *found, const struct vim_extension *wanted, const char *api_version,
                         struct record_lines *out, struct err *err);
