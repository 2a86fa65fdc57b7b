/* Counters and gauges for /metrics. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "strbuf.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };

struct metric;

/* Finds or makes the metric with this name, help text and optional single label (name and value; both NULL for none).
 * Never NULL: without memory a shared dummy is given. Lives until the process ends. Keep the pointer; the look-up takes a lock. */
struct metric *metric_get(enum metric_kind kind, const char *name, const char *help, const char *label, const char *value);

void metric_add(struct metric *m, int64_t n); /* one atomic add */
void metric_set(struct metric *m, int64_t n); /* gauges */
int64_t metric_value(const struct metric *m);

/* Appends the label name="value", escaped as the text format wants it. */
void metric_write_label(struct strbuf *out, const char *name, const char *value);

/* Appends all metrics in Prometheus text format 0.0.4, sorted by name and label. */
void metric_write(struct strbuf *out);
