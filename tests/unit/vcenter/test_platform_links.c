/* Links and what they find: states, retries, the table of vCenters, discovery of HX clusters, our record compared.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "rescan.h"
#include "extension_record.h"
#include "platform_world.h"
#include "str.h"
#include "vc_people.h"
#include "worker_pool.h"

static struct platform *platform;
static struct link *a;

static int set_up(void **state) {
    (void)state;
    platform = platform_world_new();
    return platform_find(platform, VC_A, &a, NULL);
}

static int tear_down(void **state) {
    (void)state;
    link_unref(a);
    platform_world_free(platform);
    return 0;
}

static enum remote_state state_of(struct link *link) {
    struct link_report report;
    link_get_report(link, &report);
    return report.status.state;
}

/* As if registered earlier: record and certificate fit. */
static void make_registered(void) {
    pw.vcenters[0].registered_at_ms = 1;
    free(pw.vcenters[0].extension_key);
    pw.vcenters[0].extension_key = str_dup("com.cisco.kaas");
    assert_int_equal(platform_sync(platform, NULL), 0);
}

/* -- states ---------------------------------------------------------------------------------------------------------------- */

static void states_follow_the_calls(void **state) {
    static const struct {
        int rc;
        enum remote_state wanted;
    } rows[] = {
        {0, REMOTE_OK},
        {ERR_TIMEOUT, REMOTE_FAILING},
        {ERR_DATABASE, REMOTE_FAILING},
        {0, REMOTE_OK},
        {ERR_UPSTREAM_DENIED, REMOTE_REFUSED},
        {ERR_BUSY, REMOTE_REFUSED},
        {ERR_TLS, REMOTE_FAILING},
        {ERR_PROTOCOL, REMOTE_FAILING},
        {0, REMOTE_OK},
        {ERR_CONFLICT, REMOTE_REFUSED},
        {ERR_UNREACHABLE, REMOTE_FAILING},
        {0, REMOTE_OK},
        {ERR_CREDENTIALS, REMOTE_OK}, /* sessions ended, which does not say that a login is refused */
    };
    (void)state;
    assert_int_equal(state_of(a), REMOTE_IDLE);
    make_registered();
    assert_int_equal(state_of(a), REMOTE_NEW);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct err err = {0};
        struct link_report report;
        if (rows[i].rc)
            (void)err_set(&err, rows[i].rc, "because");
        assert_int_equal(link_note(a, clock_mono_ms(), rows[i].rc, &err), rows[i].rc);
        assert_int_equal(state_of(a), rows[i].wanted);
        link_get_report(a, &report);
        assert_int_equal(report.status.detail[0] != 0, rows[i].wanted != REMOTE_OK);
    }
    assert_int_equal(link_note(a, clock_mono_ms(), ERR_TIMEOUT, NULL), ERR_TIMEOUT);
}

/* Somebody else's good session says nothing about ours. */
static void an_answer_is_no_session(void **state) {
    (void)state;
    make_registered();
    (void)link_note(a, clock_mono_ms(), ERR_UPSTREAM_DENIED, NULL);
    link_note_answer(a, clock_mono_ms());
    assert_int_equal(state_of(a), REMOTE_REFUSED);
    (void)link_note(a, clock_mono_ms(), ERR_UNREACHABLE, NULL);
    link_note_answer(a, clock_mono_ms());
    assert_int_equal(state_of(a), REMOTE_NEW);
}

/* The vCenter was away when the older call began; by the time it is given up, another one has been answered. And the other way round. */
static void what_comes_late_changes_nothing(void **state) {
    const int64_t since_ms = clock_mono_ms();
    struct link_report report;
    (void)state;
    make_registered();
    clock_advance_ms(1000);
    (void)link_note(a, clock_mono_ms(), 0, NULL);
    (void)link_note(a, since_ms, ERR_TIMEOUT, NULL);
    (void)link_note(a, since_ms, ERR_UPSTREAM_DENIED, NULL);
    link_note_asked(a, since_ms, ERR_TLS, NULL);
    assert_int_equal(state_of(a), REMOTE_OK);
    clock_advance_ms(1000);
    (void)link_note(a, clock_mono_ms(), ERR_UPSTREAM_DENIED, NULL);
    link_get_report(a, &report);
    clock_advance_ms(1000);
    (void)link_note(a, since_ms, 0, NULL);
    assert_int_equal(state_of(a), REMOTE_REFUSED);
    (void)link_note(a, clock_mono_ms(), ERR_UNREACHABLE, NULL);
    link_note_answer(a, since_ms);
    assert_int_equal(state_of(a), REMOTE_FAILING);
    (void)link_note(a, clock_mono_ms(), 0, NULL);
    assert_int_equal(state_of(a), REMOTE_OK);
}

static unsigned long jobs_done(void) {
    struct worker_pool_stats stats;
    worker_pool_get_stats(link_pool(a), &stats);
    return stats.done;
}

static void retries_back_off(void **state) {
    unsigned tries = 0;
    (void)state;
    pw.unreachable = ERR_UNREACHABLE;
    make_registered();
    for (int i = 0; i < 4; i++) {
        struct worker_pool_stats stats;
        platform_tick(platform);
        tries++;
        UNIT_WAIT_FOR(jobs_done() == tries);
        assert_int_equal(atomic_load(&pw.connects), tries);
        clock_advance_ms(600); /* the first delay is 0.7 s at least */
        platform_tick(platform);
        worker_pool_get_stats(link_pool(a), &stats);
        assert_int_equal(stats.done + stats.waiting + stats.running, tries);
        clock_advance_ms(60000);
    }
    assert_int_equal(state_of(a), REMOTE_FAILING);
}

static void an_unregistered_vcenter_is_left_in_peace(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) {
        platform_tick(platform);
        clock_advance_ms(60000);
        assert_true(worker_pool_wait_idle(link_pool(a), 60000));
        link_note_asked(a, clock_mono_ms(), i % 2 ? ERR_TIMEOUT : 0,
                        i % 2 ? &(struct err){.code = ERR_TIMEOUT} : NULL); /* somebody looked */
    }
    assert_int_equal(atomic_load(&pw.connects), 0);
}

static void another_vcenter_at_the_address_is_refused(void **state) {
    struct err err = {0};
    (void)state;
    make_registered();
    pw.instance_uuid = VC_B;
    assert_int_equal(link_connect(a, &err), ERR_CONFLICT);
    assert_int_equal(state_of(a), REMOTE_REFUSED);
    assert_true(err.remedy[0]);
}

static void the_version_is_kept_in_the_database(void **state) {
    (void)state;
    assert_int_equal(link_connect(a, NULL), 0);
    assert_string_equal(pw.vcenters[0].version, "8.0.3");
    pw.failing = "update_row";
    pw.fail_code = ERR_DATABASE;
    assert_int_equal(link_connect(a, NULL), 0); /* only shown: the database may be away */
}

/* -- the table -------------------------------------------------------------------------------------------------------------- */

static void links_follow_the_table(void **state) {
    struct link *b = NULL, *again = NULL;
    size_t count = 0;
    struct link **list;
    (void)state;
    platform_world_add(VC_B, "vc-b.test", false);
    assert_int_equal(platform_sync(platform, NULL), 0);
    assert_int_equal(platform_find(platform, VC_B, &b, NULL), 0);
    assert_int_equal(platform_sync(platform, NULL), 0);
    assert_int_equal(platform_find(platform, VC_B, &again, NULL), 0);
    assert_ptr_equal(b, again); /* nothing changed */
    link_unref(again);
    free(pw.vcenters[1].name);
    pw.vcenters[1].name = str_dup("another name");
    assert_int_equal(platform_sync(platform, NULL), 0);
    assert_int_equal(platform_find(platform, VC_B, &again, NULL), 0);
    assert_ptr_equal(b, again); /* a name needs no new client */
    link_unref(again);
    free(pw.vcenters[1].address);
    pw.vcenters[1].address = str_dup("vc-c.test");
    assert_int_equal(platform_sync(platform, NULL), 0);
    assert_int_equal(platform_find(platform, VC_B, &again, NULL), 0);
    assert_ptr_not_equal(b, again);  /* an address does */
    assert_true(link_is_retired(b)); /* before its successor can log in */
    assert_false(link_is_retired(again));
    link_unref(again);
    platform_tick(platform); /* the old one is still held here */
    link_unref(b);
    platform_tick(platform);
    list = platform_list(platform, &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++)
        link_unref(list[i]);
    free(list);
    vcenter_done(&pw.vcenters[1]);
    pw.vcenters_count = 1;
    assert_int_equal(platform_sync(platform, NULL), 0);
    assert_int_equal(platform_find(platform, VC_B, &b, NULL), ERR_NOT_FOUND);
}

static void a_vcenter_that_cannot_be_made_stops_no_other(void **state) {
    struct link *b = NULL;
    (void)state;
    platform_world_add(VC_B, "vc-b.test", false);
    pw.failing = "client_new";
    pw.fail_code = ERR_CONFIG;
    assert_int_equal(platform_sync(platform, NULL), ERR_CONFIG);
    pw.failing = "list";
    assert_int_equal(platform_sync(platform, NULL), ERR_CONFIG);
    pw.failing = NULL;
    assert_int_equal(platform_sync(platform, NULL), 0);
    assert_int_equal(platform_find(platform, "BBBBBBBB-0a53-4a8e-8a54-2f1f9f3f6f10", &b, NULL), 0);
    link_unref(b);
}

/* -- discovery ----------------------------------------------------------------------------------------------------------------- */

static void set_inventory(void) {
    static const char *const clusters[][3] = {
        {"domain-c7", "HX-East", "DC0"}, {"domain-c70", "HX-West", "DC0"}, {"domain-c8", "Plain", NULL}};
    memcpy(pw.clusters, clusters, sizeof(clusters));
}

static void hx_clusters_are_found_by_whole_keys(void **state) {
    static const char *const keys[] = {"com.springpath.sysmgmt",
                                       "com.springpath.sysmgmt.domain-c7",
                                       "com.springpath.sysmgmt.uuid.domain-c7",
                                       "com.springpath.sysmgmt.uuid.domain-c70",
                                       "com.springpath.sysmgmt.domain-c999",
                                       "com.vmware.vim.eam",
                                       "com.springpath.sysmgmts.domain-c8"};
    struct discovery_result result;
    (void)state;
    set_inventory();
    memcpy(pw.keys, keys, sizeof(keys));
    assert_int_equal(rescan_run(a, &result, NULL), 0);
    assert_int_equal(result.vsphere_clusters, 3);
    assert_int_equal(result.hx_clusters, 2);
    assert_int_equal(result.added, 2);
    assert_int_equal(result.ignored_count, 1);
    assert_string_equal(result.ignored_keys[0], "com.springpath.sysmgmt.domain-c999");
    assert_int_equal(pw.hx_count, 2);
    assert_string_equal(pw.hx[0].vsphere_cluster.moref, "domain-c7");
    assert_string_equal(pw.hx[0].name, "HX-East");
    assert_string_equal(pw.hx[1].vsphere_cluster.moref, "domain-c70");
    assert_null(pw.vsphere[2].datacenter);
    discovery_result_done(&result);
}

static void only_the_neighbour_of_a_short_id_is_not_it(void **state) {
    struct discovery_result result;
    (void)state;
    pw.clusters[0][0] = "domain-c70";
    pw.clusters[0][1] = "HX-West";
    pw.keys[0] = "com.springpath.sysmgmt.domain-c7";
    assert_int_equal(rescan_run(a, &result, NULL), 0);
    assert_int_equal(result.hx_clusters, 0);
    assert_int_equal(result.ignored_count, 1);
    discovery_result_done(&result);
}

static void what_is_gone_is_counted_and_comes_back(void **state) {
    struct discovery_result result;
    (void)state;
    set_inventory();
    pw.keys[0] = "com.springpath.sysmgmt.domain-c7";
    assert_int_equal(rescan_run(a, NULL, NULL), 0);
    pw.keys[0] = NULL;
    assert_int_equal(rescan_run(a, &result, NULL), 0);
    assert_int_equal(result.gone, 1);
    assert_int_equal(result.hx_clusters, 0);
    assert_true(pw.hx[0].is_gone);
    discovery_result_done(&result);
    pw.keys[0] = "com.springpath.sysmgmt.domain-c7";
    assert_int_equal(rescan_run(a, &result, NULL), 0);
    assert_int_equal(result.added, 1);
    assert_int_equal(pw.hx_count, 1);
    discovery_result_done(&result);
}

static void an_inventory_that_vanishes_with_our_rights_is_not_believed(void **state) {
    struct err err = {0};
    (void)state;
    set_inventory();
    pw.keys[0] = "com.springpath.sysmgmt.domain-c7";
    assert_int_equal(rescan_run(a, NULL, NULL), 0);
    memset(pw.clusters, 0, sizeof(pw.clusters));
    assert_int_equal(vim_login_password(link_client(a), "u", ADMIN_PASSWORD, NULL), 0);
    pw.lacking = "System.Read";
    assert_int_equal(rescan_run(a, NULL, &err), ERR_UPSTREAM_DENIED);
    assert_non_null(strstr(err.text, "System.Read"));
    assert_false(pw.hx[0].is_gone);
    pw.lacking = NULL;
    assert_int_equal(rescan_run(a, NULL, NULL), 0);
    assert_true(pw.hx[0].is_gone);
}

static void an_odd_key_fails_nothing(void **state) {
    struct discovery_result result;
    char key[300];
    (void)state;
    set_inventory();
    (void)snprintf(key, sizeof(key), "com.springpath.sysmgmt.%0220d.domain-c7", 0);
    pw.keys[0] = key;
    assert_int_equal(rescan_run(a, &result, NULL), 0);
    assert_int_equal(result.hx_clusters, 0);
    assert_int_equal(result.ignored_count, 1);
    discovery_result_done(&result);
}

static void every_step_of_a_run_may_fail(void **state) {
    static const char *const calls[] = {"read_clusters", "list_keys", "list_hx", "save_vsphere", "save_hx"};
    (void)state;
    set_inventory();
    pw.keys[0] = "com.springpath.sysmgmt.domain-c7";
    for (size_t i = 0; i < UNIT_COUNT(calls); i++) {
        struct discovery_result result = {0};
        pw.failing = calls[i];
        pw.fail_code = ERR_TIMEOUT;
        assert_int_equal(rescan_run(a, &result, NULL), ERR_TIMEOUT);
        assert_null(result.ignored_keys);
    }
}

/* Our session may be replaced meanwhile, and what is read goes with it. */
static void a_read_that_lost_its_view_is_made_again(void **state) {
    (void)state;
    set_inventory();
    pw.failing = "read_clusters";
    pw.fail_code = ERR_NOT_FOUND;
    pw.fails_once = true;
    assert_int_equal(rescan_run(a, NULL, NULL), 0);
    pw.failing = "read_clusters";
    pw.fails_once = false;
    assert_int_equal(rescan_run(a, NULL, NULL), ERR_NOT_FOUND);
}

/* -- people -------------------------------------------------------------------------------------------------------------------- */

static void rights_come_back_for_what_was_asked(void **state) {
    struct vim_user_session who = {.key = (char[]){"52key"}, .user_name = (char[]){"VSPHERE.LOCAL\\viewer"}};
    struct object_set objects = {0}, granted = {0};
    struct object_ref ref;
    (void)state;
    make_registered();
    assert_int_equal(vc_people_ask_rights(a, &who, &objects, &granted, NULL), 0); /* nothing to ask: nobody is asked */
    assert_null(strstr(pw.log, "check_privileges"));
    assert_int_equal(object_ref_make(VC_A, "domain-c7", &ref, NULL), 0);
    assert_int_equal(object_set_add(&objects, &ref, NULL), 0);
    assert_int_equal(object_ref_make(VC_A, "domain-c70", &ref, NULL), 0);
    assert_int_equal(object_set_add(&objects, &ref, NULL), 0);
    assert_int_equal(vc_people_ask_rights(a, &who, &objects, &granted, NULL), 0);
    assert_int_equal(granted.count, 1);
    assert_string_equal(granted.items[0].moref, "domain-c7");
    object_set_done(&granted);
    pw.failing = "check_privileges"; /* the vCenter does not know the user any more */
    pw.fail_code = ERR_NOT_FOUND;
    assert_int_equal(vc_people_ask_rights(a, &who, &objects, &granted, NULL), 0);
    assert_int_equal(granted.count, 0);
    pw.fail_code = ERR_TIMEOUT;
    assert_int_equal(vc_people_ask_rights(a, &who, &objects, &granted, NULL), ERR_TIMEOUT);
    assert_int_equal(state_of(a), REMOTE_FAILING);
    object_set_done(&objects);
}

static void a_wrong_credential_says_nothing_about_the_link(void **state) {
    struct vim_user_session who = {0};
    (void)state;
    make_registered();
    assert_int_equal(vc_people_check(a, &(struct vc_credential){VC_CREDENTIAL_COOKIE, NULL, "bad"}, &who, NULL), ERR_CREDENTIALS);
    assert_int_equal(state_of(a), REMOTE_NEW);
    assert_int_equal(vc_people_check(a, &(struct vc_credential){VC_CREDENTIAL_COOKIE, NULL, "good"}, &who, NULL), 0);
    assert_false(who.is_extension);
    assert_string_equal(who.user_name, "VSPHERE.LOCAL\\viewer");
    vim_user_session_done(&who);
}

/* -- our record ------------------------------------------------------------------------------------------------------------------ */

static struct extension_record found, wanted;

static void make_records(void) {
    assert_int_equal(extension_record_make(platform_env(platform), &(struct extension_name){"com.cisco.kaas", 1}, &found, NULL),
                     0);
    assert_int_equal(extension_record_make(platform_env(platform), &(struct extension_name){"com.cisco.kaas", 1}, &wanted, NULL),
                     0);
}

static void free_records(void) {
    extension_record_done(&found);
    extension_record_done(&wanted);
}

/* The one member named, or NULL. */
static const char *difference(const char *api_version) {
    const char *names[EXTENSION_DIFFERENCES_MAX];
    size_t n = extension_record_compare(&found.record, &wanted.record, api_version, names);
    assert_true(n <= 1);
    return n ? names[0] : NULL;
}

#define EXPECT(member, change)                                \
    do {                                                      \
        make_records();                                       \
        change;                                               \
        assert_string_equal(difference("8.0.3.0"), (member)); \
        free_records();                                       \
    } while (0)

static void each_member_that_differs_is_named(void **state) {
    static const char *const tasks[] = {"x"};
    static const struct vim_ext_managed others = {.type = "node", .description = "x"};
    static struct vim_ext_privilege privileges[8];
    static struct vim_ext_resource resources[4];
    static struct vim_key_value texts[128];
    (void)state;
    EXPECT("description", found.record.description.summary = "x");
    EXPECT("company", found.record.company = "x");
    EXPECT("version", found.record.version = "0.0.1");
    EXPECT("subjectName", found.record.subject_name = "CN=x");
    EXPECT("server", found.servers[0].url = "https://other.test/v2/");
    EXPECT("server", found.servers[0].type = "x");
    EXPECT("server", found.servers[0].thumbprint = "AA:BB");
    EXPECT("server", found.servers[0].certificate = "x");
    EXPECT("server", found.servers[0].description.label = "x");
    EXPECT("server", found.email = "x");
    EXPECT("server", found.record.server_count = 0);
    EXPECT("client", (found.record.clients = &found.client, found.record.client_count = 1));
    EXPECT("taskList", found.record.tasks = ((struct vim_texts){tasks, 1}));
    EXPECT("faultList", found.record.faults = ((struct vim_texts){tasks, 1}));
    EXPECT("eventList", found.record.event_count--);
    EXPECT("privilegeList", found.record.privilege_count--);
    EXPECT("resourceList", found.owner->value = VC_B);
    EXPECT("resourceList", found.record.resource_count--);
    EXPECT("healthInfo", found.record.health_url = NULL);
    EXPECT("extendedProductInfo", found.record.has_product = false);
    EXPECT("extendedProductInfo", found.record.product_url = "x");
    EXPECT("managedEntityInfo", found.record.managed_count = 0); /* as versions before wrote it */
    EXPECT("managedEntityInfo", found.record.managed_entities = &others);
    /* one group, one text */
    make_records();
    memcpy(privileges, found.record.privileges, found.record.privilege_count * sizeof(privileges[0]));
    privileges[0].group = "x";
    found.record.privileges = privileges;
    assert_string_equal(difference("8.0.3.0"), "privilegeList");
    free_records();
    make_records();
    memcpy(resources, found.record.resources, sizeof(resources));
    assert_true(resources[1].data_count <= ARRAY_COUNT(texts));
    memcpy(texts, resources[1].data, resources[1].data_count * sizeof(texts[0]));
    texts[0].value = "x";
    resources[1].data = texts;
    found.record.resources = resources;
    assert_string_equal(difference("8.0.3.0"), "resourceList");
    free_records();
}

static void equal_records_and_order_do_not_differ(void **state) {
    struct vim_ext_resource swapped[4];
    (void)state;
    make_records();
    assert_null(difference("8.0.3.0"));
    swapped[0] = found.record.resources[3];
    swapped[1] = found.record.resources[0];
    swapped[2] = found.record.resources[2];
    swapped[3] = found.record.resources[1];
    found.record.resources = swapped;
    assert_null(difference("8.0.3.0"));
    free_records();
}

static void certificates_count_where_they_can_be_stored(void **state) {
    (void)state;
    make_records();
    found.servers[0].certificate = "x";
    assert_null(difference("8.0.1.0"));
    assert_null(difference("7.0.3.0"));
    assert_null(difference(NULL));
    assert_string_equal(difference("8.0.2.0"), "server");
    free_records();
}

static void the_record_says_where_we_are(void **state) {
    (void)state;
    make_records();
    assert_string_equal(wanted.record.key, "com.cisco.kaas");
    assert_string_equal(wanted.record.servers[0].url, "https://kaas.test/v2/");
    assert_string_equal(wanted.record.servers[0].type, "KAAS_API");
    assert_string_equal(wanted.record.health_url, "https://kaas.test/healthz");
    assert_string_equal(extension_record_owner(&wanted.record), OURS);
    wanted.record.resource_count = 0;
    assert_null(extension_record_owner(&wanted.record));
    free_records();
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(states_follow_the_calls),
        TEST(an_answer_is_no_session),
        TEST(what_comes_late_changes_nothing),
        TEST(retries_back_off),
        TEST(an_unregistered_vcenter_is_left_in_peace),
        TEST(another_vcenter_at_the_address_is_refused),
        TEST(the_version_is_kept_in_the_database),
        TEST(links_follow_the_table),
        TEST(a_vcenter_that_cannot_be_made_stops_no_other),
        TEST(hx_clusters_are_found_by_whole_keys),
        TEST(only_the_neighbour_of_a_short_id_is_not_it),
        TEST(what_is_gone_is_counted_and_comes_back),
        TEST(an_inventory_that_vanishes_with_our_rights_is_not_believed),
        TEST(an_odd_key_fails_nothing),
        TEST(every_step_of_a_run_may_fail),
        TEST(a_read_that_lost_its_view_is_made_again),
        TEST(rights_come_back_for_what_was_asked),
        TEST(a_wrong_credential_says_nothing_about_the_link),
        TEST(each_member_that_differs_is_named),
        TEST(equal_records_and_order_do_not_differ),
        TEST(certificates_count_where_they_can_be_stored),
        TEST(the_record_says_where_we_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
