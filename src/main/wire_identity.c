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

static void check_directory(const struct directory_report *report, struct findings *out) {
    struct finding f = {.step = "directory", .since_ms = report->since_ms};
    const int64_t left_ms = report->certificate_end_ms - clock_wall_ms();
    if (report->state == DIRECTORY_DISABLED)
        return;
    (void)snprintf(f.subject, sizeof(f.subject), "%s", report->source.name);
    if (report->state == DIRECTORY_FAILING) {
        finding_say_error(&f, FINDING_WARNING, &report->why);
        if (!f.remedy[0])
            finding_advise(&f, "see which step fails: kaasctl ldap test %s", report->source.name);
    } else if (report->certificate_end_ms && left_ms <= X509_EXPIRY_WARNING_MS) {
        finding_say(&f, FINDING_WARNING, "the certificate of the directory %s ends in %lld days", report->source.name,
                    (long long)(left_ms > 0 ? left_ms / CLOCK_DAY_MS : 0));
        finding_advise(&f, "renew it at the directory; with one that has ended nobody signs in by it");
    }
    findings_add(out, &f);
}

void wire_check_directories(struct wire *w, struct findings *out) {
    struct directory_report_list list = {0};
    if (directories_list(w->identity, &list, NULL))
        return;
    for (size_t i = 0; i < list.count; i++)
        check_directory(&list.items[i], out);
    directory_report_list_done(&list);
}
