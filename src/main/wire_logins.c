/* How we log in to vCenters over time: what links do for it by themselves, and when certificates end. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "platform_links.h"
#include "rotation.h"
#include "link_task.h"
#include "wire_private.h"
#include "x509.h"

#define RENEW_PERIOD_MS (6 * 3600 * INT64_C(1000))

static int renew(struct link *link, struct err *err) {
    struct link_certificates before, after;
    int rc;
    link_get_certificates(link, &before);
    rc = rotation_renew(link, err);
    link_get_certificates(link, &after);
    if (!rc && before.login_not_after_ms && after.login_not_after_ms != before.login_not_after_ms)
        log_event(LOG_LEVEL_NOTICE, "login_certificate_renewed", "vcenter", link_id(link), NULL);
    if (rc && rc != ERR_BUSY && rc != ERR_CANCELED)
        log_error(LOG_LEVEL_WARNING, "login_certificate_not_renewed", err, "vcenter", link_id(link), NULL);
    return rc;
}

void wire_plug_in_logins(struct wire *wire) {
    const struct link_work_kind kinds[] = {
        {.bit = LINK_WORK_RENEW,
         .name = "renew",
         .run = renew,
         .at_connect = true,
         .period_ms = RENEW_PERIOD_MS,
         .is_for_health = true},
        {.bit = LINK_WORK_SWEEP, .name = "sweep", .run = session_sweep_work},
    };
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        platform_set_work(wire->platform, &kinds[i]);
}

/* -- when certificates end ------------------------------------------------------------------------------------------------ */

static void each_of_link(struct link *link, wire_expiry_fn *fn, void *arg) {
    struct link_certificates ends;
    char label[LINK_NAME_BYTES];
    struct vcenter vc = {0};
    link_get_certificates(link, &ends);
    if (link_get_info(link, &vc, NULL))
        return;
    link_get_name(link, label);
    if (ends.login_not_after_ms && vc.registered_at_ms)
        fn(arg, &(struct wire_expiry){"login", label, ends.login_not_after_ms});
    if (ends.vcenter_not_after_ms)
        fn(arg, &(struct wire_expiry){"vcenter", label, ends.vcenter_not_after_ms});
    vcenter_done(&vc);
}

void wire_each_expiry(struct wire *wire, wire_expiry_fn *fn, void *arg) {
    _cleanup_free_ char *pem = NULL;
    struct x509_info info = {0};
    size_t count = 0;
    struct link **links = platform_list(wire->platform, &count);
    if (!link_env_get_server_cert(platform_env(wire->platform), &pem, NULL) && pem && !x509_parse_pem(pem, &info, NULL))
        fn(arg, &(struct wire_expiry){.what = "server", .not_after_ms = info.not_after_ms});
    x509_info_done(&info);
    for (size_t i = 0; i < count; i++) {
        each_of_link(links[i], fn, arg);
        link_unref(links[i]);
    }
    free(links);
}

static const char *remedy_of(const struct wire_expiry *e) {
    switch (e->what[0]) {
    case 'l': return "it is renewed by itself while the vCenter can be reached; by hand: kaasctl vcenter rotate-certificate";
    case 'v': return "renew it at the vCenter; if it is trusted by its SHA-256, then run: kaasctl vcenter trust";
    default: return "replace the files of server.tls_certificate and server.tls_key, then reload kaasd (SIGHUP)";
    }
}

static void check_expiry(void *arg, const struct wire_expiry *e) {
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
    finding_advise(&f, "%s", remedy_of(e));
    findings_add(arg, &f);
}

void wire_check_logins(struct wire *wire, struct findings *out) {
    wire_each_expiry(wire, check_expiry, out);
}
