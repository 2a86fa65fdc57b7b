/* Grants to people and to their groups: what they show and who manages them, against a model that is plain enough to be believed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cleanup.h"
#include "policy.h"
#include "str.h"

#define VC "aaaaaaaa-0a53-4a8e-8a54-2f1f9f3f6f10"
#define PEOPLE 6U  /* ids "p0" to "p5": the first is the viewer, some of the others are its groups */
#define OBJECTS 4U /* of each kind */
#define GRANTS_MAX 40U
#define ROUNDS 20000

static uint64_t seed = 88172645463325252U;

/* xorshift64 (Marsaglia 2003): the same cases in each run. */
static unsigned draw(unsigned below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % below;
}

static char people[PEOPLE][4] = {"p0", "p1", "p2", "p3", "p4", "p5"};
static char clusters[OBJECTS][4] = {"k0", "k1", "k2", "k3"};
static char hx_ids[OBJECTS][4] = {"h0", "h1", "h2", "h3"};
static char roles[][8] = {"viewer", "admin"};
static char places[OBJECTS][GRANT_OBJECT_ID_BYTES] = {VC "/domain-c0", VC "/domain-c1", VC "/domain-c2", VC "/domain-c3"};

static char *object_of(enum grant_object kind, unsigned i) {
    return kind == GRANT_CLUSTER ? clusters[i] : kind == GRANT_HX_CLUSTER ? hx_ids[i] : places[i];
}

/* HX cluster i is on vSphere cluster i, but for the last one. */
static const char *find_hx_id(const void *arg, const struct object_ref *ref) {
    unsigned i = (unsigned)(ref->moref[strlen(ref->moref) - 1] - '0');
    (void)arg;
    return i + 1 < OBJECTS ? hx_ids[i] : NULL;
}
static const struct policy_hx_lookup hx = {.find_hx_id = find_hx_id};

struct stage {
    struct grant all[GRANTS_MAX]; /* in the order of grant_compare, each once */
    size_t count;
    struct group_set groups;
    bool is_member[PEOPLE];
    enum role role;
    struct object_ref placement[2];
    struct cluster cluster;
};

static int compare(const void *a, const void *b) {
    return grant_compare(a, b);
}

static void draw_grants(struct stage *s) {
    unsigned wanted = draw(GRANTS_MAX);
    s->count = 0;
    for (unsigned i = 0; i < wanted; i++) {
        enum grant_object kind = (enum grant_object)draw(3);
        struct grant g = {.principal_id = people[draw(PEOPLE)],
                          .object = kind,
                          .object_id = object_of(kind, draw(OBJECTS)),
                          .role = roles[draw(2)]};
        bool is_there = false;
        for (size_t k = 0; k < s->count; k++)
            is_there = is_there || !grant_compare(&s->all[k], &g);
        if (!is_there)
            s->all[s->count++] = g;
    }
    qsort(s->all, s->count, sizeof(*s->all), compare);
}

static void draw_stage(struct stage *s) {
    static const enum role some[] = {ROLE_NONE, ROLE_USER, ROLE_USER, ROLE_SERVICE, ROLE_PROVISIONER, ROLE_ADMIN};
    memset(s, 0, sizeof(*s));
    draw_grants(s);
    s->is_member[0] = true;
    for (unsigned i = 1; i < PEOPLE; i++) {
        s->is_member[i] = draw(3) == 0;
        if (s->is_member[i])
            assert_int_equal(group_set_add(&s->groups, people[i], NULL), 0);
    }
    group_set_seal(&s->groups);
    s->role = some[draw(UNIT_COUNT(some))];
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(s->placement[i].vcenter_id, sizeof(s->placement[i].vcenter_id), "%s", VC);
        (void)snprintf(s->placement[i].moref, sizeof(s->placement[i].moref), "domain-c%u", (draw(2) + 2 * i) % OBJECTS);
    }
    s->cluster = (struct cluster){.id = clusters[draw(OBJECTS)], .placement = {.items = s->placement, .count = 2, .alloc = 2}};
}

/* -- the model: one look at each grant ------------------------------------------------------------------------------------ */

static bool is_granted(const struct stage *s, enum grant_object kind, const char *object_id, bool as_admin) {
    for (size_t i = 0; object_id && i < s->count; i++)
        if (s->is_member[s->all[i].principal_id[1] - '0'] && s->all[i].object == kind && str_eq(s->all[i].object_id, object_id) &&
            (!as_admin || str_eq(s->all[i].role, "admin")))
            return true;
    return false;
}

static bool shows_part(const struct stage *s, unsigned i) {
    char id[GRANT_OBJECT_ID_BYTES];
    grant_vsphere_id(&s->placement[i], id);
    if (s->role == ROLE_NONE)
        return false;
    if (is_granted(s, GRANT_HX_CLUSTER, find_hx_id(NULL, &s->placement[i]), false))
        return true;
    return s->role != ROLE_SERVICE && is_granted(s, GRANT_VSPHERE_CLUSTER, id, false);
}

static uint64_t model_parts(const struct stage *s) {
    if (s->role == ROLE_ADMIN || s->role == ROLE_PROVISIONER)
        return 3;
    if (s->role == ROLE_USER && is_granted(s, GRANT_CLUSTER, s->cluster.id, false))
        return 3;
    return (uint64_t)shows_part(s, 0) | (uint64_t)shows_part(s, 1) << 1;
}

static bool model_manages(const struct stage *s, enum grant_object kind, const char *object_id) {
    if (s->role == ROLE_ADMIN)
        return true;
    return (s->role == ROLE_USER || s->role == ROLE_PROVISIONER) && is_granted(s, kind, object_id, true);
}

/* -- comparison ------------------------------------------------------------------------------------------------------------ */

static void check_managing(const struct stage *s, const struct viewer_key *viewer) {
    bool is_any = false;
    for (unsigned kind = 0; kind < 3; kind++)
        for (unsigned i = 0; i < OBJECTS; i++) {
            const char *id = object_of((enum grant_object)kind, i);
            bool expected = model_manages(s, (enum grant_object)kind, id);
            assert_int_equal(policy_may_manage_grants(viewer, (enum grant_object)kind, id), expected);
            is_any = is_any || expected;
        }
    assert_int_equal(policy_require_managing(viewer, NULL), is_any ? 0 : ERR_FORBIDDEN);
}

static void check_order(const struct viewer_key *viewer) {
    for (size_t i = 1; i < viewer->grants_count; i++) {
        const struct grant *a = policy_grant_at(viewer, i - 1), *b = policy_grant_at(viewer, i);
        assert_true(a->object < b->object || (a->object == b->object && strcmp(a->object_id, b->object_id) <= 0));
    }
}

static void check_stage(const struct stage *s) {
    static const struct group_set none;
    const struct policy_grantee who = {people[0], &s->groups}, alone = {people[0], &none};
    struct principal me = {.id = people[0], .role = s->role, .source = SOURCE_LDAP};
    struct viewer_key viewer;
    struct policy_view view;
    _cleanup_free_ uint32_t *places_of_own = NULL;
    uint32_t *picked = NULL;
    size_t own = 0, count = 0;
    policy_viewer_init(&viewer, &me);
    assert_int_equal(policy_pick_grants(s->all, s->count, &who, &picked, &viewer.grants_count, NULL), 0);
    viewer.grants = s->all;
    viewer.picked = picked;
    (void)policy_cluster_visible(&viewer, &s->cluster, &hx, &view);
    assert_int_equal(view.parts, model_parts(s));
    assert_int_equal(view.is_visible, model_parts(s) != 0);
    check_order(&viewer);
    check_managing(s, &viewer);
    assert_int_equal(policy_pick_grants(s->all, s->count, &alone, &places_of_own, &own, NULL), 0);
    (void)policy_grants_of(s->all, s->count, people[0], &count);
    assert_int_equal(own, count);
    free(picked);
}

static void groups_and_people_agree_with_the_model(void **state) {
    struct stage s;
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        draw_stage(&s);
        check_stage(&s);
        group_set_done(&s.groups);
    }
}

/* Of a cluster one manages the grants on that cluster: not on the HX cluster it runs on, not on others. */
static void admins_of_a_cluster_manage_its_grants_only(void **state) {
    struct grant g = {.principal_id = people[0], .object = GRANT_CLUSTER, .object_id = clusters[1], .role = roles[1]};
    struct viewer_key viewer = {.principal_id = people[0], .role = ROLE_USER, .grants = &g, .grants_count = 1};
    const struct service_account limits = {.is_disabled = false};
    struct err err = {0};
    (void)state;
    assert_true(policy_may_manage_grants(&viewer, GRANT_CLUSTER, "k1"));
    assert_false(policy_may_manage_grants(&viewer, GRANT_CLUSTER, "k2"));
    assert_false(policy_may_manage_grants(&viewer, GRANT_HX_CLUSTER, "k1"));
    viewer.limits = &limits; /* a program that acts for the person */
    assert_false(policy_may_manage_grants(&viewer, GRANT_CLUSTER, "k1"));
    viewer.limits = NULL;
    viewer.is_unproved = true;
    assert_false(policy_may_manage_grants(&viewer, GRANT_CLUSTER, "k1"));
    assert_int_equal(policy_require_managing(&viewer, NULL), ERR_FORBIDDEN);
    viewer.is_unproved = false;
    g.role = roles[0];
    assert_false(policy_may_manage_grants(&viewer, GRANT_CLUSTER, "k1"));
    assert_int_equal(policy_require_managing(&viewer, &err), ERR_FORBIDDEN);
    assert_string_equal(err.text, "this needs the role admin, or to be the admin of a cluster; your role is user");
    viewer.role = ROLE_NONE;
    g.role = roles[1];
    assert_false(policy_may_manage_grants(&viewer, GRANT_CLUSTER, "k1"));
}

/* By a privilege of a vCenter: all that runs there, and the grants on its vSphere clusters; nothing of another vCenter. */
static void admins_of_a_vcenter(void **state) {
    static const char other[] = "bbbbbbbb-0a53-4a8e-8a54-2f1f9f3f6f10";
    struct object_ref placement[2] = {{VC, "domain-c1"}, {"", "domain-c1"}}, mark = {VC, POLICY_VCENTER_ADMIN_MOREF};
    const struct cluster cluster = {.id = clusters[0], .placement = {.items = placement, .count = 2, .alloc = 2}};
    const struct object_set said = {.items = &mark, .count = 1, .alloc = 1};
    struct viewer_key viewer = {.principal_id = people[0], .role = ROLE_USER, .vcenter_id = VC, .vsphere_clusters = &said};
    struct viewer_vcenter linked = {.vcenter_id = VC, .vsphere_clusters = &said};
    struct policy_view view;
    char there[GRANT_OBJECT_ID_BYTES];
    (void)state;
    (void)snprintf(placement[1].vcenter_id, sizeof(placement[1].vcenter_id), "%s", other);
    (void)snprintf(there, sizeof(there), "%s/domain-c1", other);
    assert_true(policy_cluster_visible(&viewer, &cluster, &hx, &view));
    assert_int_equal(view.parts, 1);
    assert_int_equal(view.rules, 1U << POLICY_RULE_VCENTER_ADMIN);
    assert_true(policy_may_manage_grants(&viewer, GRANT_VSPHERE_CLUSTER, places[1]));
    assert_false(policy_may_manage_grants(&viewer, GRANT_VSPHERE_CLUSTER, there));
    assert_false(policy_may_manage_grants(&viewer, GRANT_CLUSTER, clusters[0]));
    assert_int_equal(policy_require_managing(&viewer, NULL), 0);
    viewer.is_unproved = true; /* who is only said to have a session there */
    assert_false(policy_cluster_visible(&viewer, &cluster, &hx, &view));
    assert_false(policy_may_manage_grants(&viewer, GRANT_VSPHERE_CLUSTER, places[1]));
    assert_int_equal(policy_require_managing(&viewer, NULL), ERR_FORBIDDEN);
    viewer.is_unproved = false;
    viewer.vcenter_id = other; /* the mark is of another vCenter than the viewer */
    assert_false(policy_cluster_visible(&viewer, &cluster, &hx, &view));
    viewer.vsphere_clusters = NULL;
    viewer.linked = &linked;
    viewer.linked_count = 1;
    assert_true(policy_cluster_visible(&viewer, &cluster, &hx, &view));
    assert_int_equal(policy_require_managing(&viewer, NULL), 0);
    viewer.role = ROLE_SERVICE;
    assert_false(policy_cluster_visible(&viewer, &cluster, &hx, &view));
    assert_false(policy_may_manage_grants(&viewer, GRANT_VSPHERE_CLUSTER, places[1]));
}

static void a_key_is_no_credential(void **state) {
    struct principal who = {.id = people[0], .role = ROLE_USER, .source = SOURCE_VC_KEY};
    struct viewer_key viewer;
    (void)state;
    policy_viewer_init(&viewer, &who);
    assert_true(viewer.is_unproved);
    who.source = SOURCE_VC_SESSION;
    policy_viewer_init(&viewer, &who);
    assert_false(viewer.is_unproved);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_and_people_agree_with_the_model),
        cmocka_unit_test(admins_of_a_cluster_manage_its_grants_only),
        cmocka_unit_test(a_key_is_no_credential),
        cmocka_unit_test(admins_of_a_vcenter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
