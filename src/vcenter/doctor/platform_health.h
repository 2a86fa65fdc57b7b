/* State of the vCenters and of what we have there, for health and metrics. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "finding.h"

struct metric_page;
struct platform;

/* Adds a finding on the watches (since `started_at_ms`, wall clock), and one for each thing that is wrong: work of links that fails, extension records,
 * certificates that end within 30 days. Does not block. */
void platform_check_health(struct platform *platform, int64_t started_at_ms, struct findings *out);

/* Writes to the page when certificates end, and login, watch and worker pool of each vCenter. Does not block. */
void platform_write_metrics(struct platform *platform, struct metric_page *page);
