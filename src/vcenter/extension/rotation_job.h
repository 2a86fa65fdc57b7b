/* The job that replaces the login certificates of all vCenters. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "jobs.h"
#include "platform_links.h"

#define ROTATION_JOB "login_certificates.rotate"
/* The kind, whose `arg` is the platform: a step for each vCenter that kaasd logs in to by certificate, all at the same time, each in the worker pool of its link. The
 * plan: ERR_UNPROCESSABLE if there is none. */
struct job_kind rotation_job_kind(struct platform *platform);
