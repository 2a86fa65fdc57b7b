/* Health of the database and of what people sign in by, told in the log when it changes. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api.h"

#define HEALTH_CHECKS_MAX 80U

struct health_check {
    char name[64];
    int status;
    unsigned round; /* in which it was seen last */
};

/* Zeroed at first; used by one thread at a time. */
struct health_log {
    struct health_check checks[HEALTH_CHECKS_MAX];
    size_t count;
    unsigned round;
};

/* A round: begin, each check (an api_check_fn with the log as sink), end. What was not seen in it is forgotten. */
void health_log_begin(struct health_log *log);
void health_log_take(void *log, const struct api_check *check);
void health_log_end(struct health_log *log);
