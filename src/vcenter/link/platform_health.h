/* How the vCenters and what we have there stand: for health and metrics. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "finding.h"
#include "strbuf.h"

struct platform;

/* Adds what is not as it should be: watches (that of `started_at_ms`, wall clock, on), work of links that fails, extension records, certificates that end. Does not
 * block. */
void platform_check_health(struct platform *platform, int64_t started_at_ms, struct findings *out);

/* Appends gauges in the text format of Prometheus: when certificates end, and of each watch. Does not block. */
void platform_write_metrics(struct platform *platform, struct strbuf *out);
