/* What an examination found, step by step, with a remedy for each. Layer 0 (base). SPDX-License-Identifier: GPL-3.0-or-later */
#include "finding.h"

#include <stdio.h>
#include <stdlib.h>

const char *finding_status_name(enum finding_status status) {
    static const char *const names[] = {
        [FINDING_OK] = "ok", [FINDING_WARNING] = "warning", [FINDING_FAILED] = "failed", [FINDING_SKIPPED] = "skipped"};
    return names[status];
}

void finding_say(struct finding *f, enum finding_status status, const char *fmt, ...) {
    va_list args;
    f->status = status;
    va_start(args, fmt);
    (void)vsnprintf(f->text, sizeof(f->text), fmt, args);
    va_end(args);
}

void finding_advise(struct finding *f, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(f->remedy, sizeof(f->remedy), fmt, args);
    va_end(args);
}

void finding_say_error(struct finding *f, enum finding_status status, const struct err *err) {
    finding_say(f, status, "%s", err->text);
    finding_advise(f, "%s", err->remedy);
}

void findings_add(struct findings *list, const struct finding *f) {
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 16;
        struct finding *items = reallocarray(list->items, room, sizeof(*items));
        if (!items) {
            list->is_short = true;
            return;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = *f;
}

enum finding_status findings_worst(const struct findings *list, size_t from) {
    enum finding_status worst = FINDING_SKIPPED;
    for (size_t i = from; i < list->count; i++) {
        const enum finding_status status = list->items[i].status;
        if (status != FINDING_SKIPPED && (worst == FINDING_SKIPPED || status > worst))
            worst = status;
    }
    return worst;
}

int findings_check(const struct findings *list, struct err *err) {
    return list->is_short ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

void findings_done(struct findings *list) {
    free(list->items);
    *list = (struct findings){0};
}
