/* What an API server says of its readiness. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "kube_readyz.h"

#define READY "[+]ping ok\n[+]log ok\n"

static struct kube_readyz parse(const char *body) {
    struct kube_readyz out;
    struct err err = {0};
    if (kube_readyz_parse(body, strlen(body), &out, &err))
        fail_msg("%s: %s", body, err.text);
    assert_true(out.is_there);
    return out;
}

static void checks_are_read_by_name(void **state) {
    static const struct {
        const char *body;
        enum kube_truth etcd;
        size_t count;
        const char *first;
    } table[] = {
        {READY "[+]etcd ok\n[+]etcd-readiness ok\nreadyz check passed\n", KUBE_TRUE, 0, NULL},
        {READY "[-]etcd failed: reason withheld\n[+]etcd-readiness ok\nreadyz check failed\n", KUBE_FALSE, 1, "etcd"},
        {READY "[+]etcd ok\n[-]etcd-readiness failed: reason withheld\n", KUBE_FALSE, 1, "etcd-readiness"},
        {READY "[+]etcd excluded: ok\n[+]etcd-readiness ok\n", KUBE_TRUE, 0, NULL},
        {READY "[+]etcd ok\n[-]etcd-override-0 failed: reason withheld\n", KUBE_TRUE, 1, "etcd-override-0"},
        {READY "[+]etcd ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n", KUBE_TRUE, 1,
         "poststarthook/rbac/bootstrap-roles"},
        {"ok", KUBE_UNKNOWN, 0, NULL},
        {"ok\n", KUBE_UNKNOWN, 0, NULL},
        {"[-]shutdown failed: reason withheld", KUBE_UNKNOWN, 1, "shutdown"}, /* no line end */
        {"[-]a\tb\x01\xc3\xa4 failed\n", KUBE_UNKNOWN, 1, "a?b???"},
        {"[+]x\r\nwarn: some health checks cannot be excluded\n[-]\n[*]y\n[-z\n", KUBE_UNKNOWN, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(table); i++) {
        const struct kube_readyz z = parse(table[i].body);
        assert_int_equal(z.etcd, table[i].etcd);
        assert_int_equal(z.failed_count, table[i].count);
        assert_string_equal(z.failed[0], table[i].first ? table[i].first : "");
    }
}

static void many_and_long_checks_are_counted_and_cut(void **state) {
    char body[4096] = "";
    (void)state;
    for (int i = 0; i < KUBE_READYZ_NAMED_MAX + 3; i++)
        (void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "[-]%0100d failed: reason withheld\n", i);
    (void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "[-]etcd failed: reason withheld\n");
    const struct kube_readyz z = parse(body);
    assert_int_equal(z.failed_count, KUBE_READYZ_NAMED_MAX + 4);
    assert_int_equal(z.etcd, KUBE_FALSE); /* though it is not among those that are kept */
    for (size_t i = 0; i < KUBE_READYZ_NAMED_MAX; i++)
        assert_int_equal(strlen(z.failed[i]), KUBE_READYZ_NAME_BYTES - 1);
}

static void what_no_api_server_says_is_refused(void **state) {
    static const char *const bodies[] = {"", "o", "okay", "not ok\n", "<html>[+]ping ok</html>", "\n\n", "{\"kind\":\"Status\"}"};
    static char large[KUBE_READYZ_BYTES_MAX + 1];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bodies); i++) {
        struct kube_readyz out = {.failed_count = 77};
        struct err err = {0};
        if (kube_readyz_parse(bodies[i], strlen(bodies[i]), &out, &err) != ERR_PROTOCOL)
            fail_msg("taken: %s", bodies[i]);
        assert_int_equal(out.failed_count, 77);
        assert_true(err.remedy[0]);
    }
    memset(large, '\n', sizeof(large));
    memcpy(large, "ok", 2);
    struct kube_readyz out;
    assert_int_equal(kube_readyz_parse(large, sizeof(large), &out, NULL), ERR_TOO_LARGE);
    assert_int_equal(kube_readyz_parse(large, sizeof(large) - 1, &out, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_are_read_by_name),
        cmocka_unit_test(many_and_long_checks_are_counted_and_cut),
        cmocka_unit_test(what_no_api_server_says_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
