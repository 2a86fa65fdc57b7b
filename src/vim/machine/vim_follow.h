/* Tasks and machines that somebody waits for: told by the one call with which a vCenter is watched. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A watch (vim_watch.h) that is given a book of followed things has a ListView with them beside its other filters, and its pending WaitForUpdatesEx tells what becomes of
 * them: nobody asks for it. The book outlives the watch: one that begins anew follows all that stands in the book, and what was known is void until it is told again.
 * Whoever waits looks into the book from time to time; that asks vCenter nothing. What nobody has looked at for VIM_FOLLOW_IDLE_MS is forgotten. All functions
 * may be called from several threads at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"
#include "err.h"
#include "vim_guest_state.h"
#include "vim_task.h"

struct vim_client;
struct vim_follows;

#define VIM_FOLLOW_IDLE_MS (15 * 60 * 1000)
#define VIM_FOLLOWS_MAX 2000

/* `news` is called when something has happened to what `whom` follows: a task has begun or ended, a machine's power, guest or extraConfig has changed, or vCenter was lost and
 * is watched again. Progress alone is no news. From the watch's thread; must not block; may be NULL. */
typedef void vim_follow_fn(void *arg, const char *whom);
/* Makes an empty book. ERR_NOMEM. */
int vim_follows_new(vim_follow_fn *news, void *arg, struct vim_follows **out, struct err *err);
void vim_follows_free(struct vim_follows *follows); /* no watch may have it; NULL is allowed */
CLEANUP_DEFINE(struct vim_follows, vim_follows_free);

/* Says what is known of a task or machine, and follows it from now on for `whom` (a UUID): the first call for a thing is one call to vCenter, if it is watched; later ones
 * ask nothing. An unknown task (VIM_TASK_UNKNOWN), and a machine with is_told false, will be told. ERR_BUSY: VIM_FOLLOWS_MAX; other errors: vim.h. */
int vim_follow_task(struct vim_follows *follows, struct vim_client *client, const char *moref, const char *whom,
                    struct vim_task *out, struct err *err);
int vim_follow_machine(struct vim_follows *follows, struct vim_client *client, const char *moref, const char *whom,
                       struct vim_guest_state *out, struct err *err);
/* Forgets a task or machine. Asks nothing of vCenter. */
void vim_unfollow(struct vim_follows *follows, const char *moref);

/* Keeps a place for one more task, if fewer than `max` are kept places for or followed and have not ended; false: they are as many. The place is given back once the task is
 * followed, or was not begun. */
bool vim_follows_reserve(struct vim_follows *follows, size_t max);
void vim_follows_unreserve(struct vim_follows *follows);
