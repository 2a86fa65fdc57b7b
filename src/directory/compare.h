/* Comparing what is in memory with what is stored. Layer 3 (directory); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "change.h"
#include "load.h"

#define DIR_SUSPECTS_AT_ONCE 1000 /* looking at them again takes about a second, in which no change is applied */

/* An object that is not in memory as it is stored: perhaps only since it was changed a moment ago. */
struct dir_suspect {
    enum change_kind kind;
    char object_id[129];
    const char *member; /* static: what differs; DIR_NOT_IN_MEMORY, DIR_NOT_STORED; NULL: nothing does after all */
};
#define DIR_NOT_IN_MEMORY "not in memory"
#define DIR_NOT_STORED "not in the database"

struct dir_suspects {
    struct dir_suspect items[DIR_SUSPECTS_AT_ONCE];
    size_t count;
    bool is_more; /* there were more */
};

/* Compares loading->old, which must be there, with everything that is stored: per object, by content, in both directions. Holds a few hundred
 * clusters beside it. Errors of the store; ERR_TOO_LARGE as dir_load_all. */
int dir_compare_all(const struct dir_loading *loading, struct dir_suspects *out, struct err *err);

/* Compares the suspects alone once more, with the snapshot of now. Errors of the store. */
int dir_compare_again(const struct dir_loading *loading, struct dir_suspects *suspects, struct err *err);
