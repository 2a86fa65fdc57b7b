/* Joining and leaving a vCenter: order of the steps, what is refused before anything is changed, what a crash leaves.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "platform_world.h"
#include "platform_world_reg.h"
#include "registration.h"
#include "rotation.h"
#include "link_task.h"
#include "str.h"

static struct platform *platform;
static struct link *a;
static const struct vcenter_account account = {.user = "administrator@vsphere.local", .password = ADMIN_PASSWORD};

static int set_up(void **state) {
    (void)state;
    platform = platform_world_new();
    platform_world_forget_log();
    return platform_find(platform, VC_A, &a, NULL);
}

static int tear_down(void **state) {
    (void)state;
    link_unref(a);
    platform_world_free(platform);
    return 0;
}

static int join(struct err *err) {
    return registration_register(a, &(struct register_request){.account = account}, NULL, err);
}

static int leave(struct err *err) {
    return registration_unregister(a, &(struct unregister_request){.account = account}, NULL, err);
}

static bool has_changed_vcenter(void) {
    return strstr(pw.log, "register ") || strstr(pw.log, "update ") || strstr(pw.log, "set_certificate");
}

static char credential_state(size_t i) {
    return i < pw.credentials_count ? pw.credentials[i].state : '-';
}

static void the_steps_come_in_order(void **state) {
    struct link_report report;
    (void)state;
    assert_int_equal(join(NULL), 0);
    assert_string_equal(pw.log,
                        "login_password check_root probe probe add_pending register set_certificate login_extension promote "
                        "update_row ");
    assert_int_equal(credential_state(0), 'a');
    assert_true(pw.vcenters[0].registered_at_ms > 0);
    assert_string_equal(pw.vcenters[0].extension_key, "com.cisco.kaas");
    link_get_report(a, &report);
    assert_int_equal(report.status.state, REMOTE_OK);
    assert_true(report.has_strategy);
    assert_int_equal(report.strategy, VIM_STRATEGY_TUNNEL);
    assert_true(pw.written > 0);
}

static void joining_again_updates_and_rotates(void **state) {
    (void)state;
    assert_int_equal(join(NULL), 0);
    platform_world_forget_log();
    assert_int_equal(join(NULL), 0);
    assert_string_equal(
        pw.log, "login_password check_root probe probe add_pending update set_certificate login_extension promote update_row ");
    assert_int_equal(credential_state(0), 'r');
    assert_int_equal(credential_state(1), 'a');
}

static void the_other_way_is_used_when_one_is_closed(void **state) {
    struct link_report report;
    (void)state;
    pw.strategies = 1U << VIM_STRATEGY_DIRECT;
    assert_int_equal(join(NULL), 0);
    link_get_report(a, &report);
    assert_int_equal(report.strategy, VIM_STRATEGY_DIRECT);
}

static void nothing_is_changed_when_no_way_works(void **state) {
    struct err err = {0};
    (void)state;
    pw.strategies = 0;
    assert_int_equal(join(&err), ERR_UPSTREAM);
    assert_non_null(strstr(err.text, "certificate_tunnel"));
    assert_non_null(strstr(err.text, "certificate_direct"));
    assert_true(err.remedy[0]);
    assert_false(has_changed_vcenter());
    assert_int_equal(pw.credentials_count, 0);
}

static void a_missing_privilege_is_named(void **state) {
    struct err err = {0};
    (void)state;
    pw.lacking = "Extension.Update";
    assert_int_equal(join(&err), ERR_FORBIDDEN);
    assert_non_null(strstr(err.text, "Extension.Update"));
    assert_null(strstr(err.text, "Extension.Register"));
    assert_false(has_changed_vcenter());
}

static void a_wrong_password_changes_nothing(void **state) {
    const struct vcenter_account wrong = {.user = "administrator@vsphere.local", .password = "guess"};
    struct err err = {0};
    (void)state;
    assert_int_equal(registration_register(a, &(struct register_request){.account = wrong}, NULL, &err), ERR_CREDENTIALS);
    assert_true(err.remedy[0]);
    assert_null(strstr(err.text, "guess"));
    assert_string_equal(pw.log, "login_password ");
}

static void another_vcenter_gets_no_password(void **state) {
    (void)state;
    pw.instance_uuid = VC_B;
    assert_int_equal(join(NULL), ERR_CONFLICT);
    assert_string_equal(pw.log, "");
}

static void foreign_records_are_left_alone(void **state) {
    static const char *const owners[] = {VC_B, NULL};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(owners); i++) {
        struct err err = {0};
        pw.has_record = true;
        pw.record_owner = owners[i];
        platform_world_forget_log();
        assert_int_equal(join(&err), ERR_CONFLICT);
        assert_non_null(strstr(err.remedy, "--take-over"));
        assert_false(has_changed_vcenter());
    }
    assert_int_equal(registration_register(a, &(struct register_request){.account = account, .take_over = true}, NULL, NULL), 0);
    assert_string_equal(pw.record_owner, OURS);
}

/* Whatever fails, the same command may be given again and then works. */
static void every_step_may_fail_and_be_repeated(void **state) {
    static const char *const calls[] = {
        "connect",     "login_password", "own_session",     "check_root",      "find",         "load_credential",
        "add_pending", "register",       "set_certificate", "login_extension", "promote",      "load",
        "update_row",  "list",           "read_clusters",   "list_keys",       "save_vsphere", "save_hx"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(calls); i++) {
        struct err err = {0};
        pw.failing = calls[i];
        pw.fail_code = ERR_TIMEOUT;
        assert_int_equal(join(&err), ERR_TIMEOUT);
        assert_non_null(strstr(err.text, calls[i]));
        pw.failing = NULL;
        assert_int_equal(join(&err), 0);
        assert_true(pw.vcenters[0].registered_at_ms > 0);
        (void)leave(NULL);
        assert_false(pw.has_record);
        memset(pw.credentials, 0, sizeof(pw.credentials));
        pw.credentials_count = 0;
    }
}

/* vCenter knows the pending certificate already: the link must find its way in with it. */
static void a_crash_before_the_promotion_heals_itself(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(join(NULL), 0);
    pw.failing = "promote";
    pw.fail_code = ERR_DATABASE;
    assert_int_equal(join(NULL), ERR_DATABASE);
    assert_int_equal(credential_state(0), 'a');
    assert_int_equal(credential_state(1), 'p');
    pw.failing = NULL;
    (void)vim_logout(link_client(a), NULL);
    link_forget_material(a);
    assert_int_equal(vim_ensure_session(link_client(a), &err), 0);
    assert_int_equal(credential_state(0), 'r');
    assert_int_equal(credential_state(1), 'a');
}

static void a_certificate_of_another_replica_is_picked_up(void **state) {
    (void)state;
    assert_int_equal(join(NULL), 0);
    (void)vim_logout(link_client(a), NULL);
    assert_int_equal(vim_ensure_session(link_client(a), NULL), 0); /* the material is in memory now */
    (void)vim_logout(link_client(a), NULL);
    assert_int_equal(join(NULL), 0); /* as another replica would: another certificate, active in the database */
    assert_int_equal(platform_sync(platform, NULL), 0);
    (void)vim_logout(link_client(a), NULL);
    assert_int_equal(vim_ensure_session(link_client(a), NULL), 0);
}

/* What is in memory will do while the database is away. */
static void a_login_needs_no_database_twice(void **state) {
    (void)state;
    assert_int_equal(join(NULL), 0);
    (void)vim_logout(link_client(a), NULL);
    assert_int_equal(vim_ensure_session(link_client(a), NULL), 0);
    (void)vim_logout(link_client(a), NULL);
    link_forget_material(a);
    pw.failing = "load_credential";
    pw.fail_code = ERR_DATABASE;
    assert_int_equal(vim_ensure_session(link_client(a), NULL), 0);
}

static bool holds(const void *memory, size_t n, const char *text) {
    return memmem(memory, n, text, strlen(text)) != NULL;
}

static void the_password_is_stored_nowhere(void **state) {
    (void)state;
    assert_int_equal(join(NULL), 0);
    assert_false(holds(pw.credentials, sizeof(pw.credentials), ADMIN_PASSWORD));
    assert_false(holds(pw.credentials, sizeof(pw.credentials), "PRIVATE KEY")); /* sealed */
    assert_false(holds(pw.log, sizeof(pw.log), ADMIN_PASSWORD));
}

static void one_at_a_time(void **state) {
    (void)state;
    assert_true(link_begin_admin(a));
    assert_int_equal(join(NULL), ERR_CONFLICT);
    link_end_admin(a);
    assert_int_equal(join(NULL), 0);
}

/* -- leaving ------------------------------------------------------------------------------------------------------------------ */

static void leaving_removes_record_and_keys(void **state) {
    struct link_report report;
    (void)state;
    assert_int_equal(join(NULL), 0);
    platform_world_forget_log();
    assert_int_equal(leave(NULL), 0);
    assert_string_equal(pw.log, "login_password check_root update_row unregister retire ");
    assert_false(pw.has_record);
    assert_int_equal(credential_state(0), 'r');
    assert_int_equal(pw.vcenters[0].registered_at_ms, 0);
    link_get_report(a, &report);
    assert_int_equal(report.status.state, REMOTE_IDLE);
    assert_int_equal(leave(NULL), ERR_NOT_REGISTERED);
}

static void leaving_retires_a_pending_key_too(void **state) {
    (void)state;
    assert_int_equal(join(NULL), 0);
    pw.failing = "update";
    pw.fail_code = ERR_TIMEOUT;
    assert_int_equal(join(NULL), ERR_TIMEOUT);
    pw.failing = NULL;
    assert_int_equal(credential_state(1), 'p');
    assert_int_equal(leave(NULL), 0);
    assert_int_equal(credential_state(0), 'r');
    assert_int_equal(credential_state(1), 'r');
}

static struct vim_client *late;

static void begin_task(void) {
    if (!late)
        assert_int_equal(session_open_task(a, "registration", &late, NULL), 0);
}

/* The sweep had looked whether a task ran before it read the list, and ended the session of one that began in between. */
static void a_task_that_begins_during_a_sweep_keeps_its_session(void **state) {
    (void)state;
    assert_int_equal(join(NULL), 0);
    late = NULL;
    pw.listed_agent = session_agent(platform_env(platform), "registration");
    pw.on_list = begin_task;
    platform_world_forget_log();
    assert_int_equal(session_sweep(a, link_client(a), NULL), ERR_BUSY);
    assert_null(strstr(pw.log, "terminate_session"));
    session_close_task(a, late);
    assert_int_equal(session_sweep(a, link_client(a), NULL), 0);
    assert_non_null(strstr(pw.log, "terminate_session")); /* the second one was left behind */
    pw.on_list = NULL;
    free(pw.listed_agent);
    pw.listed_agent = NULL;
}

/* vCenter lists a session as soon as the login is carried out; we know it when the answer is here. */
static void the_session_of_a_login_under_way_is_not_swept(void **state) {
    (void)state;
    assert_int_equal(join(NULL), 0);
    pw.listed_agent = session_agent(platform_env(platform), NULL);
    pw.settled_key = "listed";
    platform_world_forget_log();
    assert_int_equal(session_sweep(a, link_client(a), NULL), 0);
    assert_null(strstr(pw.log, "terminate_session"));
    pw.settled_key = NULL;
    assert_int_equal(session_sweep(a, link_client(a), NULL), 0);
    assert_non_null(strstr(pw.log, "terminate_session"));
    free(pw.listed_agent);
    pw.listed_agent = NULL;
}

static void leaving_spares_foreign_records(void **state) {
    (void)state;
    pw.has_record = true;
    pw.record_owner = VC_B;
    assert_int_equal(leave(NULL), ERR_CONFLICT);
    assert_true(pw.has_record);
}

static void a_record_that_is_gone_already_is_no_obstacle(void **state) {
    (void)state;
    assert_int_equal(join(NULL), 0);
    pw.has_record = false;
    assert_int_equal(leave(NULL), 0);
    assert_int_equal(pw.vcenters[0].registered_at_ms, 0);
}

/* -- adding and removing ------------------------------------------------------------------------------------------------------ */

static int add(const char *address, const char *name, struct err *err) {
    const struct vcenter wish = {.address = (char *)(uintptr_t)address,
                                 .name = (char *)(uintptr_t)name,
                                 .port = 443,
                                 .has_pin = true,
                                 .pin_sha256 = {1},
                                 .tunnel_port = 80};
    const struct actor nobody = {0};
    struct x509_info seen = {0};
    char id[37] = "";
    int rc = registration_add(platform, &nobody, &wish, id, &seen, err);
    x509_info_done(&seen);
    if (!rc)
        assert_string_equal(id, pw.instance_uuid);
    return rc;
}

static void vcenters_are_added_once(void **state) {
    struct err err = {0};
    struct link *b = NULL;
    (void)state;
    assert_int_equal(add("VC-A.test", NULL, NULL), ERR_EXISTS);
    assert_int_equal(add("vc-b.test", "vc-a.TEST", NULL), ERR_EXISTS);
    assert_int_equal(add("vc-b.test", NULL, &err), ERR_EXISTS); /* the same instance under another address */
    assert_non_null(strstr(err.text, "configured already with the address vc-a.test"));
    assert_int_equal(add("https://vc-b.test", NULL, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(add("vc-b.test", " b", NULL), ERR_UNPROCESSABLE);
    pw.instance_uuid = VC_B;
    assert_int_equal(add("vc-b.test", "b", NULL), 0);
    assert_int_equal(platform_find(platform, VC_B, &b, NULL), 0);
    link_unref(b);
}

static void a_registered_vcenter_is_not_removed(void **state) {
    const struct actor nobody = {0};
    struct err err = {0};
    struct link *gone = NULL;
    (void)state;
    assert_int_equal(join(NULL), 0);
    assert_int_equal(registration_remove(platform, VC_A, &nobody, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.remedy, "unregister"));
    assert_int_equal(leave(NULL), 0);
    assert_int_equal(registration_remove(platform, VC_A, &nobody, NULL), 0);
    assert_int_equal(platform_find(platform, VC_A, &gone, NULL), ERR_NOT_FOUND);
    assert_int_equal(registration_remove(platform, VC_A, &nobody, NULL), ERR_NOT_FOUND);
}

/* What kaasd repairs or renews by itself takes moments, in which a person need not be refused. */
static void commands_wait_for_what_is_done_by_itself(void **state) {
    const struct actor nobody = {0};
    (void)state;
    pr.lease_lost_tries = 3;
    assert_int_equal(join(NULL), 0);
    pr.lease_lost_tries = 3;
    assert_int_equal(rotation_rotate(a, &nobody, NULL), 0);
    pr.lease_lost_tries = 3;
    assert_int_equal(leave(NULL), 0);
    pr.lease_lost_tries = 3;
    assert_int_equal(registration_remove(platform, VC_A, &nobody, NULL), 0);
    assert_int_equal(pr.lease_lost_tries, 0);
    assert_int_equal(pr.leases_taken, pr.leases_given_back);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_steps_come_in_order),
        TEST(joining_again_updates_and_rotates),
        TEST(the_other_way_is_used_when_one_is_closed),
        TEST(nothing_is_changed_when_no_way_works),
        TEST(a_missing_privilege_is_named),
        TEST(a_wrong_password_changes_nothing),
        TEST(another_vcenter_gets_no_password),
        TEST(foreign_records_are_left_alone),
        TEST(every_step_may_fail_and_be_repeated),
        TEST(a_crash_before_the_promotion_heals_itself),
        TEST(a_certificate_of_another_replica_is_picked_up),
        TEST(a_login_needs_no_database_twice),
        TEST(the_password_is_stored_nowhere),
        TEST(one_at_a_time),
        TEST(leaving_removes_record_and_keys),
        TEST(leaving_retires_a_pending_key_too),
        TEST(a_task_that_begins_during_a_sweep_keeps_its_session),
        TEST(the_session_of_a_login_under_way_is_not_swept),
        TEST(leaving_spares_foreign_records),
        TEST(a_record_that_is_gone_already_is_no_obstacle),
        TEST(vcenters_are_added_once),
        TEST(a_registered_vcenter_is_not_removed),
        TEST(commands_wait_for_what_is_done_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
