/* "Did you mean": the nearest of several words. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_near.h"

#include <string.h>

#include "str.h"

void cli_near_init(struct cli_near *near, const char *typed) {
    size_t n = strlen(typed);
    near->typed = typed;
    near->best = NULL;
    /* a third of the letters may be wrong; in a very short word one */
    near->distance = n < 6 ? 2 : (unsigned)(n < 64 ? n : 64) / 3 + 1;
    if (n < 3)
        near->distance = 1;
}

void cli_near_try(struct cli_near *near, const char *word) {
    unsigned distance;
    bool is_begun;
    if (!word)
        return;
    is_begun = strlen(near->typed) >= 2 && str_starts(word, near->typed);
    distance = is_begun ? 0 : str_distance(near->typed, word);
    if (near->best ? distance >= near->distance : distance > near->distance)
        return;
    near->best = word;
    near->distance = distance;
}
