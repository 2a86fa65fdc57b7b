/* The room of identity in the daemon: making it, what it needs of its siblings, and what they need of it. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "access.h"
#include "clock.h"
#include "directories.h"
#include "identity.h"
#include "str.h"
#include "wire_private.h"
#include "x509.h"

int wire_make_identity(struct wire *w, struct err *err) {
    const struct identity_options options = {
        .store = w->store,
        .seal = w->seal,
        .connect_timeout_ms = (long)w->config.ldap_connect_timeout_ms,
        .call_timeout_ms = (long)w->config.ldap_call_timeout_ms,
        .thread_begin = store_thread_begin,
        .thread_end = store_thread_end,
        .on_written = wire_on_written,
        .on_written_arg = w,
    };
    return identity_new(&options, &w->identity, err);
}

static int check_person(void *arg, const struct signon_directory_question *question, struct group_set *groups, struct err *err) {
    struct wire *w = arg;
    const struct identity_known known = {question->who, question->mark, question->groups};
    return identity_check_person(w->identity, &known, groups, err);
}

struct signon_directory_ops wire_directory_ops(struct wire *w) {
    return (struct signon_directory_ops){.arg = w, .check = check_person};
}

bool wire_get_name(void *arg, const char *id, char *out) {
    struct wire *w = arg;
    _Static_assert(API_NAME_BYTES == IDENTITY_NAME_BYTES, "names of directories fit");
    return str_starts(id, "local:") ? access_get_name(w->access, id, out, API_NAME_BYTES)
                                    : identity_get_name(w->identity, id, out);
}

/* -- health ---------------------------------------------------------------------------------------------------------------- */

/* What is to be said about the servers' certificate; false if nothing is. */
static bool judge_certificate(const struct directory_report *report, char *out, size_t n) {
    const int64_t left_ms = report->certificate_end_ms - clock_wall_ms();
    if (!report->certificate_end_ms || left_ms > X509_EXPIRY_WARNING_MS)
        return false;
    (void)snprintf(out, n, "the certificate of the directory %s ends in %lld days", report->source.name,
                   (long long)(left_ms > 0 ? left_ms / CLOCK_DAY_MS : 0));
    return true;
}

static void check_directory(const struct directory_report *report, api_check_fn *fn, void *sink) {
    char name[64], words[160], walk[80];
    struct api_check check = {.name = name, .since_ms = report->since_ms};
    if (report->state == DIRECTORY_DISABLED)
        return;
    (void)snprintf(name, sizeof(name), "directory:%s", report->source.name);
    if (report->state == DIRECTORY_FAILING) {
        check.status = 1;
        check.detail = report->why.text;
        (void)snprintf(walk, sizeof(walk), "see which step fails: kaasctl ldap test %s", report->source.name);
        check.remedy = report->why.remedy[0] ? report->why.remedy : walk;
    } else if (judge_certificate(report, words, sizeof(words))) {
        check.status = 1;
        check.detail = words;
        check.remedy = "renew it at the directory; with one that has ended nobody signs in by it";
    }
    fn(sink, &check);
}

void wire_check_directories(struct wire *w, api_check_fn *fn, void *sink) {
    struct directory_report_list list = {0};
    if (directories_list(w->identity, &list, NULL))
        return;
    for (size_t i = 0; i < list.count; i++)
        check_directory(&list.items[i], fn, sink);
    directory_report_list_done(&list);
}
