/* Looking at names and ports: what is found, what is said, and that nobody waits for ever. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net_addr.h"

#define LIMIT_MS 20000

/* A bound socket on loopback; with `backlog` below 0 it does not listen, so that its port is taken and closed. */
static int make_socket(int backlog, unsigned *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    if (backlog >= 0)
        assert_int_equal(listen(fd, backlog), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void an_address_is_its_own_name(void **state) {
    struct net_addresses found = {.count = 0};
    (void)state;
    assert_int_equal(net_lookup_name("127.0.0.1", LIMIT_MS, &found, NULL), 0);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.items[0], "127.0.0.1");
    assert_int_equal(net_lookup_name("::1", LIMIT_MS, &found, NULL), 0);
    assert_string_equal(found.items[0], "::1");
}

static void a_name_that_does_not_exist_is_told(void **state) {
    struct net_addresses found = {.count = 0};
    struct err err = {0};
    int rc = net_lookup_name("no-such-host.invalid", LIMIT_MS, &found, &err); /* RFC 6761: never resolves */
    (void)state;
    assert_true(rc == ERR_NOT_FOUND || rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT); /* the last two without any name server */
    assert_non_null(strstr(err.text, "no-such-host.invalid"));
    assert_int_equal(found.count, 0);
}

/* The thread of the look-up frees what its asker left: seen by the sanitizers. */
static void nobody_waits_longer_than_asked(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct net_addresses found = {.count = 0};
        struct err err = {0};
        int rc = net_lookup_name("localhost", 0, &found, &err);
        assert_true(rc == 0 || rc == ERR_TIMEOUT);
    }
}

static void an_open_port_is_open_and_a_closed_one_refuses(void **state) {
    struct err err = {0};
    unsigned port = 0;
    int fd = make_socket(4, &port);
    (void)state;
    assert_int_equal(net_probe_port("127.0.0.1", port, LIMIT_MS, &err), 0);
    assert_int_equal(close(fd), 0);
    fd = make_socket(-1, &port);
    assert_int_equal(net_probe_port("127.0.0.1", port, LIMIT_MS, &err), ERR_UNREACHABLE);
    assert_non_null(strstr(err.text, "refuses"));
    assert_int_equal(close(fd), 0);
}

static void many_ports_are_tried_at_once(void **state) {
    unsigned open_port, closed_port;
    int open_fd = make_socket(300, &open_port), closed_fd = make_socket(-1, &closed_port);
    struct net_try tries[2 * NET_TRIES_AT_ONCE + 1];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(tries); i++) {
        tries[i] = (struct net_try){.port = i % 2 ? open_port : closed_port, .why = -1};
        (void)snprintf(tries[i].address, sizeof(tries[i].address), "%s", i == 4 ? "nonsense" : "127.0.0.1");
    }
    net_try_ports(tries, UNIT_COUNT(tries), LIMIT_MS);
    for (size_t i = 0; i < UNIT_COUNT(tries); i++)
        assert_int_equal(tries[i].why, i == 4 ? EINVAL : i % 2 ? 0 : ECONNREFUSED);
    (void)close(open_fd);
    (void)close(closed_fd);
}

static void a_name_is_no_address(void **state) {
    (void)state;
    assert_int_equal(net_probe_port("localhost", 443, LIMIT_MS, NULL), ERR_INVALID);
}

static void the_same_address_in_other_words(void **state) {
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "::ffff:192.0.2.1", true},
        {"2001:db8::1", "2001:DB8:0:0::1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"192.0.2.1", "::192.0.2.1", false},
        {"localhost", "localhost", false},
        {NULL, NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(net_same_address(cases[i].a, cases[i].b), cases[i].same);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_its_own_name),      cmocka_unit_test(a_name_that_does_not_exist_is_told),
        cmocka_unit_test(nobody_waits_longer_than_asked),  cmocka_unit_test(an_open_port_is_open_and_a_closed_one_refuses),
        cmocka_unit_test(many_ports_are_tried_at_once),    cmocka_unit_test(a_name_is_no_address),
        cmocka_unit_test(the_same_address_in_other_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
