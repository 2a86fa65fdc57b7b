/* Health of the database and of what people sign in by, told in the log when it changes: for who watches lines, not a page. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "health_log.h"

#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "log.h"
#include "str.h"

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

static void take(struct health_log *log, const struct finding *f) {
    static const enum log_level levels[] = {LOG_LEVEL_NOTICE, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR};
    _cleanup_free_ char *name = str_format("%s%s%s", f->step, f->subject[0] ? ":" : "", f->subject);
    struct health_check *known = name ? find(log, name) : NULL;
    if (!known)
        return;
    known->round = log->round;
    if (known->status == f->status)
        return;
    log_event(levels[f->status], "health_changed", "check", name, "status", finding_status_name(f->status), "was",
              finding_status_name(known->status), "text", f->status ? f->text : NULL, "hint", f->remedy[0] ? f->remedy : NULL,
              NULL);
    known->status = f->status;
}

void health_log_take(struct health_log *log, const struct findings *checks) {
    size_t kept = 0;
    log->round++;
    for (size_t i = 0; i < checks->count; i++)
        take(log, &checks->items[i]);
    for (size_t i = 0; i < log->count; i++)
        if (log->checks[i].round == log->round)
            log->checks[kept++] = log->checks[i];
    log->count = kept;
}
