/* What /metrics tells, in the text format of Prometheus. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * All metrics stand in metrics.def. Most are counted where an event happens (metric_get); values that other code keeps are read when a page
 * is made (metric_sample). Times are given in milliseconds and shown in seconds. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "strbuf.h"

enum metric_id {
#define METRIC(id, kind, name, labels, help) METRIC_##id,
#include "metrics.def"
#undef METRIC
    METRICS_COUNT
};

#define METRIC_LABELS_MAX 3U

/* Values of the labels in the order of the table. NULL, or missing: the label is left out. */
#define METRIC_LABELS(...) ((const char *const[METRIC_LABELS_MAX]){__VA_ARGS__})

struct metric;

/* Finds or makes the metric of a COUNTER, GAUGE or HISTOGRAM with these values of its labels, which are copied. Never NULL: where there is no room
 * for one more, a shared dummy is given, and METRIC_METRICS_DROPPED rises. Lives until the process ends. With labels it takes a lock: whoever counts in
 * each request keeps the pointer. */
#define metric_get(id, ...) metric_find(id, METRIC_LABELS(__VA_ARGS__))
struct metric *metric_find(enum metric_id id, const char *const labels[METRIC_LABELS_MAX]);

void metric_add(struct metric *m, int64_t n);      /* counters and gauges; one atomic add */
void metric_set(struct metric *m, int64_t n);      /* gauges */
void metric_observe(struct metric *m, int64_t ms); /* histograms; two atomic adds */
int64_t metric_value(const struct metric *m);      /* counters and gauges */

/* A page under way: the samples of each metric, which the format wants side by side. */
struct metric_page {
    struct strbuf samples[METRICS_COUNT];
};

/* An empty page, on which each metric may have so many bytes. Freed by metric_page_done. */
void metric_page_init(struct metric_page *page, size_t metric_bytes_max);
void metric_page_done(struct metric_page *page); /* NULL is allowed */

/* Puts a sample of a READ_COUNTER or READ_GAUGE on the page: each set of labels once. */
#define metric_sample(page, id, value, ...) metric_put(page, id, value, METRIC_LABELS(__VA_ARGS__))
void metric_put(struct metric_page *page, enum metric_id id, double value, const char *const labels[METRIC_LABELS_MAX]);

/* Appends the page, and all that was counted, in text format 0.0.4: in the order of the table, with help and type. A page that had not enough room sets
 * the error of `out`. */
void metric_write(const struct metric_page *page, struct strbuf *out);
