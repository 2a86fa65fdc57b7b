/* What a registration tells: its report, and which privileges an account lacks. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "registration_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "strbuf.h"
#include "vim_authorization.h"

#define PRIVILEGES_MAX 8

void report_texts_add(struct report_texts *texts, const char *fmt, ...) {
    char **items = reallocarray(texts->items, texts->count + 1, sizeof(*items));
    char *text = NULL;
    va_list args;
    if (!items)
        return;
    texts->items = items;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        items[texts->count++] = text;
}

static void texts_done(struct report_texts *texts) {
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
}

void registration_report_done(struct registration_report *report) {
    if (!report)
        return;
    free(report->account);
    free(report->key);
    free(report->owner);
    record_lines_done(&report->lines);
    texts_done(&report->steps);
    texts_done(&report->left);
    memset(report, 0, sizeof(*report));
}

/* The object by the name that people see, and by its id. */
static void describe_root(struct registration_work *w, char *out, size_t size) {
    struct vim_root root;
    if (vim_lookup_root(w->admin, &root, NULL))
        (void)snprintf(out, size, "the root folder");
    else
        (void)snprintf(out, size, "the root folder %.80s (%.60s)", root.name, root.moref);
}

static int refuse_missing(struct registration_work *w, const struct strbuf *missing, size_t count, struct err *err) {
    char root[180];
    describe_root(w, root, sizeof(root));
    (void)err_set(err, ERR_FORBIDDEN, "%s lacks the privilege%s %s on %s of vCenter %s", w->who.user_name, count > 1 ? "s" : "",
                  missing->data, root, w->vc.name);
    if (w->account->user)
        return err_remedy(err, "use an account that has %s, or have a role with %s granted on the vCenter object",
                          count > 1 ? "them" : "it", count > 1 ? "them" : "it");
    return err_remedy(err, "give an account of the vCenter that has %s: --user NAME", count > 1 ? "them" : "it");
}

int registration_require_privileges(struct registration_work *w, const char *const *privileges, size_t count, struct err *err) {
    struct vim_root_query query = {.subject = {.session_key = w->who.key}, .privileges = privileges, .count = count};
    _cleanup_strbuf_ struct strbuf missing;
    bool granted[PRIVILEGES_MAX] = {false};
    struct err why = {0};
    size_t n = 0;
    int rc = vim_check_root_privileges(w->admin, &query, granted, &why);
    strbuf_init(&missing, 400);
    if (rc && rc != ERR_UPSTREAM_DENIED) /* denied: who may not even ask about the root folder has no privilege there */
        return err_move(err, rc, &why);
    for (size_t i = 0; i < count; i++)
        if (!granted[i])
            strbuf_addf(&missing, "%s%s", n++ ? ", " : "", privileges[i]);
    return n ? refuse_missing(w, &missing, n, err) : 0;
}
