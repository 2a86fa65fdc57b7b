/* People of directories: roles by mappings, groups in sessions, asking the directory again. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "gate.h"
#include "limits.h"
#include "policy.h"
#include "signon_state.h"
#include "signon_world.h"
#include "str.h"

#define ADMINS "sid:S-1-5-21-1-2-3-1110"
#define USERS "sid:S-1-5-21-1-2-3-513"
#define ANNA "sid:S-1-5-21-1-2-3-1103"

static struct signon *signon;

static int set_up(void **state) {
    (void)state;
    signon = signon_world_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    signon_world_free(signon);
    return 0;
}

static void map(const char *subject_id, enum role role) {
    sw.mappings[sw.mappings_count++] = (struct role_mapping){.subject_id = (char *)(uintptr_t)subject_id, .role = role};
    assert_int_equal(signon_apply_role_mappings(signon, NULL), 0);
}

static void unmap_all(void) {
    sw.mappings_count = 0;
    assert_int_equal(signon_apply_role_mappings(signon, NULL), 0);
}

static struct signon_person anna(const struct group_set *groups) {
    return (struct signon_person){.principal_id = ANNA,
                                  .name = "anna@AD.TEST",
                                  .directory = "corp",
                                  .directory_mark = "133/512",
                                  .source = SOURCE_LDAP,
                                  .groups = groups};
}

static struct group_set groups_of(const char *first, const char *second) {
    struct group_set set = {0};
    assert_int_equal(group_set_add(&set, first, NULL), 0);
    if (second)
        assert_int_equal(group_set_add(&set, second, NULL), 0);
    group_set_seal(&set);
    return set;
}

/* A session of Anna in these groups. */
static void sign_in(const char *first, const char *second, struct signon_bearer *out) {
    struct group_set groups = groups_of(first, second);
    const struct signon_person person = anna(&groups);
    struct signon_issued issued = {0};
    assert_int_equal(signon_login_person(signon, ACTOR, &person, &issued, NULL), 0);
    assert_int_equal(signon_verify_from(signon, NULL, issued.token, out, NULL), 0);
    signon_issued_done(&issued);
    group_set_done(&groups);
}

static int refresh(const struct signon_bearer *bearer) {
    struct signon_issued issued = {0};
    struct err err = {0};
    int rc = signon_refresh(signon, live_session_sid(bearer->session), bearer->jti, &issued, &err);
    assert_int_equal(err.code, rc);
    signon_issued_done(&issued);
    return rc;
}

/* -- signing in ------------------------------------------------------------------------------------------------------------ */

static void a_mapped_group_gives_its_role(void **state) {
    struct signon_bearer bearer = {0};
    (void)state;
    map(USERS, ROLE_USER);
    map(ADMINS, ROLE_PROVISIONER);
    sign_in(USERS, ADMINS, &bearer);
    assert_int_equal(live_session_role(bearer.session), ROLE_PROVISIONER);
    assert_string_equal(live_session_who(bearer.session)->directory, "corp");
    assert_int_equal(sw.sessions[0].groups.count, 2);
    assert_string_equal(sw.sessions[0].directory_mark, "133/512");
    assert_int_equal(sw.sessions[0].who.role, ROLE_NONE); /* what was mapped is not stored */
    assert_string_equal(sw.last_result, "ok");
    signon_bearer_done(&bearer);
}

static void without_a_role_nobody_comes_in(void **state) {
    struct group_set groups = groups_of(USERS, "sid:S-1-5-21-1-2-3-999");
    const struct signon_person person = anna(&groups);
    struct signon_issued issued = {0};
    struct err err = {0};
    (void)state;
    map(ADMINS, ROLE_ADMIN);
    assert_int_equal(signon_login_person(signon, ACTOR, &person, &issued, &err), ERR_FORBIDDEN);
    assert_null(issued.token);
    assert_int_equal(sw.sessions_count, 0);
    assert_non_null(strstr(err.remedy, "ask an administrator"));
    assert_null(strstr(err.text, USERS)); /* which groups were seen is for administrators */
    assert_string_equal(sw.last_result, "forbidden");
    assert_string_equal(sw.last_principal, ANNA);
    assert_non_null(strstr(sw.last_reason, USERS));
    assert_non_null(strstr(sw.last_reason, "sid:S-1-5-21-1-2-3-999"));
    group_set_done(&groups);
}

static void a_credential_that_ends_ends_the_session(void **state) {
    struct group_set groups = groups_of(USERS, NULL);
    struct signon_person person = anna(&groups);
    struct signon_issued issued = {0};
    (void)state;
    map(USERS, ROLE_USER);
    person.ends_at_ms = clock_wall_ms() + 600000;
    assert_int_equal(signon_login_person(signon, ACTOR, &person, &issued, NULL), 0);
    assert_int_equal(sw.sessions[0].ends_at_ms, person.ends_at_ms);
    signon_issued_done(&issued);
    person.ends_at_ms = clock_wall_ms() + 48LL * 3600 * 1000;
    assert_int_equal(signon_login_person(signon, ACTOR, &person, &issued, NULL), 0);
    assert_int_equal(sw.sessions[1].ends_at_ms, clock_wall_ms() + 8LL * 3600 * 1000);
    signon_issued_done(&issued);
    person.ends_at_ms = clock_wall_ms();
    assert_int_equal(signon_login_person(signon, ACTOR, &person, &issued, NULL), ERR_CREDENTIALS);
    group_set_done(&groups);
}

static void programs_bring_their_role(void **state) {
    const struct signon_person person = {.principal_id = "svc:5f1f7c52-9c0c-4a1e-8f5c-0d9e7c6b5a41",
                                         .name = "hx-east",
                                         .service_id = "5f1f7c52-9c0c-4a1e-8f5c-0d9e7c6b5a41",
                                         .source = SOURCE_SERVICE,
                                         .role_at_least = ROLE_SERVICE};
    struct signon_issued issued = {0};
    (void)state;
    assert_int_equal(signon_login_person(signon, ACTOR, &person, &issued, NULL), 0);
    assert_int_equal(sw.sessions[0].who.role, ROLE_SERVICE);
    assert_string_equal(sw.sessions[0].who.service_id, person.service_id);
    signon_issued_done(&issued);
}

static void guesses_are_slowed_down(void **state) {
    static const struct signon_password one = {"ldap:corp", "Anna@CORP", "anna"}, same = {"ldap:corp", "ANNA", "ANNA"},
                                        elsewhere = {"ldap:lab", "anna", "anna"}, other = {"ldap:corp", "bob", "bob"};
    struct err err = {0};
    (void)state;
    for (unsigned i = 0; i <= SIGNON_FREE_TRIES; i++) {
        assert_int_equal(signon_admit_password(signon, ACTOR, &one, NULL), 0);
        signon_note_password(signon, ACTOR, i % 2 ? &one : &same, ERR_CREDENTIALS, "wrong password");
        assert_string_equal(sw.last_result, "invalid_credentials");
        assert_string_equal(sw.last_reason, "wrong password");
    }
    assert_int_equal(signon_admit_password(signon, ACTOR, &same, &err), ERR_TOO_MANY);
    assert_true(err.retry_after_s > 0);
    assert_string_equal(sw.last_result, "too_many_requests");
    assert_int_equal(signon_admit_password(signon, ACTOR, &elsewhere, NULL), 0);
    assert_int_equal(signon_admit_password(signon, ACTOR, &other, NULL), 0);
}

/* What nobody can guess slows nothing down. */
static void refused_tickets_are_noted_and_not_counted(void **state) {
    static const struct signon_password password = {"ldap:corp", "anna", "anna"};
    const struct signon_refusal refusal = {.where = "kerberos", .user = "anna", .reason = "replay", .rc = ERR_CREDENTIALS};
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        signon_note_refusal(signon, ACTOR, &refusal);
    assert_int_equal(sw.audited, 100);
    assert_string_equal(sw.last_reason, "replay");
    assert_int_equal(signon_admit_password(signon, ACTOR, &password, NULL), 0);
}

/* -- in sessions under way -------------------------------------------------------------------------------------------------- */

static void a_mapping_counts_at_once(void **state) {
    struct signon_bearer bearer = {0};
    (void)state;
    map(USERS, ROLE_USER);
    sign_in(USERS, ADMINS, &bearer);
    assert_int_equal(live_session_role(bearer.session), ROLE_USER);
    map(ADMINS, ROLE_ADMIN);
    assert_int_equal(live_session_role(bearer.session), ROLE_ADMIN);
    unmap_all();
    assert_int_equal(live_session_role(bearer.session), ROLE_NONE);
    assert_int_equal(refresh(&bearer), ERR_FORBIDDEN);
    map(ANNA, ROLE_USER);
    assert_int_equal(refresh(&bearer), 0);
    signon_bearer_done(&bearer);
}

static void another_replica_counts_groups_and_mappings(void **state) {
    struct signon_bearer bearer = {0};
    struct signon *other;
    struct live_session *there;
    (void)state;
    map(ADMINS, ROLE_ADMIN);
    sign_in(USERS, ADMINS, &bearer);
    other = signon_world_replica();
    there = session_table_find(other->table, live_session_sid(bearer.session));
    assert_non_null(there);
    assert_int_equal(live_session_role(there), ROLE_ADMIN);
    sw.mappings_count = 0;
    assert_int_equal(signon_apply_role_mappings(other, NULL), 0);
    assert_int_equal(live_session_role(there), ROLE_NONE);
    live_session_unref(there);
    signon_free(other);
    signon_bearer_done(&bearer);
}

static void a_user_of_a_vcenter_stays_one(void **state) {
    struct signon_bearer bearer = {0};
    (void)state;
    signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, "VSPHERE.LOCAL\\Viewer-East", &bearer);
    map(ADMINS, ROLE_ADMIN);
    unmap_all();
    assert_int_equal(live_session_role(bearer.session), ROLE_USER);
    assert_int_equal(live_session_groups_mark(bearer.session), 0);
    signon_bearer_done(&bearer);
}

/* -- asking again ------------------------------------------------------------------------------------------------------------ */

static void other_groups_are_taken_over(void **state) {
    struct signon_bearer bearer = {0};
    uint64_t mark;
    (void)state;
    map(USERS, ROLE_USER);
    map(ADMINS, ROLE_ADMIN);
    sign_in(USERS, ADMINS, &bearer);
    mark = live_session_groups_mark(bearer.session);
    sw.directory_groups = groups_of(USERS, NULL);
    signon_check_directories(signon);
    assert_int_equal(sw.directory_questions, 1);
    assert_string_equal(sw.directory_mark, "133/512");
    assert_int_equal(live_session_role(bearer.session), ROLE_USER);
    assert_int_not_equal(live_session_groups_mark(bearer.session), mark);
    assert_int_equal(sw.sessions[0].groups.count, 1);
    signon_check_directories(signon);
    assert_int_equal(sw.directory_questions, 1); /* not before it is due */
    clock_advance_ms(60001);
    signon_check_directories(signon);
    assert_int_equal(sw.directory_questions, 2);
    signon_bearer_done(&bearer);
}

static void a_disabled_account_ends_the_session(void **state) {
    struct signon_bearer bearer = {0};
    (void)state;
    map(USERS, ROLE_USER);
    sign_in(USERS, NULL, &bearer);
    sw.directory_code = ERR_SESSION_ENDED;
    signon_check_directories(signon);
    assert_true(live_session_has_ended(bearer.session, clock_wall_ms()));
    assert_int_equal(signon_world_live(), 0);
    assert_string_equal(sw.last_action, "session.end");
    assert_string_equal(sw.last_principal, ANNA);
    assert_int_equal(refresh(&bearer), ERR_SESSION_ENDED);
    signon_bearer_done(&bearer);
}

static void a_silent_directory_is_borne_for_a_while(void **state) {
    struct signon_bearer bearer = {0};
    (void)state;
    map(USERS, ROLE_USER);
    sign_in(USERS, NULL, &bearer);
    sw.directory_code = ERR_UNREACHABLE;
    clock_advance_ms(60000 + KAAS_RIGHTS_GRACE_MS);
    signon_check_directories(signon);
    assert_int_equal(live_session_role(bearer.session), ROLE_USER); /* reads go on */
    assert_int_equal(refresh(&bearer), 0);
    clock_advance_ms(1);
    signon_check_directories(signon);
    assert_int_equal(refresh(&bearer), ERR_RIGHTS_UNKNOWN);
    assert_false(live_session_has_ended(bearer.session, clock_wall_ms()));
    sw.directory_code = 0;
    sw.directory_groups = groups_of(USERS, NULL);
    signon_check_directories(signon);
    assert_int_equal(refresh(&bearer), 0);
    signon_bearer_done(&bearer);
}

/* As a page does that is loaded again. */
static int come_by_cookie(const char *cookie, struct err *err) {
    struct signon_issued issued = {0};
    int rc = signon_open_by_cookie(signon, ACTOR, cookie, NULL, &issued, err);
    signon_issued_done(&issued);
    return rc;
}

/* What a refresh is refused for, the cookie is not good for either. */
static void a_cookie_is_good_as_long_as_the_directory_answers(void **state) {
    struct signon_bearer bearer = {0};
    char cookie[ONE_TIME_CODE_BYTES];
    struct err err = {0};
    (void)state;
    map(USERS, ROLE_USER);
    sign_in(USERS, NULL, &bearer);
    assert_int_equal(signon_make_cookie(signon, live_session_sid(bearer.session), INT64_MAX, cookie, NULL), 0);
    sw.directory_code = ERR_UNREACHABLE;
    clock_advance_ms(60000 + KAAS_RIGHTS_GRACE_MS);
    signon_check_directories(signon);
    clock_advance_ms(1);
    assert_int_equal(come_by_cookie(cookie, &err), ERR_RIGHTS_UNKNOWN); /* 503: nothing is wrong with the cookie */
    assert_int_equal(err.retry_after_s, 5);
    assert_non_null(strstr(err.remedy, "kaasctl ldap test corp"));
    assert_int_equal(signon_world_live(), 1);
    sw.directory_code = 0;
    sw.directory_groups = groups_of(USERS, NULL);
    signon_check_directories(signon);
    assert_int_equal(come_by_cookie(cookie, NULL), 0);
    assert_int_equal(signon_world_live(), 2);
    unmap_all();
    assert_int_equal(signon_make_cookie(signon, live_session_sid(bearer.session), INT64_MAX, cookie, NULL), 0);
    assert_int_equal(come_by_cookie(cookie, NULL), ERR_FORBIDDEN);
    signon_bearer_done(&bearer);
}

static void a_silent_directory_is_asked_once_in_a_walk(void **state) {
    struct signon_bearer first = {0}, second = {0};
    (void)state;
    map(USERS, ROLE_USER);
    sign_in(USERS, NULL, &first);
    sign_in(USERS, NULL, &second);
    sw.directory_code = ERR_TIMEOUT;
    signon_check_directories(signon);
    assert_int_equal(sw.directory_questions, 1);
    sw.directory_code = ERR_UPSTREAM; /* an answer, about one person */
    signon_check_directories(signon);
    assert_int_equal(sw.directory_questions, 3);
    signon_bearer_done(&first);
    signon_bearer_done(&second);
}

/* -- memory, and grants ------------------------------------------------------------------------------------------------------ */

static void equal_groups_are_in_memory_once(void **state) {
    struct signon_bearer first = {0}, second = {0};
    struct group_pool_size size;
    (void)state;
    map(USERS, ROLE_USER);
    sign_in(USERS, ADMINS, &first);
    sign_in(ADMINS, USERS, &second);
    size = group_pool_size(signon->shared.pool);
    assert_int_equal(size.sets, 1);
    assert_int_equal(size.names, 2);
    assert_int_equal(live_session_groups_mark(first.session), live_session_groups_mark(second.session));
    sw.directory_groups = groups_of(USERS, "sid:S-1-5-21-1-2-3-7");
    signon_check_directories(signon);
    size = group_pool_size(signon->shared.pool);
    assert_int_equal(size.sets, 1); /* the old one went with its last session */
    assert_int_equal(size.names, 2);
    assert_int_equal(size.places, 2);
    signon_bearer_done(&first);
    signon_bearer_done(&second);
}

static void grants_are_looked_for_once(void **state) {
    struct grant all[] = {{.principal_id = (char[]){ANNA}, .object = GRANT_HX_CLUSTER, .object_id = (char[]){"hx7"}},
                          {.principal_id = (char[]){USERS}, .object = GRANT_CLUSTER, .object_id = (char[]){"k1"}}};
    struct grant_pile pile = {.items = all, .count = 2, .number = 7};
    struct grant_picks *first = NULL, *second = NULL;
    struct signon_bearer bearer = {0};
    const uint32_t *places;
    size_t count = 0;
    (void)state;
    map(USERS, ROLE_USER);
    sign_in(USERS, ADMINS, &bearer);
    assert_int_equal(live_session_pick_grants(bearer.session, &pile, &first, NULL), 0);
    places = grant_picks_get(first, &count);
    assert_int_equal(count, 2);
    assert_int_equal(places[0], 1); /* by kind: clusters before HX clusters */
    assert_int_equal(live_session_pick_grants(bearer.session, &pile, &second, NULL), 0);
    assert_ptr_equal(first, second);
    grant_picks_unref(second);
    pile.number = 8;
    pile.count = 1;
    assert_int_equal(live_session_pick_grants(bearer.session, &pile, &second, NULL), 0);
    (void)grant_picks_get(second, &count);
    assert_int_equal(count, 1);
    grant_picks_unref(second);
    sw.directory_groups = groups_of(ADMINS, NULL);
    signon_check_directories(signon);
    pile = (struct grant_pile){.items = all, .count = 2, .number = 8};
    assert_int_equal(live_session_pick_grants(bearer.session, &pile, &second, NULL), 0);
    (void)grant_picks_get(second, &count);
    assert_int_equal(count, 1); /* other groups, the same pile */
    grant_picks_unref(first);
    grant_picks_unref(second);
    signon_bearer_done(&bearer);
}

static void somebody_signed_in_is_found(void **state) {
    struct signon_bearer bearer = {0};
    struct session known = {.sid = ""};
    (void)state;
    map(USERS, ROLE_USER);
    sign_in(USERS, NULL, &bearer);
    assert_int_equal(signon_find_known(signon, "ANNA@ad.test", &known, NULL), 0);
    assert_string_equal(known.who.id, ANNA);
    assert_int_equal(known.who.role, ROLE_USER);
    assert_true(group_set_has(&known.groups, USERS));
    session_done(&known);
    assert_int_equal(signon_find_known(signon, "bob", &known, NULL), ERR_NOT_FOUND);
    assert_int_equal(signon_mapped_role(signon, USERS, NULL), ROLE_USER);
    assert_int_equal(signon_mapped_role(signon, ANNA, NULL), ROLE_NONE);
    signon_bearer_done(&bearer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mapped_group_gives_its_role, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_role_nobody_comes_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_credential_that_ends_ends_the_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs_bring_their_role, set_up, tear_down),
        cmocka_unit_test_setup_teardown(guesses_are_slowed_down, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused_tickets_are_noted_and_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_mapping_counts_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_replica_counts_groups_and_mappings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_user_of_a_vcenter_stays_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_groups_are_taken_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_disabled_account_ends_the_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_directory_is_borne_for_a_while, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cookie_is_good_as_long_as_the_directory_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_directory_is_asked_once_in_a_walk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(equal_groups_are_in_memory_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(grants_are_looked_for_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(somebody_signed_in_is_found, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
