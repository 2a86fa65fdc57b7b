/* When an HX cluster is to be told where KaaS is.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "hx_connection.h"

#define NOW (1000 * CLOCK_DAY_MS)
#define REST HX_PUBLICATION_REST
#define PUT HX_PUBLICATION_PUT
#define DELETE HX_PUBLICATION_DELETE

/* Published an hour ago, as it would be said now. */
static struct hx_publication published(void) {
    return (struct hx_publication){.is_wanted = true,
                                   .state = HX_PUBLICATION_PUBLISHED,
                                   .digest = "a",
                                   .tried_at_ms = NOW - 3600000,
                                   .expires_at_ms = NOW + CLOCK_DAY_MS,
                                   .next_at_ms = NOW + 1};
}

static enum hx_publication_step next(const struct hx_publication *row, const char *digest) {
    return hx_publication_next(
        &(struct hx_publication_case){.row = row, .digest = digest, .digest_since_ms = NOW - CLOCK_DAY_MS, .now_ms = NOW});
}

static void test_one_that_was_told_nothing(void **state) {
    struct hx_publication_case c = {.digest = "a", .now_ms = NOW};
    (void)state;
    assert_int_equal(hx_publication_next(&c), REST);
    c.is_automatic = true;
    assert_int_equal(hx_publication_next(&c), PUT);
    c.digest = NULL; /* nothing may be said */
    assert_int_equal(hx_publication_next(&c), REST);
}

static void test_again_when_it_is_time(void **state) {
    struct hx_publication row = published();
    (void)state;
    assert_int_equal(next(&row, "a"), REST);
    row.next_at_ms = NOW;
    assert_int_equal(next(&row, "a"), PUT);
    row.next_at_ms = NOW + 3 * CLOCK_DAY_MS; /* a clock was put back */
    assert_int_equal(next(&row, "a"), PUT);
    row.state = HX_PUBLICATION_NOT_SUPPORTED;
    row.next_at_ms = NOW + 1;
    assert_int_equal(next(&row, "a"), REST);
}

static void test_news_of_this_replica_alone(void **state) {
    struct hx_publication row = published();
    (void)state;
    assert_int_equal(next(&row, "b"), REST); /* another one has said something else since we say this */
    row.tried_at_ms = NOW - CLOCK_DAY_MS - 1;
    assert_int_equal(next(&row, "b"), PUT);
    assert_int_equal(next(&row, "a"), REST);
    row.state = HX_PUBLICATION_FAILING;
    assert_int_equal(next(&row, "b"), PUT);
    memcpy(row.reason, "rate_limited", sizeof("rate_limited"));
    assert_int_equal(next(&row, "b"), REST); /* HX has said when */
    row.next_at_ms = NOW;
    assert_int_equal(next(&row, "b"), PUT);
}

static void test_what_is_not_wanted_is_withdrawn_once(void **state) {
    struct hx_publication row = published();
    (void)state;
    assert_int_equal(next(&row, NULL), DELETE); /* the vCenter is not registered any more */
    row.is_wanted = false;
    assert_int_equal(next(&row, "a"), DELETE);
    row.state = HX_PUBLICATION_FAILING; /* to withdraw it: after a pause */
    assert_int_equal(next(&row, "a"), REST);
    row.next_at_ms = NOW;
    assert_int_equal(next(&row, "a"), DELETE);
    row.expires_at_ms = 0; /* HX holds nothing */
    assert_int_equal(next(&row, "a"), REST);
    row.is_wanted = true;
    assert_int_equal(next(&row, NULL), REST);
    assert_int_equal(next(&row, "a"), PUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_was_told_nothing),
        cmocka_unit_test(test_again_when_it_is_time),
        cmocka_unit_test(test_news_of_this_replica_alone),
        cmocka_unit_test(test_what_is_not_wanted_is_withdrawn_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
