/* What is counted, and its text form.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>

#include "cleanup.h"
#include "limits.h"
#include "metric.h"

#define THREADS_COUNT 4
#define ADDS_COUNT 2000

/* The page with what was put on it, without metrics that the test is not about: from the line that begins with `from` on, as many bytes. */
static char page_text[4U << 20];

static const char *written(struct metric_page *page, const char *from) {
    struct strbuf b;
    const char *at;
    strbuf_init(&b, sizeof(page_text) - 1);
    metric_write(page, &b);
    assert_int_equal(b.failed, 0);
    memcpy(page_text, b.data, b.len + 1);
    strbuf_done(&b);
    at = strstr(page_text, from);
    assert_non_null(at);
    return at;
}

#define assert_written(page, from, text) assert_memory_equal(written(page, from), text, strlen(text))

static void same_labels_are_same_metric(void **state) {
    struct metric *a = metric_get(METRIC_SIGNONS, "local", "ok"), *b = metric_get(METRIC_SIGNONS, "local", "credentials");
    (void)state;
    assert_ptr_equal(a, metric_get(METRIC_SIGNONS, "local", "ok"));
    assert_ptr_not_equal(a, b);
    assert_ptr_not_equal(a, metric_get(METRIC_SIGNONS, "ldap", "ok"));
    metric_add(a, 3);
    metric_add(b, 1);
    assert_int_equal(metric_value(a), 3);
    assert_ptr_equal(metric_get(METRIC_AUDIT_LOST), metric_get(METRIC_AUDIT_LOST));
}

static void writes_prometheus_text(void **state) {
    struct metric_page page;
    (void)state;
    metric_page_init(&page, 10000);
    metric_set(metric_get(METRIC_LIST_WATCHES), -7);
    metric_add(metric_get(METRIC_SIGNONS, "a\"b\\c\nd", "ok"), 2);
    assert_written(&page, "# HELP kaas_list_watches",
                   "# HELP kaas_list_watches Requests that wait for a list to change\n"
                   "# TYPE kaas_list_watches gauge\n"
                   "kaas_list_watches -7\n"
                   "# HELP kaas_signons_total Sign-ons by way, and by result: ok or the code of the refusal\n"
                   "# TYPE kaas_signons_total counter\n"
                   "kaas_signons_total{way=\"a\\\"b\\\\c\\nd\",result=\"ok\"} 2\n"
                   "kaas_signons_total{way=\"ldap\",result=\"ok\"} 0\n"
                   "kaas_signons_total{way=\"local\",result=\"credentials\"} 1\n"
                   "kaas_signons_total{way=\"local\",result=\"ok\"} 3\n");
    assert_written(&page, "# HELP kaas_audit_lost_total", /* seen before anything was lost */
                   "# HELP kaas_audit_lost_total Audit lines that could not be written\n"
                   "# TYPE kaas_audit_lost_total counter\n"
                   "kaas_audit_lost_total 0\n");
    metric_page_done(&page);
}

static void histograms_are_in_seconds(void **state) {
    static const int64_t observed_ms[] = {0, 1, 2, 3, 7, 250, 251, 30000, 30001};
    struct metric *m = metric_get(METRIC_HTTP_DURATION, "/v2/clusters", "GET", "2xx");
    struct metric_page page;
    (void)state;
    metric_page_init(&page, 10000);
    for (size_t i = 0; i < ARRAY_COUNT(observed_ms); i++)
        metric_observe(m, observed_ms[i]);
#define SERIES(suffix) "kaas_http_request_duration_seconds_" suffix "{route=\"/v2/clusters\",method=\"GET\",class=\"2xx\""
#define BUCKET(le, count) SERIES("bucket") ",le=\"" le "\"} " count "\n"
    assert_written(&page, "# TYPE kaas_http_request_duration_seconds",
                   "# TYPE kaas_http_request_duration_seconds histogram\n" BUCKET("0.001", "2") BUCKET("0.002", "3")
                       BUCKET("0.005", "4") BUCKET("0.01", "5") BUCKET("0.025", "5") BUCKET("0.05", "5") BUCKET("0.1", "5")
                           BUCKET("0.25", "6") BUCKET("0.5", "7") BUCKET("1", "7") BUCKET("2.5", "7") BUCKET("5", "7")
                               BUCKET("10", "7") BUCKET("30", "8") BUCKET("+Inf", "9")
                                   SERIES("sum") "} 60.515\n" SERIES("count") "} 9\n");
    metric_page_done(&page);
}

static void samples_of_others_stand_together(void **state) {
    struct metric_page page;
    (void)state;
    metric_page_init(&page, 10000);
    metric_sample(&page, METRIC_POOL_BUSY, 3, "database");
    metric_sample(&page, METRIC_PROCESS_START, 1764274903.125);
    metric_sample(&page, METRIC_POOL_BUSY, 0, "ldap", NULL, "corp");
    metric_sample(&page, METRIC_PROCESS_MEMORY, 123456789012.0);
    assert_written(&page, "# TYPE kaas_worker_pool_busy_threads",
                   "# TYPE kaas_worker_pool_busy_threads gauge\n"
                   "kaas_worker_pool_busy_threads{pool=\"database\"} 3\n"
                   "kaas_worker_pool_busy_threads{pool=\"ldap\",directory=\"corp\"} 0\n");
    assert_written(&page, "\nprocess_start_time_seconds", "\nprocess_start_time_seconds 1764274903.125\n");
    assert_written(&page, "\nprocess_resident_memory_bytes", "\nprocess_resident_memory_bytes 123456789012\n");
    assert_null(strstr(page_text, "kaas_hx_up")); /* nothing is said of it */
    metric_page_done(&page);
}

static void a_page_without_room_is_an_error(void **state) {
    struct metric_page page;
    struct strbuf b;
    (void)state;
    metric_page_init(&page, 20);
    metric_sample(&page, METRIC_POOL_BUSY, 3, "database");
    strbuf_init(&b, 1U << 20);
    metric_write(&page, &b);
    assert_int_equal(b.failed, ERR_TOO_LARGE);
    strbuf_done(&b);
    metric_page_done(&page);
}

static void *add_many(void *arg) {
    (void)arg;
    for (int i = 0; i < ADDS_COUNT; i++) {
        metric_add(metric_get(METRIC_LINK_WORK, "shared"), 1);
        metric_observe(metric_get(METRIC_HX_CALL, "shared"), 1);
    }
    return NULL;
}

static void threads_lose_no_counts(void **state) {
    pthread_t threads[THREADS_COUNT];
    struct metric_page page;
    (void)state;
    for (int i = 0; i < THREADS_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < THREADS_COUNT; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(metric_value(metric_get(METRIC_LINK_WORK, "shared")), THREADS_COUNT * ADDS_COUNT);
    metric_page_init(&page, 10000);
    assert_written(&page, "kaas_hx_call_duration_seconds_count",
                   "kaas_hx_call_duration_seconds_count{operation=\"shared\"} 8000\n");
    metric_page_done(&page);
}

/* The last test: it fills the registry. */
static void number_is_bounded(void **state) {
    struct metric *dropped = metric_get(METRIC_METRICS_DROPPED), *m = NULL;
    struct metric_page page;
    unsigned count = 0;
    (void)state;
    assert_int_equal(metric_value(dropped), 0);
    for (unsigned i = 0; i < KAAS_METRICS_COUNT_MAX + 50; i++) {
        char value[16];
        (void)snprintf(value, sizeof(value), "%u", i);
        m = metric_get(METRIC_LINK_WORK, value);
        metric_add(m, 1);
    }
    assert_true(metric_value(m) >= 50); /* what found no room is counted together */
    metric_page_init(&page, 10000);
    for (const char *at = written(&page, "kaas_link_work_total{"); (at = strstr(at, "kaas_link_work_total{")); at++)
        count++;
    assert_true(count >= KAAS_METRICS_COUNT_MAX - 20 && count < KAAS_METRICS_COUNT_MAX);
    assert_int_equal(metric_value(dropped), KAAS_METRICS_COUNT_MAX + 51 - count); /* one is "shared" */
    metric_page_done(&page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_labels_are_same_metric),
        cmocka_unit_test(writes_prometheus_text),
        cmocka_unit_test(histograms_are_in_seconds),
        cmocka_unit_test(samples_of_others_stand_together),
        cmocka_unit_test(a_page_without_room_is_an_error),
        cmocka_unit_test(threads_lose_no_counts),
        cmocka_unit_test(number_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
