/* Rows that the database refuses. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "refused_rows.h"

#include <stdio.h>
#include <string.h>

#include "str.h"

#define NAME_CHARS_MAX 255 /* of the columns for names of others (sql/) */

int refused_rows_note(struct refused_rows *rows, const char *id, const char *const *names, struct err *why) {
    if (!rows || why->code != ERR_UNPROCESSABLE)
        return why->code;
    if (!rows->count++) {
        (void)snprintf(rows->id, sizeof(rows->id), "%.80s", id);
        (void)snprintf(rows->why, sizeof(rows->why), "%.150s", why->text);
        for (; *names; names++)
            if (str_utf8_chars(*names, strlen(*names)) > NAME_CHARS_MAX)
                (void)snprintf(rows->why, sizeof(rows->why), "a name of it has %ld characters, %d are the most",
                               str_utf8_chars(*names, strlen(*names)), NAME_CHARS_MAX);
    }
    err_clear(why);
    return 0;
}
