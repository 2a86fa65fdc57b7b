/* Unit tests of src/kubernetes/let_pass: what of an API server's answers a job's step tries again, and for how long.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "json.h"
#include "kubernetes.h"

static struct job_call call;
static int decided;      /* how often */
static int decide_fails; /* with this error */

int job_decide(struct job_call *at, const char *name, const char *value, struct err *err) {
    if (decide_fails)
        return err_set(err, decide_fails, "the database is away");
    decided++;
    json_put_string(at->decided, name, value);
    return 0;
}

static int begin(void **state) {
    (void)state;
    call = (struct job_call){.decided = json_object()};
    call.data = call.decided;
    decided = decide_fails = 0;
    clock_fake(1000, INT64_C(1767225600000));
    return 0;
}

static int end(void **state) {
    (void)state;
    json_decref(call.decided);
    clock_unfake();
    return 0;
}

static int pass(int rc) {
    struct err why = {0}, err = {0};
    if (rc)
        (void)err_set(&why, rc, "what it said");
    rc = kubernetes_let_pass(&call, rc, &why, &err);
    assert_int_equal(err.code, rc);
    assert_string_equal(err.text, rc ? "what it said" : "");
    return rc;
}

static void its_own_errors_pass_however_long(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pass(ERR_UPSTREAM), ERR_UNAVAILABLE);
        clock_advance_ms(CLOCK_DAY_MS);
    }
    assert_int_equal(decided, 0);
}

static void all_else_stays_as_it_is(void **state) {
    static const int codes[] = {0, ERR_UNREACHABLE, ERR_TIMEOUT, ERR_TLS, ERR_NOT_FOUND, ERR_CONFLICT, ERR_PROTOCOL};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(codes); i++)
        assert_int_equal(pass(codes[i]), codes[i]);
    assert_int_equal(decided, 0);
}

static void a_denial_passes_for_as_long_as_a_start_takes(void **state) {
    (void)state;
    assert_int_equal(pass(ERR_UNAUTHENTICATED), ERR_UNAVAILABLE);
    clock_advance_ms((KUBE_DENIED_S - 1) * 1000);
    assert_int_equal(pass(ERR_UPSTREAM_DENIED), ERR_UNAVAILABLE);
    clock_advance_ms(1000);
    assert_int_equal(pass(ERR_UPSTREAM_DENIED), ERR_UPSTREAM_DENIED);
    assert_int_equal(decided, 2);
    assert_int_equal(pass(ERR_UNAUTHENTICATED), ERR_UNAVAILABLE); /* somebody retries, at another start */
}

static void a_later_start_takes_as_long(void **state) {
    static const int between[] = {0, ERR_UNREACHABLE, ERR_UPSTREAM};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(between); i++) {
        assert_int_equal(pass(ERR_UPSTREAM_DENIED), ERR_UNAVAILABLE);
        clock_advance_ms(KUBE_DENIED_S * 1000);
        (void)pass(between[i]);
        assert_int_equal(pass(ERR_UPSTREAM_DENIED), ERR_UNAVAILABLE);
        (void)pass(0);
    }
}

static void what_cannot_be_kept_is_told(void **state) {
    struct err why = {0}, err = {0};
    (void)state;
    decide_fails = ERR_DATABASE;
    (void)err_set(&why, ERR_UPSTREAM_DENIED, "no");
    assert_int_equal(kubernetes_let_pass(&call, ERR_UPSTREAM_DENIED, &why, &err), ERR_DATABASE);
    assert_string_equal(err.text, "the database is away");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(its_own_errors_pass_however_long),
        CASE(all_else_stays_as_it_is),
        CASE(a_denial_passes_for_as_long_as_a_start_takes),
        CASE(a_later_start_takes_as_long),
        CASE(what_cannot_be_kept_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
