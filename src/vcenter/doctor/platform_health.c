/* How the vCenters and what we have there stand: for health and metrics. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform_health.h"

#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "metric.h"
#include "names.h"
#include "platform_links.h"
#include "str.h"
#include "watch_run.h"
#include "worker_pool.h"
#include "x509.h"

/* One line for all vCenters that should be watched and are not, or whose news cannot be saved; the first one is named. */
static void check_watch(struct link *link, void *arg) {
    struct finding *f = arg;
    struct watch_report report;
    char label[LINK_NAME_BYTES];
    watch_get_report(link_watch(link), &report);
    if (f->status || !(report.reason[0] || report.refused) || link_get_state(link) != REMOTE_OK)
        return;
    link_get_name(link, label);
    if (!report.reason[0]) {
        finding_say(f, FINDING_WARNING, "vCenter %s: %u object%s not be stored, %s%.500s", label, report.refused,
                    report.refused == 1 ? " can" : "s can", report.refused == 1 ? "" : "the first one is ", report.refusal);
        finding_advise(f, "give it a shorter name at the vCenter; all other objects are as they are there");
        return;
    }
    finding_say(f, FINDING_WARNING, "changes at vCenter %s do not arrive: %s", label, report.reason);
    finding_advise(f, "it is tried again by itself; see 'kaasctl vcenter status'");
}

/* Work of one link that fails again and again. */
static void platform_health_check_work(struct link *link, void *arg) {
    struct findings *out = arg;
    struct remote_work_state states[REMOTE_WORK_MAX];
    size_t count = remote_queue_get(&link_remote(link)->queue, states);
    for (size_t i = 0; i < count; i++) {
        struct finding f = {.since_ms = states[i].failing_since_ms};
        if (states[i].failures < 2 || !states[i].work->is_for_health)
            continue;
        (void)snprintf(f.step, sizeof(f.step), "vcenter_%s", states[i].work->name);
        link_get_name(link, f.subject);
        finding_say_error(&f, FINDING_WARNING, &states[i].err);
        findings_add(out, &f);
    }
}

/* A record that is not as it should be breaks nothing today: a warning. */
static void check_record(struct link *link, void *arg) {
    struct findings *out = arg;
    _cleanup_done_(vcenter_done) struct vcenter vc = {0};
    struct link_report report;
    const struct record_note *note = &report.record;
    struct finding f = {.step = "vcenter_record"};
    link_get_report(link, &report);
    if (!note->problem[0] || link_get_info(link, &vc, NULL))
        return;
    link_get_name(link, f.subject);
    f.since_ms = note->problem_since_ms;
    finding_say(&f, FINDING_WARNING, "%s", note->problem);
    finding_advise(&f, "%s", note->remedy);
    if (vc.registered_at_ms)
        findings_add(out, &f);
}

/* -- when certificates end ------------------------------------------------------------------------------------------------ */

/* One certificate that somebody depends on. */
struct expiry {
    const char *what;    /* "login", "vcenter", "server" */
    const char *vcenter; /* by its name for people; NULL for the server's */
    const char *word;    /* how it is typed in a command; likewise */
    int64_t not_after_ms;
};
typedef void expiry_fn(void *arg, const struct expiry *expiry);

struct expiries {
    expiry_fn *fn;
    void *arg;
};

static void each_of_link(struct link *link, void *arg) {
    const struct expiries *to = arg;
    struct link_report report;
    const struct link_certificates *ends = &report.certificates;
    char label[LINK_NAME_BYTES];
    _cleanup_done_(vcenter_done) struct vcenter vc = {0};
    link_get_report(link, &report);
    if (link_get_info(link, &vc, NULL))
        return;
    link_get_name(link, label);
    const char *word = name_word(label, vc.id);
    if (ends->login_not_after_ms && vc.registered_at_ms)
        to->fn(to->arg, &(struct expiry){"login", label, word, ends->login_not_after_ms});
    if (ends->vcenter_not_after_ms)
        to->fn(to->arg, &(struct expiry){"vcenter", label, word, ends->vcenter_not_after_ms});
}

static void each_expiry(struct platform *platform, expiry_fn *fn, void *arg) {
    _cleanup_free_ char *pem = NULL;
    struct x509_info info = {0};
    if (!link_env_get_server_cert(platform_env(platform), &pem, NULL) && pem && !x509_parse_pem(pem, &info, NULL))
        fn(arg, &(struct expiry){.what = "server", .not_after_ms = info.not_after_ms});
    x509_info_done(&info);
    platform_each(platform, each_of_link, &(struct expiries){fn, arg});
}

static void advise_expiry(const struct expiry *e, struct finding *f) {
    switch (e->what[0]) {
    case 'l':
        finding_advise(
            f, "it is renewed by itself while the vCenter can be reached; by hand: kaasctl vcenter rotate-certificate %.100s",
            e->word);
        break;
    case 'v':
        finding_advise(f, "renew it at the vCenter; if it is trusted by its SHA-256, then run: kaasctl vcenter trust %.100s",
                       e->word);
        break;
    default:
        finding_advise(f, "replace the files of server.tls_certificate and server.tls_key, then run: systemctl reload kaasd");
    }
}

static void check_expiry(void *arg, const struct expiry *e) {
    int64_t left_ms = e->not_after_ms - clock_wall_ms();
    struct finding f = {.is_elsewhere = e->vcenter,
                        .since_ms = left_ms <= 0 ? e->not_after_ms : e->not_after_ms - X509_EXPIRY_WARNING_MS};
    char until[CLOCK_RFC3339_BYTES];
    if (left_ms > X509_EXPIRY_WARNING_MS)
        return;
    clock_format(e->not_after_ms, until);
    (void)snprintf(f.step, sizeof(f.step), "%s_certificate", e->what);
    (void)snprintf(f.subject, sizeof(f.subject), "%s", e->vcenter ? e->vcenter : "");
    finding_say(&f, left_ms <= 0 ? FINDING_FAILED : FINDING_WARNING, "the %s certificate%s%s %s %.10s (%lld days %s)",
                e->what[0] == 's'   ? "server"
                : e->what[0] == 'l' ? "login"
                                    : "server's own",
                e->vcenter ? " of vCenter " : "", f.subject, left_ms <= 0 ? "ended on" : "ends on", until,
                (long long)((left_ms <= 0 ? -left_ms : left_ms) / CLOCK_DAY_MS), left_ms <= 0 ? "ago" : "left");
    advise_expiry(e, &f);
    findings_add(arg, &f);
}

void platform_check_health(struct platform *platform, int64_t started_at_ms, struct findings *out) {
    struct finding watch = {.step = "watch", .since_ms = started_at_ms};
    platform_each(platform, check_watch, &watch);
    findings_add(out, &watch);
    platform_each(platform, platform_health_check_work, out);
    platform_each(platform, check_record, out);
    each_expiry(platform, check_expiry, out);
}

/* -- metrics ---------------------------------------------------------------------------------------------------------------- */

static void write_expiry(void *page, const struct expiry *e) {
    metric_sample(page, METRIC_CERTIFICATE_END, (double)e->not_after_ms / 1000, e->what, e->vcenter);
}

/* What cannot be judged has no sample. */
static void write_verdicts(struct link *link, const char *name, void *page) {
    _cleanup_done_(verdicts_done) struct verdicts v = {0};
    if (link_get_verdicts(link, &v, NULL))
        return;
    for (enum verdict_kind kind = 0; kind < VERDICT_KINDS; kind++)
        if (v.of[kind].value != VERDICT_UNKNOWN)
            metric_sample(page, METRIC_VCENTER_VERDICT, v.of[kind].value == VERDICT_YES, name, verdict_kind_name(kind));
}

/* Of the vCenters that there are now, under the names that they have now: what is counted would keep those of before. */
static void write_link(struct link *link, void *page) {
    struct watch_report report;
    char name[LINK_NAME_BYTES];
    link_get_name(link, name);
    watch_get_report(link_watch(link), &report);
    metric_sample(page, METRIC_VCENTER_UP, link_get_state(link) == REMOTE_OK, name);
    write_verdicts(link, name, page);
    metric_sample(page, METRIC_WATCH_UP, report.is_watching, name);
    metric_sample(page, METRIC_WATCH_OBJECTS, report.objects, name);
    worker_pool_write_metrics(link_pool(link), page, "vcenter", name, NULL);
    worker_pool_write_metrics(link_machine_pool(link), page, "machines", name, NULL);
}

void platform_write_metrics(struct platform *platform, struct metric_page *page) {
    each_expiry(platform, write_expiry, page);
    platform_each(platform, write_link, page);
}
