/* Health of the database and of what people sign in by, told in the log when it changes: for who watches lines, not a page. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "health_log.h"

#include <stdio.h>
#include <string.h>

#include "log.h"
#include "str.h"

static const char *const words[] = {"ok", "warning", "failed"};

/* The check as it was last time; one that was not there was well. NULL: no room for more. */
static struct health_check *find(struct health_log *log, const char *name) {
    for (size_t i = 0; i < log->count; i++)
        if (str_eq(log->checks[i].name, name))
            return &log->checks[i];
    if (log->count == HEALTH_CHECKS_MAX || strlen(name) >= sizeof(log->checks[0].name))
        return NULL;
    log->checks[log->count] = (struct health_check){0};
    (void)snprintf(log->checks[log->count].name, sizeof(log->checks[0].name), "%s", name);
    return &log->checks[log->count++];
}

void health_log_take(void *arg, const struct api_check *check) {
    static const enum log_level levels[] = {LOG_LEVEL_NOTICE, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR};
    struct health_log *log = arg;
    struct health_check *known = find(log, check->name);
    if (!known)
        return;
    known->round = log->round;
    if (known->status == check->status)
        return;
    log_event(levels[check->status], "health_changed", "check", check->name, "status", words[check->status], "was",
              words[known->status], "text", check->status ? check->detail : NULL, "hint", check->remedy, NULL);
    known->status = check->status;
}

void health_log_begin(struct health_log *log) {
    log->round++;
}

void health_log_end(struct health_log *log) {
    size_t kept = 0;
    for (size_t i = 0; i < log->count; i++)
        if (log->checks[i].round == log->round)
            log->checks[kept++] = log->checks[i];
    log->count = kept;
}
