/* What an examination found, step by step, with a remedy for each. Layer 0 (base). SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum finding_status { FINDING_OK, FINDING_WARNING, FINDING_FAILED, FINDING_SKIPPED };
const char *finding_status_name(enum finding_status status); /* "ok", "warning", "failed", "skipped"; static */

/* Nothing in it is to be freed. Texts are one line each; "" means there is none, and longer ones are cut. */
struct finding {
    char step[48];     /* a word of docs/openapi.yaml: "name", "port" */
    char subject[280]; /* which one of several: a server, a vCenter */
    char title[128];   /* for people: "Name resolution" */
    enum finding_status status;
    bool is_elsewhere; /* about something other than kaasd, such as a vCenter: it makes kaasd's own health a warning at most */
    char text[1024];   /* what was found, or why it could not be judged */
    char remedy[ERR_TEXT_BYTES];
    int64_t since_ms; /* wall clock: when the state began, if it is one that lasts */
    int64_t duration_ms;
};

/* Sets status and text; finding_advise sets the remedy. */
void finding_say(struct finding *f, enum finding_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void finding_advise(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets the status, and text and remedy to those of `err`. */
void finding_say_error(struct finding *f, enum finding_status status, const struct err *err);

/* Findings in their order. Zeroed: none. */
struct findings {
    struct finding *items; /* malloc'ed; findings_done */
    size_t count, room;
    bool is_short; /* a finding was not added, for lack of memory */
};
/* Appends a copy of `f`. */
void findings_add(struct findings *list, const struct finding *f);
/* The worst status among the items from index `from` on. FINDING_SKIPPED counts only if there is nothing else. */
enum finding_status findings_worst(const struct findings *list, size_t from);
/* ERR_NOMEM if a finding could not be added (is_short), else 0. Call it when all are added. */
int findings_check(const struct findings *list, struct err *err);
void findings_done(struct findings *list);
