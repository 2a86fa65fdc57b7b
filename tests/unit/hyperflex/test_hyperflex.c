/* Unit tests of src/hyperflex: as few logins as can be, whatever happens between, and no password to who is not an HX cluster.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "hyperflex_world.h"
#include "publish.h"
#include "str.h"
#include "tls_server.h"

#define HOUR_MS (60 * 60 * INT64_C(1000))

static struct hyperflex *h;

static int set_up(void **state) {
    (void)state;
    h = hyperflex_world_new(NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    hyperflex_world_free(h);
    return 0;
}

static void inherit(void) {
    hw.connection->is_inherited = true;
    hw.credential = calloc(1, sizeof(*hw.credential));
    assert_non_null(hw.credential);
    *hw.credential = (struct hx_credential){.vcenter_id = str_dup(VCENTER_ID), .user_name = str_dup("admin")};
}

static void tell(const char *address, unsigned port) {
    char copy[100];
    (void)snprintf(copy, sizeof(copy), "%s", address);
    hx_addresses_done(&hw.told);
    assert_int_equal(hx_addresses_add(&hw.told, &(struct hx_address){.address = copy, .port = port}, NULL), 0);
}

/* -- logins ------------------------------------------------------------------------------------------------------------------ */

/* A crash behind it, or another replica, makes no second login of it. */
static void the_time_of_the_next_login_is_stored_before_hx_is_asked(void **state) {
    (void)state;
    hw.login_code = ERR_CANCELED; /* as where kaasd ends before the answer */
    assert_int_equal(hyperflex_world_test(h), ERR_CANCELED);
    assert_int_equal(hw.next_login_at_ms, clock_wall_ms() + HYPERFLEX_LOGIN_GAP_MS);
    hw.login_code = 0;
    assert_int_equal(hyperflex_world_test(h), 0);
    assert_string_equal(hw.status->remote.reason, "login_waits");
    assert_int_equal(hw.logins, 1);
    clock_advance_ms(HYPERFLEX_LOGIN_GAP_MS);
    assert_int_equal(hyperflex_world_test(h), 0);
    assert_int_equal(hw.status->remote.state, REMOTE_OK);
    assert_int_equal(hw.logins, 2);
}

static void without_a_database_there_is_no_login(void **state) {
    (void)state;
    hw.saves_max = 1;
    assert_int_equal(hyperflex_world_test(h), ERR_DATABASE);
    assert_int_equal(hw.logins, 0);
}

static void a_token_that_cannot_be_kept_is_given_back(void **state) {
    (void)state;
    hw.saves_max = 2; /* the time of the next login is written yet */
    assert_int_equal(hyperflex_world_test(h), ERR_DATABASE);
    assert_int_equal(hw.logins, 1);
    assert_int_equal(hw.tokens_held, 0);
}

static void the_time_of_a_login_holds_unless_a_clock_was_put_back(void **state) {
    static const struct {
        int64_t in_ms;
        unsigned logins;
    } cases[] = {{1, 0}, {HOUR_MS, 0}, {HOUR_MS + 1, 1}, {400 * CLOCK_DAY_MS, 1}, {0, 1}, {-1, 1}};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        hw.logins = 0;
        hw.login_code = ERR_UNREACHABLE;
        hw.status->next_login_at_ms = clock_wall_ms() + cases[i].in_ms;
        assert_int_equal(hyperflex_world_test(h), 0);
        assert_int_equal(hw.logins, cases[i].logins);
    }
}

/* The account may be one of the vCenter's: which replica ever tries it, the others learn of it first. */
static void what_is_inherited_one_replica_tries_at_a_time(void **state) {
    (void)state;
    inherit();
    hw.taken_lease = "hx-inherited-login";
    assert_int_equal(hyperflex_world_test(h), ERR_BUSY);
    assert_int_equal(hw.logins, 0);
    hw.taken_lease = NULL;
    hw.login_code = ERR_UNAUTHENTICATED;
    assert_int_equal(hyperflex_world_test(h), 0);
    assert_int_equal(hw.logins, 1);
    assert_true(hw.credential->refused_at_ms > 0);
    hw.status->refusals = 0; /* as another HX cluster of the vCenter */
    hw.status->next_login_at_ms = 0;
    assert_int_equal(hyperflex_world_test(h), 0);
    assert_string_equal(hw.status->remote.reason, "credential_refused");
    assert_int_equal(hw.logins, 1);
}

static void one_hx_cluster_sees_one_replica_at_a_time(void **state) {
    (void)state;
    hw.taken_lease = "hx:";
    assert_int_equal(hyperflex_world_test(h), ERR_BUSY);
    assert_int_equal(hw.logins + hw.reads, 0);
}

/* -- when it is tried again ---------------------------------------------------------------------------------------------------- */

static void one_that_is_away_is_tried_again_soon(void **state) {
    static const struct {
        int code;
        int64_t wait_ms;
    } cases[] = {{ERR_UNREACHABLE, HYPERFLEX_RETRY_MS}, {ERR_TIMEOUT, HYPERFLEX_RETRY_MS}, {ERR_TLS, HYPERFLEX_RETRY_MS},
                 {ERR_PROTOCOL, READ_EVERY_MS},         {ERR_FORBIDDEN, READ_EVERY_MS},    {0, READ_EVERY_MS}};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        hw.read_code = cases[i].code;
        assert_int_equal(hyperflex_world_test(h), 0);
        assert_int_equal(hw.status->remote.next_at_ms, clock_wall_ms() + cases[i].wait_ms);
        assert_int_equal(hw.status->remote.state, cases[i].code ? REMOTE_FAILING : REMOTE_OK);
    }
    assert_int_equal(hw.logins, 1);
}

static void a_time_that_is_days_away_is_of_a_clock_that_was_put_back(void **state) {
    struct hx_status status = {.hx_id = NULL};
    (void)state;
    for (int64_t in_ms = -CLOCK_DAY_MS; in_ms <= 4 * CLOCK_DAY_MS; in_ms += HOUR_MS) {
        status.remote.next_at_ms = clock_wall_ms() + in_ms;
        assert_int_equal(remote_status_is_time(&status.remote, clock_wall_ms()), in_ms <= 0 || in_ms > 2 * CLOCK_DAY_MS);
    }
}

/* -- publications -------------------------------------------------------------------------------------------------------------- */

/* HX has taken nothing, so there is nothing that it would have to forget. */
static void what_hx_refuses_it_does_not_hold(void **state) {
    static const int codes[] = {ERR_FORBIDDEN, ERR_UNAUTHENTICATED};
    static const struct actor somebody = {.address = "192.0.2.1"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(codes); i++) {
        _cleanup_(hx_publication_free) struct hx_publication *after = NULL, *withdrawn = NULL;
        hw.publish_code = codes[i];
        assert_int_equal(hyperflex_publish(h, &somebody, HX_ID, true, &after, NULL), 0);
        assert_int_equal(after->state, HX_PUBLICATION_REFUSED);
        assert_int_equal(after->expires_at_ms, 0);
        assert_int_equal(hyperflex_publish(h, &somebody, HX_ID, false, &withdrawn, NULL), 0);
        assert_int_equal(withdrawn->state, HX_PUBLICATION_WITHDRAWN);
    }
    assert_int_equal(hw.publishes, UNIT_COUNT(codes));
    assert_int_equal(hw.withdrawals, 0);
}

static void what_hx_may_have_taken_is_withdrawn(void **state) {
    static const struct actor somebody = {.address = "192.0.2.1"};
    _cleanup_(hx_publication_free) struct hx_publication *after = NULL, *withdrawn = NULL;
    (void)state;
    hw.publish_code = ERR_TIMEOUT;
    assert_int_equal(hyperflex_publish(h, &somebody, HX_ID, true, &after, NULL), 0);
    assert_int_equal(after->expires_at_ms, clock_wall_ms() + PUBLISH_HOLD_MS);
    hw.publish_code = 0;
    assert_int_equal(hyperflex_publish(h, &somebody, HX_ID, false, &withdrawn, NULL), 0);
    assert_int_equal(hw.withdrawals, 1);
}

/* -- the search ---------------------------------------------------------------------------------------------------------------- */

static void names_stand_for_hosts_and_networks(void **state) {
    static const struct {
        const char *name, *address;
        bool is_named;
    } cases[] = {
        {"hx-east.example.com", "HX-East.Example.Com", true},
        {"hx-east.example.com", "hx-east.example.com.", false},
        {"hx-*.example.com", "hx-1.example.com", true},
        {"hx-*.example.com", "hx-1.x.example.com", false},
        {"hx-*.example.com", "hx-1.example.com.evil", false},
        {"hx-*.example.com", "evil-hx-1.example.com", false},
        {"*.example.com", "example.com", false},
        {"*.*.example.com", "a.b.example.com", true},
        {"a*b*c", "axxbxxc", true},
        {"a*b*c", "axxbxx", false},
        {"192.0.2.0/24", "192.0.2.200", true},
        {"192.0.2.0/24", "192.0.3.1", false},
        {"192.0.2.7", "192.0.2.7", true},
        {"192.0.*.7", "192.0.2.7", false},
        {"192.0.2.0/24", "hx-east.example.com", false},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const char *const names[] = {"other.example.com", cases[i].name, NULL};
        char address[100];
        struct hyperflex_look look;
        (void)snprintf(address, sizeof(address), "%s", cases[i].address);
        hyperflex_world_free(h);
        h = hyperflex_world_new(names);
        for (int is_valid = 0; is_valid < 2; is_valid++) {
            hw.is_chain_valid = is_valid;
            hyperflex_look_at(h, &(struct hx_address){.address = address, .port = 443}, &look);
            assert_int_equal(look.is_chain_valid, is_valid);
            assert_int_equal(look.is_trusted, is_valid && cases[i].is_named);
        }
    }
}

/* How many connections a search writes, and how many handshakes it makes. */
static void search(unsigned puts, unsigned handshakes) {
    hw.puts = hw.handshakes = 0;
    hyperflex_search(h, false);
    assert_int_equal(hw.puts, puts);
    assert_int_equal(hw.handshakes, handshakes);
}

static void the_search_connects_once(void **state) {
    static const char *const names[] = {"192.0.2.0/24", NULL};
    struct test_cert ca;
    (void)state;
    test_cert_make(&(struct test_cert_request){.common_name = "HX", .is_ca = true}, &ca);
    hyperflex_world_free(h);
    h = hyperflex_world_new(names);
    inherit();
    hw.is_chain_valid = true;
    hx_connection_free(hw.connection);
    hw.connection = NULL;
    tell("192.0.2.9", 443);
    search(1, 1);
    assert_string_equal(hw.connection->address, "192.0.2.9");
    assert_true(hw.connection->is_inherited);
    search(0, 0); /* it is told still, so there it stays, and logs in no more */
    tell("192.0.2.10", 443);
    hw.is_chain_valid = false;
    search(0, 1);
    hw.is_chain_valid = true;
    hw.taken_lease = "hx-search";
    search(0, 0);
    hw.taken_lease = NULL;
    search(1, 1);
    assert_string_equal(hw.connection->address, "192.0.2.10");
    hw.connection->ca_pem = str_dup(ca.cert_pem); /* it comes along */
    tell("192.0.2.11", 443);
    search(1, 1);
    assert_string_equal(hw.connection->address, "192.0.2.11");
    assert_non_null(hw.connection->ca_pem);
    assert_string_equal(hw.connection->ca_pem, ca.cert_pem);
    test_cert_done(&ca);
}

/* Not even a handshake. */
static void the_search_leaves_alone_what_nobody_has_named(void **state) {
    (void)state;
    inherit();
    hw.is_chain_valid = true;
    tell("192.0.2.9", 443);
    search(0, 0);
    /* confirmed by somebody: whoever shows it is the same */
    hw.connection->sha256 = str_dup("0000000000000000000000000000000000000000000000000000000000000000");
    hw.is_chain_valid = false;
    search(0, 1);
    hw.is_chain_valid = true;
    search(1, 1);
    free(hw.connection->sha256);
    hw.connection->sha256 = NULL;
    hw.connection->ca_pem = str_dup("a CA of its own");
    tell("192.0.2.10", 443);
    search(0, 0);
    hx_connection_free(hw.connection);
    hw.connection = NULL;
    search(0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_time_of_the_next_login_is_stored_before_hx_is_asked),
        TEST(without_a_database_there_is_no_login),
        TEST(a_token_that_cannot_be_kept_is_given_back),
        TEST(the_time_of_a_login_holds_unless_a_clock_was_put_back),
        TEST(what_is_inherited_one_replica_tries_at_a_time),
        TEST(one_hx_cluster_sees_one_replica_at_a_time),
        TEST(one_that_is_away_is_tried_again_soon),
        TEST(a_time_that_is_days_away_is_of_a_clock_that_was_put_back),
        TEST(what_hx_refuses_it_does_not_hold),
        TEST(what_hx_may_have_taken_is_withdrawn),
        TEST(names_stand_for_hosts_and_networks),
        TEST(the_search_connects_once),
        TEST(the_search_leaves_alone_what_nobody_has_named),
    };
    return cmocka_run_group_tests_name("hyperflex", tests, NULL, NULL);
}
