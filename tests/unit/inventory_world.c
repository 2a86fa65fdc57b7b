/* A database in memory for tests of the directory. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cluster_store.h"
#include "inventory_world.h"
#include "inventory.h"
#include "grant_store.h"
#include "load.h"
#include "platform_store.h"
#include "user_store.h"
#include "str.h"
#include "vcenter_store.h"

struct world world;

/* -- filling it ------------------------------------------------------------------------------------------------------ */

void world_reset(void) {
    for (size_t i = 0; i < world.vcenters_count; i++)
        vcenter_done(&world.vcenters[i]);
    for (size_t i = 0; i < world.vsphere_count; i++)
        vsphere_cluster_done(&world.vsphere[i]);
    for (size_t i = 0; i < world.hx_count; i++)
        hx_cluster_done(&world.hx[i]);
    for (size_t i = 0; i < world.grants_count; i++)
        grant_done(&world.grants[i]);
    for (size_t i = 0; i < world.services_count; i++)
        service_account_done(&world.services[i]);
    for (size_t i = 0; i < world.clusters_count; i++)
        cluster_done(&world.clusters[i]);
    memset(&world, 0, sizeof(world));
}

void world_add_vcenter(const char *id, const char *name, const char *address) {
    struct vcenter *vc = &world.vcenters[world.vcenters_count++];
    vc->id = str_dup(id);
    vc->name = str_dup(name);
    vc->address = str_dup(address);
    vc->port = 443;
    vc->registered_at_ms = 1;
}

struct vsphere_cluster *world_add_vsphere(const char *vcenter_id, const char *moref, const char *datacenter, const char *name) {
    struct vsphere_cluster *c = &world.vsphere[world.vsphere_count++];
    assert_int_equal(object_ref_make(vcenter_id, moref, &c->ref, NULL), 0);
    c->datacenter = str_dup(datacenter);
    c->name = str_dup(name);
    return c;
}

struct hx_cluster *world_add_hx(const char *id, const char *vcenter_id, const char *moref, const char *name) {
    struct hx_cluster *hx = &world.hx[world.hx_count++];
    assert_int_equal(object_ref_make(vcenter_id, moref, &hx->vsphere_cluster, NULL), 0);
    hx->id = str_dup(id);
    hx->name = str_dup(name);
    hx->extension_key = str_format("com.springpath.sysmgmt.%s", moref);
    hx->version_no = 1;
    return hx;
}

void world_add_grant(const char *principal_id, enum grant_object object, const char *object_id) {
    struct grant *g = &world.grants[world.grants_count++];
    g->id = str_format("grant-%zu", world.grants_count);
    g->principal_id = str_dup(principal_id);
    g->object = object;
    g->object_id = str_dup(object_id);
    g->role = str_dup("viewer");
}

struct service_account *world_add_service(const char *id, const char *hx_cluster_id) {
    struct service_account *a = &world.services[world.services_count++];
    a->id = str_dup(id);
    a->name = str_dup(id);
    assert_int_equal(service_account_add_hx_cluster(a, hx_cluster_id, NULL), 0);
    return a;
}

const char *world_cluster_id(unsigned n) {
    static char ids[4][40];
    static unsigned next;
    char *id = ids[next++ % 4];
    (void)snprintf(id, 40, "cccccccc-0000-4000-8000-%012u", n);
    return id;
}

struct cluster *world_add_cluster(unsigned n, const char *name) {
    struct cluster *c = &world.clusters[world.clusters_count++];
    assert_true(world.clusters_count <= WORLD_CLUSTERS_MAX);
    c->id = str_dup(world_cluster_id(n));
    c->name = str_dup(name);
    c->state = CLUSTER_READY;
    c->state_source = str_dup("declared");
    c->kubernetes_version = str_dup("1.31.2");
    c->placement_source = str_dup("declared");
    c->control_plane_ready = 3;
    c->control_plane_desired = 3;
    c->workers_ready = -1;
    c->workers_desired = 5;
    c->created_at_ms = 1700000000000 + n;
    c->updated_at_ms = 1700000000000 + n;
    c->version_no = 1;
    return c;
}

void world_place(struct cluster *c, const char *vcenter_id, const char *moref) {
    struct object_ref ref;
    assert_int_equal(object_ref_make(vcenter_id, moref, &ref, NULL), 0);
    assert_int_equal(object_set_add(&c->placement, &ref, NULL), 0);
}

void world_remove_cluster(const char *id) {
    for (size_t i = 0; i < world.clusters_count; i++) {
        if (!str_eq(world.clusters[i].id, id))
            continue;
        cluster_done(&world.clusters[i]);
        world.clusters[i] = world.clusters[--world.clusters_count];
        memset(&world.clusters[world.clusters_count], 0, sizeof(world.clusters[0]));
        return;
    }
    fail();
}

void world_note(enum change_kind kind, const char *object_id) {
    struct change *change = &world.changes[world.changes_count++];
    assert_true(world.changes_count <= WORLD_FEW);
    *change = (struct change){.replica_id = 1, .seq = world.changes_count, .kind = kind};
    (void)snprintf(change->object_id, sizeof(change->object_id), "%s", object_id);
}

void world_fill(void) {
    struct cluster *c;
    world_reset();
    world_add_vcenter(VC_A, "vc-a", "vc-a.example.com");
    world_add_vcenter(VC_B, "vc-b", "vc-b.example.com");
    (void)world_add_vsphere(VC_A, "domain-c7", "DC0", "HX-East");
    (void)world_add_vsphere(VC_A, "domain-c70", "DC0", "HX-West");
    (void)world_add_vsphere(VC_B, "domain-c7", "DC1", "HX-East");
    (void)world_add_vsphere(VC_B, "domain-c9", "DC1", "Plain");
    (void)world_add_hx(HX_A7, VC_A, "domain-c7", "HX-East");
    (void)world_add_hx(HX_A70, VC_A, "domain-c70", "HX-West");
    (void)world_add_hx(HX_B7, VC_B, "domain-c7", "HX-East");
    world_place(world_add_cluster(1, "alpha"), VC_A, "domain-c7");
    world_place(world_add_cluster(2, "beta"), VC_A, "domain-c70");
    c = world_add_cluster(3, "gamma");
    world_place(c, VC_A, "domain-c7");
    world_place(c, VC_A, "domain-c70");
    world_place(world_add_cluster(4, "delta"), VC_B, "domain-c7");
    c = world_add_cluster(5, "epsilon");
    world_place(c, VC_A, "domain-c7");
    world_place(c, VC_B, "domain-c9");
}

struct inventory_snapshot *world_snapshot(void) {
    const struct inventory_loading loading = {.basis = {.wall_ms = 1, .mono_ms = 1}};
    struct inventory_snapshot *snapshot = NULL;
    assert_int_equal(inventory_load_all(&loading, &snapshot, NULL), 0);
    return snapshot;
}

bool world_shows(struct inventory *directory, unsigned n, const char *text) {
    struct inventory_snapshot *snapshot = inventory_get(directory);
    const struct inventory_cluster *entry = inventory_find_cluster(snapshot, world_cluster_id(n));
    const bool is_shown = entry && strstr(entry->fragments[0].json, text);
    inventory_snapshot_unref(snapshot);
    return is_shown;
}

struct viewer_key world_viewer(const char *vcenter_id, const char *morefs, struct object_set *set) {
    struct viewer_key viewer = {
        .principal_id = "vc:somebody", .role = ROLE_USER, .vcenter_id = vcenter_id, .vsphere_clusters = set};
    char buffer[200], *rest = buffer, *moref;
    struct object_ref ref;
    (void)snprintf(buffer, sizeof(buffer), "%s", morefs);
    while ((moref = strsep(&rest, " ")))
        if (*moref) {
            assert_int_equal(object_ref_make(vcenter_id, moref, &ref, NULL), 0);
            assert_int_equal(object_set_add(set, &ref, NULL), 0);
        }
    return viewer;
}

struct viewer_key world_admin(void) {
    return (struct viewer_key){.principal_id = "local:admin", .role = ROLE_ADMIN};
}

/* -- the store -------------------------------------------------------------------------------------------------------- */

static int begin(struct err *err) {
    world.calls++;
    if (!world.fail_code)
        return 0;
    if (world.fail_after-- > 0)
        return 0;
    return err_set(err, world.fail_code, "as the test wants it");
}

/* Makes `out` an array of copies. */
#define COPY_LIST(type, from, n, copy)                                                     \
    do {                                                                                   \
        rc = begin(err);                                                                   \
        if (rc)                                                                            \
            return rc;                                                                     \
        out->items = calloc((n) + 1, sizeof(type));                                        \
        assert_non_null(out->items);                                                       \
        for (out->count = 0; out->count < (n); out->count++)                               \
            assert_int_equal(copy(&(from)[out->count], &out->items[out->count], NULL), 0); \
    } while (0)

#define DONE_LIST(list, done)                      \
    do {                                           \
        for (size_t i = 0; i < (list)->count; i++) \
            done(&(list)->items[i]);               \
        free((list)->items);                       \
        memset((list), 0, sizeof(*(list)));        \
    } while (0)

int vcenter_store_list(struct store *store, struct vcenter_list *out, struct err *err) {
    int rc;
    (void)store;
    COPY_LIST(struct vcenter, world.vcenters, world.vcenters_count, vcenter_copy);
    return 0;
}

void vcenter_list_done(struct vcenter_list *list) {
    DONE_LIST(list, vcenter_done);
}

static int copy_vsphere(const struct vsphere_cluster *from, struct vsphere_cluster *out, struct err *err) {
    (void)err;
    *out = *from;
    out->datacenter = str_dup(from->datacenter);
    out->name = str_dup(from->name);
    return 0;
}

int platform_store_list_vsphere(struct store *store, const char *vcenter_id, struct vsphere_cluster_list *out, struct err *err) {
    int rc;
    (void)store;
    assert_null(vcenter_id);
    COPY_LIST(struct vsphere_cluster, world.vsphere, world.vsphere_count, copy_vsphere);
    return 0;
}

static int copy_hx(const struct hx_cluster *from, struct hx_cluster *out, struct err *err) {
    (void)err;
    *out = *from;
    out->id = str_dup(from->id);
    out->name = str_dup(from->name);
    out->hx_uuid = str_dup(from->hx_uuid);
    out->address = str_dup(from->address);
    out->connection_address = str_dup(from->connection_address);
    out->extension_key = str_dup(from->extension_key);
    return 0;
}

int platform_store_list_hx(struct store *store, const char *vcenter_id, struct hx_cluster_list *out, struct err *err) {
    int rc;
    (void)store;
    assert_null(vcenter_id);
    COPY_LIST(struct hx_cluster, world.hx, world.hx_count, copy_hx);
    return 0;
}

int platform_store_list_hx_aliases(struct store *store, struct hx_alias_list *out, struct err *err) {
    (void)store;
    (void)err;
    *out =
        (struct hx_alias_list){.items = calloc(world.hx_aliases_count + 1, sizeof(*out->items)), .count = world.hx_aliases_count};
    for (size_t i = 0; i < out->count; i++)
        out->items[i] = (struct hx_alias){str_dup(world.hx_aliases[i].id), str_dup(world.hx_aliases[i].hx_id)};
    return 0;
}

static int copy_grant(const struct grant *from, struct grant *out, struct err *err) {
    (void)err;
    *out = *from;
    out->id = str_dup(from->id);
    out->principal_id = str_dup(from->principal_id);
    out->object_id = str_dup(from->object_id);
    out->role = str_dup(from->role);
    return 0;
}

int grant_store_list(struct store *store, struct grant_list *out, struct err *err) {
    int rc;
    (void)store;
    COPY_LIST(struct grant, world.grants, world.grants_count, copy_grant);
    return 0;
}

/* Not counted among the calls, so that tests that count them stay as they are. */
int service_store_list(struct store *store, struct service_list *out, struct err *err) {
    int rc = 0;
    (void)store;
    *out = (struct service_list){.items = calloc(world.services_count + 1, sizeof(*out->items)), .count = world.services_count};
    for (size_t i = 0; !rc && i < out->count; i++)
        rc = service_account_copy(&world.services[i], &out->items[i], err);
    return rc;
}

static int compare_clusters(const void *a, const void *b) {
    return strcmp((*(const struct cluster *const *)a)->id, (*(const struct cluster *const *)b)->id);
}

int cluster_store_each(struct store *store, const struct cluster_sink *sink, struct err *err) {
    const struct cluster *sorted[WORLD_CLUSTERS_MAX];
    int rc = begin(err);
    (void)store;
    world.full_loads += !rc;
    for (int run = world.is_interrupted; run >= 0 && !rc; run--) {
        const size_t count = run ? world.clusters_count / 2 : world.clusters_count; /* the connection dies half-way */
        for (size_t i = 0; i < world.clusters_count; i++)
            sorted[i] = &world.clusters[i];
        qsort(sorted, world.clusters_count, sizeof(sorted[0]), compare_clusters);
        sink->begin(sink->arg);
        for (size_t i = 0; i < count && !rc; i++) {
            struct cluster *record = calloc(1, sizeof(*record));
            assert_non_null(record);
            assert_int_equal(cluster_copy(sorted[i], record, NULL), 0);
            rc = sink->take(sink->arg, record, err);
        }
        if (run && world.interrupted)
            world.interrupted();
    }
    if (!rc && world.during)
        world.during();
    return rc;
}

int cluster_store_load(struct store *store, const char *id, struct cluster **out, struct err *err) {
    int rc = begin(err);
    (void)store;
    world.single_loads++;
    for (size_t i = 0; !rc && i < world.clusters_count; i++) {
        if (!str_eq(world.clusters[i].id, id))
            continue;
        *out = calloc(1, sizeof(**out));
        assert_non_null(*out);
        assert_int_equal(cluster_copy(&world.clusters[i], *out, err), 0);
        if (world.between_singles)
            world.between_singles();
        return 0;
    }
    return rc ? rc : err_set(err, ERR_NOT_FOUND, "there is no such cluster");
}

int cluster_store_list_report_times(struct store *store, int64_t since_ms, struct report_times *out, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    memset(out, 0, sizeof(*out));
    out->items = calloc(world.clusters_count + 1, sizeof(*out->items));
    assert_non_null(out->items);
    for (size_t i = 0; i < world.clusters_count; i++) {
        if (world.clusters[i].reported_at_ms < since_ms)
            continue;
        (void)snprintf(out->items[out->count].cluster_id, KAAS_UUID_BYTES, "%s", world.clusters[i].id);
        out->items[out->count++].at_ms = world.clusters[i].reported_at_ms;
    }
    return 0;
}

void report_times_done(struct report_times *times) {
    free(times->items);
    memset(times, 0, sizeof(*times));
}

int cluster_store_save_report_times(struct store *store, const struct report_time *items, size_t count, bool is_noted,
                                    struct err *err) {
    int rc = begin(err);
    (void)store;
    assert_false(is_noted);
    for (size_t n = 0; !rc && n < count; n++)
        for (size_t i = 0; i < world.clusters_count; i++)
            if (str_eq(world.clusters[i].id, items[n].cluster_id) && world.clusters[i].reported_at_ms < items[n].at_ms) {
                world.clusters[i].reported_at_ms = items[n].at_ms;
                world.times_saved++;
            }
    return rc;
}

/* -- the feed: one replica, number 1 ---------------------------------------------------------------------------------- */

static void set_position(struct change_positions *out, uint64_t seq) {
    out->items = calloc(1, sizeof(*out->items));
    assert_non_null(out->items);
    out->items[0] = (struct change_position){.replica_id = 1, .seq = seq};
    out->count = 1;
}

void change_positions_done(struct change_positions *positions) {
    free(positions->items);
    memset(positions, 0, sizeof(*positions));
}

void change_list_done(struct change_list *list) {
    free(list->items);
    memset(list, 0, sizeof(*list));
}

int change_store_load_positions(struct store *store, struct change_positions *out, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (!rc)
        set_position(out, world.changes_count);
    if (!rc && world.between)
        world.between();
    return rc;
}

int change_store_load(struct store *store, struct change_positions *positions, struct change_list *out, struct err *err) {
    uint64_t seq = positions->items[0].seq;
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    memset(out, 0, sizeof(*out));
    out->is_gap = world.is_gap;
    world.is_gap = false;
    out->count = world.changes_count - seq;
    out->is_more = world.changes_at_once && out->count > world.changes_at_once;
    out->count = out->is_more ? world.changes_at_once : out->count;
    out->items = calloc(out->count + 1, sizeof(*out->items));
    assert_non_null(out->items);
    memcpy(out->items, world.changes + seq, out->count * sizeof(*out->items));
    change_positions_done(positions);
    set_position(positions, seq + out->count);
    return 0;
}

struct inventory_snapshot *world_now;

int world_set_up(void **state) {
    (void)state;
    world_fill();
    world_now = world_snapshot();
    return 0;
}

int world_tear_down(void **state) {
    (void)state;
    inventory_snapshot_unref(world_now);
    world_reset();
    return 0;
}

void world_renew(void) {
    inventory_snapshot_unref(world_now);
    world_now = world_snapshot();
}
