/* Memory holds some of the sessions: who leaves it, what is read when they come back, what nobody may escape by that.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>

#include "clock.h"
#include "signon_state.h"
#include "signon_vcenter.h"
#include "signon_world.h"
#include "str.h"

#define IN_MEMORY 3U
#define USERS "sid:S-1-5-21-1-2-3-513"
#define OTHERS "sid:S-1-5-21-1-2-3-1110"
#define GUESTS "sid:S-1-5-21-1-2-3-514"

static char users[] = USERS, guests[] = GUESTS; /* subjects of mappings */
static struct signon *signon;
static struct signon_issued grants[16];
static size_t grants_count;

static int set_up(void **state) {
    (void)state;
    sw.sessions_in_memory_max = IN_MEMORY;
    sw.mappings[sw.mappings_count++] = (struct role_mapping){.subject_id = users, .role = ROLE_USER};
    signon = signon_world_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    while (grants_count)
        signon_issued_done(&grants[--grants_count]);
    signon_world_free(signon);
    return 0;
}

/* Time goes on with each sign-on, so that it is known who was here before whom. */
static struct signon_issued *next_grant(void) {
    assert_true(grants_count < UNIT_COUNT(grants));
    clock_advance_ms(10);
    return &grants[grants_count++];
}

/* A user of the vCenter; the number of the session. */
static size_t sign_in(void) {
    const struct signon_credential credential = {.kind = VC_CREDENTIAL_COOKIE, .vcenter_id = VC_A, .secret = sw.good_secret};
    assert_int_equal(signon_world_log_in(signon, &credential, next_grant(), NULL), 0);
    return grants_count - 1;
}

static size_t sign_in_admin(void) {
    assert_int_equal(signon_login_local(signon, ACTOR, "anna", "right horse", next_grant(), NULL), 0);
    return grants_count - 1;
}

/* Somebody of a directory, in USERS and another group. */
static size_t sign_in_person(const char *id, const char *group) {
    struct group_set groups = {0};
    const struct signon_person person = {.principal_id = id,
                                         .name = "anna@AD.TEST",
                                         .directory = "corp",
                                         .directory_mark = "133/512",
                                         .source = SOURCE_LDAP,
                                         .groups = &groups};
    assert_int_equal(group_set_add(&groups, USERS, NULL), 0);
    assert_int_equal(group_set_add(&groups, group, NULL), 0);
    group_set_seal(&groups);
    assert_int_equal(signon_login_person(signon, ACTOR, &person, next_grant(), NULL), 0);
    group_set_done(&groups);
    return grants_count - 1;
}

static int verify_at(struct signon *s, size_t n) {
    struct signon_bearer bearer = {0};
    int rc = signon_verify_from(s, NULL, grants[n].token, &bearer, NULL);
    signon_bearer_done(&bearer);
    return rc;
}

/* From memory; a use. */
static int verify(size_t n) {
    return verify_at(signon, n);
}

/* As a request does whose session is not in memory. */
static int verify_slow(size_t n) {
    struct signon_bearer bearer = {0};
    int rc = signon_verify_slow(signon, grants[n].token, &bearer, NULL);
    signon_bearer_done(&bearer);
    return rc;
}

static void hold(size_t n, struct signon_bearer *out) {
    assert_int_equal(signon_verify_from(signon, NULL, grants[n].token, out, NULL), 0);
}

/* -- who leaves -------------------------------------------------------------------------------------------------------------- */

static void the_one_used_longest_ago_leaves(void **state) {
    size_t first = sign_in(), second = sign_in(), third = sign_in(), fourth;
    (void)state;
    clock_advance_ms(10);
    assert_int_equal(verify(first), 0);
    fourth = sign_in();
    assert_int_equal(session_table_count(signon->table), IN_MEMORY);
    assert_int_equal(verify(second), ERR_NOT_FOUND);
    clock_advance_ms(10);
    assert_int_equal(verify(first), 0);
    assert_int_equal(verify(third), 0);
    assert_int_equal(verify_slow(second), 0); /* its token is as good as before */
    assert_int_equal(verify(second), 0);
    assert_int_equal(session_table_count(signon->table), IN_MEMORY);
    assert_int_equal(verify(fourth), ERR_NOT_FOUND); /* the only one that was not used since */
    assert_int_equal(signon_world_live(), 4);
}

static void what_has_ended_leaves_first(void **state) {
    size_t first = sign_in(), second = sign_in(), third = sign_in();
    struct signon_bearer bearer = {0};
    (void)state;
    hold(third, &bearer);
    assert_int_equal(signon_logout(signon, ACTOR, live_session_sid(bearer.session), NULL), 0);
    signon_bearer_done(&bearer);
    (void)sign_in();
    assert_int_equal(verify(third), ERR_NOT_FOUND);
    assert_int_equal(verify(first), 0);
    assert_int_equal(verify(second), 0);
}

/* They must get in also while the database is away. */
static void administrators_leave_last(void **state) {
    size_t admin = sign_in_admin(), first = sign_in(), last;
    (void)state;
    for (unsigned i = 0; i < 8; i++)
        last = sign_in();
    assert_int_equal(verify(admin), 0);
    assert_int_equal(verify(last), 0);
    assert_int_equal(verify(first), ERR_NOT_FOUND);
    sw.fail_code = ERR_DATABASE;
    assert_int_equal(verify(admin), 0);
    assert_int_equal(verify_slow(first), ERR_DATABASE);
    sw.fail_code = 0;
    (void)sign_in_admin();
    (void)sign_in_admin();
    clock_advance_ms(10);
    assert_int_equal(verify(admin), 0);
    last = sign_in_admin(); /* nobody else is there */
    assert_int_equal(session_table_count(signon->table), IN_MEMORY);
    assert_int_equal(verify(admin), 0);
    assert_int_equal(verify(last), 0);
}

/* Whoever holds a session, such as a request that waits for a list, must hear of its end. */
static void what_is_held_stays_and_hears_of_its_end(void **state) {
    struct signon_bearer held[IN_MEMORY + 1] = {{0}};
    (void)state;
    for (size_t i = 0; i <= IN_MEMORY; i++)
        hold(sign_in(), &held[i]);
    for (unsigned i = 0; i < 5; i++)
        (void)sign_in();
    assert_true(session_table_count(signon->table) >= IN_MEMORY + 1);
    signon_world_session(0)->revoked_at_ms = clock_wall_ms();
    assert_int_equal(signon_apply_session_change(signon, live_session_sid(held[0].session), NULL), 0);
    assert_true(live_session_has_ended(held[0].session, clock_wall_ms()));
    signon_world_session(1)->revoked_at_ms = clock_wall_ms();
    assert_int_equal(signon_load(signon, NULL), 0); /* after a gap in the feed */
    assert_true(live_session_has_ended(held[1].session, clock_wall_ms()));
    assert_false(live_session_has_ended(held[2].session, clock_wall_ms()));
    for (size_t i = 0; i <= IN_MEMORY; i++)
        signon_bearer_done(&held[i]);
    (void)sign_in();
    assert_int_equal(session_table_count(signon->table), IN_MEMORY); /* and goes when nobody does any more */
}

/* A session that came back after each absence as if its directory had just been asked would never be asked about. */
static void who_is_to_be_asked_about_stays_until_then(void **state) {
    size_t person = sign_in_person("sid:S-1-5-21-1-2-3-1", OTHERS), user = sign_in();
    (void)state;
    (void)sign_in();
    (void)sign_in();
    assert_int_equal(verify(person), 0); /* though used longest ago */
    assert_int_equal(verify(user), ERR_NOT_FOUND);
    sw.directory_code = ERR_SESSION_ENDED;
    signon_check_directories(signon);
    assert_int_equal(verify(person), ERR_SESSION_ENDED);
}

static void sign_in_many(void) {
    for (unsigned i = 0; i < 2 * IN_MEMORY; i++)
        (void)sign_in();
    assert_int_equal(session_table_count(signon->table), IN_MEMORY);
}

/* A directory may take its time. */
static void while_a_directory_is_asked_others_may_leave(void **state) {
    (void)state;
    (void)sign_in();
    (void)sign_in();
    (void)sign_in_person("sid:S-1-5-21-1-2-3-1", OTHERS);
    sw.in_directory = sign_in_many;
    signon_check_directories(signon);
    assert_int_equal(sw.directory_questions, 1);
}

/* -- what is read when they come back ------------------------------------------------------------------------------------------- */

/* Session n leaves memory. */
static void push_out(size_t n) {
    for (unsigned i = 0; i < IN_MEMORY; i++)
        (void)sign_in();
    assert_int_equal(verify(n), ERR_NOT_FOUND);
}

static void nobody_escapes_an_end(void **state) {
    size_t revoked = sign_in(), over = sign_in();
    (void)state;
    push_out(revoked);
    signon_world_session(revoked)->revoked_at_ms = clock_wall_ms();
    assert_int_equal(signon_apply_session_change(signon, signon_world_session(revoked)->sid, NULL), 0); /* by the feed */
    assert_int_equal(verify_slow(revoked), ERR_SESSION_ENDED);
    push_out(over);
    signon_world_session(over)->ends_at_ms = clock_wall_ms();
    assert_int_equal(verify_slow(over), ERR_SESSION_ENDED);
}

/* The feed tells of the end before the thread that has written the session puts it into memory. */
static void end_the_newest(void) {
    struct session *row = signon_world_session(sw.sessions_count - 1);
    row->revoked_at_ms = clock_wall_ms();
    assert_int_equal(signon_apply_session_change(signon, row->sid, NULL), 0);
}

static void an_end_on_the_way_into_memory_counts(void **state) {
    size_t user;
    (void)state;
    sw.after_session = end_the_newest;
    user = sign_in();
    assert_int_not_equal(verify(user), 0);
    assert_int_equal(verify_slow(user), ERR_SESSION_ENDED);
}

/* Changes were missed, and all sessions are read: the one that has ended is not among them. */
static void end_the_newest_in_a_gap(void) {
    signon_world_session(sw.sessions_count - 1)->revoked_at_ms = clock_wall_ms();
    assert_int_equal(signon_load(signon, NULL), 0);
}

static void so_does_an_end_in_a_gap_of_the_feed(void **state) {
    size_t user;
    (void)state;
    sw.after_session = end_the_newest_in_a_gap;
    user = sign_in();
    assert_int_not_equal(verify(user), 0);
    assert_int_equal(verify_slow(user), ERR_SESSION_ENDED);
}

/* The row was read before that, and the session is not in memory yet. */
static void make_anna_a_user(void) {
    signon_world_session(0)->who.role = ROLE_USER;
    assert_int_equal(signon_apply_user_change(signon, sw.user->id, NULL), 0);
}

static void a_change_of_the_user_on_the_way_into_memory_counts(void **state) {
    struct signon_bearer bearer = {0};
    size_t admin = sign_in_admin();
    (void)state;
    assert_true(session_table_forget(signon->table, signon_world_session(admin)->sid));
    sw.after_load = make_anna_a_user;
    assert_int_equal(signon_verify_slow(signon, grants[admin].token, &bearer, NULL), 0);
    assert_int_equal(live_session_role(bearer.session), ROLE_USER);
    signon_bearer_done(&bearer);
}

static void administrators_see_and_end_them_all(void **state) {
    const struct session_query query = {.now_ms = clock_wall_ms(), .limit = 100};
    struct session_list list = {0};
    struct session known = {.sid = ""};
    char handle[SIGNON_HANDLE_BYTES];
    size_t first = sign_in();
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        (void)sign_in();
    assert_int_equal(verify(first), ERR_NOT_FOUND);
    assert_int_equal(signon_list_sessions(signon, &query, &list, NULL), 0);
    assert_int_equal(list.count, 6);
    session_list_done(&list);
    signon_handle_of(signon_world_session(first)->sid, handle);
    assert_int_equal(signon_end_session(signon, ACTOR, handle, NULL), 0);
    assert_string_equal(sw.last_action, "session.end");
    assert_int_equal(verify_slow(first), ERR_SESSION_ENDED);
    assert_int_equal(signon_end_session(signon, ACTOR, handle, NULL), ERR_NOT_FOUND);
    assert_int_equal(signon_find_known(signon, sw.user_name, &known, NULL), 0);
    assert_string_equal(known.sid, signon_world_session(5)->sid); /* the newest */
    session_done(&known);
}

static void role_groups_and_vcenters_are_those_of_now(void **state) {
    struct role_mapping admins = {.subject_id = guests, .role = ROLE_ADMIN};
    struct session_vcenter vc = {.vcenter_id = VC_B, .source = SOURCE_VC_SESSION, .user_name = (char[]){"X\\anna"}};
    struct signon_bearer bearer = {0};
    struct live_part parts[SESSION_VCENTERS_MAX];
    size_t person = sign_in_person("sid:S-1-5-21-1-2-3-1", OTHERS);
    struct session *row = signon_world_session(person);
    (void)state;
    sw.directory_groups = (struct group_set){0};
    assert_int_equal(group_set_copy(&row->groups, &sw.directory_groups, NULL), 0);
    signon_check_directories(signon); /* nothing new */
    push_out(person);
    row = signon_world_session(person);
    assert_int_equal(group_set_add(&row->groups, GUESTS, NULL), 0);
    group_set_seal(&row->groups);
    row->vcenters = calloc(1, sizeof(vc));
    row->vcenters_count = 1;
    assert_int_equal(session_vcenter_copy(&vc, row->vcenters, NULL), 0);
    sw.mappings[sw.mappings_count++] = admins;
    assert_int_equal(signon_apply_role_mappings(signon, NULL), 0);
    assert_int_equal(signon_verify_slow(signon, grants[person].token, &bearer, NULL), 0);
    assert_int_equal(live_session_role(bearer.session), ROLE_ADMIN);
    assert_int_equal(live_session_parts(bearer.session, parts), 1);
    live_part_done(&parts[0]);
    signon_bearer_done(&bearer);
}

/* Whether the directory still knows them is asked as soon as they are back. */
static void the_directory_is_asked_about_who_comes_back(void **state) {
    size_t person = sign_in_person("sid:S-1-5-21-1-2-3-1", OTHERS);
    (void)state;
    assert_int_equal(group_set_copy(&signon_world_session(person)->groups, &sw.directory_groups, NULL), 0);
    signon_check_directories(signon);
    push_out(person);
    sw.directory_code = ERR_SESSION_ENDED; /* disabled meanwhile */
    assert_int_equal(verify_slow(person), 0);
    signon_check_directories(signon);
    assert_int_equal(verify(person), ERR_SESSION_ENDED);
    assert_int_not_equal(signon_world_session(person)->revoked_at_ms, 0);
}

/* What the vCenter said before is not used again. */
static void rights_are_asked_anew(void **state) {
    const struct signon_use use = {.is_read = true};
    struct signon_bearer bearer = {0};
    struct session_rights rights = {0};
    size_t user;
    (void)state;
    sw.session_key = "52aa";
    user = sign_in();
    sw.session_key = "52bb";
    push_out(user);
    assert_int_equal(signon_verify_slow(signon, grants[user].token, &bearer, NULL), 0);
    assert_int_equal(signon_get_rights(signon, bearer.session, &use, &rights, NULL), 0);
    assert_int_equal(rights.wait_for, 0);
    assert_int_equal(rights.parts[0].state, SIGNON_PART_UNKNOWN);
    session_rights_done(&rights);
    signon_bearer_done(&bearer);
}

static void a_refresh_needs_no_place_in_memory(void **state) {
    struct signon_issued fresh = {0};
    size_t user = sign_in();
    (void)state;
    push_out(user);
    assert_int_equal(signon_refresh(signon, signon_world_session(user)->sid, signon_world_session(user)->jti, &fresh, NULL), 0);
    signon_issued_done(&fresh);
}

/* -- the start ------------------------------------------------------------------------------------------------------------------- */

static void a_start_loads_as_many_as_fit(void **state) {
    struct signon *other;
    size_t admin = sign_in_admin(), old = sign_in(), last;
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        last = sign_in();
    other = signon_world_replica();
    assert_int_equal(session_table_count(other->table), IN_MEMORY);
    assert_int_equal(verify_at(other, admin), 0);
    assert_int_equal(verify_at(other, last), 0);
    assert_int_equal(verify_at(other, old), ERR_NOT_FOUND);
    signon_free(other);
}

/* -- groups ------------------------------------------------------------------------------------------------------------------------ */

static void restart_with_groups_max(size_t max) {
    signon_world_free(signon);
    sw.group_places_max = max;
    sw.mappings[sw.mappings_count++] = (struct role_mapping){.subject_id = users, .role = ROLE_USER};
    signon = signon_world_new();
}

/* Whose groups have no room in memory comes in all the same, and others leave. */
static void groups_have_bounds_that_keep_nobody_out(void **state) {
    size_t local, first, second, third;
    (void)state;
    restart_with_groups_max(4);
    local = sign_in(); /* whose end would make no room */
    first = sign_in_person("sid:S-1-5-21-1-2-3-1", OTHERS);
    second = sign_in_person("sid:S-1-5-21-1-2-3-2", GUESTS);
    third = sign_in_person("sid:S-1-5-21-1-2-3-3", "sid:S-1-5-21-1-2-3-515");
    assert_int_equal(group_pool_size(signon->shared.pool).places, 4);
    assert_int_equal(verify(first), ERR_NOT_FOUND);
    assert_int_equal(verify(second), 0);
    assert_int_equal(verify(third), 0);
    assert_int_equal(verify(local), 0);
    assert_int_equal(verify_slow(first), 0);
    assert_int_equal(group_pool_size(signon->shared.pool).places, 4);
}

static void more_groups_than_before_make_others_leave(void **state) {
    struct signon_bearer bearer = {0};
    struct live_groups *groups;
    size_t first, second;
    struct session *row;
    (void)state;
    restart_with_groups_max(4);
    first = sign_in_person("sid:S-1-5-21-1-2-3-1", OTHERS);
    second = sign_in_person("sid:S-1-5-21-1-2-3-2", GUESTS);
    row = signon_world_session(second);
    assert_int_equal(group_set_add(&row->groups, OTHERS, NULL), 0);
    group_set_seal(&row->groups);
    hold(second, &bearer);
    assert_int_equal(signon_apply_session_change(signon, row->sid, NULL), 0);
    groups = live_session_groups(bearer.session);
    assert_int_equal(live_groups_get(groups)->count, 3);
    live_groups_unref(groups);
    signon_bearer_done(&bearer);
    assert_int_equal(verify(first), ERR_NOT_FOUND);
}

/* -- at the same time ----------------------------------------------------------------------------------------------------------------- */

#define THREADS 4U

static atomic_bool is_over;

/* Comes and goes, as long as the others sign in. */
static void *come_and_go(void *arg) {
    const size_t n = (size_t)(uintptr_t)arg;
    while (!atomic_load(&is_over)) {
        int rc = verify(n);
        assert_true(rc == 0 || rc == ERR_NOT_FOUND);
        if (rc)
            assert_int_equal(verify_slow(n), 0);
    }
    return NULL;
}

static void many_at_once_keep_within_bounds(void **state) {
    pthread_t threads[THREADS];
    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        (void)sign_in();
    atomic_store(&is_over, false);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < 8; i++)
        (void)sign_in();
    atomic_store(&is_over, true);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    (void)sign_in();
    assert_true(session_table_count(signon->table) <= IN_MEMORY); /* two that make room at once may make it twice */
}

/* -- people by sessions of a plug-in ------------------------------------------------------------------------------------------- */

/* There are fewer places than sessions: whose place another's falls on is not taken for that one. */
static void a_session_of_a_plugin_is_one_persons(void **state) {
    struct signon_credential credential = {.kind = VC_CREDENTIAL_PLUGIN, .vcenter_id = VC_A, .secret = sw.good_secret};
    struct signon_plugin_person person;
    struct signon_check *check = NULL;
    char other[41];
    (void)state;
    assert_int_equal(signon_world_check(signon, &credential, &check, NULL), 0);
    assert_int_equal(signon_take_plugin_person(signon, check, &person, NULL), 0);
    signon_check_free(check);
    signon_plugin_person_done(&person);
    assert_true(signon_find_plugin_person(signon, &credential, &person));
    signon_plugin_person_done(&person);
    credential.secret = other;
    for (unsigned i = 0; i < 16 * SIGNON_PLUGIN_PEOPLE_COUNT; i++) {
        (void)snprintf(other, sizeof(other), "%040x", i);
        assert_false(signon_find_plugin_person(signon, &credential, &person));
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_one_used_longest_ago_leaves),
        TEST(what_has_ended_leaves_first),
        TEST(administrators_leave_last),
        TEST(what_is_held_stays_and_hears_of_its_end),
        TEST(who_is_to_be_asked_about_stays_until_then),
        TEST(while_a_directory_is_asked_others_may_leave),
        TEST(nobody_escapes_an_end),
        TEST(an_end_on_the_way_into_memory_counts),
        TEST(so_does_an_end_in_a_gap_of_the_feed),
        TEST(a_change_of_the_user_on_the_way_into_memory_counts),
        TEST(administrators_see_and_end_them_all),
        TEST(role_groups_and_vcenters_are_those_of_now),
        TEST(the_directory_is_asked_about_who_comes_back),
        TEST(rights_are_asked_anew),
        TEST(a_refresh_needs_no_place_in_memory),
        TEST(a_start_loads_as_many_as_fit),
        TEST(groups_have_bounds_that_keep_nobody_out),
        TEST(a_session_of_a_plugin_is_one_persons),
        TEST(more_groups_than_before_make_others_leave),
        TEST(many_at_once_keep_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
