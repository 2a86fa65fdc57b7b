/* What /metrics tells beside the counters: what is looked at when it is asked. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "metric.h"
#include "platform_links.h"
#include "watch_run.h"
#include "wire_private.h"

static void write_head(struct strbuf *out, const char *name, const char *help) {
    strbuf_addf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void write_expiry(void *arg, const struct wire_expiry *e) {
    struct strbuf *out = arg;
    strbuf_adds(out, "kaasd_certificate_not_after_seconds{");
    metric_write_label(out, "what", e->what);
    if (e->vcenter) {
        strbuf_addc(out, ',');
        metric_write_label(out, "vcenter", e->vcenter);
    }
    strbuf_addf(out, "} %lld\n", (long long)(e->not_after_ms / 1000));
}

static void write_of_link(struct strbuf *out, const char *name, struct link *link, long long value) {
    char label[LINK_NAME_BYTES];
    link_get_name(link, label);
    strbuf_addf(out, "%s{", name);
    metric_write_label(out, "vcenter", label);
    strbuf_addf(out, "} %lld\n", value);
}

/* Of the vCenters that there are now, under the names that they have now: a counter of the registry would keep those of before. */
static void write_watches(struct wire *wire, struct strbuf *out) {
    static const char up[] = "kaasd_watch_up", objects[] = "kaasd_watch_objects";
    struct watch_report report;
    size_t count = 0;
    struct link **links = platform_list(wire->platform, &count);
    write_head(out, up, "1 while the vCenter is watched");
    for (size_t i = 0; i < count; i++) {
        watch_get_report(link_watch(links[i]), &report);
        write_of_link(out, up, links[i], report.is_watching);
    }
    write_head(out, objects, "Objects of the vCenter that are watched");
    for (size_t i = 0; i < count; i++) {
        watch_get_report(link_watch(links[i]), &report);
        write_of_link(out, objects, links[i], report.objects);
        link_unref(links[i]);
    }
    free(links);
}

void wire_write_metrics(void *arg, struct strbuf *out) {
    write_head(out, "kaasd_certificate_not_after_seconds", "Unix time at which a certificate ends.");
    wire_each_expiry(arg, write_expiry, out);
    write_watches(arg, out);
}
