/* Container views, and the ways through the inventory that begin at them. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "vim_property.h"

/* Ids of views, filters and collectors hold the session's key. */
#define VIM_VIEW_BYTES ((size_t)VIM_ID_BYTES * 4)

/* Makes a view of all objects of these types (ended by NULL) below the root folder; it ends with the session at the latest. */
int vim_create_view(struct vim_context *ctx, const char *const *types, char out[VIM_VIEW_BYTES], struct err *err);

/* Best effort: silent about failures, and leaves ctx->fault alone. */
void vim_destroy_view(struct vim_context *ctx, const char *view);

/* Makes an ObjectSpec lead from the view, which is left out, to the objects in it; and from those by `next` on, if given. */
void vim_in_view(struct vim_context *ctx, struct vim25__ObjectSpec *out, struct vim25__TraversalSpec *next);

/* From where it is applied, up through `parent` to the root. NULL without memory. */
struct vim25__TraversalSpec *vim_in_way_up(struct vim_context *ctx);

/* Copies the id that an operation gave. ERR_PROTOCOL, naming `what`, if there is none or it is too long. */
int vim_keep_id(struct vim_context *ctx, const struct vim25__ManagedObjectReference *ref, const char *what,
                char out[VIM_VIEW_BYTES], struct err *err);

/* Turns vCenter's %2f, %5c and %25 back, in place. */
void vim_unescape_name(char *name);
