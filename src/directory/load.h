/* From database rows to a snapshot. Layer 3 (directory); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "change_store.h"
#include "entry.h"
#include "err.h"
#include "snapshot.h"

struct store;

/* What a load works with. Borrowed. */
struct dir_loading {
    struct store *store;
    struct dir_basis basis;   /* its platform is set by the load */
    struct dir_snapshot *old; /* the snapshot before; NULL: none */
};

/* Reads what lies below the clusters. *out has one reference. Errors of the store. */
int dir_load_platform(struct store *store, struct dir_platform **out, struct err *err);

/* Makes an entry of a record just read, which it takes over also on failure; a report that only memory knows of counts as well. ERR_NOMEM. */
int dir_make_entry(const struct dir_loading *loading, struct cluster *record, struct dir_cluster **out, struct err *err);

/* ERR_TOO_LARGE if so many are more than a snapshot may hold. */
int dir_check_size(size_t clusters, size_t nodes, struct err *err);

/* Reads everything, some hundred clusters at once, and shares with loading->old what is the same. *out has one reference. Errors of the
 * store; ERR_TOO_LARGE over KAAS_CLUSTERS_COUNT_MAX and KAAS_NODES_COUNT_MAX. */
int dir_load_all(const struct dir_loading *loading, struct dir_snapshot **out, struct err *err);

/* Makes the snapshot that follows loading->old by reading just what `changes` name. *out stays NULL with result 0 if nothing here changed. */
int dir_load_changes(const struct dir_loading *loading, const struct change_list *changes, struct dir_snapshot **out,
                     struct err *err);

/* One look for clusters that are due: in and out. */
struct dir_due {
    size_t limit;         /* make at most this many anew */
    bool is_evidence_due; /* other vCenters are watched than before, not just later */
    bool is_more;         /* out: the limit was met */
    int64_t next_ms;      /* out: wall clock before which no report grows too old */
};

/* Makes clusters that are due (dir_cluster_is_due) anew, without the database. *out stays NULL with result 0 if there is none. */
int dir_load_due(const struct dir_loading *loading, struct dir_due *due, struct dir_snapshot **out, struct err *err);
