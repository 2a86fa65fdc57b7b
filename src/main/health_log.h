/* Health of the database and of what people sign in by, told in the log when it changes. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "finding.h"

#define HEALTH_CHECKS_MAX 80U

struct health_check {
    char name[64];
    enum finding_status status;
    unsigned round; /* in which it was seen last */
};

/* Zeroed at first; used by one thread at a time. */
struct health_log {
    struct health_check checks[HEALTH_CHECKS_MAX];
    size_t count;
    unsigned round;
};

/* A round. What is not among `checks` is forgotten. */
void health_log_take(struct health_log *log, const struct findings *checks);
