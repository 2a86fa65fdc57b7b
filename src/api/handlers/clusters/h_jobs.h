/* Calls that begin a job. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

struct job_new;
/* Begins a job and answers 202 with its id and its place. As jobs_start; the problem of ERR_EXISTS has the id of the job that is at work, "job_id". */
int jobs_reply_begun(struct api_call *call, struct http_response *resp, const struct job_new *wanted, struct err *err);
