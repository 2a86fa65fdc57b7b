/* All remotes of one kind: who is there, who takes whose place, and the end. Layer 3 (remote). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A remote that is no longer wanted is retired: it is out of sight, makes no contact and does no work any more. remotes_tick ends it, and frees it once nobody holds a
 * reference. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "remote.h"

struct remotes;

/* Makes an empty set. ERR_NOMEM. */
int remotes_new(struct remotes **out, struct err *err);
/* Ends all, each in a thread of its own, those out of sight too; `meanwhile` (NULL: nothing) runs beside. No remote can be put in any more. Blocks for as long as
 * the kind's `end` does. NULL is allowed. */
void remotes_stop(struct remotes *set, void (*meanwhile)(void *arg), void *arg);
/* True from the beginning of remotes_stop. */
bool remotes_is_stopping(struct remotes *set);
/* Frees set and remotes, but one to which somebody holds a reference. After remotes_stop. NULL is allowed. */
void remotes_free(struct remotes *set);

/* Puts a remote in, in the place of the one of the same id, which is retired; before that `inherit` (NULL: nothing) may take over from it. ERR_NOMEM,
 * ERR_CANCELED (the service stops): it is ended and freed. */
int remotes_put(struct remotes *set, struct remote *remote, void (*inherit)(struct remote *remote, struct remote *from),
                struct err *err);
/* Retires those for which `is_wanted` says no; `arg` is passed on. Nobody takes a reference meanwhile. */
void remotes_keep(struct remotes *set, bool (*is_wanted)(void *arg, struct remote *remote), void *arg);

/* The remote of this id (case is ignored) with one reference for the caller; NULL: there is none. Does not block. */
struct remote *remotes_find(struct remotes *set, const char *id);
/* References to all, an array of *count that the caller frees after remote_unref on each. NULL without memory. */
struct remote **remotes_list(struct remotes *set, size_t *count);
/* Calls `fn` for each that is there now, holding a reference meanwhile. */
void remotes_each(struct remotes *set, void (*fn)(struct remote *remote, void *arg), void *arg);

/* Call it about once a second, from a thread that is not one of the remotes' worker pools: has what is due done (remote_tick), and ends and frees retired ones,
 * for which it may wait. */
void remotes_tick(struct remotes *set);
