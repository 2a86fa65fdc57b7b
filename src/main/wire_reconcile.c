/* Keeping our records at the vCenters as they should be: when, and what is said about it. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "log.h"
#include "platform_links.h"
#include "reconcile.h"
#include "wire_private.h"

static void tell(const struct vcenter *vc, const struct reconcile_result *result) {
    const struct record_note *note = &result->note;
    if (result->was_repaired)
        log_event(LOG_LEVEL_NOTICE, "vcenter_record_repaired", "vcenter", vc->name, "members", note->repaired, NULL);
    if (!result->has_news)
        return;
    log_event(note->problem[0] ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "vcenter_record", "vcenter", vc->name, "record",
              record_state_name(note->state), "reason", note->problem[0] ? note->problem : NULL, "remedy",
              note->remedy[0] ? note->remedy : NULL, NULL);
}

static int reconcile(struct link *link, struct err *err) {
    struct reconcile_result result = {0};
    struct vcenter vc = {0};
    int rc = reconcile_run(link, &result, err);
    if (rc == ERR_NOT_REGISTERED)
        return ERR_CANCELED;
    if (!link_get_info(link, &vc, NULL))
        tell(&vc, &result);
    vcenter_done(&vc);
    return rc;
}

void wire_plug_in_reconcile(struct wire *wire) {
    const struct link_work_kind kind = {.bit = LINK_WORK_RECONCILE,
                                        .name = "reconcile",
                                        .run = reconcile,
                                        .at_connect = true,
                                        .period_ms = wire->config.vcenter_reconcile_interval_ms};
    platform_set_work(wire->platform, &kind);
}

/* A record that is not as it should be breaks nothing today: a warning. */
static void check_record(struct link *link, struct findings *out) {
    struct vcenter vc = {0};
    struct record_note note;
    struct finding f = {.step = "vcenter_record"};
    link_get_record(link, &note);
    if (!note.problem[0] || link_get_info(link, &vc, NULL))
        return;
    link_get_name(link, f.subject);
    f.since_ms = note.problem_since_ms;
    finding_say(&f, FINDING_WARNING, "%s", note.problem);
    finding_advise(&f, "%s", note.remedy);
    if (vc.registered_at_ms)
        findings_add(out, &f);
    vcenter_done(&vc);
}

void wire_check_records(struct wire *wire, struct findings *out) {
    size_t count = 0;
    struct link **links = platform_list(wire->platform, &count);
    for (size_t i = 0; i < count; i++) {
        check_record(links[i], out);
        link_unref(links[i]);
    }
    free(links);
}
