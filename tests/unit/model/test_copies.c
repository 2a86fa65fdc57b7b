/* Deep copies: complete, independent, and without leak or half result when memory runs out at any allocation.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The linker sends the allocations of the code under test through the functions below (--wrap). */
#include "unit.h"

#include "cluster.h"
#include "grant.h"
#include "hx_connection.h"
#include "kube_facts.h"
#include "ldap_source.h"
#include "platform.h"
#include "principal.h"
#include "service_account.h"
#include "session.h"
#include "str.h"
#include "vcenter.h"

static long allocations_left = -1; /* negative: no limit */

static bool may_allocate(void) {
    if (allocations_left < 0)
        return true;
    return allocations_left-- > 0;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);

void *__wrap_calloc(size_t count, size_t size) {
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

char *__wrap_strdup(const char *s) {
    return may_allocate() ? __real_strdup(s) : NULL;
}

/* Copies with 0, 1, 2, ... allocations until there are enough; the failed ones must not have touched the output.
 * Leaves the complete copy in `out`. */
#define COPY_UNDER_PRESSURE(copy, from, out, min_failures)            \
    do {                                                              \
        char untouched_[sizeof(*(out))];                              \
        long failures_ = 0;                                           \
        int rc_ = ERR_NOMEM;                                          \
        memset(out, 0x5a, sizeof(*(out)));                            \
        memset(untouched_, 0x5a, sizeof(untouched_));                 \
        while (rc_) {                                                 \
            struct err err_ = {0};                                    \
            allocations_left = failures_;                             \
            rc_ = copy(from, out, &err_);                             \
            allocations_left = -1;                                    \
            if (!rc_)                                                 \
                break;                                                \
            failures_++;                                              \
            assert_int_equal(rc_, ERR_NOMEM);                         \
            assert_int_equal(err_.code, ERR_NOMEM);                   \
            assert_memory_equal(out, untouched_, sizeof(untouched_)); \
        }                                                             \
        assert_true(failures_ >= (min_failures));                     \
    } while (0)

/* Equal texts in different memory, or both NULL. */
static void assert_own(const char *a, const char *b) {
    assert_true(str_eq(a, b));
    assert_true(!a || a != b);
}

static void principals_and_sessions(void **state) {
    static char id[] = "vc:x:anna", name[] = "VSPHERE.LOCAL\\Anna", vc[] = "x", user[] = "VSPHERE.LOCAL\\Anna", key[] = "52ab";
    static struct session_vcenter further[] = {
        {.vcenter_id = "y", .source = SOURCE_VC_TICKET, .user_name = user, .added_at_ms = 5},
        {.vcenter_id = "z", .source = SOURCE_VC_SESSION, .user_name = user, .session_key = key, .added_at_ms = 6}};
    const struct session from = {
        .vcenters = further,
        .vcenters_count = 2,
        .sid = "s",
        .jti = "j",
        .old_jti = "o",
        .rotated_at_ms = 1,
        .created_at_ms = 2,
        .ends_at_ms = 3,
        .revoked_at_ms = 4,
        .who = {.id = id,
                .name = name,
                .role = ROLE_USER,
                .source = SOURCE_VC_SESSION,
                .vcenter_id = vc,
                .vc_user = user,
                .vc_session_key = key},
    };
    struct session copy;
    (void)state;
    COPY_UNDER_PRESSURE(session_copy, &from, &copy, 5 + 1 + 3); /* texts, further vCenters */
    assert_own(copy.who.id, id);
    assert_own(copy.who.name, name);
    assert_null(copy.who.full_name);
    assert_own(copy.who.vcenter_id, vc);
    assert_own(copy.who.vc_user, user);
    assert_own(copy.who.vc_session_key, key);
    assert_int_equal(copy.who.role, ROLE_USER);
    assert_int_equal(copy.who.source, SOURCE_VC_SESSION);
    assert_string_equal(copy.old_jti, "o");
    assert_int_equal(copy.revoked_at_ms, 4);
    assert_int_equal(copy.vcenters_count, 2);
    assert_own(copy.vcenters[1].session_key, key);
    assert_true(session_vcenter_eq(&copy.vcenters[0], &further[0]));
    assert_false(session_vcenter_eq(&copy.vcenters[0], &further[1]));
    session_done(&copy);
    session_done(&copy);
    session_done(NULL);
    session_free(NULL);
    principal_done(NULL);
}

static void vcenters(void **state) {
    static char id[] = "id", address[] = "vc", name[] = "East", pem[] = "PEM", version[] = "8.0.3", build[] = "1",
                api[] = "8.0.3.0", key[] = "com.x";
    const struct vcenter from = {.id = id,
                                 .address = address,
                                 .port = 443,
                                 .name = name,
                                 .ca_pem = pem,
                                 .pin_sha256 = {1, 2},
                                 .has_pin = true,
                                 .version = version,
                                 .build = build,
                                 .api_version = api,
                                 .extension_key = key,
                                 .version_no = 9};
    struct vcenter copy;
    (void)state;
    COPY_UNDER_PRESSURE(vcenter_copy, &from, &copy, 8);
    assert_own(copy.id, id);
    assert_own(copy.address, address);
    assert_own(copy.name, name);
    assert_own(copy.ca_pem, pem);
    assert_own(copy.version, version);
    assert_own(copy.build, build);
    assert_own(copy.api_version, api);
    assert_own(copy.extension_key, key);
    assert_int_equal(copy.pin_sha256[1], 2);
    assert_int_equal(copy.version_no, 9);
    vcenter_done(&copy);
    vcenter_done(NULL);
    vcenter_free(NULL);
}

static void assert_cluster_texts(const struct cluster *copy, const struct cluster *from) {
    assert_own(copy->id, from->id);
    assert_own(copy->name, from->name);
    assert_own(copy->description, from->description);
    assert_own(copy->state_reason, from->state_reason);
    assert_own(copy->state_source, from->state_source);
    assert_own(copy->kubernetes_version, from->kubernetes_version);
    assert_own(copy->api_endpoint, from->api_endpoint);
    assert_own(copy->dashboard_url, from->dashboard_url);
    assert_own(copy->placement_source, from->placement_source);
    assert_own(copy->reported_reason, from->reported_reason);
    assert_own(copy->reported_by, from->reported_by);
}

static void assert_seen(const struct node_observation *copy, const struct node_observation *from) {
    assert_ptr_not_equal(copy, from);
    assert_own(copy->node_id, from->node_id);
    assert_own(copy->vm_moref, from->vm_moref);
    assert_own(copy->vm_name, from->vm_name);
    assert_own(copy->host_moref, from->host_moref);
    assert_own(copy->host_name, from->host_name);
    assert_own(copy->cluster_moref, from->cluster_moref);
    assert_own(copy->instance_uuid, from->instance_uuid);
    assert_own(copy->bios_uuid, from->bios_uuid);
    assert_own(copy->vcenter_id, from->vcenter_id);
    assert_own(copy->bound_uuid, from->bound_uuid);
    assert_true(node_observation_same(copy, from));
}

static void assert_cluster_parts(const struct cluster *copy, const struct cluster *from) {
    assert_ptr_not_equal(copy->placement.items, from->placement.items);
    assert_true(object_set_has(&copy->placement, &from->placement.items[1]));
    assert_own(copy->labels[1].key, from->labels[1].key);
    assert_own(copy->labels[1].value, from->labels[1].value);
    assert_own(copy->nodes[0].name, from->nodes[0].name);
    assert_own(copy->nodes[0].vm_instance_uuid, from->nodes[0].vm_instance_uuid);
    assert_own(copy->nodes[0].kubernetes_version, from->nodes[0].kubernetes_version);
    assert_own(copy->nodes[0].address, from->nodes[0].address);
    assert_own(copy->nodes[0].vm_bios_uuid, from->nodes[0].vm_bios_uuid);
    assert_own(copy->nodes[0].vm_name, from->nodes[0].vm_name);
    assert_seen(copy->nodes[0].seen, from->nodes[0].seen);
    assert_int_equal(copy->nodes[0].role, from->nodes[0].role);
    assert_null(copy->nodes[1].vcenter_id);
}

static struct node_observation seen = {.node_id = (char[]){"n"},
                                       .match = VM_MATCH_NAME,
                                       .vm_moref = (char[]){"vm-1"},
                                       .vm_name = (char[]){"vm"},
                                       .power = VM_POWER_ON,
                                       .host_moref = (char[]){"host-1"},
                                       .host_name = (char[]){"esx"},
                                       .cluster_moref = (char[]){"domain-c7"},
                                       .instance_uuid = (char[]){"i"},
                                       .bios_uuid = (char[]){"b"},
                                       .vcenter_id = (char[]){"vc"},
                                       .bound_uuid = (char[]){"i"}};

static struct node_kube kube = {.node_id = (char[]){"n"},
                                .uid = (char[]){"u"},
                                .provider_id = (char[]){"vsphere://b"},
                                .system_uuid = (char[]){"b"},
                                .version = (char[]){"v1.36.3"},
                                .address = (char[]){"10.0.0.1"},
                                .reason = (char[]){"KubeletNotReady"},
                                .pressure = (char[]){"DiskPressure"},
                                .ready_since_ms = 5,
                                .ready = KUBE_FALSE,
                                .is_made = true,
                                .is_cordoned = true};

static void assert_kube(const struct node_kube *copy, const struct node_kube *from) {
    assert_ptr_not_equal(copy, from);
    assert_own(copy->node_id, from->node_id);
    assert_own(copy->uid, from->uid);
    assert_own(copy->provider_id, from->provider_id);
    assert_own(copy->system_uuid, from->system_uuid);
    assert_own(copy->version, from->version);
    assert_own(copy->address, from->address);
    assert_own(copy->reason, from->reason);
    assert_own(copy->pressure, from->pressure);
    assert_null(members_difference(node_kube_members, copy, from));
}

static void clusters(void **state) {
    static char id[] = "id", name[] = "prod", text[] = "text", source[] = "declared", version[] = "1.31.2", url[] = "https://x";
    struct label labels[] = {{(char[]){"a"}, (char[]){"1"}}, {(char[]){"b"}, (char[]){""}}};
    static struct node nodes[] = {{.id = id,
                                   .name = name,
                                   .role = NODE_WORKER,
                                   .vcenter_id = text,
                                   .vm_instance_uuid = text,
                                   .vm_bios_uuid = text,
                                   .vm_name = name,
                                   .seen = &seen,
                                   .kube = &kube,
                                   .kubernetes_version = version,
                                   .address = text},
                                  {.id = id, .name = url}};
    static struct object_ref refs[] = {{"vc", "domain-c7"}, {"vc", "domain-c8"}};
    struct cluster_kube told = {.connection = REMOTE_OK, .version = version, .health = {.reason = text, .workers_ready = 3}};
    const struct cluster from = {
        .id = id,
        .name = name,
        .kube = &told,
        .description = text,
        .state = CLUSTER_DEGRADED,
        .state_reason = text,
        .state_source = source,
        .kubernetes_version = version,
        .api_endpoint = url,
        .dashboard_url = NULL,
        .control_plane_ready = -1,
        .workers_desired = 5,
        .placement_source = source,
        .reported_reason = text,
        .reported_by = id,
        .placement = {.items = refs, .count = 2, .alloc = 2},
        .labels = labels,
        .labels_count = 2,
        .nodes = nodes,
        .nodes_count = 2,
        .updated_at_ms = 6,
        .version_no = 7,
    };
    struct cluster copy;
    (void)state;
    COPY_UNDER_PRESSURE(cluster_copy, &from, &copy,
                        10 + 1 + 5 + 11 + 11 + 9 + 3); /* texts, placement, labels, nodes, what is seen and told of them, of it */
    assert_cluster_texts(&copy, &from);
    assert_ptr_not_equal(copy.kube, &told);
    assert_own(copy.kube->health.reason, text);
    assert_null(members_difference(cluster_kube_members, copy.kube, &told));
    assert_kube(copy.nodes[0].kube, &kube);
    assert_cluster_parts(&copy, &from);
    assert_int_equal(copy.control_plane_ready, -1);
    assert_int_equal(copy.version_no, 7);
    cluster_done(&copy);
    cluster_done(&copy);
    cluster_done(NULL);
    cluster_free(NULL);
    node_done(NULL);
}

/* Texts of `copy` lie in its block; those that the observation shares with its node are there once. */
static void assert_packed(const struct node *copy, const struct node *from) {
    assert_non_null(copy->block);
    assert_true((char *)copy->seen > (char *)copy->block);
    assert_own(copy->id, from->id);
    assert_own(copy->vm_instance_uuid, from->vm_instance_uuid);
    assert_own(copy->address, from->address);
    assert_seen(copy->seen, from->seen);
    assert_kube(copy->kube, from->kube);
    assert_ptr_equal(copy->kube->node_id, copy->id);
    assert_ptr_equal(copy->kube->address, copy->address);
    assert_ptr_not_equal(copy->kube->system_uuid, copy->seen->bios_uuid);
    assert_ptr_equal(copy->seen->vm_name, copy->name);
    assert_ptr_equal(copy->seen->node_id, copy->id);
    assert_ptr_not_equal(copy->seen->instance_uuid, copy->vm_instance_uuid);
}

static void packed_nodes(void **state) {
    struct node_observation observed = seen;
    const struct node from = {.id = seen.node_id,
                              .name = seen.vm_name,
                              .vm_instance_uuid = (char[]){"other"},
                              .address = (char[]){"10.0.0.1"},
                              .seen = &observed,
                              .kube = &kube};
    const struct node bare = {0}, told = {.id = seen.node_id, .kube = &kube};
    struct node packed, again, loose;
    struct cluster one = {.nodes = &packed, .nodes_count = 1}, copy;
    (void)state;
    COPY_UNDER_PRESSURE(node_pack, &from, &packed, 1);
    assert_packed(&packed, &from);
    COPY_UNDER_PRESSURE(node_copy, &packed, &loose, 4 + 9);
    assert_null(loose.block);
    assert_own(loose.seen->vm_name, packed.seen->vm_name);
    assert_ptr_not_equal(loose.seen->vm_name, loose.name); /* each text can be replaced by itself */
    COPY_UNDER_PRESSURE(cluster_copy, &one, &copy, 1);     /* the list; the node itself is shared */
    assert_ptr_equal(copy.nodes[0].block, packed.block);
    assert_int_equal(node_pack(&told, &again, NULL), 0); /* no vCenter shows it */
    assert_kube(again.kube, &kube);
    assert_null(again.seen);
    node_done(&again);
    assert_int_equal(node_pack(&bare, &again, NULL), 0);
    assert_null(again.name);
    node_done(&packed);
    assert_null(packed.block);
    assert_packed(&copy.nodes[0], &from); /* the last one keeps it */
    node_done(&again);
    node_done(&loose);
    cluster_done(&copy);
}

/* -- tables of members --------------------------------------------------------------------------------------------------- */

struct range {
    size_t offset, bytes;
};
#define BY_HAND(record, member) \
    { offsetof(struct record, member), sizeof(((struct record *)0)->member) }

/* Each text, time and list of a record is a member of its table, or made by hand: no eight bytes in a row belong to neither. Between two
 * members there are up to seven. */
static void assert_complete(const char *name, size_t bytes, const struct member *members, const struct range *by_hand) {
    bool is_known[4096] = {false};
    size_t unknown = 0;
    assert_true(bytes <= UNIT_COUNT(is_known));
    for (const struct member *m = members; m->name; m++)
        memset(&is_known[m->offset], true, m->bytes);
    for (; by_hand->bytes; by_hand++)
        memset(&is_known[by_hand->offset], true, by_hand->bytes);
    for (size_t i = 0; i < bytes; i++) {
        unknown = is_known[i] ? 0 : unknown + 1;
        if (unknown == sizeof(void *))
            fail_msg("struct %s: what lies at %zu stands in no table", name, i + 1 - unknown);
    }
}

#define COMPLETE(record, members, ...) \
    assert_complete(#record, sizeof(struct record), members, (const struct range[]){__VA_ARGS__, {0, 0}})
#define NOTHING \
    { 0, 0 }

static void tables_are_complete(void **state) {
    (void)state;
    COMPLETE(cluster, cluster_members, BY_HAND(cluster, placement), BY_HAND(cluster, labels), BY_HAND(cluster, labels_count),
             BY_HAND(cluster, nodes), BY_HAND(cluster, nodes_count), BY_HAND(cluster, kube));
    COMPLETE(node, node_members, BY_HAND(node, seen), BY_HAND(node, kube), BY_HAND(node, block));
    COMPLETE(node_kube, node_kube_members, NOTHING);
    COMPLETE(cluster_kube, cluster_kube_members, NOTHING);
    COMPLETE(kube_connection, kube_connection_members, NOTHING);
    COMPLETE(node_observation, observation_members, NOTHING);
    COMPLETE(vcenter, vcenter_members, BY_HAND(vcenter, pin_sha256), BY_HAND(vcenter, has_pin));
    COMPLETE(vsphere_cluster, vsphere_cluster_members, NOTHING);
    COMPLETE(hx_cluster, hx_cluster_members, NOTHING);
    COMPLETE(grant, grant_members, NOTHING);
    COMPLETE(role_mapping, role_mapping_members, NOTHING);
    COMPLETE(ldap_source, ldap_source_members, NOTHING);
    COMPLETE(hx_connection, hx_connection_members, NOTHING);
    COMPLETE(hx_status, hx_status_members, NOTHING);
    COMPLETE(hx_peer, hx_peer_members, NOTHING);
    COMPLETE(service_account, service_account_members, BY_HAND(service_account, certificates),
             BY_HAND(service_account, certificates_count), BY_HAND(service_account, hx_clusters),
             BY_HAND(service_account, hx_clusters_count));
}

static void empty_structs(void **state) {
    const struct cluster from = {0};
    struct cluster *copy = calloc(1, sizeof(*copy));
    (void)state;
    assert_non_null(copy);
    assert_int_equal(cluster_copy(&from, copy, NULL), 0);
    assert_null(copy->name);
    assert_null(copy->labels);
    cluster_free(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(principals_and_sessions),
        cmocka_unit_test(vcenters),
        cmocka_unit_test(clusters),
        cmocka_unit_test(packed_nodes),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(empty_structs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
