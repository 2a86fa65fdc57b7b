/* The threads of a watch, and the work of a link. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "remote_work.h"
#include "platform_world.h"
#include "platform_world_watch.h"
#include "str.h"
#include "watch_run.h"

/* -- the threads ------------------------------------------------------------------------------------------------------------ */

static struct platform *platform;
static struct link *a;

static int set_up(void **state) {
    (void)state;
    watch_world_reset();
    platform = platform_world_new();
    clock_unfake();
    pw.vcenters[0].registered_at_ms = 1;
    pw.vcenters[0].extension_key = str_dup("com.cisco.kaas");
    assert_int_equal(platform_sync(platform, NULL), 0);
    return platform_find(platform, VC_A, &a, NULL);
}

static int tear_down(void **state) {
    (void)state;
    link_unref(a);
    platform_world_free(platform);
    watch_world_reset();
    return 0;
}

static void connect_link(void) {
    assert_int_equal(link_note(a, clock_mono_ms(), 0, NULL), 0);
    platform_tick(platform);
}

static int tell_cluster(const struct vim_watch_events *e, const char *name, struct err *err) {
    const struct vim_watch_object c = {
        .kind = VIM_OBJECT_CLUSTER, .moref = "domain-c7", .name = name, .parent_moref = "group-h1"};
    return e->object(e->arg, &c, err);
}

static int tell_vm(const struct vim_watch_events *e, const char *host, struct err *err) {
    const struct vim_watch_object vm = {.kind = VIM_OBJECT_VM,
                                        .moref = "vm-1",
                                        .name = "n1",
                                        .host_moref = host,
                                        .power = "poweredOn",
                                        .connection = "connected"};
    return e->object(e->arg, &vm, err);
}

static int tell_all(const struct vim_watch_events *e, struct err *err) {
    static const struct vim_key_list none = {NULL, 0};
    int rc = e->restarted(e->arg, err);
    if (!rc)
        rc = tell_cluster(e, "East", err);
    if (!rc)
        rc = tell_vm(e, "host-1", err);
    if (!rc)
        rc = e->extensions(e->arg, &none, NULL, err);
    return rc ? rc : e->settled(e->arg, err);
}

static int tell_move(const struct vim_watch_events *e, struct err *err) {
    int rc = tell_vm(e, "host-2", err);
    return rc ? rc : e->settled(e->arg, err);
}

static int tell_half(const struct vim_watch_events *e, struct err *err) {
    (void)tell_vm(e, "host-9", err);
    return err_set(err, ERR_UNREACHABLE, "torn off");
}

static void use_target(void) {
    static char id[] = "a", cluster[] = "c", name[] = "n1";
    static const struct node_target target = {.node_id = id, .cluster_id = cluster, .node_name = name, .vm_name = name};
    watch_world_set_targets(&target, 1);
}

static void what_is_told_is_saved(void **state) {
    struct watch_report report;
    (void)state;
    use_target();
    connect_link();
    watch_world_tell(tell_all);
    UNIT_WAIT_FOR(watch_world_is_on("host-1"));
    assert_int_equal(platform_world_vsphere_count(), 1);
    watch_world_tell(tell_move);
    UNIT_WAIT_FOR(watch_world_is_on("host-2"));
    watch_get_report(link_watch(a), &report);
    assert_true(report.is_watching && report.is_saving);
    assert_int_equal(report.objects, 2);
    assert_int_equal(report.nodes, 1);
}

#define SECOND_BIOS "42010000-0000-4000-8000-000000000002"

static int tell_second_vm(const struct vim_watch_events *e, struct err *err) {
    const struct vim_watch_object vm = {.kind = VIM_OBJECT_VM,
                                        .moref = "vm-2",
                                        .name = "n2",
                                        .bios_uuid = SECOND_BIOS,
                                        .host_moref = "host-1",
                                        .power = "poweredOn",
                                        .connection = "connected"};
    int rc = e->object(e->arg, &vm, err);
    return rc ? rc : e->settled(e->arg, err);
}

static struct watch_report report_now(void) {
    struct watch_report report;
    watch_get_report(link_watch(a), &report);
    return report;
}

/* Of what is stored only the row of a changed cluster, or of a changed machine, is told again. */
static void what_changes_is_saved_alone(void **state) {
    static char ids[2][2] = {"a", "b"}, clusters[2][2] = {"c", "d"}, names[2][3] = {"n1", "n2"};
    struct node_target targets[2];
    (void)state;
    for (int i = 0; i < 2; i++)
        targets[i] =
            (struct node_target){.node_id = ids[i], .cluster_id = clusters[i], .node_name = names[i], .vm_name = names[i]};
    watch_world_set_targets(targets, 1);
    connect_link();
    watch_world_tell(tell_all);
    UNIT_WAIT_FOR(watch_world_is_on("host-1"));
    watch_world_tell(tell_second_vm); /* nobody's */
    UNIT_WAIT_FOR(report_now().objects == 3);
    watch_world_set_targets(targets, 2);
    watch_note_cluster_everywhere(platform, "d");
    UNIT_WAIT_FOR(report_now().nodes == 2);
    assert_int_equal(watch_world_get().lists, 1);
    assert_int_equal(watch_world_get().told, 2);
    watch_world_tell(tell_move);
    UNIT_WAIT_FOR(watch_world_get().told == 3);
    watch_world_set_targets(targets, 1);
    watch_note_cluster_everywhere(platform, "d");
    UNIT_WAIT_FOR(report_now().nodes == 1);
    watch_note_cluster_everywhere(platform, "c"); /* nothing new: told for the store to compare */
    UNIT_WAIT_FOR(watch_world_get().told == 4);
    assert_int_equal(watch_world_get().lists, 1);
    assert_true(watch_world_get().part_lists >= 3);
}

/* The machine comes after Kubernetes has told of it; the name fits none. */
static void a_machine_is_waited_for_by_what_kubernetes_tells(void **state) {
    static char ids[2][2] = {"a", "b"}, clusters[2][2] = {"c", "d"}, names[2][6] = {"n1", "other"}, told[] = SECOND_BIOS;
    struct node_target targets[2];
    for (int by = 0; by < 2; by++) {
        for (int i = 0; i < 2; i++)
            targets[i] =
                (struct node_target){.node_id = ids[i], .cluster_id = clusters[i], .node_name = names[i], .vm_name = names[i]};
        watch_world_set_targets(targets, 2);
        connect_link();
        watch_world_tell(tell_all);
        UNIT_WAIT_FOR(watch_world_is_on("host-1"));
        if (by)
            targets[1].system_uuid = told;
        else
            targets[1].provider_uuid = told;
        watch_world_set_targets(targets, 2);
        watch_note_cluster_everywhere(platform, "d");
        UNIT_WAIT_FOR(watch_world_get().part_lists == 1);
        watch_world_tell(tell_second_vm);
        UNIT_WAIT_FOR(report_now().nodes == 2);
        (void)tear_down(state);
        (void)set_up(state);
    }
}

/* More clusters at once than are worth looking at one by one. */
static void many_changed_clusters_are_all(void **state) {
    char id[20];
    (void)state;
    use_target();
    connect_link();
    watch_world_tell(tell_all);
    UNIT_WAIT_FOR(watch_world_is_on("host-1"));
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(id, sizeof(id), "cluster-%u", i);
        watch_note_cluster_everywhere(platform, id);
    }
    UNIT_WAIT_FOR(watch_world_get().lists >= 2);
    assert_true(watch_world_is_on("host-1"));
}

static void a_part_that_fails_is_saved_as_a_whole(void **state) {
    (void)state;
    use_target();
    connect_link();
    watch_world_tell(tell_all);
    UNIT_WAIT_FOR(watch_world_is_on("host-1"));
    watch_world_fail_saves(ERR_DATABASE);
    watch_note_cluster_everywhere(platform, "c");
    UNIT_WAIT_FOR(watch_world_get().part_lists >= 1);
    UNIT_WAIT_FOR(watch_world_get().lists >= 2);
    const unsigned saves = watch_world_get().saves;
    watch_world_fail_saves(0);
    UNIT_WAIT_FOR(watch_world_get().saves > saves);
    assert_true(watch_world_is_on("host-1"));
}

static void a_torn_off_update_is_not_saved(void **state) {
    (void)state;
    use_target();
    connect_link();
    watch_world_tell(tell_all);
    UNIT_WAIT_FOR(watch_world_is_on("host-1"));
    watch_world_tell(tell_half);
    UNIT_WAIT_FOR(link_get_state(a) == REMOTE_FAILING);
    watch_note_cluster_everywhere(platform, NULL); /* would save, if there were something whole */
    connect_link();
    watch_world_tell(tell_all);
    UNIT_WAIT_FOR(watch_world_get().lists >= 2);
    assert_true(watch_world_is_on("host-1"));
}

static void a_save_that_fails_is_repeated_without_news(void **state) {
    (void)state;
    use_target();
    watch_world_fail_saves(ERR_DATABASE);
    connect_link();
    watch_world_tell(tell_all);
    UNIT_WAIT_FOR(platform_world_vsphere_count() == 1);
    watch_world_fail_saves(0);
    UNIT_WAIT_FOR(watch_world_is_on("host-1"));
}

static void another_vcenter_is_not_believed(void **state) {
    (void)state;
    connect_link();
    platform_world_lock();
    pw.instance_uuid = VC_B;
    platform_world_unlock();
    watch_world_tell(tell_all);
    UNIT_WAIT_FOR(link_get_state(a) == REMOTE_REFUSED);
    assert_int_equal(platform_world_vsphere_count(), 0);
}

static void a_vcenter_that_is_unregistered_is_not_watched(void **state) {
    (void)state;
    connect_link();
    watch_world_tell(tell_all);
    platform_world_lock();
    pw.vcenters[0].registered_at_ms = 0;
    platform_world_unlock();
    assert_int_equal(platform_sync(platform, NULL), 0);
    UNIT_WAIT_FOR(watch_world_get().ended == 1);
    assert_int_equal(watch_world_get().made, 1);
}

/* -- work -------------------------------------------------------------------------------------------------------------------- */

static int fails(struct remote *remote, struct err *err) {
    (void)remote;
    return err_set(err, ERR_TIMEOUT, "no answer");
}

static void work_that_fails_waits_and_is_shown(void **state) {
    struct remote_work kinds[REMOTE_WORK_MAX] = {{.bit = 1, .name = "test", .run = fails}};
    struct remote_work_state states[REMOTE_WORK_MAX];
    struct remote_queue queue;
    struct err err = {0};
    (void)state;
    clock_fake(1000, 1000);
    remote_queue_init(&queue, kinds);
    remote_queue_add(&queue, 3, true); /* the second kind is not plugged in */
    assert_ptr_equal(remote_queue_take(&queue, true, clock_mono_ms()), &kinds[0]);
    assert_null(remote_queue_take(&queue, true, clock_mono_ms()));
    remote_queue_note(&queue, &kinds[0], fails(NULL, &err), &err);
    assert_int_equal(remote_queue_get(&queue, states), 1);
    assert_true(states[0].is_wanted && states[0].failures == 1 && states[0].failing_since_ms == 1000);
    assert_string_equal(states[0].err.text, "no answer");
    assert_false(remote_queue_is_due(&queue, true, clock_mono_ms() + 600));
    assert_true(remote_queue_is_due(&queue, true, clock_mono_ms() + 1000));
    assert_non_null(remote_queue_take(&queue, true, clock_mono_ms() + 1000));
    remote_queue_note(&queue, &kinds[0], 0, NULL);
    (void)remote_queue_get(&queue, states);
    assert_int_equal(states[0].failing_since_ms, 0);
    remote_queue_done(&queue);
    clock_unfake();
}

#define THREADS(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        THREADS(what_is_told_is_saved),
        THREADS(what_changes_is_saved_alone),
        THREADS(a_machine_is_waited_for_by_what_kubernetes_tells),
        THREADS(many_changed_clusters_are_all),
        THREADS(a_part_that_fails_is_saved_as_a_whole),
        THREADS(a_torn_off_update_is_not_saved),
        THREADS(a_save_that_fails_is_repeated_without_news),
        THREADS(another_vcenter_is_not_believed),
        THREADS(a_vcenter_that_is_unregistered_is_not_watched),
        cmocka_unit_test(work_that_fails_waits_and_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
