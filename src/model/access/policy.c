/* Who may see and do what: the decisions. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "limits.h"
#include "str.h"

#define RULE(rule) (1U << POLICY_RULE_##rule)

void policy_viewer_init(struct viewer_key *out, const struct principal *who) {
    *out = (struct viewer_key){
        .principal_id = who->id,
        .role = who->role,
        .is_unproved = who->source == SOURCE_VC_KEY,
        .vcenter_id = source_is_vcenter(who->source) ? who->vcenter_id : NULL,
    };
}

/* -- a viewer as bytes ----------------------------------------------------------------------------------------------------------- */

struct writing {
    char *out;
    size_t room, n;
    bool fits;
};

static void write_bytes(struct writing *w, const void *bytes, size_t n) {
    w->fits = w->fits && n <= w->room - w->n;
    if (!w->fits)
        return;
    memcpy(w->out + w->n, bytes, n);
    w->n += n;
}

/* With its NUL, so that two texts never read as another two; NULL is none of the texts. */
static void policy_write_text(struct writing *w, const char *text) {
    write_bytes(w, text ? "t" : "", 1);
    if (text)
        write_bytes(w, text, strlen(text) + 1);
}

size_t policy_viewer_bytes(const struct viewer_key *viewer, char *out, size_t room) {
    struct writing w = {.out = out, .room = room, .fits = true};
    const uint8_t role = (uint8_t)viewer->role, is_unproved = viewer->is_unproved;
    /* Who changes the type has to look here. Of the grants, principal and groups tell which of the snapshot's they are. */
    _Static_assert(sizeof(struct viewer_key) == 88, "every member is written below");
    policy_write_text(&w, viewer->principal_id);
    write_bytes(&w, &role, sizeof(role));
    write_bytes(&w, &is_unproved, sizeof(is_unproved));
    policy_write_text(&w, viewer->vcenter_id);
    write_bytes(&w, &viewer->vsphere_clusters, sizeof(viewer->vsphere_clusters));
    write_bytes(&w, &viewer->linked_count, sizeof(viewer->linked_count));
    for (size_t i = 0; i < viewer->linked_count; i++) {
        policy_write_text(&w, viewer->linked[i].vcenter_id);
        write_bytes(&w, &viewer->linked[i].vsphere_clusters, sizeof(viewer->linked[i].vsphere_clusters));
    }
    write_bytes(&w, &viewer->groups_mark, sizeof(viewer->groups_mark));
    policy_write_text(&w, viewer->limits ? viewer->limits->id : NULL);
    return w.fits ? w.n : 0;
}

bool policy_sees_all(const struct viewer_key *viewer) {
    return policy_may(viewer->role, PERMISSION_CLUSTERS_SEE_ALL);
}

bool policy_viewer_is_of(const struct viewer_key *viewer, const char *vcenter_id) {
    bool is_of = str_eq(viewer->vcenter_id, vcenter_id);
    for (size_t i = 0; !is_of && i < viewer->linked_count; i++)
        is_of = str_eq(viewer->linked[i].vcenter_id, vcenter_id);
    return is_of;
}

/* As principal_compare, but spellings of one name are one. */
static int policy_compare_names(const char *a, const char *b) {
    return principal_same(a, b) ? 0 : principal_compare(a, b);
}

/* First of `count` grants that is not below the principal, or, if `is_after`, that is above it. */
static size_t find_bound(const struct grant *all, size_t count, const char *principal_id, bool is_after,
                         int (*compare)(const char *, const char *)) {
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        int order = compare(all[middle].principal_id, principal_id);
        if (order < 0 || (is_after && order == 0))
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static const struct grant *policy_find_range(const struct grant *all, size_t count, const char *principal_id,
                                             int (*compare)(const char *, const char *), size_t *out_count) {
    size_t first = find_bound(all, count, principal_id, false, compare);
    *out_count = find_bound(all, count, principal_id, true, compare) - first;
    return *out_count ? all + first : NULL;
}

/* They stand in the order of their spellings: if the first and the last have one, all have. */
const struct grant *policy_grants_of(const struct grant *all, size_t count, const char *principal_id, size_t *out_count) {
    const struct grant *range = policy_find_range(all, count, principal_id, principal_compare, out_count);
    if (range)
        return range;
    range = policy_find_range(all, count, principal_id, policy_compare_names, out_count);
    if (!range || str_eq(range[0].principal_id, range[*out_count - 1].principal_id))
        return range;
    *out_count = 0;
    return NULL;
}

/* Places of grants under construction. */
struct picking {
    const struct grant *all;
    size_t count;
    uint32_t *items;
    size_t picked, room;
};

static int policy_pick_of(struct picking *p, const char *principal_id, struct err *err) {
    size_t count = 0;
    const struct grant *first = policy_grants_of(p->all, p->count, principal_id, &count);
    if (p->picked + count > p->room) {
        size_t room = 2 * (p->picked + count);
        uint32_t *items = reallocarray(p->items, room, sizeof(*items));
        if (!items)
            return err_set(err, ERR_NOMEM, "no memory for grants");
        p->items = items;
        p->room = room;
    }
    for (size_t i = 0; i < count; i++)
        p->items[p->picked++] = (uint32_t)(first - p->all + (ptrdiff_t)i);
    return 0;
}

static int compare_places(const void *a, const void *b, void *all) {
    const struct grant *x = (const struct grant *)all + *(const uint32_t *)a,
                       *y = (const struct grant *)all + *(const uint32_t *)b;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return strcmp(x->object_id, y->object_id);
}

int policy_pick_grants(const struct grant *all, size_t count, const struct policy_grantee *who, uint32_t **out, size_t *out_count,
                       struct err *err) {
    struct picking p = {.all = all, .count = count};
    int rc = policy_pick_of(&p, who->principal_id, err);
    for (size_t i = 0; !rc && i < who->groups->count; i++)
        rc = policy_pick_of(&p, who->groups->ids[i], err);
    if (rc) {
        free(p.items);
        return rc;
    }
    if (p.picked)
        qsort_r(p.items, p.picked, sizeof(*p.items), compare_places, (void *)(uintptr_t)all);
    *out = p.items;
    *out_count = p.picked;
    return 0;
}

static bool has_grant(const struct viewer_key *viewer, enum grant_object object, const char *object_id) {
    size_t low = 0, high = viewer->grants_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct grant *grant = policy_grant_at(viewer, middle);
        int order = grant->object == object ? strcmp(grant->object_id, object_id) : grant->object < object ? -1 : 1;
        if (!order)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool has_hx_grant(const struct viewer_key *viewer, const struct object_ref *ref, const struct policy_hx_lookup *hx) {
    const char *id;
    if (!hx || !viewer->grants_count)
        return false;
    /* HX grants are the last in the order of grant_compare: without one there, nobody needs to be asked for HX clusters */
    if (policy_grant_at(viewer, viewer->grants_count - 1)->object != GRANT_HX_CLUSTER)
        return false;
    id = hx->find_hx_id(hx->arg, ref);
    return id && has_grant(viewer, GRANT_HX_CLUSTER, id);
}

static bool has_vsphere_grant(const struct viewer_key *viewer, const struct object_ref *ref) {
    char id[GRANT_OBJECT_ID_BYTES];
    if (!viewer->grants_count)
        return false;
    grant_vsphere_id(ref, id);
    return has_grant(viewer, GRANT_VSPHERE_CLUSTER, id);
}

/* A vCenter's word counts for its own objects only, whatever the set holds. */
static bool vcenter_lets_view(const struct viewer_key *viewer, const struct object_ref *ref) {
    if (viewer->vsphere_clusters && str_eq(viewer->vcenter_id, ref->vcenter_id) && object_set_has(viewer->vsphere_clusters, ref))
        return true;
    for (size_t i = 0; i < viewer->linked_count; i++)
        if (str_eq(viewer->linked[i].vcenter_id, ref->vcenter_id))
            return viewer->linked[i].vsphere_clusters && object_set_has(viewer->linked[i].vsphere_clusters, ref);
    return false;
}

/* Of this vCenter; a set that holds something of another one says nothing about that. */
static bool has_admin_mark(const struct object_set *set, const char *vcenter_id) {
    return set && set->count && str_eq(set->items[0].moref, POLICY_VCENTER_ADMIN_MOREF) &&
           str_eq(set->items[0].vcenter_id, vcenter_id);
}

/* By a privilege that this vCenter states, which counts for its own objects only. */
static bool is_vcenter_admin(const struct viewer_key *viewer, const char *vcenter_id) {
    if (viewer->is_unproved)
        return false;
    if (has_admin_mark(viewer->vsphere_clusters, vcenter_id) && str_eq(viewer->vcenter_id, vcenter_id))
        return true;
    for (size_t i = 0; i < viewer->linked_count; i++)
        if (has_admin_mark(viewer->linked[i].vsphere_clusters, vcenter_id) && str_eq(viewer->linked[i].vcenter_id, vcenter_id))
            return true;
    return false;
}

/* Programs are limited to the HX clusters they were given; for all others every rule counts. */
static bool policy_is_person(const struct viewer_key *viewer) {
    return viewer->role != ROLE_NONE && viewer->role != ROLE_SERVICE;
}

/* For a program, or for one for whom a program acts: its own limits, and of people nothing but what their vCenter lets them view. A grant, or a role, was
 * given to somebody who comes by themself. */
static unsigned limited_rules(const struct viewer_key *viewer, const struct object_ref *ref, const struct policy_hx_lookup *hx) {
    const char *id = hx ? hx->find_hx_id(hx->arg, ref) : NULL;
    if (viewer->role == ROLE_NONE || !id || viewer->limits->is_disabled || !service_account_has_hx_cluster(viewer->limits, id))
        return 0;
    if (viewer->role == ROLE_SERVICE)
        return RULE(SERVICE);
    return vcenter_lets_view(viewer, ref) ? RULE(VCENTER) : 0;
}

/* The rules that look at one vSphere cluster. */
static unsigned part_rules(const struct viewer_key *viewer, const struct object_ref *ref, const struct policy_hx_lookup *hx) {
    unsigned rules = 0;
    if (viewer->limits)
        return limited_rules(viewer, ref, hx);
    if (viewer->role == ROLE_NONE)
        return 0;
    if (has_hx_grant(viewer, ref, hx))
        rules |= RULE(HX_GRANT);
    if (!policy_is_person(viewer))
        return rules;
    if (has_vsphere_grant(viewer, ref))
        rules |= RULE(VSPHERE_GRANT);
    if (vcenter_lets_view(viewer, ref))
        rules |= RULE(VCENTER);
    if (is_vcenter_admin(viewer, ref->vcenter_id))
        rules |= RULE(VCENTER_ADMIN);
    return rules;
}

unsigned policy_vsphere_rules(const struct viewer_key *viewer, const struct object_ref *ref, const struct policy_hx_lookup *hx) {
    return part_rules(viewer, ref, hx) | (policy_sees_all(viewer) && !viewer->limits ? RULE(ROLE) : 0);
}

/* The rules that look at the cluster itself: they show every part. */
static unsigned whole_rules(const struct viewer_key *viewer, const struct cluster *cluster) {
    unsigned rules = policy_sees_all(viewer) ? RULE(ROLE) : 0;
    if (viewer->limits)
        return 0;
    if (policy_is_person(viewer) && has_grant(viewer, GRANT_CLUSTER, cluster->id))
        rules |= RULE(CLUSTER_GRANT);
    return rules;
}

bool policy_cluster_visible(const struct viewer_key *viewer, const struct cluster *cluster, const struct policy_hx_lookup *hx,
                            struct policy_view *out) {
    size_t count = cluster->placement.count;
    size_t bits = count < KAAS_PLACEMENTS_PER_CLUSTER_MAX ? count : KAAS_PLACEMENTS_PER_CLUSTER_MAX;
    bool sees_whole;
    *out = (struct policy_view){.rules = whole_rules(viewer, cluster)};
    sees_whole = out->rules != 0;
    for (size_t i = 0; i < bits; i++) {
        unsigned rules = part_rules(viewer, &cluster->placement.items[i], hx);
        out->rules |= rules;
        if (sees_whole || rules)
            out->parts |= UINT64_C(1) << i;
    }
    out->is_visible = out->rules != 0;
    out->hidden_count = sees_whole ? 0 : (unsigned)(count - (size_t)__builtin_popcountll(out->parts));
    return out->is_visible;
}

#define ROLE_BIT(role) (1U << (role))
#define ADMIN ROLE_BIT(ROLE_ADMIN)
#define WRITERS (ADMIN | ROLE_BIT(ROLE_PROVISIONER))
#define PERSONS (WRITERS | ROLE_BIT(ROLE_USER))
#define ANY (PERSONS | ROLE_BIT(ROLE_SERVICE))

static const struct {
    const char *word;
    unsigned roles;
} permissions[] = {
#define PERMISSION(symbol, word, roles) [PERMISSION_##symbol] = {word, roles},
#include "permission.def"
#undef PERMISSION
};
_Static_assert(ARRAY_COUNT(permissions) == PERMISSION_COUNT, "one row for each permission");

const char *permission_name(enum permission permission) {
    return (size_t)permission < ARRAY_COUNT(permissions) ? permissions[permission].word : "none";
}

bool policy_may(enum role role, enum permission permission) {
    if ((size_t)permission >= ARRAY_COUNT(permissions) || (unsigned)role > ROLE_ADMIN)
        return false;
    return permissions[permission].roles & ROLE_BIT(role);
}

int policy_require(enum role role, enum permission permission, struct err *err) {
    if (policy_may(role, permission))
        return 0;
    if (role == ROLE_SERVICE && policy_may(ROLE_USER, permission))
        return err_set(err, ERR_FORBIDDEN, "this is for people, not for programs");
    if (policy_may(ROLE_USER, permission))
        return err_set(err, ERR_FORBIDDEN, "this needs a role; yours is %s", role_name(role));
    return err_set(err, ERR_FORBIDDEN, "this needs the role admin%s; yours is %s",
                   policy_may(ROLE_PROVISIONER, permission) ? " or provisioner" : "", role_name(role));
}

bool policy_may_manage_grants(const struct viewer_key *viewer, enum grant_object object, const char *object_id) {
    struct object_ref ref;
    if (viewer->limits)
        return false;
    if (policy_may(viewer->role, PERMISSION_GRANTS_MANAGE_ALL))
        return true;
    if (!policy_is_person(viewer) || viewer->is_unproved)
        return false;
    if (object == GRANT_VSPHERE_CLUSTER && !grant_vsphere_ref(object_id, &ref, NULL) && is_vcenter_admin(viewer, ref.vcenter_id))
        return true;
    for (size_t i = 0; i < viewer->grants_count; i++) {
        const struct grant *g = policy_grant_at(viewer, i);
        if (g->object == object && str_eq(g->role, GRANT_ROLE_ADMIN) && str_eq(g->object_id, object_id))
            return true;
    }
    return false;
}

int policy_require_managing(const struct viewer_key *viewer, struct err *err) {
    const bool counts = !viewer->limits && !viewer->is_unproved && policy_is_person(viewer);
    bool is_admin = policy_may(viewer->role, PERMISSION_GRANTS_MANAGE_ALL) ||
                    (counts && has_admin_mark(viewer->vsphere_clusters, viewer->vcenter_id));
    for (size_t i = 0; !is_admin && counts && i < viewer->linked_count; i++)
        is_admin = has_admin_mark(viewer->linked[i].vsphere_clusters, viewer->linked[i].vcenter_id);
    for (size_t i = 0; !is_admin && counts && i < viewer->grants_count; i++)
        is_admin = str_eq(policy_grant_at(viewer, i)->role, GRANT_ROLE_ADMIN);
    if (is_admin)
        return 0;
    return err_set(err, ERR_FORBIDDEN, "this needs the role admin, or to be the admin of a cluster; your role is %s",
                   role_name(viewer->role));
}

enum policy_rights policy_rights_age(int64_t age_ms, bool is_unreachable, bool is_read) {
    if (age_ms < 0)
        return POLICY_RIGHTS_EXPIRED;
    if (age_ms <= KAAS_RIGHTS_FRESH_MS)
        return POLICY_RIGHTS_FRESH;
    if (age_ms <= KAAS_RIGHTS_HARD_MS)
        return POLICY_RIGHTS_RECHECK;
    if (is_unreachable && is_read && age_ms <= KAAS_RIGHTS_GRACE_MS)
        return POLICY_RIGHTS_GRACE;
    return POLICY_RIGHTS_EXPIRED;
}
