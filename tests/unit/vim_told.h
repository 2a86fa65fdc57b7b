/* Writes down what a watch tells, one line each. For unit tests and the probe.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "strbuf.h"
#include "vim_watch.h"

struct told {
    struct strbuf text;
    bool is_without_machines; /* nothing is told of machines */
    const char *fail_at;      /* the event function of this name fails; NULL: none */
    struct vim_watch_events events;
};

void told_init(struct told *told);
void told_done(struct told *told);
