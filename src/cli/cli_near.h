/* "Did you mean": the nearest of several words. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* Begin with cli_near_init, offer each word, then look at `best`. */
struct cli_near {
    const char *typed;
    const char *best; /* NULL: none is near enough */
    unsigned distance;
};

/* Starts a search for a word near to `typed`, which must outlive it. */
void cli_near_init(struct cli_near *near, const char *typed);

/* Offers a word; it is kept, not copied, if it is the nearest so far. NULL is ignored. */
void cli_near_try(struct cli_near *near, const char *word);
