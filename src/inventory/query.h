/* Questions to a snapshot, answered from memory. Layer 3 (inventory).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every question takes the viewer: objects that the viewer may not see are treated as if they did not exist. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "err.h"
#include "policy.h"
#include "snapshot.h"
#include "strbuf.h"

enum inventory_sort {
    INVENTORY_SORT_NAME,
    INVENTORY_SORT_STATE,
    INVENTORY_SORT_KUBERNETES_VERSION,
    INVENTORY_SORT_CONTROL_PLANE,
    INVENTORY_SORT_WORKERS,
    INVENTORY_SORT_HX_CLUSTER,
    INVENTORY_SORT_CREATED,
    INVENTORY_SORT_UPDATED
};

/* Word of the query ("name", "-state"); false if unknown. */
bool inventory_sort_parse(const char *word, enum inventory_sort *out, bool *is_descending);

/* A label that a cluster must have. Borrowed. */
struct inventory_label_query {
    const char *key, *value; /* neither ends with a NUL; value NULL: any */
    size_t key_len, value_len;
};

#define INVENTORY_TEXT_CHARS_MAX 100
#define INVENTORY_TEXT_BYTES_MAX (4 * INVENTORY_TEXT_CHARS_MAX)
#define INVENTORY_LABELS_MAX 8

/* Filter: anywhere, on any HX cluster, or on none, by the placements that the viewer may see. */
enum inventory_on_hx { INVENTORY_ANYWHERE, INVENTORY_ON_HX, INVENTORY_NOT_ON_HX };

struct inventory_cluster_query {
    const char *hx_cluster;    /* reference (inventory_hx_is_called), or NULL */
    const char *hx_cluster_id; /* or NULL */
    enum inventory_on_hx on_hx;
    const char *vcenter;         /* reference, or NULL */
    const char *vsphere_cluster; /* reference within `vcenter`, if that is given, or NULL */
    const char *datacenter;      /* name or managed object id within `vcenter`, or NULL */
    unsigned state_mask;         /* bit per enum cluster_state; 0: all */
    const char *text;            /* words that the search text must all contain, ASCII letters in any case; or NULL */
    struct inventory_label_query labels[INVENTORY_LABELS_MAX]; /* a cluster must have all of them */
    size_t labels_count;
    enum inventory_sort sort;
    bool is_descending;
    unsigned limit;     /* 1 to KAAS_PAGE_MAX_COUNT */
    size_t offset;      /* clusters before the page */
    const char *cursor; /* next_cursor of the page before, or NULL; then `offset` must be 0 */
};

/* The HX clusters that a name fits and the viewer may see, if there are several. */
#define INVENTORY_CANDIDATES_MAX 20
struct inventory_candidates {
    const struct hx_cluster *items[INVENTORY_CANDIDATES_MAX];
    size_t count;
};

/* The answer to a list query. */
struct inventory_page {
    struct strbuf *text;                    /* given by the caller, appended to */
    uint64_t etag_hash;                     /* over the items of the page, and the total */
    struct inventory_candidates candidates; /* with ERR_AMBIGUOUS: the HX clusters that fit, borrowed from the snapshot */
};

/* Appends {"items":[...],"total":...,"next_cursor":...} for this viewer; the total is of all pages. ERR_AMBIGUOUS, ERR_NOT_FOUND (unknown or invisible HX
 * cluster or vCenter alike), ERR_HX_NAME_UNKNOWN (there is no such HX cluster, but the viewer sees one whose own name is not known), ERR_INVALID (bad cursor,
 * too long a text), ERR_NOMEM. */
int inventory_list_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                            const struct inventory_cluster_query *query, struct inventory_page *out, struct err *err);

/* A hash over all pages of inventory_list_clusters for this query, whatever its sort, limit, offset and cursor: the same on every replica. Errors as there;
 * *candidates as inventory_page.candidates. */
int inventory_digest_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                              const struct inventory_cluster_query *query, struct inventory_candidates *candidates,
                              uint64_t *digest, struct err *err);

/* How many clusters a query finds. */
struct inventory_counts {
    size_t total, by_state[CLUSTER_STATE_COUNT];
    size_t ready_declared; /* of the ready ones: those whose state somebody entered, with no report or observation */
};

/* Adds one cluster to the counts. */
void inventory_counts_add(struct inventory_counts *counts, const struct cluster *cluster);

/* Counts the clusters on all pages of inventory_list_clusters for this query, whatever its sort, limit, offset and cursor. Errors as there, but for the
 * cursor's; *candidates as inventory_page.candidates. */
int inventory_count_clusters(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                             const struct inventory_cluster_query *query, struct inventory_candidates *candidates,
                             struct inventory_counts *out, struct err *err);

/* Which rules show this vSphere cluster, as policy_vsphere_rules. */
unsigned inventory_vsphere_rules(const struct inventory_platform *platform, const struct viewer_key *viewer,
                                 const struct object_ref *ref);
/* policy_cluster_visible, with the HX clusters of the platform. */
bool inventory_view_cluster(const struct inventory_platform *platform, const struct viewer_key *viewer,
                            const struct cluster *cluster, struct policy_view *out);

/* Appends the cluster's JSON. ERR_NOT_FOUND if unknown or invisible. */
int inventory_show_cluster(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const char *id,
                           struct strbuf *out, uint64_t *etag_hash, struct err *err);

/* The record of a visible cluster; *mask gets the placements the viewer may see. ERR_NOT_FOUND if unknown or invisible. */
int inventory_get_visible_cluster(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const char *id,
                                  const struct inventory_cluster **out, uint64_t *mask, struct err *err);

/* True if the viewer may see this vSphere cluster, and so the HX cluster on it. */
bool inventory_sees_vsphere(const struct inventory_platform *platform, const struct viewer_key *viewer,
                            const struct object_ref *ref);

/* True if a cluster that the viewer may see runs on this vCenter. Costs as much as there are vSphere clusters and grants, however many clusters there are. */
bool inventory_sees_clusters_on(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                                const char *vcenter_id);

/* Finds a vCenter by instance UUID, address, name, or address and port ("vc.example.com:443", "[2001:db8::1]:443"), case-insensitively.
 * ERR_NOT_FOUND, ERR_AMBIGUOUS. */
int inventory_resolve_vcenter(const struct inventory_platform *platform, const char *reference, const struct vcenter **out,
                              struct err *err);

/* Finds a vSphere cluster of a vCenter (NULL: of any, if it is in one only) by managed object id, path (vsphere_cluster_has_path), or, if these find none, by
 * name. ERR_NOT_FOUND with similar names, ERR_AMBIGUOUS with what to give instead. */
int inventory_resolve_vsphere(const struct inventory_platform *platform, const struct vcenter *vcenter, const char *reference,
                              const struct vsphere_cluster **out, struct err *err);

/* As inventory_resolve_vcenter and inventory_resolve_vsphere, among the objects that the viewer may see: others are not found and make no name ambiguous. A
 * viewer sees a vCenter after signing in by it, or if one of its vSphere clusters is visible. */
int inventory_resolve_visible_vcenter(const struct inventory_platform *platform, const struct viewer_key *viewer,
                                      const char *reference, const struct vcenter **out, struct err *err);
int inventory_resolve_visible_vsphere(const struct inventory_platform *platform, const struct viewer_key *viewer,
                                      const struct vcenter *vcenter, const char *reference, const struct vsphere_cluster **out,
                                      struct err *err);

/* All vSphere clusters of a vCenter that carry Kubernetes or HX clusters: people's rights on them are asked for. Fills `out`. */
int inventory_objects_of_interest(const struct inventory_snapshot *snapshot, const char *vcenter_id, struct object_set *out,
                                  struct err *err);
/* As inventory_objects_of_interest, and also vSphere clusters that are gone or hidden from us while Kubernetes clusters are placed on them. */
int inventory_objects_in_use(const struct inventory_snapshot *snapshot, const char *vcenter_id, struct object_set *out,
                             struct err *err);
