/* The live watch of one vCenter: its threads. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One thread waits for news of the vCenter and keeps a mirror in memory; another one saves what has changed. Neither is a thread of the link's worker pool,
 * so that a pending call takes no thread from it. The watch runs while its link is connected; the link decides when that is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"

struct link;
struct link_watch_ops;
struct platform;
struct strbuf;
struct vim_follows;
struct watch;
struct watch_inventory;

/* What a platform is given so that its links are watched (platform_options). */
extern const struct link_watch_ops watch_link_ops;

/* Notes that the nodes of this cluster have changed: the saver reads, matches and saves them anew. NULL: those of any cluster. Does not block. */
void watch_note_cluster(struct watch *watch, const char *cluster_id);
/* As watch_note_cluster, for the watches of all links. */
void watch_note_cluster_everywhere(struct platform *platform, const char *cluster_id);

/* The state of the watch, as a consistent copy. */
struct watch_report {
    bool is_watching;             /* the vCenter has told the whole picture and the watch goes on */
    bool is_saving;               /* this replica holds the lease and saves */
    int64_t since_ms;             /* wall clock: since when is_watching is true; 0: it is false */
    int64_t updated_at_ms;        /* wall clock of the last news; 0: none yet */
    int64_t saved_at_ms;          /* wall clock of the last save; 0: none by this replica */
    unsigned objects;             /* watched */
    unsigned nodes;               /* of Kubernetes clusters, found here */
    unsigned ambiguous;           /* nodes that fit several virtual machines */
    unsigned long restarts;       /* times that all was told anew, the first time too */
    unsigned long differences;    /* found by full reads */
    unsigned refused;             /* objects that the database refuses */
    char refusal[ERR_TEXT_BYTES]; /* the first refused object and why; "": there is none */
    char reason[ERR_TEXT_BYTES];  /* why it does not watch, or why it could not save; "": nothing to say */
};
void watch_get_report(struct watch *watch, struct watch_report *out);

/* Copies clusters and extension keys as they are known; watch_inventory_done (watch_mirror.h) frees them. Waits up to a second for an update that is coming
 * in. ERR_NOT_FOUND while there is no whole picture, ERR_NOMEM. */
int watch_get_inventory(struct watch *watch, struct watch_inventory *out, struct err *err);

/* As watch_mirror_get_path, from what is known now; false while there is no picture. Does not wait for one. */
bool watch_get_path(struct watch *watch, const char *moref, struct strbuf *out);

/* What is followed at this vCenter; lives as long as the link. */
struct vim_follows *watch_follows(const struct watch *watch);

/* Held while clusters are saved, so that an older picture never follows a newer one. */
void watch_lock_saving(struct watch *watch);
void watch_unlock_saving(struct watch *watch);

/* Notes that a full read differs from the mirror: counts it, and restarts the watch, so that vCenter tells everything again. */
void watch_note_difference(struct watch *watch);
