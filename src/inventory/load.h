/* From database rows to a snapshot, and one cluster of it. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "change_store.h"
#include "err.h"
#include "limits.h"
#include "snapshot.h"

/* -- which vCenters are being watched, so that what they show of nodes counts as evidence ---------------------------- */

/* What a vCenter showed counts as evidence for KAAS_OBSERVED_EVIDENCE_MS after it was last watched; for a vCenter not noted yet, after the start. So a short
 * break does not change states. */

struct inventory_watched {
    char vcenter_id[KAAS_UUID_BYTES];
    bool is_watched;
    int64_t since_ms; /* monotonic: since when it is not watched */
};

struct inventory_watch {
    int64_t started_ms; /* monotonic */
    struct inventory_watched *items;
    size_t count;
};
void inventory_watch_done(struct inventory_watch *watch);

/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int inventory_watch_copy(const struct inventory_watch *from, struct inventory_watch *out, struct err *err);

/* Notes that a vCenter is watched from now on, or no more. ERR_NOMEM. */
int inventory_watch_set(struct inventory_watch *watch, const char *vcenter_id, bool is_watched, int64_t now_ms, struct err *err);

/* True if what this vCenter shows counts as evidence at this monotonic time. */
bool inventory_watch_counts(const struct inventory_watch *watch, const char *vcenter_id, int64_t now_ms);

/* A hash over the answers of inventory_watch_counts for all vCenters: changes when one does. */
uint64_t inventory_watch_mark(const struct inventory_watch *watch, int64_t now_ms);

/* -- one cluster of the list: made from the record as stored, kept up to date by time ------------------------------ */

/* An entry is a struct inventory_cluster (snapshot.h). */

/* What is needed to make an entry. Borrowed. */
struct inventory_basis {
    struct inventory_platform *platform;
    const struct inventory_watch *watch; /* NULL: all observations count */
    int64_t wall_ms, mono_ms;            /* now */
    int64_t stale_after_ms;              /* age at which reports no longer count; 0: never */
};

/* Makes an entry from a record as stored, which it takes over also on failure: rolls up its state and placement and renders it with the
 * names in basis->platform. One reference. ERR_NOMEM. */
int inventory_cluster_new(struct cluster *record, const struct inventory_basis *basis, struct inventory_cluster **out,
                          struct err *err);

/* Copies the record as it is stored, with the newest report time known; freed by cluster_free. ERR_NOMEM. */
int inventory_cluster_stored(const struct inventory_cluster *entry, struct cluster **out, struct err *err);

/* Makes an entry from the same record anew. One reference. ERR_NOMEM. */
int inventory_cluster_renew(const struct inventory_cluster *entry, const struct inventory_basis *basis,
                            struct inventory_cluster **out, struct err *err);

/* True if the entry would come out differently now: its report has become too old (or fresh again), or, `with_evidence`, the evidence that counts has
 * changed. */
bool inventory_cluster_is_due(const struct inventory_cluster *entry, const struct inventory_basis *basis, bool with_evidence);

#define INVENTORY_DIFFERS_IN_TEXT "text"
/* The first member of the stored record in which two entries of one cluster differ; INVENTORY_DIFFERS_IN_TEXT if only the rendered text does; NULL: none. The
 * text is compared only if inventory_cluster_is_as_due. */
const char *inventory_cluster_difference(const struct inventory_cluster *a, const struct inventory_cluster *b);
/* True if both were made with the same evidence and the same age of reports. */
bool inventory_cluster_is_as_due(const struct inventory_cluster *a, const struct inventory_cluster *b);

/* Wall-clock time in ms at which the entry's last report becomes too old; INT64_MAX: never. */
int64_t inventory_cluster_stale_ms(const struct inventory_cluster *entry, const struct inventory_basis *basis);

/* Note the time of a report: one that only memory has, and one that the database has. Times are the only part of an entry that changes. */
void inventory_cluster_note_report(const struct inventory_cluster *entry, int64_t at_ms);
void inventory_cluster_note_saved(const struct inventory_cluster *entry, int64_t at_ms);

/* -- from database rows to a snapshot ------------------------------------------------------------------------------ */

struct store;

/* What a load works with. Borrowed. */
struct inventory_loading {
    struct store *store;
    struct inventory_basis basis;   /* its platform is set by the load */
    struct inventory_snapshot *old; /* the snapshot before; NULL: none */
};

/* Reads vCenters, vSphere clusters, HX clusters, grants and service accounts. *out has one reference. Errors of the store. */
int inventory_load_platform(struct store *store, struct inventory_platform **out, struct err *err);

/* Checks that a snapshot may hold so many. ERR_TOO_LARGE. */
int inventory_check_size(size_t clusters, size_t nodes, struct err *err);

/* Reads everything, some hundred clusters at once, and shares unchanged entries with loading->old. *out has one reference. Errors of the store; ERR_TOO_LARGE
 * over KAAS_CLUSTERS_COUNT_MAX and KAAS_NODES_COUNT_MAX. */
int inventory_load_all(const struct inventory_loading *loading, struct inventory_snapshot **out, struct err *err);

/* As inventory_load_all for the clusters alone, with loading->basis.platform. `shares_due`: shares also entries that differ only by the time at which they
 * were made (inventory_cluster_is_as_due). */
int inventory_load_clusters(const struct inventory_loading *loading, bool shares_due, struct inventory_snapshot **out,
                            struct err *err);

/* True for objects that inventory_load_platform reads. */
bool inventory_is_platform_change(enum change_kind kind);

/* Makes the snapshot that follows loading->old by reading just what `changes` name. *out stays NULL with result 0 if nothing here changed. */
int inventory_load_changes(const struct inventory_loading *loading, const struct change_list *changes,
                           struct inventory_snapshot **out, struct err *err);

/* Input and output of inventory_load_due. */
struct inventory_due {
    size_t limit;         /* make at most this many anew */
    bool is_evidence_due; /* look at evidence, too: inventory_watch_mark has changed */
    bool is_more;         /* out: more clusters are due */
    int64_t next_ms;      /* out: wall clock; no report becomes too old before that */
};

/* Makes clusters that are due (inventory_cluster_is_due) anew, without the database. *out stays NULL with result 0 if there is none. */
int inventory_load_due(const struct inventory_loading *loading, struct inventory_due *due, struct inventory_snapshot **out,
                       struct err *err);
