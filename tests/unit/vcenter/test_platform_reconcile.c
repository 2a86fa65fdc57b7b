/* Our record is compared and repaired: what is written when, and what is only told.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "platform_world.h"
#include "platform_world_reg.h"
#include "reconcile.h"
#include "registration.h"
#include "str.h"

static struct platform *platform;
static struct link *a;
static struct reconcile_result result;

static int set_up(void **state) {
    const struct register_request request = {.account = {"administrator@vsphere.local", ADMIN_PASSWORD}};
    (void)state;
    platform = platform_world_new();
    if (platform_find(platform, VC_A, &a, NULL) || registration_register(a, &request, NULL, NULL))
        return -1;
    platform_world_forget_log();
    pr.audits = pr.leases_taken = pr.leases_given_back = 0;
    memset(&result, 0, sizeof(result));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    link_unref(a);
    platform_world_free(platform);
    return 0;
}

static int run(void) {
    return reconcile_run(a, &result, NULL);
}

static void assert_news(enum record_state state, bool was_repaired) {
    assert_int_equal(result.note.state, state);
    assert_int_equal(result.was_repaired, was_repaired);
}

static void nothing_is_written_when_nothing_differs(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, false);
    assert_false(result.has_news);
    assert_string_equal(pw.log, "");
    assert_int_equal(pr.leases_taken + pr.audits, 0);
    assert_true(result.note.reconciled_at_ms > 0);
    assert_int_equal(result.note.repaired_at_ms, 0);
}

static void a_changed_member_is_put_right(void **state) {
    struct link_report report;
    (void)state;
    pr.company = "Somebody";
    assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, true);
    assert_true(result.has_news);
    assert_string_equal(pw.log, "update ");
    assert_string_equal(result.note.repaired, "company");
    assert_string_equal(pr.audit, "vcenter.repair ok company");
    assert_string_equal(pr.row.repaired, "company");
    assert_int_equal(pr.leases_taken, 1);
    assert_int_equal(pr.leases_given_back, 1);
    link_get_report(a, &report);
    assert_string_equal(report.record.repaired, "company");
    assert_int_equal(run(), 0);
    assert_string_equal(pw.log, "update ");
}

/* The vSphere Client notices nothing but another version: what it fetches by must come with one. */
static void a_changed_address_comes_with_a_new_version(void **state) {
    unsigned before;
    (void)state;
    before = pr.row.registration_no;
    pr.url = "https://elsewhere.test/v2/";
    assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, true);
    assert_int_equal(pr.row.registration_no, before + 1);
    assert_int_equal(pr.written_no, before + 1);
    pr.company = "Somebody";
    assert_int_equal(run(), 0);
    assert_int_equal(pr.row.registration_no, before + 1);
}

static void members_of_others_are_kept(void **state) {
    (void)state;
    pr.managed_by_others = "https://others.test/";
    assert_int_equal(run(), 0);
    assert_string_equal(pw.log, ""); /* no difference that counts */
    pr.company = "Somebody";
    assert_int_equal(run(), 0); /* write_record of the world looks at the member */
    assert_string_equal(pw.log, "update ");
}

static void a_lost_certificate_is_set_last_and_proved(void **state) {
    (void)state;
    pr.subject_name = "CN=somebody";
    free((void *)(uintptr_t)pw.cert_pem);
    pw.cert_pem = NULL;
    assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, true);
    assert_string_equal(pw.log, "update set_certificate login_extension ");
}

static void a_removed_record_comes_back_with_its_certificate(void **state) {
    (void)state;
    pw.has_record = false;
    assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, true);
    assert_string_equal(pw.log, "check_root register set_certificate login_extension ");
    assert_string_equal(result.note.repaired, "the whole record");
}

/* Whichever step failed, it is told as what it was in all. */
static void a_repair_in_two_tries_is_told_as_one(void **state) {
    static const char *const calls[] = {"register", "set_certificate", "login_extension"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(calls); i++) {
        pw.has_record = false;
        pw.failing = calls[i];
        pw.fail_code = ERR_TIMEOUT;
        assert_int_equal(run(), ERR_TIMEOUT);
        pw.failing = NULL;
        (void)vim_ensure_session(link_client(a), NULL);
        assert_int_equal(run(), 0);
        assert_news(RECORD_OURS, true);
        assert_string_equal(result.note.repaired, "the whole record");
        assert_string_equal(pr.audit, "vcenter.repair ok the whole record");
        assert_string_equal(result.note.begun, "");
    }
}

static void a_change_in_two_tries_is_told_as_one(void **state) {
    (void)state;
    pr.company = "Somebody";
    pw.failing = "update";
    pw.fail_code = ERR_TIMEOUT;
    assert_int_equal(run(), ERR_TIMEOUT);
    pw.failing = NULL;
    pr.subject_name = "CN=somebody";
    free((void *)(uintptr_t)pw.cert_pem);
    pw.cert_pem = NULL;
    pw.failing = "set_certificate";
    assert_int_equal(run(), ERR_TIMEOUT);
    pw.failing = NULL;
    assert_int_equal(run(), 0);
    assert_non_null(strstr(result.note.repaired, "company, "));
    assert_non_null(strstr(result.note.repaired, ", certificate"));
    assert_null(strstr(strstr(result.note.repaired, "company") + 1, "company"));
}

/* Somebody else may get it right in between: that was no repair of ours. */
static void what_others_finished_is_not_told(void **state) {
    (void)state;
    pr.company = "Somebody";
    pw.failing = "update";
    pw.fail_code = ERR_TIMEOUT;
    assert_int_equal(run(), ERR_TIMEOUT);
    pw.failing = NULL;
    pr.company = NULL;
    assert_int_equal(run(), 0);
    pr.url = "https://elsewhere.test/v2/";
    assert_int_equal(run(), 0);
    assert_null(strstr(result.note.repaired, "company"));
}

/* Killed between record and certificate: the record is as it should be, and nobody could log in with it. */
static void a_certificate_that_was_not_set_yet_is_set(void **state) {
    (void)state;
    free((void *)(uintptr_t)pw.cert_pem);
    pw.cert_pem = NULL;
    pr.row.is_certificate_due = true;
    assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, true);
    assert_string_equal(pw.log, "set_certificate login_extension ");
    assert_string_equal(result.note.repaired, "certificate");
    assert_int_equal(run(), 0);
    assert_string_equal(pw.log, "set_certificate login_extension ");
}

static void what_we_may_not_do_is_told(void **state) {
    (void)state;
    pw.has_record = false;
    pw.lacking = "Extension.Register";
    assert_int_equal(run(), 0);
    assert_news(RECORD_MISSING, false);
    assert_string_equal(pw.log, "check_root ");
    assert_non_null(strstr(result.note.problem, "Extension.Register is missing on the root folder"));
    assert_non_null(strstr(result.note.remedy, "kaasctl vcenter register"));
    assert_true(result.note.problem_since_ms > 0);
    assert_true(result.has_news);
    assert_int_equal(run(), 0);
    assert_false(result.has_news);
}

static void a_denied_update_is_told_and_no_failure(void **state) {
    (void)state;
    pr.company = "Somebody";
    pw.failing = "update";
    pw.fail_code = ERR_UPSTREAM_DENIED;
    assert_int_equal(run(), 0);
    assert_news(RECORD_OUTDATED, false);
    assert_string_equal(
        result.note.problem,
        "the record cannot be repaired by itself: Extension.Update is missing on the root folder (it differs in company)");
    pw.failing = NULL;
    assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, true);
    assert_string_equal(result.note.problem, "");
    assert_int_equal(result.note.problem_since_ms, 0);
}

static void a_foreign_record_is_never_touched(void **state) {
    static const char *const owners[] = {VC_B, NULL};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(owners); i++) {
        pw.record_owner = owners[i];
        pr.company = "Somebody";
        assert_int_equal(run(), 0);
        assert_news(RECORD_FOREIGN, false);
        assert_string_equal(pw.log, "");
        assert_non_null(strstr(result.note.remedy, "--take-over"));
    }
}

static void only_the_replica_with_the_lease_repairs(void **state) {
    (void)state;
    pr.company = "Somebody";
    pr.lease_holder = "replica-8";
    assert_int_equal(run(), ERR_BUSY);
    assert_string_equal(pw.log, "");
    assert_int_equal(result.note.state, RECORD_OUTDATED); /* all may compare */
    pr.lease_holder = NULL;
    pr.company = NULL; /* it was repaired meanwhile */
    assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, false);
    assert_string_equal(pw.log, "");
}

static void without_database_nothing_is_written(void **state) {
    (void)state;
    pr.company = "Somebody";
    pr.lease_fails = true;
    assert_int_equal(run(), ERR_DATABASE);
    assert_string_equal(pw.log, "");
}

static void a_registration_under_way_is_not_disturbed(void **state) {
    (void)state;
    pr.company = "Somebody";
    assert_true(link_begin_admin(a));
    assert_int_equal(run(), ERR_BUSY);
    link_end_admin(a);
    assert_int_equal(run(), 0);
    assert_news(RECORD_OURS, true);
}

/* Another replica unregistered us between our look and the lease: nothing comes back. */
static void what_was_removed_on_purpose_stays_away(void **state) {
    (void)state;
    pw.has_record = false;
    pw.vcenters[0].registered_at_ms = 0; /* in the database; the link has not heard of it */
    assert_int_equal(run(), ERR_NOT_REGISTERED);
    assert_string_equal(pw.log, "");
}

static void a_record_that_will_not_change_is_told(void **state) {
    (void)state;
    pr.company = "Somebody";
    pr.is_stubborn = true;
    assert_int_equal(run(), 0);
    assert_int_equal(result.note.state, RECORD_OUTDATED);
    assert_non_null(strstr(result.note.problem, "keeps the record differently"));
}

/* Whatever fails on the way, the next run finishes. */
static void every_step_may_fail_and_be_repeated(void **state) {
    static const char *const calls[] = {"find",           "load", "check_root", "register", "load_credential", "set_certificate",
                                        "login_extension"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(calls); i++) {
        pw.has_record = false;
        pw.failing = calls[i];
        pw.fail_code = ERR_TIMEOUT;
        assert_int_equal(run(), ERR_TIMEOUT);
        pw.failing = NULL;
        link_forget_material(a);
        (void)vim_ensure_session(link_client(a), NULL);
        assert_int_equal(run(), 0);
        assert_int_equal(result.note.state, RECORD_OURS);
    }
}

static void an_unregistered_vcenter_is_left_alone(void **state) {
    const struct unregister_request request = {.account = {"administrator@vsphere.local", ADMIN_PASSWORD}};
    (void)state;
    assert_int_equal(registration_unregister(a, &request, NULL, NULL), 0);
    platform_world_forget_log();
    assert_int_equal(run(), ERR_NOT_REGISTERED);
    assert_string_equal(pw.log, "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_written_when_nothing_differs),    TEST(a_changed_member_is_put_right),
        TEST(a_changed_address_comes_with_a_new_version), TEST(members_of_others_are_kept),
        TEST(a_lost_certificate_is_set_last_and_proved),  TEST(a_removed_record_comes_back_with_its_certificate),
        TEST(a_certificate_that_was_not_set_yet_is_set),  TEST(what_we_may_not_do_is_told),
        TEST(a_denied_update_is_told_and_no_failure),     TEST(a_foreign_record_is_never_touched),
        TEST(only_the_replica_with_the_lease_repairs),    TEST(without_database_nothing_is_written),
        TEST(a_registration_under_way_is_not_disturbed),  TEST(what_was_removed_on_purpose_stays_away),
        TEST(a_record_that_will_not_change_is_told),      TEST(every_step_may_fail_and_be_repeated),
        TEST(an_unregistered_vcenter_is_left_alone),      TEST(a_repair_in_two_tries_is_told_as_one),
        TEST(a_change_in_two_tries_is_told_as_one),       TEST(what_others_finished_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
