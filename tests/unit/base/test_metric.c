/* Counters and gauges and their text form.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>

#include "limits.h"
#include "metric.h"

#define THREADS_COUNT 4
#define ADDS_COUNT 2000

static void same_name_is_same_metric(void **state) {
    struct metric *a = metric_get(METRIC_COUNTER, "kaas_logins_total", "Sign-ons.", "result", "ok");
    struct metric *b = metric_get(METRIC_COUNTER, "kaas_logins_total", "Sign-ons.", "result", "error");
    (void)state;
    assert_ptr_equal(a, metric_get(METRIC_COUNTER, "kaas_logins_total", "Sign-ons.", "result", "ok"));
    assert_ptr_not_equal(a, b);
    metric_add(a, 3);
    metric_add(b, 1);
    assert_int_equal(metric_value(a), 3);
}

static void writes_prometheus_text(void **state) {
    struct strbuf b;
    (void)state;
    metric_set(metric_get(METRIC_GAUGE, "kaas_clusters", "Clusters\nby \\ \"all\".", NULL, NULL), -7);
    metric_add(metric_get(METRIC_COUNTER, "kaas_logins_total", "Sign-ons.", "result", "a\"b\\c\nd"), 2);
    strbuf_init(&b, 10000);
    metric_write(&b);
    assert_string_equal(b.data, "# HELP kaas_clusters Clusters\\nby \\\\ \"all\".\n"
                                "# TYPE kaas_clusters gauge\n"
                                "kaas_clusters -7\n"
                                "# HELP kaas_logins_total Sign-ons.\n"
                                "# TYPE kaas_logins_total counter\n"
                                "kaas_logins_total{result=\"a\\\"b\\\\c\\nd\"} 2\n"
                                "kaas_logins_total{result=\"error\"} 1\n"
                                "kaas_logins_total{result=\"ok\"} 3\n");
    strbuf_done(&b);
}

static void *add_many(void *arg) {
    (void)arg;
    for (int i = 0; i < ADDS_COUNT; i++)
        metric_add(metric_get(METRIC_COUNTER, "kaas_shared_total", "Shared.", NULL, NULL), 1);
    return NULL;
}

static void threads_lose_no_counts(void **state) {
    pthread_t threads[THREADS_COUNT];
    (void)state;
    for (int i = 0; i < THREADS_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < THREADS_COUNT; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(metric_value(metric_get(METRIC_COUNTER, "kaas_shared_total", "Shared.", NULL, NULL)),
                     THREADS_COUNT * ADDS_COUNT);
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* The last test: it fills the registry. */
static void number_is_bounded(void **state) {
    struct strbuf b;
    struct metric *m = NULL;
    (void)state;
    for (unsigned i = 0; i < KAAS_METRICS_COUNT_MAX + 50; i++) {
        char value[16];
        (void)snprintf(value, sizeof(value), "%u", i);
        m = metric_get(METRIC_COUNTER, "kaas_many_total", "Many.", "n", value);
        metric_add(m, 1);
    }
    assert_true(metric_value(m) >= 50); /* what found no room is counted together */
    strbuf_init(&b, 10000000);
    metric_write(&b);
    assert_int_equal(count_lines(b.data), KAAS_METRICS_COUNT_MAX + 8); /* and two lines for each of four names */
    strbuf_done(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_name_is_same_metric),
        cmocka_unit_test(writes_prometheus_text),
        cmocka_unit_test(threads_lose_no_counts),
        cmocka_unit_test(number_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
