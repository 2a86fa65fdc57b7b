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
    bool is_elsewhere; /* of something else than kaasd, such as a vCenter: the whole is a warning at most by it */
    char text[1024];   /* what was found, or why it could not be judged */
    char remedy[ERR_TEXT_BYTES];
    int64_t since_ms; /* wall clock; of a state that lasts */
    int64_t duration_ms;
};

/* Sets status and text. */
void finding_say(struct finding *f, enum finding_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void finding_advise(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Status, and text and remedy of an error. */
void finding_say_error(struct finding *f, enum finding_status status, const struct err *err);

/* Findings in their order. Zeroed: none. */
struct findings {
    struct finding *items; /* malloc'ed; findings_done */
    size_t count, room;
    bool is_short; /* one found no memory */
};
/* Copies one to the end. */
void findings_add(struct findings *list, const struct finding *f);
/* The worst from number `from` on; what was skipped does not count, unless there is nothing else. */
enum finding_status findings_worst(const struct findings *list, size_t from);
/* ERR_NOMEM when one is missing; to be asked at the end. */
int findings_check(const struct findings *list, struct err *err);
void findings_done(struct findings *list);
