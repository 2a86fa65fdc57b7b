/* Who may see and do what: pure decisions over values that the caller brings. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Not here: where rights come from (auth/, store/) and what is answered (api/). Nothing here blocks, and only policy_pick_grants allocates.
 * Each rule can only show objects, none can hide one; what no rule shows does not exist for the viewer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"
#include "err.h"
#include "grant.h"
#include "object_ref.h"
#include "principal.h"
#include "service_account.h"

/* The rules by which something is seen; sets of them are masks of 1U << rule. */
enum policy_rule {
    POLICY_RULE_ROLE,          /* role admin sees everything */
    POLICY_RULE_CLUSTER_GRANT, /* a grant on the Kubernetes cluster itself */
    POLICY_RULE_VSPHERE_GRANT, /* a grant on a vSphere cluster under it */
    POLICY_RULE_HX_GRANT,      /* a grant on an HX cluster under it */
    POLICY_RULE_VCENTER,       /* the viewer's own vCenter lets it view a vSphere cluster under it */
    POLICY_RULE_VCENTER_ADMIN, /* the viewer administrates what runs on its own vCenter, by a mapped privilege there */
    POLICY_RULE_SERVICE,       /* the viewer is a service account that is for an HX cluster under it */
};

/* A further vCenter at which the viewer proved itself, and what that lets it see. Borrowed. */
struct viewer_vcenter {
    const char *vcenter_id;
    const struct object_set *vsphere_clusters;
};

/* A moref that no object has. It stands first in the set of what a vCenter lets a person view if that person administrates what runs on the vCenter. */
#define POLICY_VCENTER_ADMIN_MOREF ":admin"

/* The viewer: all that a decision may depend on besides the object. policy_viewer_bytes writes all of it. Everything is borrowed and must outlive the
 * call. All-zero sees nothing. */
struct viewer_key {
    const char *principal_id;
    enum role role;
    bool is_unproved;                          /* SOURCE_VC_KEY: the vCenter session was only named, so never more than a user */
    const char *vcenter_id;                    /* vCenter the viewer came from, or NULL: only its objects count below */
    const struct object_set *vsphere_clusters; /* what that vCenter lets it view now (rights still usable); NULL: none */
    const struct viewer_vcenter *linked;       /* the same for further vCenters; each counts for its own objects only */
    size_t linked_count;
    const struct grant *grants; /* its grants by kind and object (grant_compare without the principal); NULL: none */
    size_t grants_count;
    const uint32_t *picked; /* indexes of its grants in `grants`, in that order; NULL: all of `grants` are its */
    uint64_t groups_mark;   /* number of the set of groups by which they were picked; 0: no groups */
    const struct service_account
        *limits; /* the program that is the viewer or acts for it: only what is on its HX clusters counts; NULL: none */
};

/* Starts a viewer from a principal: id, role, vCenter. Rights and grants are added by the caller. */
void policy_viewer_init(struct viewer_key *out, const struct principal *who);

/* Writes a viewer as bytes, for use as a key. Two viewers with the same bytes get the same answer from every function here, as long as their grants and
 * accounts are those of one snapshot and their sets of objects, which are written as addresses, stay where they are. Returns the number of bytes; 0 if
 * `room` is too small. */
size_t policy_viewer_bytes(const struct viewer_key *viewer, char *out, size_t room);

/* True if the role alone shows everything. */
bool policy_sees_all(const struct viewer_key *viewer);

/* True if the viewer came from this vCenter or proved itself there too, whatever it may see. */
bool policy_viewer_is_of(const struct viewer_key *viewer, const char *vcenter_id);

/* The part of `all` (in the order of grant_compare) that belongs to one principal; *out_count may get 0. Case of the name does not count (principal_same),
 * unless there are grants to several spellings of the name, which may mean several people: then a grant belongs to its own spelling only. */
const struct grant *policy_grants_of(const struct grant *all, size_t count, const char *principal_id, size_t *out_count);

/* The indexes in `all` of the grants to a principal and to its groups (sealed), ordered by kind and object; grants on one object to several groups all
 * stay. *out is malloc'ed. For principals with groups; about one binary search per group. ERR_NOMEM. */
struct policy_grantee {
    const char *principal_id;
    const struct group_set *groups;
};
int policy_pick_grants(const struct grant *all, size_t count, const struct policy_grantee *who, uint32_t **out, size_t *out_count,
                       struct err *err);

/* The i-th grant of a viewer. */
static inline const struct grant *policy_grant_at(const struct viewer_key *viewer, size_t i) {
    return &viewer->grants[viewer->picked ? viewer->picked[i] : i];
}

/* Gives the id of the HX cluster on a vSphere cluster, or NULL. Called only for viewers with limits or with grants on HX clusters. */
struct policy_hx_lookup {
    const char *(*find_hx_id)(const void *arg, const struct object_ref *vsphere_cluster);
    const void *arg;
};

/* The mask of the rules that show this vSphere cluster, and so the HX cluster on it; 0: it does not exist for the viewer.
 * `hx` may be NULL (no HX cluster known). */
unsigned policy_vsphere_rules(const struct viewer_key *viewer, const struct object_ref *ref, const struct policy_hx_lookup *hx);

/* What a viewer sees of one Kubernetes cluster. */
struct policy_view {
    bool is_visible;
    uint64_t parts;        /* bit i: placement.items[i] is visible */
    unsigned hidden_count; /* parts that are not */
    unsigned rules;        /* all rules that matched */
};

/* Decides over one cluster; *out is always written. Role admin and a grant on the cluster show all parts, the other rules only
 * the parts they match. Parts beyond 64 (cluster_check refuses them) stay hidden from those other rules. Returns
 * out->is_visible. About one binary search per part and rule. */
bool policy_cluster_visible(const struct viewer_key *viewer, const struct cluster *cluster, const struct policy_hx_lookup *hx,
                            struct policy_view *out);

/* What may be done; the table with the roles is permission.def. */
enum permission {
#define PERMISSION(symbol, word, roles) PERMISSION_##symbol,
#include "permission.def"
#undef PERMISSION
    PERMISSION_COUNT
};
const char *permission_name(enum permission permission); /* "clusters.write"; static, never NULL */

/* True if the role has the permission. What may be seen is a different question: policy_cluster_visible. */
bool policy_may(enum role role, enum permission permission);

/* 0, or ERR_FORBIDDEN naming the roles that would do. */
int policy_require(enum role role, enum permission permission, struct err *err);

/* True if the viewer may see, give and take away grants on this object. Administrators may on all objects; a viewer with a grant of the role admin on an
 * object may on that one; a viewer who administrates what runs on a vCenter may on its vSphere clusters. An admin of an HX or vSphere cluster manages the
 * grants on that, not those on the Kubernetes clusters on it. The object need not exist. */
bool policy_may_manage_grants(const struct viewer_key *viewer, enum grant_object object, const char *object_id);
/* 0 if the viewer may manage the grants on any object at all; else ERR_FORBIDDEN. */
int policy_require_managing(const struct viewer_key *viewer, struct err *err);

/* How far rights that a vCenter stated some time ago may still be used. */
enum policy_rights {
    POLICY_RIGHTS_FRESH,   /* use them */
    POLICY_RIGHTS_RECHECK, /* use them and have them asked again */
    POLICY_RIGHTS_GRACE,   /* use them for this read only, say so in the answer and in the audit log */
    POLICY_RIGHTS_EXPIRED  /* do not use them: ask first */
};

/* Judges rights stated age_ms ago (negative: never). `is_unreachable`: that vCenter does not answer now; `is_read`: a read by
 * somebody signed in already, not sign-on, refresh, a write or administration. Limits: KAAS_RIGHTS_*_MS, counted from the statement. */
enum policy_rights policy_rights_age(int64_t age_ms, bool is_unreachable, bool is_read);
