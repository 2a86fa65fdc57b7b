/* Faults by what an error says, and verdicts: which is judged by what, and since when. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "verdict.h"

#define NAME "east"

static struct verdicts v;

static int set_up(void **state) {
    (void)state;
    verdicts_done(&v);
    verdicts_forget(&v, VERDICT_REACHABLE, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    verdicts_done(&v);
    return 0;
}

static void assert_values(enum verdict_value reachable, enum verdict_value valid, enum verdict_value authorised) {
    assert_int_equal(v.of[VERDICT_REACHABLE].value, reachable);
    assert_int_equal(v.of[VERDICT_VALID].value, valid);
    assert_int_equal(v.of[VERDICT_AUTHORISED].value, authorised);
}

/* Each cause has its word, and codes without a cause one that fits. */
static void each_error_has_its_fault(void **state) {
    static const struct {
        int code;
        enum err_cause cause;
        const char *word;
    } rows[] = {
        {ERR_UNREACHABLE, ERR_CAUSE_NAME, "name_unresolved"},
        {ERR_UNREACHABLE, ERR_CAUSE_NETWORK, "network_forbidden"},
        {ERR_UNREACHABLE, ERR_CAUSE_PORT, "port_closed"},
        {ERR_UNREACHABLE, ERR_CAUSE_NO_ANSWER, "no_answer"},
        {ERR_UNREACHABLE, ERR_CAUSE_STARTING, "service_down"},
        {ERR_TLS, ERR_CAUSE_PIN, "certificate_changed"},
        {ERR_TLS, ERR_CAUSE_CA, "ca_unknown"},
        {ERR_TLS, ERR_CAUSE_CERTIFICATE_ENDED, "certificate_expired"},
        {ERR_TLS, ERR_CAUSE_CERTIFICATE_EARLY, "certificate_not_yet_valid"},
        {ERR_TLS, ERR_CAUSE_CERTIFICATE_NAME, "certificate_name"},
        {ERR_CONFLICT, ERR_CAUSE_OTHER_PEER, "other_vcenter"},
        {ERR_UPSTREAM_DENIED, ERR_CAUSE_LOGIN, "login_refused"},
        {ERR_UPSTREAM_DENIED, ERR_CAUSE_PASSWORD_ENDED, "password_expired"},
        {ERR_UPSTREAM_DENIED, ERR_CAUSE_LOCKED, "account_locked"},
        {ERR_UPSTREAM, ERR_CAUSE_CLIENT_CERTIFICATE, "no_login_way"},
        {ERR_UPSTREAM_DENIED, ERR_CAUSE_PRIVILEGE, "privilege_missing"},
        {ERR_TIMEOUT, ERR_CAUSE_NONE, "no_answer"},
        {ERR_UNREACHABLE, ERR_CAUSE_NONE, "connection_broken"},
        {ERR_PROTOCOL, ERR_CAUSE_NONE, "no_vcenter"},
        {ERR_TLS, ERR_CAUSE_NONE, "ca_unknown"},
        {ERR_CONFIG, ERR_CAUSE_NONE, "no_login_way"},
        {ERR_NOT_REGISTERED, ERR_CAUSE_NONE, "not_registered"},
        {ERR_CREDENTIALS, ERR_CAUSE_NONE, "login_refused"},
        {ERR_NOMEM, ERR_CAUSE_NONE, NULL},
        {ERR_CANCELED, ERR_CAUSE_NONE, NULL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct err err = {.code = rows[i].code, .cause = rows[i].cause};
        const char *word = vc_fault_name(vc_fault_of(&err, RECORD_OURS));
        if (rows[i].word)
            assert_string_equal(word, rows[i].word);
        else
            assert_null(word);
    }
}

static void a_refused_certificate_without_a_record_is_not_registered(void **state) {
    const struct err refused = {.code = ERR_UPSTREAM_DENIED, .cause = ERR_CAUSE_LOGIN};
    const struct err locked = {.code = ERR_UPSTREAM_DENIED, .cause = ERR_CAUSE_LOCKED};
    (void)state;
    assert_int_equal(vc_fault_of(&refused, RECORD_MISSING), VC_FAULT_NOT_REGISTERED);
    assert_int_equal(vc_fault_of(&locked, RECORD_MISSING), VC_FAULT_ACCOUNT_LOCKED);
}

static void every_fault_has_sentence_and_remedy(void **state) {
    char remedy[VC_REMEDY_BYTES];
    (void)state;
    for (enum vc_fault fault = VC_FAULT_NONE + 1; fault < VC_FAULT_COUNT; fault++) {
        vc_fault_remedy(fault, NAME, remedy);
        assert_true(strlen(vc_fault_text(fault)) > 10 && strlen(remedy) > 10);
        assert_null(strchr(remedy, '%'));
    }
    vc_fault_remedy(VC_FAULT_LOGIN_REFUSED, NAME, remedy);
    assert_string_equal(
        remedy,
        "register again: kaasctl vcenter register east --user administrator@vsphere.local; or give the password: kaasctl vcenter "
        "set-password east");
}

static void what_is_behind_a_bad_verdict_is_unknown(void **state) {
    const struct err err = {.code = ERR_UNREACHABLE, .text = "east:443 does not accept connections", .remedy = "look"};
    (void)state;
    verdicts_note_answer(&v, NAME, 2);
    assert_values(VERDICT_YES, VERDICT_YES, VERDICT_UNKNOWN);
    verdicts_note_fault(&v, VC_FAULT_LOGIN_REFUSED, NULL, NAME, 3);
    assert_values(VERDICT_YES, VERDICT_NO, VERDICT_UNKNOWN);
    assert_string_equal(v.of[VERDICT_VALID].text, vc_fault_text(VC_FAULT_LOGIN_REFUSED));
    verdicts_note_fault(&v, VC_FAULT_PORT_CLOSED, &err, NAME, 4);
    assert_values(VERDICT_NO, VERDICT_UNKNOWN, VERDICT_UNKNOWN);
    assert_string_equal(v.of[VERDICT_REACHABLE].text, err.text);
    assert_string_equal(v.of[VERDICT_REACHABLE].remedy, "look");
    verdicts_note_reached(&v, 5);
    assert_values(VERDICT_YES, VERDICT_UNKNOWN, VERDICT_UNKNOWN);
    assert_int_equal(v.of[VERDICT_REACHABLE].since_ms, 5);
    assert_int_equal(v.of[VERDICT_VALID].since_ms, 4);
}

static void a_time_stays_while_the_value_stays(void **state) {
    (void)state;
    verdicts_note_fault(&v, VC_FAULT_PORT_CLOSED, NULL, NAME, 2);
    verdicts_note_fault(&v, VC_FAULT_NO_ANSWER, NULL, NAME, 3);
    assert_int_equal(v.of[VERDICT_REACHABLE].since_ms, 2);
    assert_int_equal(v.of[VERDICT_REACHABLE].fault, VC_FAULT_NO_ANSWER);
    verdicts_note_answer(&v, NAME, 4);
    verdicts_note_answer(&v, NAME, 5);
    assert_int_equal(v.of[VERDICT_REACHABLE].since_ms, 4);
}

static void clocks_that_differ_make_our_login_doubtful(void **state) {
    (void)state;
    v.clock_off_s = VERDICT_CLOCK_OFF_MAX_S;
    verdicts_note_answer(&v, NAME, 2);
    assert_values(VERDICT_YES, VERDICT_YES, VERDICT_UNKNOWN);
    v.clock_off_s = -VERDICT_CLOCK_OFF_MAX_S - 1;
    verdicts_note_answer(&v, NAME, 3);
    assert_int_equal(v.of[VERDICT_VALID].fault, VC_FAULT_CLOCK_SKEW);
    assert_string_equal(v.of[VERDICT_VALID].text, "vCenter's clock is 301 s behind ours");
}

/* The root folder and two clusters, of which the second misses these, or is gone. */
static void take(const char *missing, const char *more, bool is_gone, int64_t now_ms) {
    struct verdict_object *objects = calloc(3, sizeof(*objects));
    assert_non_null(objects);
    (void)snprintf(objects[0].path, VERDICT_PATH_BYTES, "/");
    (void)snprintf(objects[1].path, VERDICT_PATH_BYTES, "/DC0/host/A");
    (void)snprintf(objects[1].moref, MOREF_BYTES, "domain-c1");
    (void)snprintf(objects[2].path, VERDICT_PATH_BYTES, "/DC0/host/B");
    (void)snprintf(objects[2].moref, MOREF_BYTES, "domain-c2");
    if (missing)
        objects[2].missing[objects[2].missing_count++] = missing;
    if (more)
        objects[2].missing[objects[2].missing_count++] = more;
    objects[2].authorised.fault = is_gone ? VC_FAULT_OBJECT_GONE : missing ? VC_FAULT_OBJECT_PRIVILEGE_MISSING : VC_FAULT_NONE;
    verdicts_take_objects(&v, &objects, 3, NAME, now_ms);
    assert_null(objects);
}

static void one_object_without_a_right_is_named(void **state) {
    (void)state;
    verdicts_note_answer(&v, NAME, 2);
    take(NULL, NULL, false, 3);
    assert_values(VERDICT_YES, VERDICT_YES, VERDICT_YES);
    take("System.Read", "Global.LogEvent", false, 4);
    assert_values(VERDICT_YES, VERDICT_YES, VERDICT_NO);
    assert_string_equal(v.of[VERDICT_AUTHORISED].text, "System.Read, Global.LogEvent missing on /DC0/host/B");
    assert_int_equal(v.objects[1].authorised.value, VERDICT_YES);
    assert_int_equal(v.objects[1].authorised.since_ms, 3);
    take("Global.LogEvent", NULL, false, 5);
    assert_int_equal(v.objects[2].authorised.since_ms, 4);
    assert_int_equal(v.of[VERDICT_AUTHORISED].since_ms, 4);
    take(NULL, NULL, true, 6);
    assert_string_equal(v.of[VERDICT_AUTHORISED].text, "/DC0/host/B is gone");
    verdicts_note_fault(&v, VC_FAULT_NO_ANSWER, NULL, NAME, 7);
    assert_int_equal(v.objects[2].authorised.value, VERDICT_UNKNOWN);
    assert_int_equal(v.objects[2].missing_count, 0);
}

static void unseen_hx_clusters_are_one_sentence_with_their_own_remedy(void **state) {
    struct verdict_object *objects = calloc(13, sizeof(*objects));
    (void)state;
    assert_non_null(objects);
    (void)snprintf(objects[0].path, VERDICT_PATH_BYTES, "/");
    for (int i = 1; i < 13; i++) {
        (void)snprintf(objects[i].moref, MOREF_BYTES, "domain-c%d", i);
        (void)snprintf(objects[i].path, VERDICT_PATH_BYTES, "domain-c%d", i);
        objects[i].is_unseen_hx = true;
        objects[i].authorised.fault = VC_FAULT_HX_UNSEEN;
        (void)snprintf(objects[i].authorised.remedy, VC_REMEDY_BYTES, "register again");
    }
    verdicts_take_objects(&v, &objects, 13, NAME, 2);
    assert_int_equal(v.of[VERDICT_AUTHORISED].fault, VC_FAULT_HX_UNSEEN);
    assert_string_equal(v.of[VERDICT_AUTHORISED].text,
                        "HX has registered 12 vSphere clusters that our account does not see: domain-c1, domain-c2, domain-c3, "
                        "domain-c4, domain-c5, domain-c6, domain-c7, domain-c8, domain-c9, domain-c10 and 2 more");
    assert_string_equal(v.of[VERDICT_AUTHORISED].remedy, "register again");
    assert_string_equal(v.objects[12].authorised.text, "HX has registered domain-c12, which our account does not see");
}

static void a_copy_stands_by_itself(void **state) {
    struct verdicts copy;
    (void)state;
    take("System.Read", NULL, false, 2);
    assert_int_equal(verdicts_copy(&v, &copy, NULL), 0);
    verdicts_done(&v);
    assert_int_equal(copy.count, 3);
    assert_string_equal(copy.objects[2].path, "/DC0/host/B");
    verdicts_done(&copy);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_error_has_its_fault),
        TEST(a_refused_certificate_without_a_record_is_not_registered),
        TEST(every_fault_has_sentence_and_remedy),
        TEST(what_is_behind_a_bad_verdict_is_unknown),
        TEST(a_time_stays_while_the_value_stays),
        TEST(clocks_that_differ_make_our_login_doubtful),
        TEST(one_object_without_a_right_is_named),
        TEST(unseen_hx_clusters_are_one_sentence_with_their_own_remedy),
        TEST(a_copy_stands_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
