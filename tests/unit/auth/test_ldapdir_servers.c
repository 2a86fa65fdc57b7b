/* Which server of a directory is asked, and on whose connection: ldapdir_pool.c, over servers in memory.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "ldapdirs.h"
#include "ldapdir_world.h"
#include "str.h"

#define REST_MS 1200       /* longer than the first rest of a server: a second, and a fifth of it by chance */
#define LONG_REST_MS 73000 /* longer than the longest */
#define IDLE_MS 60000

static const struct world_entry anna = {.dn = "CN=anna," WORLD_AD_BASE,
                                        .password = "right horse",
                                        .values = {{"objectCategory", "person"},
                                                   {"objectClass", "user"},
                                                   {"sAMAccountName", "anna"},
                                                   {"objectSid", "S-1-5-21-1-2-3-1001"},
                                                   {"userAccountControl", "512"}}};

static struct err err;

/* What was opened since the log was forgotten, in words. */
static void read_opened(char opened[100]) {
    char *line, *rest = iw.log;
    opened[0] = '\0';
    while ((line = strsep(&rest, "\n")))
        if (str_starts(line, "open "))
            (void)snprintf(opened + strlen(opened), 100 - strlen(opened), "%s%s", *opened ? " " : "", line + 5);
}

/* Two questions, for the account and for its groups, on one connection. */
static int ask(void) {
    const struct ldapdir_principal who = {.realm = "AD.TEST", .name = "anna"};
    struct ldapdir_person person = {0};
    int rc = ldapdir_lookup_principal(iw.ldapdirs, &who, &person, &err);
    ldapdir_person_done(&person);
    return rc;
}

/* The same, and a password on a connection of its own between the two. */
static int log_in(void) {
    const struct ldapdir_password good = {"ad", "anna", "right horse"};
    struct ldapdir_person person = {0};
    int rc = ldapdir_check_password(iw.ldapdirs, &good, &person, &err);
    ldapdir_person_done(&person);
    return rc;
}

static void expect(int (*fn)(void), int code, const char *hosts, int line) {
    char opened[100];
    int rc;
    ldapdir_world_forget();
    err = (struct err){0};
    rc = fn();
    read_opened(opened);
    if (rc != code || !str_eq(opened, hosts))
        fail_msg("line %d: %s (%s), opened \"%s\" where \"%s\" is expected", line, err_slug(rc), err.text, opened, hosts);
}
#define EXPECT(code, hosts) expect(ask, code, hosts, __LINE__)
#define EXPECT_LOGIN(code, hosts) expect(log_in, code, hosts, __LINE__)

static enum ldapdir_state state_now(void) {
    struct ldapdir_report_list list = {0};
    enum ldapdir_state now = LDAPDIR_UNKNOWN;
    assert_int_equal(ldapdir_list(iw.ldapdirs, &list, NULL), 0);
    for (size_t i = 0; i < list.count; i++)
        if (str_eq(list.items[i].source.name, "ad"))
            now = list.items[i].state;
    ldapdir_report_list_done(&list);
    return now;
}

static int set_up(void **state) {
    (void)ldapdir_world_set_up(state);
    ldapdir_world_add(&anna);
    return 0;
}

static void one_connection_does_for_a_minute(void **state) {
    (void)state;
    assert_int_equal(state_now(), LDAPDIR_UNKNOWN);
    EXPECT(0, "dc1");
    assert_int_equal(state_now(), LDAPDIR_OK);
    assert_int_equal(iw.binds, 1);
    EXPECT(0, "");
    clock_advance_ms(IDLE_MS);
    EXPECT(0, "");
    clock_advance_ms(IDLE_MS + 1);
    EXPECT(0, "dc1");
    assert_int_equal(iw.opened, iw.closed + 1);
}

/* What somebody proved a password on is not asked by others: it is bound as that person. */
static void a_password_is_tried_on_a_connection_of_its_own(void **state) {
    (void)state;
    EXPECT(0, "dc1");
    for (int i = 0; i < 3; i++) {
        const unsigned closed = iw.closed;
        EXPECT_LOGIN(0, "dc1");
        assert_int_equal(iw.closed - closed, 1);
    }
    EXPECT(0, "");
}

static void the_next_server_is_asked_while_the_first_rests(void **state) {
    (void)state;
    iw.dead_hosts = "dc1";
    EXPECT(0, "dc1 dc2");
    assert_int_equal(state_now(), LDAPDIR_OK);
    EXPECT_LOGIN(0, "dc2"); /* what is kept, and a new one */
    clock_advance_ms(REST_MS);
    EXPECT_LOGIN(0, "dc1 dc2");
    EXPECT_LOGIN(0, "dc2");
    clock_advance_ms(LONG_REST_MS);
    iw.dead_hosts = NULL;
    EXPECT_LOGIN(0, "dc1 dc1"); /* back: the first in the order of the configuration goes first again */
    EXPECT_LOGIN(0, "dc1");
}

/* What is configured anew is known to be neither good nor bad. */
static void a_changed_directory_begins_anew(void **state) {
    (void)state;
    iw.dead_hosts = "dc1";
    EXPECT(0, "dc1 dc2");
    ldapdir_world_sync();
    assert_int_equal(state_now(), LDAPDIR_UNKNOWN);
    assert_int_equal(iw.opened, iw.closed);
    iw.dead_hosts = NULL;
    EXPECT(0, "dc1");
    assert_int_equal(ldapdir_sync(iw.ldapdirs, NULL), 0); /* unchanged: it goes on with its connections */
    assert_int_equal(state_now(), LDAPDIR_OK);
    EXPECT(0, "");
}

static void a_lost_connection_is_no_outage(void **state) {
    (void)state;
    EXPECT(0, "dc1");
    iw.lose_after = 1; /* closed by the server while nobody asked */
    EXPECT(0, "dc1");
    iw.lose_after = 2;
    EXPECT(0, "dc1");
    iw.lose_after = 1;
    iw.lose_code = ERR_TLS;
    EXPECT(0, "dc1");
    assert_int_equal(state_now(), LDAPDIR_OK);
    iw.lose_after = 1;
    iw.lose_code = ERR_UPSTREAM; /* a refusal is an answer: nothing is asked twice */
    EXPECT(ERR_UPSTREAM, "");
    assert_int_equal(state_now(), LDAPDIR_OK);
}

static void while_all_are_dead_nobody_waits(void **state) {
    (void)state;
    iw.dead_hosts = "dc1 dc2";
    EXPECT(ERR_UNREACHABLE, "dc1 dc2");
    assert_int_equal(state_now(), LDAPDIR_FAILING);
    EXPECT(ERR_UNREACHABLE, "dc1 dc2"); /* once is no outage: it is tried again */
    clock_advance_ms(REST_MS);
    EXPECT(ERR_UNREACHABLE, "dc1 dc2");
    for (int i = 0; i < 3; i++) {
        EXPECT(ERR_UNREACHABLE, "");
        assert_true(err.retry_after_s >= 1 && err.retry_after_s <= 3);
    }
    clock_advance_ms(LONG_REST_MS);
    EXPECT(ERR_UNREACHABLE, "dc1 dc2");
    EXPECT(ERR_UNREACHABLE, "");
    clock_advance_ms(LONG_REST_MS);
    iw.dead_hosts = "dc1";
    EXPECT(0, "dc1 dc2");
    assert_int_equal(state_now(), LDAPDIR_OK);
}

/* Who has met the failure of the last good one tries those that rest: one of them may be back. */
static void the_last_good_one_is_not_the_last_hope(void **state) {
    (void)state;
    iw.dead_hosts = "dc1";
    for (int i = 0; i < 3; i++) {
        EXPECT_LOGIN(0, i ? "dc1 dc2" : "dc1 dc2 dc2");
        clock_advance_ms(REST_MS << i);
    }
    EXPECT_LOGIN(0, "dc1 dc2");
    iw.dead_hosts = "dc2";
    EXPECT_LOGIN(0, "dc2 dc1 dc1"); /* and what was kept of dc2 is given up */
}

/* What was bad once and good since is as good as any: its next failure is the first. */
static void what_is_good_again_is_forgiven(void **state) {
    (void)state;
    iw.dead_hosts = "dc1 dc2";
    EXPECT_LOGIN(ERR_UNREACHABLE, "dc1 dc2");
    clock_advance_ms(REST_MS);
    EXPECT_LOGIN(ERR_UNREACHABLE, "dc1 dc2");
    EXPECT_LOGIN(ERR_UNREACHABLE, "");
    clock_advance_ms(LONG_REST_MS);
    iw.dead_hosts = NULL;
    EXPECT_LOGIN(0, "dc1 dc1");
    assert_int_equal(state_now(), LDAPDIR_OK);
    clock_advance_ms(1); /* the connection that was kept is closed with the server */
    iw.lose_after = 1;
    iw.dead_hosts = "dc1 dc2";
    EXPECT_LOGIN(ERR_UNREACHABLE, "dc1 dc2");
    assert_int_equal(state_now(), LDAPDIR_FAILING);
    EXPECT_LOGIN(ERR_UNREACHABLE, "dc1 dc2");
}

static void the_reason_is_told(void **state) {
    static const int codes[] = {ERR_UNREACHABLE, ERR_TIMEOUT, ERR_TLS};
    for (size_t i = 0; i < UNIT_COUNT(codes); i++) {
        (void)ldapdir_world_tear_down(state);
        (void)set_up(state);
        iw.dead_hosts = "dc1 dc2";
        iw.dead_code = codes[i];
        EXPECT(codes[i], "dc1 dc2");
        assert_string_equal(err.text, "dc2 is dead");
    }
}

/* kaasd's own password, changed in the directory: no person's fault. */
static void our_own_password_is_our_own_fault(void **state) {
    (void)state;
    iw.own_password = "changed";
    EXPECT(ERR_UPSTREAM, "dc1 dc2");
    assert_non_null(strstr(err.text, "does not accept what kaasd binds with"));
    assert_non_null(strstr(err.remedy, "kaasctl ldap test ad"));
}

static void nothing_is_asked_after_the_stop(void **state) {
    (void)state;
    ldapdir_stop(iw.ldapdirs);
    EXPECT(ERR_CANCELED, "");
}

#define SERVERS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, ldapdir_world_tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        SERVERS_TEST(one_connection_does_for_a_minute),
        SERVERS_TEST(a_password_is_tried_on_a_connection_of_its_own),
        SERVERS_TEST(the_next_server_is_asked_while_the_first_rests),
        SERVERS_TEST(a_changed_directory_begins_anew),
        SERVERS_TEST(a_lost_connection_is_no_outage),
        SERVERS_TEST(while_all_are_dead_nobody_waits),
        SERVERS_TEST(the_last_good_one_is_not_the_last_hope),
        SERVERS_TEST(what_is_good_again_is_forgiven),
        SERVERS_TEST(the_reason_is_told),
        SERVERS_TEST(our_own_password_is_our_own_fault),
        SERVERS_TEST(nothing_is_asked_after_the_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
