/* How links log in, as far as it is pure or can be seen in memory: when a certificate is due, whose a session is, passwords that were refused.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "link_login.h"
#include "platform_world.h"
#include "rotation.h"
#include "link_task.h"
#include "str.h"

#define DAY_MS INT64_C(86400000)
#define AGENT "Harmony-KaaS/1.2.3 (" OURS "; replica-1)"

static struct platform *platform;
static struct link *a;

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

static void a_certificate_is_due_at_two_thirds_of_its_life(void **state) {
    const int64_t from = 1000 * DAY_MS, until = from + 300 * DAY_MS;
    (void)state;
    assert_false(rotation_is_due(from, until, VC_A, from));
    assert_false(rotation_is_due(from, until, VC_A, from + 184 * DAY_MS));
    assert_true(rotation_is_due(from, until, VC_A, from + 200 * DAY_MS));
    assert_true(rotation_is_due(from, until, VC_A, until));
    assert_true(rotation_is_due(from, until, VC_A, until + DAY_MS));
}

/* Ten vCenters that were joined on one day do not all come due in one hour. */
static void not_all_are_due_at_once(void **state) {
    const int64_t until = 730 * DAY_MS;
    int64_t first = until, last = 0;
    (void)state;
    for (int i = 0; i < 10; i++) {
        _cleanup_free_ char *id = str_format("%d" VC_A, i);
        int64_t at = 0;
        while (!rotation_is_due(0, until, id, at))
            at += DAY_MS / 24;
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    assert_true(last - first > DAY_MS);
    assert_true(first >= until / 3 * 2 - until / 20);
}

static void sessions_are_known_by_installation_and_replica(void **state) {
    static const struct {
        const char *agent;
        enum session_owner owner;
    } cases[] = {
        {AGENT, SESSION_OF_LINK},
        {"Harmony-KaaS/0.9 (" OURS "; replica-1)", SESSION_OF_LINK}, /* before an upgrade */
        {"Harmony-KaaS/1.2.3 (" OURS "; replica-1; registration)", SESSION_OF_TASK},
        {"Harmony-KaaS/1.2.3 (" OURS "; replica-11)", SESSION_OF_OTHERS},
        {"Harmony-KaaS/1.2.3 (" OURS "; replica-2)", SESSION_OF_OTHERS},
        {"Harmony-KaaS/1.2.3 (dddddddd-0a53-4a8e-8a54-2f1f9f3f6f10; replica-1)", SESSION_OF_OTHERS},
        {"Harmony-KaaS/1.2.3 (" OURS "; replica-1) Mozilla", SESSION_OF_OTHERS},
        {"Mozilla/5.0 " AGENT, SESSION_OF_OTHERS},
        {"Harmony-KaaS/1.2.3", SESSION_OF_OTHERS},
        {"", SESSION_OF_OTHERS},
        {NULL, SESSION_OF_OTHERS},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(session_owner_of(cases[i].agent, AGENT), cases[i].owner);
}

static unsigned count(const char *call) {
    unsigned n = 0;
    for (const char *p = pw.log; (p = strstr(p, call)); p++)
        n++;
    return n;
}

static void a_refused_password_is_sent_once(void **state) {
    struct login_refusals refusals = {0};
    struct login_material material = {.refusals = &refusals};
    struct vcenter vc = {0};
    struct login_used used;
    (void)state;
    assert_int_equal(link_get_info(a, &vc, NULL), 0);
    assert_int_equal(login_credential_take_account(CREDENTIAL_ACCOUNT, "kaas@vsphere.local", "wrong", &material.active, NULL), 0);
    material.active.generation = 4;
    for (int i = 0; i < 5; i++) {
        struct err err = {0};
        assert_int_equal(login_with_material(link_client(a), &vc, &material, NULL, &used, &err), ERR_CREDENTIALS);
        assert_non_null(strstr(err.text, "kaas@vsphere.local"));
        assert_non_null(strstr(err.remedy, "set-password"));
        assert_null(strstr(err.text, "wrong"));
    }
    assert_int_equal(count("login_password "), 1);
    login_credential_done(&material.active);
    assert_int_equal(
        login_credential_take_account(CREDENTIAL_ACCOUNT, "kaas@vsphere.local", ADMIN_PASSWORD, &material.active, NULL), 0);
    material.active.generation = 5; /* the next one is tried */
    assert_int_equal(login_with_material(link_client(a), &vc, &material, NULL, &used, NULL), 0);
    assert_int_equal(used.strategy, VIM_STRATEGY_ACCOUNT);
    login_material_done(&material);
    vcenter_done(&vc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_is_due_at_two_thirds_of_its_life),
        cmocka_unit_test(not_all_are_due_at_once),
        cmocka_unit_test(sessions_are_known_by_installation_and_replica),
        cmocka_unit_test_setup_teardown(a_refused_password_is_sent_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
