/* Who may see and do what: every rule alone, their union, and what is hidden.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "limits.h"
#include "policy.h"
#include "str.h"

#define VC_A "aaaaaaaa-0a53-4a8e-8a54-2f1f9f3f6f10"
#define VC_B "bbbbbbbb-0a53-4a8e-8a54-2f1f9f3f6f10"
#define BIT(rule) (1U << POLICY_RULE_##rule)

/* The world of these tests: cluster "k1" lies on three vSphere clusters, HX clusters "hx7" and "hx9" on two of them. */
static struct object_ref placement[] = {{VC_A, "domain-c7"}, {VC_A, "domain-c70"}, {VC_B, "domain-c9"}};
static const struct object_ref elsewhere = {VC_A, "domain-c8"};
static unsigned hx_questions;

static const char *find_hx_id(const void *arg, const struct object_ref *ref) {
    (void)arg;
    hx_questions++;
    if (object_ref_eq(ref, &placement[0]))
        return "hx7";
    return object_ref_eq(ref, &placement[2]) ? "hx9" : NULL;
}

static const struct policy_hx_lookup hx = {.find_hx_id = find_hx_id};

static struct cluster k1(void) {
    static char id[] = "k1";
    return (struct cluster){.id = id, .placement = {.items = placement, .count = 3, .alloc = 3}};
}

static struct grant make_grant(enum grant_object object, const char *object_id) {
    static char who[] = "local:me";
    return (struct grant){.principal_id = who, .object = object, .object_id = (char *)(uintptr_t)object_id};
}

enum { NO_GRANT = -1 };

static const struct row {
    const char *name;
    enum role role;
    const char *vcenter_id; /* where the viewer came from */
    unsigned viewable;      /* bit i: vCenter lets it view placement[i] */
    int grant_object;       /* NO_GRANT or the kind of one grant */
    const char *grant_id;
    uint64_t parts;
    unsigned rules;
} rows[] = {
    {"nobody", ROLE_NONE, VC_A, 7, GRANT_CLUSTER, "k1", 0, 0},
    {"nobody with a right", ROLE_NONE, VC_A, 7, GRANT_HX_CLUSTER, "hx7", 0, 0},
    {"plain user", ROLE_USER, NULL, 0, NO_GRANT, NULL, 0, 0},
    {"admin", ROLE_ADMIN, NULL, 0, NO_GRANT, NULL, 7, BIT(ROLE)},
    {"admin with rights", ROLE_ADMIN, VC_A, 1, GRANT_CLUSTER, "k1", 7, BIT(ROLE) | BIT(CLUSTER_GRANT) | BIT(VCENTER)},
    {"grant on the cluster", ROLE_USER, NULL, 0, GRANT_CLUSTER, "k1", 7, BIT(CLUSTER_GRANT)},
    {"grant on another cluster", ROLE_USER, NULL, 0, GRANT_CLUSTER, "k2", 0, 0},
    {"provisioner with grant", ROLE_PROVISIONER, NULL, 0, GRANT_CLUSTER, "k1", 7, BIT(ROLE) | BIT(CLUSTER_GRANT)},
    {"provisioner without", ROLE_PROVISIONER, NULL, 0, NO_GRANT, NULL, 7, BIT(ROLE)},
    {"grant on a vSphere cluster", ROLE_USER, NULL, 0, GRANT_VSPHERE_CLUSTER, VC_A "/domain-c70", 2, BIT(VSPHERE_GRANT)},
    {"same id on another vCenter", ROLE_USER, NULL, 0, GRANT_VSPHERE_CLUSTER, VC_B "/domain-c7", 0, 0},
    {"no grant by prefix", ROLE_USER, NULL, 0, GRANT_VSPHERE_CLUSTER, VC_A "/domain-c", 0, 0},
    {"grant on an HX cluster", ROLE_USER, NULL, 0, GRANT_HX_CLUSTER, "hx9", 4, BIT(HX_GRANT)},
    {"grant on a foreign HX cluster", ROLE_USER, NULL, 0, GRANT_HX_CLUSTER, "hx8", 0, 0},
    {"kinds do not mix", ROLE_USER, NULL, 0, GRANT_HX_CLUSTER, "k1", 0, 0},
    {"vCenter right", ROLE_USER, VC_A, 1, NO_GRANT, NULL, 1, BIT(VCENTER)},
    {"two vCenter rights", ROLE_USER, VC_A, 3, NO_GRANT, NULL, 3, BIT(VCENTER)},
    {"rights of another vCenter", ROLE_USER, VC_A, 4, NO_GRANT, NULL, 0, 0},
    {"rights without a vCenter", ROLE_USER, NULL, 7, NO_GRANT, NULL, 0, 0},
    {"union", ROLE_USER, VC_A, 1, GRANT_HX_CLUSTER, "hx9", 5, BIT(VCENTER) | BIT(HX_GRANT)},
    {"overlap", ROLE_USER, VC_A, 1, GRANT_HX_CLUSTER, "hx7", 1, BIT(VCENTER) | BIT(HX_GRANT)},
    {"whole and part", ROLE_USER, VC_A, 2, GRANT_CLUSTER, "k1", 7, BIT(VCENTER) | BIT(CLUSTER_GRANT)},
    {"service on its HX cluster", ROLE_SERVICE, NULL, 0, GRANT_HX_CLUSTER, "hx7", 1, BIT(HX_GRANT)},
    {"service has no cluster grants", ROLE_SERVICE, NULL, 0, GRANT_CLUSTER, "k1", 0, 0},
    {"service has no vSphere grants", ROLE_SERVICE, NULL, 0, GRANT_VSPHERE_CLUSTER, VC_A "/domain-c7", 0, 0},
    {"service has no vCenter rights", ROLE_SERVICE, VC_A, 7, NO_GRANT, NULL, 0, 0},
};

struct stage {
    struct object_set viewable;
    struct grant grant;
    struct viewer_key viewer;
};

static void set_stage(const struct row *row, struct stage *stage) {
    static char id[] = "local:me";
    struct principal who = {.id = id,
                            .role = row->role,
                            .vcenter_id = (char *)(uintptr_t)row->vcenter_id,
                            .source = row->vcenter_id ? SOURCE_VC_SESSION : SOURCE_LOCAL};
    *stage = (struct stage){0};
    policy_viewer_init(&stage->viewer, &who);
    for (size_t i = 0; i < UNIT_COUNT(placement); i++)
        if (row->viewable & (1U << i))
            assert_int_equal(object_set_add(&stage->viewable, &placement[i], NULL), 0);
    stage->viewer.vsphere_clusters = row->viewable ? &stage->viewable : NULL;
    if (row->grant_object == NO_GRANT)
        return;
    stage->grant = make_grant((enum grant_object)row->grant_object, row->grant_id);
    stage->viewer.grants = &stage->grant;
    stage->viewer.grants_count = 1;
}

static void check_row(const struct row *row) {
    const struct cluster cluster = k1();
    struct policy_view view;
    struct stage stage;
    set_stage(row, &stage);
    bool is_visible = policy_cluster_visible(&stage.viewer, &cluster, &hx, &view);
    if (view.parts != row->parts || view.rules != row->rules)
        print_error("%s: parts %llx, rules %x\n", row->name, (unsigned long long)view.parts, view.rules);
    assert_int_equal(view.parts, row->parts);
    assert_int_equal(view.rules, row->rules);
    assert_int_equal(is_visible, row->rules != 0);
    assert_int_equal(view.is_visible, is_visible);
    assert_int_equal(view.hidden_count, 3 - __builtin_popcountll(row->parts));
    object_set_done(&stage.viewable);
}

static void clusters_are_seen_by_rule(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++)
        check_row(&rows[i]);
}

/* What shows a part of the placement shows the vSphere cluster itself; a grant on the Kubernetes cluster does not. */
static void vsphere_clusters_are_seen_by_rule(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct stage stage;
        unsigned rules = 0;
        set_stage(&rows[i], &stage);
        for (size_t part = 0; part < UNIT_COUNT(placement); part++)
            rules |= policy_vsphere_rules(&stage.viewer, &placement[part], &hx);
        assert_int_equal(rules, rows[i].rules & ~BIT(CLUSTER_GRANT));
        assert_int_equal(policy_vsphere_rules(&stage.viewer, &elsewhere, &hx), rows[i].rules & BIT(ROLE));
        object_set_done(&stage.viewable);
    }
}

static void clusters_without_placement(void **state) {
    struct cluster cluster = k1();
    const struct row admin = {"", ROLE_ADMIN, NULL, 0, NO_GRANT, NULL, 0, 0},
                     user = {"", ROLE_USER, VC_A, 7, GRANT_CLUSTER, "k1", 0, 0};
    struct policy_view view;
    struct stage stage;
    (void)state;
    cluster.placement.count = 0;
    set_stage(&admin, &stage);
    assert_true(policy_cluster_visible(&stage.viewer, &cluster, NULL, &view));
    assert_int_equal(view.parts, 0);
    set_stage(&user, &stage);
    assert_true(policy_cluster_visible(&stage.viewer, &cluster, NULL, &view));
    stage.viewer.grants_count = 0;
    assert_false(policy_cluster_visible(&stage.viewer, &cluster, NULL, &view));
    object_set_done(&stage.viewable);
}

static void wide_placements_hide_what_has_no_bit(void **state) {
    static struct object_ref many[KAAS_PLACEMENTS_PER_CLUSTER_MAX + 6];
    struct object_set all = {.items = many, .count = UNIT_COUNT(many)};
    struct cluster cluster = k1();
    struct viewer_key viewer = {.role = ROLE_USER, .vcenter_id = VC_A, .vsphere_clusters = &all};
    struct policy_view view;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(many); i++) {
        (void)snprintf(many[i].vcenter_id, sizeof(many[i].vcenter_id), "%s", VC_A);
        (void)snprintf(many[i].moref, sizeof(many[i].moref), "domain-c%03zu", i);
    }
    cluster.placement = all;
    assert_true(policy_cluster_visible(&viewer, &cluster, NULL, &view));
    assert_true(view.parts == UINT64_MAX);
    assert_int_equal(view.hidden_count, 6);
    viewer.role = ROLE_ADMIN;
    assert_true(policy_cluster_visible(&viewer, &cluster, NULL, &view));
    assert_int_equal(view.hidden_count, 0);
}

/* Whatever a decision depends on makes other bytes: an answer to one viewer is never found for another one. */
static void each_member_counts_in_the_bytes(void **state) {
    static const struct object_set some = {.count = 0}, others = {.count = 0};
    static char account[] = "svc:a";
    const struct service_account limits = {.id = account};
    const struct viewer_vcenter linked[] = {{VC_B, &some}}, moved[] = {{VC_A, &some}}, rewritten[] = {{VC_B, &others}};
    const struct viewer_key plain = {
        .principal_id = "vc:x:anna", .role = ROLE_USER, .vcenter_id = VC_A, .vsphere_clusters = &some};
    struct viewer_key all[10];
    char bytes[UNIT_COUNT(all)][256];
    size_t n[UNIT_COUNT(all)], i = 0;
    (void)state;
    for (; i < UNIT_COUNT(all); i++)
        all[i] = plain;
    all[1].principal_id = "vc:x:ann";
    all[2].role = ROLE_ADMIN;
    all[3].is_unproved = true;
    all[4].vcenter_id = NULL;
    all[5].vsphere_clusters = &others;
    all[6].groups_mark = 1;
    all[7].limits = &limits;
    all[8].linked = linked;
    all[8].linked_count = 1;
    all[9].linked = moved;
    all[9].linked_count = 1;
    for (i = 0; i < UNIT_COUNT(all); i++) {
        n[i] = policy_viewer_bytes(&all[i], bytes[i], sizeof(bytes[i]));
        assert_true(n[i] > 0);
        for (size_t k = 0; k < i; k++)
            assert_false(n[i] == n[k] && memcmp(bytes[i], bytes[k], n[i]) == 0);
    }
    all[9].linked = rewritten;
    assert_int_equal(policy_viewer_bytes(&all[9], bytes[9], sizeof(bytes[9])), n[8]);
    assert_memory_not_equal(bytes[9], bytes[8], n[8]);
    assert_int_equal(policy_viewer_bytes(&all[8], bytes[0], n[8] - 1), 0);
}

/* One person over two vCenters: each one's word counts for its own objects, and the union is seen. */
static void further_vcenters_add_their_own_objects_only(void **state) {
    const struct cluster cluster = k1();
    struct object_set all = {0};
    struct viewer_vcenter linked = {.vcenter_id = VC_B, .vsphere_clusters = &all};
    struct viewer_key viewer = {.role = ROLE_USER, .vcenter_id = VC_A, .linked = &linked, .linked_count = 1};
    struct policy_view view;
    uint64_t of_b = 0, of_a = 0;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(placement); i++) {
        assert_int_equal(object_set_add(&all, &placement[i], NULL), 0);
        of_b |= (uint64_t)str_eq(placement[i].vcenter_id, VC_B) << i;
        of_a |= (uint64_t)str_eq(placement[i].vcenter_id, VC_A) << i;
    }
    assert_true(of_a && of_b);
    assert_true(policy_cluster_visible(&viewer, &cluster, NULL, &view));
    assert_true(view.parts == of_b); /* its set holds objects of the first one too: they do not count */
    viewer.vsphere_clusters = &all;
    assert_true(policy_cluster_visible(&viewer, &cluster, NULL, &view));
    assert_true(view.parts == (of_a | of_b));
    linked.vsphere_clusters = NULL;
    assert_true(policy_cluster_visible(&viewer, &cluster, NULL, &view));
    assert_true(view.parts == of_a);
    assert_true(policy_viewer_is_of(&viewer, VC_A) && policy_viewer_is_of(&viewer, VC_B));
    assert_false(policy_viewer_is_of(&viewer, "cccccccc-0000-4000-8000-000000000000"));
    viewer.role = ROLE_SERVICE;
    assert_false(policy_cluster_visible(&viewer, &cluster, NULL, &view));
    object_set_done(&all);
}

static void hx_is_asked_only_when_it_matters(void **state) {
    const struct cluster cluster = k1();
    const struct row vsphere = {"", ROLE_USER, NULL, 0, GRANT_VSPHERE_CLUSTER, VC_A "/domain-c7", 0, 0};
    const struct row granted = {"", ROLE_USER, NULL, 0, GRANT_HX_CLUSTER, "hx9", 0, 0};
    struct policy_view view;
    struct stage stage;
    (void)state;
    hx_questions = 0;
    set_stage(&vsphere, &stage);
    (void)policy_cluster_visible(&stage.viewer, &cluster, &hx, &view);
    assert_int_equal(hx_questions, 0);
    set_stage(&granted, &stage);
    (void)policy_cluster_visible(&stage.viewer, &cluster, &hx, &view);
    assert_int_equal(hx_questions, 3);
    assert_false(policy_cluster_visible(&stage.viewer, &cluster, NULL, &view));
}

static void one_of_many_grants_is_found(void **state) {
    struct grant grants[] = {make_grant(GRANT_CLUSTER, "k0"),     make_grant(GRANT_CLUSTER, "k1"),
                             make_grant(GRANT_CLUSTER, "k2"),     make_grant(GRANT_VSPHERE_CLUSTER, VC_A "/domain-c7"),
                             make_grant(GRANT_HX_CLUSTER, "hx1"), make_grant(GRANT_HX_CLUSTER, "hx9")};
    const struct viewer_key viewer = {.role = ROLE_USER, .grants = grants, .grants_count = UNIT_COUNT(grants)};
    const struct cluster cluster = k1();
    struct policy_view view;
    (void)state;
    assert_true(policy_cluster_visible(&viewer, &cluster, &hx, &view));
    assert_int_equal(view.rules, BIT(CLUSTER_GRANT) | BIT(VSPHERE_GRANT) | BIT(HX_GRANT));
}

static void grants_of_a_principal(void **state) {
    static char ids[][8] = {"a", "b", "b", "b", "bb", "d"};
    struct grant all[UNIT_COUNT(ids)];
    size_t count = 99;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ids); i++)
        all[i] = (struct grant){.principal_id = ids[i]};
    assert_ptr_equal(policy_grants_of(all, UNIT_COUNT(all), "b", &count), &all[1]);
    assert_int_equal(count, 3);
    assert_ptr_equal(policy_grants_of(all, UNIT_COUNT(all), "d", &count), &all[5]);
    assert_int_equal(count, 1);
    assert_null(policy_grants_of(all, UNIT_COUNT(all), "c", &count));
    assert_int_equal(count, 0);
    assert_null(policy_grants_of(NULL, 0, "a", &count));
    assert_int_equal(count, 0);
}

static int compare_grants(const void *a, const void *b) {
    return grant_compare(a, b);
}

/* A grant fits the name in whatever case, unless there are grants to several spellings of it. */
static void grants_of_a_name_in_any_case(void **state) {
#define ID(name) "vc:" VC_A ":vsphere.local\\" name
    static char ids[][80] = {ID("bert"), ID("d\u00fcrr"), ID("D\u00dcRR"), ID("m\u00fcller"), ID("m\u00fcller"), ID("D\u00dcRR")};
    struct grant all[UNIT_COUNT(ids)];
    size_t count = 99;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(ids); i++)
        all[i] = (struct grant){.principal_id = ids[i], .object = (enum grant_object)(i % 2), .object_id = ids[i]};
    qsort(all, UNIT_COUNT(all), sizeof(*all), compare_grants);
    assert_string_equal(policy_grants_of(all, UNIT_COUNT(all), ID("M\u00dcLLER"), &count)->principal_id, ID("m\u00fcller"));
    assert_int_equal(count, 2);
    assert_string_equal(policy_grants_of(all, UNIT_COUNT(all), ID("m\u00fcller"), &count)->principal_id, ID("m\u00fcller"));
    assert_int_equal(count, 2);
    assert_string_equal(policy_grants_of(all, UNIT_COUNT(all), ID("d\u00fcrr"), &count)->principal_id, ID("d\u00fcrr"));
    assert_int_equal(count, 1);
    assert_string_equal(policy_grants_of(all, UNIT_COUNT(all), ID("D\u00dcRR"), &count)->principal_id, ID("D\u00dcRR"));
    assert_int_equal(count, 2);
    assert_null(policy_grants_of(all, UNIT_COUNT(all), ID("D\u00fcRR"), &count)); /* a third one: whose would they be? */
    assert_int_equal(count, 0);
    assert_null(policy_grants_of(all, UNIT_COUNT(all), ID("muller"), &count));
    assert_null(policy_grants_of(all, UNIT_COUNT(all), "vc:" VC_B ":vsphere.local\\m\u00fcller", &count));
#undef ID
}

static void viewers_start_from_principals(void **state) {
    static char id[] = "vc:x:anna", vcenter_id[] = VC_A;
    struct principal who = {.id = id, .role = ROLE_USER, .source = SOURCE_VC_TICKET, .vcenter_id = vcenter_id};
    struct viewer_key viewer;
    (void)state;
    policy_viewer_init(&viewer, &who);
    assert_string_equal(viewer.principal_id, "vc:x:anna");
    assert_string_equal(viewer.vcenter_id, VC_A);
    assert_false(policy_sees_all(&viewer));
    assert_null(viewer.vsphere_clusters);
    who.source = SOURCE_LOCAL; /* a stray vCenter does not count */
    who.role = ROLE_ADMIN;
    policy_viewer_init(&viewer, &who);
    assert_null(viewer.vcenter_id);
    assert_true(policy_sees_all(&viewer));
}

/* One letter per role that may: u(ser), s(ervice), p(rovisioner), a(dmin). */
static void permissions_per_role(void **state) {
    static const struct {
        const char *word, *roles;
    } table[PERMISSION_COUNT] = {
        [PERMISSION_CLUSTERS_SEE_ALL] = {"clusters.see_all", "ap"},
        [PERMISSION_CLUSTERS_READ] = {"clusters.read", "uspa"},
        [PERMISSION_CLUSTERS_WRITE] = {"clusters.write", "pa"},
        [PERMISSION_CONNECTIONS_MANAGE] = {"connections.manage", "a"},
        [PERMISSION_CLUSTERS_MAKE] = {"clusters.make", "a"},
        [PERMISSION_KUBECONFIGS_ISSUE] = {"kubeconfigs.issue", "a"},
        [PERMISSION_PROVIDERS_MANAGE] = {"providers.manage", "a"},
        [PERMISSION_JOBS_MANAGE] = {"jobs.manage", "a"},
        [PERMISSION_VCENTERS_READ] = {"vcenters.read", "a"},
        [PERMISSION_VCENTERS_MANAGE] = {"vcenters.manage", "a"},
        [PERMISSION_VSPHERE_CLUSTERS_READ] = {"vsphere_clusters.read", "pa"},
        [PERMISSION_HX_CLUSTERS_READ] = {"hx_clusters.read", "uspa"},
        [PERMISSION_HX_CLUSTERS_WRITE] = {"hx_clusters.write", "a"},
        [PERMISSION_USERS_MANAGE] = {"users.manage", "a"},
        [PERMISSION_GRANTS_MANAGE] = {"grants.manage", "upa"},
        [PERMISSION_GRANTS_MANAGE_ALL] = {"grants.manage_all", "a"},
        [PERMISSION_ROLES_MANAGE] = {"roles.manage", "a"},
        [PERMISSION_SERVICES_MANAGE] = {"services.manage", "a"},
        [PERMISSION_DIRECTORIES_MANAGE] = {"directories.manage", "a"},
        [PERMISSION_KEYS_MANAGE] = {"keys.manage", "a"},
        [PERMISSION_SESSIONS_MANAGE] = {"sessions.manage", "a"},
        [PERMISSION_AUDIT_READ] = {"audit.read", "a"},
        [PERMISSION_AUDIT_ACCEPT] = {"audit.accept_restore", "a"},
        [PERMISSION_HEALTH_READ] = {"health.read", "uspa"},
        [PERMISSION_HEALTH_DETAILS_READ] = {"health.details.read", "a"},
        [PERMISSION_METRICS_READ] = {"metrics.read", "a"},
    };
    static const char letters[] = {
        [ROLE_NONE] = '-', [ROLE_USER] = 'u', [ROLE_SERVICE] = 's', [ROLE_PROVISIONER] = 'p', [ROLE_ADMIN] = 'a'};
    (void)state;
    for (unsigned p = 0; p < PERMISSION_COUNT; p++) {
        assert_non_null(table[p].word);
        assert_string_equal(permission_name((enum permission)p), table[p].word);
        for (unsigned r = 0; r < UNIT_COUNT(letters); r++) {
            bool expected = strchr(table[p].roles, letters[r]) != NULL;
            assert_int_equal(policy_may((enum role)r, (enum permission)p), expected);
            assert_int_equal(policy_require((enum role)r, (enum permission)p, NULL), expected ? 0 : ERR_FORBIDDEN);
        }
    }
    assert_false(policy_may((enum role)31, PERMISSION_CLUSTERS_READ));
    assert_false(policy_may(ROLE_ADMIN, PERMISSION_COUNT));
    assert_string_equal(permission_name(PERMISSION_COUNT), "none");
}

static void refusals_name_the_role(void **state) {
    static const struct {
        enum role role;
        enum permission permission;
        const char *text;
    } table[] = {
        {ROLE_USER, PERMISSION_VCENTERS_MANAGE, "this needs the role admin; yours is user"},
        {ROLE_SERVICE, PERMISSION_CLUSTERS_WRITE, "this needs the role admin or provisioner; yours is service"},
        {ROLE_NONE, PERMISSION_CLUSTERS_READ, "this needs a role; yours is none"},
        {ROLE_SERVICE, PERMISSION_GRANTS_MANAGE, "this is for people, not for programs"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(table); i++) {
        struct err err = {0};
        assert_int_equal(policy_require(table[i].role, table[i].permission, &err), ERR_FORBIDDEN);
        assert_string_equal(err.text, table[i].text);
    }
}

/* A program sees what is on its HX clusters; of a person it acts for, what both may see. Grants and roles do not count beside that. */
static void limits_of_programs(void **state) {
    static const struct {
        const char *name;
        const char *hx;
        bool is_disabled;
        enum role role;
        unsigned viewable;
        uint64_t parts;
        unsigned rules;
    } cases[] = {
        {"for itself", "hx7", false, ROLE_SERVICE, 0, 1, BIT(SERVICE)},
        {"for itself, elsewhere", "hx8", false, ROLE_SERVICE, 7, 0, 0},
        {"for itself, disabled", "hx7", true, ROLE_SERVICE, 7, 0, 0},
        {"for a person who may", "hx7", false, ROLE_USER, 1, 1, BIT(VCENTER)},
        {"for a person who may elsewhere only", "hx7", false, ROLE_USER, 2, 0, 0},
        {"for a person who may more", "hx7", false, ROLE_USER, 3, 1, BIT(VCENTER)},
        {"for a person, elsewhere", "hx8", false, ROLE_USER, 7, 0, 0},
        {"no administrator through a program", "hx7", false, ROLE_ADMIN, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const struct row row = {.name = cases[i].name,
                                .role = cases[i].role,
                                .vcenter_id = VC_A,
                                .viewable = cases[i].viewable,
                                .grant_object = GRANT_CLUSTER,
                                .grant_id = "k1"};
        char *ids[] = {(char *)(uintptr_t)cases[i].hx};
        const struct service_account limits = {.hx_clusters = ids, .hx_clusters_count = 1, .is_disabled = cases[i].is_disabled};
        const struct cluster cluster = k1();
        struct policy_view view;
        struct stage stage;
        set_stage(&row, &stage);
        stage.viewer.limits = &limits;
        assert_int_equal(policy_cluster_visible(&stage.viewer, &cluster, &hx, &view), cases[i].rules != 0);
        assert_int_equal(view.parts, cases[i].parts);
        assert_int_equal(view.rules, cases[i].rules);
        assert_int_equal(policy_vsphere_rules(&stage.viewer, &placement[0], &hx), cases[i].rules);
        assert_int_equal(policy_vsphere_rules(&stage.viewer, &placement[1], &hx), 0);
        assert_false(policy_cluster_visible(&stage.viewer, &cluster, NULL, &view)); /* no HX cluster is known */
        object_set_done(&stage.viewable);
    }
}

static void rights_age(void **state) {
    static const struct {
        int64_t age_ms;
        enum policy_rights reachable, unreachable_write, unreachable_read;
    } table[] = {
        {-1, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_EXPIRED},
        {0, POLICY_RIGHTS_FRESH, POLICY_RIGHTS_FRESH, POLICY_RIGHTS_FRESH},
        {30000, POLICY_RIGHTS_FRESH, POLICY_RIGHTS_FRESH, POLICY_RIGHTS_FRESH},
        {30001, POLICY_RIGHTS_RECHECK, POLICY_RIGHTS_RECHECK, POLICY_RIGHTS_RECHECK},
        {120000, POLICY_RIGHTS_RECHECK, POLICY_RIGHTS_RECHECK, POLICY_RIGHTS_RECHECK},
        {120001, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_GRACE},
        {300000, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_GRACE},
        {300001, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_EXPIRED},
        {INT64_MAX, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_EXPIRED, POLICY_RIGHTS_EXPIRED},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(table); i++) {
        assert_int_equal(policy_rights_age(table[i].age_ms, false, true), table[i].reachable);
        assert_int_equal(policy_rights_age(table[i].age_ms, false, false), table[i].reachable);
        assert_int_equal(policy_rights_age(table[i].age_ms, true, false), table[i].unreachable_write);
        assert_int_equal(policy_rights_age(table[i].age_ms, true, true), table[i].unreachable_read);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters_are_seen_by_rule),
        cmocka_unit_test(vsphere_clusters_are_seen_by_rule),
        cmocka_unit_test(clusters_without_placement),
        cmocka_unit_test(wide_placements_hide_what_has_no_bit),
        cmocka_unit_test(each_member_counts_in_the_bytes),
        cmocka_unit_test(further_vcenters_add_their_own_objects_only),
        cmocka_unit_test(hx_is_asked_only_when_it_matters),
        cmocka_unit_test(one_of_many_grants_is_found),
        cmocka_unit_test(grants_of_a_principal),
        cmocka_unit_test(grants_of_a_name_in_any_case),
        cmocka_unit_test(viewers_start_from_principals),
        cmocka_unit_test(permissions_per_role),
        cmocka_unit_test(refusals_name_the_role),
        cmocka_unit_test(limits_of_programs),
        cmocka_unit_test(rights_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
