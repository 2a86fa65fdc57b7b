/* How the vCenters and what we have there stand: for health and metrics. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "finding.h"

struct metric_page;
struct platform;

/* Adds what is not as it should be: watches (that of `started_at_ms`, wall clock, on), work of links that fails, extension records, certificates that end. Does not
 * block. */
void platform_check_health(struct platform *platform, int64_t started_at_ms, struct findings *out);

/* Puts on the page when certificates end, and of each vCenter login, watch and worker pool. Does not block. */
void platform_write_metrics(struct platform *platform, struct metric_page *page);
