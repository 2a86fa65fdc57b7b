/* The book of followed things, as a watch writes it. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "vim_context.h"
#include "vim_follow.h"
#include "vim_property.h"

/* What a watch has at the server for the book. Empty: nothing. */
struct vim_follow_site {
    char view[VIM_VIEW_BYTES], filter[VIM_VIEW_BYTES];
};

/* Makes the view and its filter at this collector, and follows all that stands in the book; all that was known is void. */
int vim_follows_begin(struct vim_follows *follows, struct vim_context *ctx, const char *collector, struct vim_follow_site *site,
                      struct err *err);
/* The watch is gone, or begins anew: nothing can be added until the next vim_follows_begin. */
void vim_follows_end(struct vim_follows *follows);
/* Destroys the view, as far as that is possible. */
void vim_follows_clean(struct vim_context *ctx, const struct vim_follow_site *site);
/* Takes over what the filter tells of an object. */
void vim_follows_tell(struct vim_follows *follows, const struct vim25__ObjectUpdate *update);
