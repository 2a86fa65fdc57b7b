/* The in-memory list as one immutable snapshot: types and life time. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A snapshot is never changed after it was published; readers hold a reference while they read. Cluster entries and
 * the platform part are shared between snapshots. Queries are in query.h, changes in inventory.h. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "grant.h"
#include "platform.h"
#include "service_account.h"
#include "vcenter.h"

/* JSON text of a cluster as seen by someone who may see the placements in `mask` (bit i: placement.items[i]). */
struct inventory_fragment {
    uint64_t mask;
    uint64_t hash; /* of the text */
    size_t len;
    char *json;
};

/* Members as the database has them, where the record has derived values (rollup.h). */
struct inventory_stated {
    enum cluster_state state;
    char *reason, *source, *by, *placement_source;
    int64_t since_ms;
    int control_plane_ready, workers_ready, control_plane_desired, workers_desired;
    struct object_set placement;
    int64_t observed_at_ms;
};

/* Time of the last report on a cluster; wall clock. */
struct inventory_times {
    atomic_llong reported_ms; /* in memory; may be later than in the record */
    atomic_llong saved_ms;    /* in the database */
};

/* One cluster with its rendered answers. Shared; freed with the last reference. */
struct inventory_cluster {
    atomic_uint refs;
    struct cluster *record; /* state, ready counts, placement and observed_at_ms are derived (rolled up) */
    struct inventory_stated stated;
    char *reason_partial;                 /* the reason for those who see a part of the placement only; NULL: none */
    size_t down;                          /* number of its virtual machines that were seen not to work */
    bool is_reported, is_stale;           /* the state comes from a report; the report was too old at roll-up */
    uint64_t evidence;                    /* hash over the nodes whose observations counted at roll-up */
    struct inventory_times *times;        /* of reports; the only member whose content changes */
    char *search_text;                    /* searched by the query's `text`: lower case, one value a line */
    uint64_t full_mask;                   /* all placements */
    struct inventory_fragment *fragments; /* [0] for full_mask, then one for each single placement if there are several */
    size_t fragments_count;
};

/* vCenters, vSphere clusters, HX clusters, grants and service accounts. Small; replaced as a whole. */
struct inventory_platform {
    atomic_uint refs;
    uint64_t number;          /* unique in this process; 0: none was given */
    struct vcenter *vcenters; /* by id */
    size_t vcenters_count;
    struct vsphere_cluster *vsphere; /* by reference */
    size_t vsphere_count;
    struct hx_cluster *hx; /* by name, then id */
    size_t hx_count;
    size_t *hx_of_vsphere; /* index into hx for each of vsphere, or SIZE_MAX */
    size_t *hx_by_id;      /* indexes into hx, ordered by id */
    struct hx_alias_list hx_aliases;
    struct grant *grants; /* in the order of grant_compare */
    size_t grants_count;
    struct service_account *services; /* by id */
    size_t services_count;
};

/* Cluster positions that are placed on one vSphere cluster, in name order. */
struct inventory_index {
    uint32_t *positions;
    size_t count;
};

struct inventory_snapshot {
    atomic_uint refs;
    uint64_t generation; /* rises with each snapshot of this process */
    struct inventory_platform *platform;
    struct inventory_cluster **clusters; /* by name, then id */
    size_t clusters_count;
    size_t nodes_count;                 /* nodes of all clusters */
    struct inventory_index *by_vsphere; /* one for each of platform->vsphere */
    uint32_t *by_id;                    /* positions ordered by cluster id */
    uint32_t *positions;                /* storage behind by_vsphere */
};

/* True if placement i is in the mask. Placements beyond the 64 bits are shown to nobody. */
static inline bool inventory_mask_has(uint64_t mask, size_t i) {
    return i < 64 && mask >> i & 1;
}

/* One more reference / one less; the last one frees. NULL is allowed in unref. */
struct inventory_snapshot *inventory_snapshot_ref(struct inventory_snapshot *snapshot);
void inventory_snapshot_unref(struct inventory_snapshot *snapshot);
struct inventory_cluster *inventory_cluster_ref(struct inventory_cluster *cluster);
void inventory_cluster_unref(struct inventory_cluster *cluster);
void inventory_platform_unref(struct inventory_platform *platform);
CLEANUP_DEFINE(struct inventory_snapshot, inventory_snapshot_unref);
CLEANUP_DEFINE(struct inventory_cluster, inventory_cluster_unref);
CLEANUP_DEFINE(struct inventory_platform, inventory_platform_unref);

/* Sorts the filled-in arrays of a platform and builds its indexes. Takes no reference. ERR_NOMEM. */
int inventory_platform_link(struct inventory_platform *platform, struct err *err);

/* Makes a snapshot of `platform` (one more reference is taken) and `count` entries (the array is copied, each entry gets one
 * more reference; any order). One reference. ERR_NOMEM. */
int inventory_snapshot_new(struct inventory_platform *platform, struct inventory_cluster *const *entries, size_t count,
                           struct inventory_snapshot **out, struct err *err);

/* The difference between a snapshot and the next one. */
struct inventory_delta {
    bool *is_removed;                       /* for each position of the old snapshot: the entry is removed or replaced */
    struct inventory_cluster *const *added; /* any order */
    size_t added_count;
};

/* As inventory_snapshot_new, out of the snapshot before: a few changes cost no more than copying its arrays. The platform may be another one. */
int inventory_snapshot_next(const struct inventory_snapshot *old, struct inventory_platform *platform,
                            const struct inventory_delta *delta, struct inventory_snapshot **out, struct err *err);

/* Position of a cluster in clusters[]; SIZE_MAX if absent. */
size_t inventory_find_position(const struct inventory_snapshot *snapshot, const char *id);

/* Look-ups in memory; borrowed from the snapshot; NULL if absent. */
const struct inventory_cluster *inventory_find_cluster(const struct inventory_snapshot *snapshot, const char *id);
const struct inventory_cluster *inventory_find_cluster_by_name(const struct inventory_snapshot *snapshot, const char *name);
const struct vcenter *inventory_find_vcenter(const struct inventory_platform *platform, const char *id);
const struct vsphere_cluster *inventory_find_vsphere(const struct inventory_platform *platform, const struct object_ref *ref);
const struct hx_cluster *inventory_find_hx(const struct inventory_platform *platform, const char *id);
/* The id of the HX cluster with which the one with this id was merged; else `id` itself. Borrowed. */
const char *inventory_get_hx_id(const struct inventory_platform *platform, const char *id);
const struct service_account *inventory_find_service(const struct inventory_platform *platform, const char *id);
/* The grant for the same person on the same object. */
const struct grant *inventory_find_grant(const struct inventory_platform *platform, const struct grant *like);
/* True if `reference` names this HX cluster: its name, HX's own uuid, the address of its management, or "datacenter/cluster" in vCenter. */
bool inventory_hx_is_called(const struct inventory_platform *platform, const struct hx_cluster *hx, const char *reference);
/* HX cluster on a vSphere cluster, whether present or gone; NULL if none. */
const struct hx_cluster *inventory_find_hx_on(const struct inventory_platform *platform, const struct object_ref *ref);
/* The index in platform->vsphere of the vCenter's first vSphere cluster; the others follow it. If it has none: the index where they would be. */
size_t inventory_first_vsphere(const struct inventory_platform *platform, const char *vcenter_id);
