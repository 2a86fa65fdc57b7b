/* Metrics: the token by which they are read, and what is told beside the counters, looked at when it is asked. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "metric.h"
#include "platform_links.h"
#include "secret.h"
#include "watch_run.h"
#include "wire_private.h"

/* -- the token ---------------------------------------------------------------------------------------------------------------- */

void wire_set_scrape_token(struct wire *wire, const struct scrape_token *token) {
    (void)pthread_mutex_lock(&wire->lock);
    wire->scrape_token = *token;
    (void)pthread_mutex_unlock(&wire->lock);
}

/* By digests, of one length whatever was sent. */
bool wire_is_scrape_token(void *arg, const char *token) {
    struct wire *wire = arg;
    uint8_t digest[DIGEST_SHA256_BYTES];
    bool is_same;
    digest_sha256(token, strlen(token), digest);
    (void)pthread_mutex_lock(&wire->lock);
    is_same = wire->scrape_token.is_set && secret_eq(digest, sizeof(digest), wire->scrape_token.digest, sizeof(digest));
    (void)pthread_mutex_unlock(&wire->lock);
    return is_same;
}

/* -- what is looked at ---------------------------------------------------------------------------------------------------------- */

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

static void write_database(const struct wire *wire, struct strbuf *out) {
    static const char up[] = "kaasd_database_up";
    int64_t since_ms;
    write_head(out, up, "1 while the database answers and takes what is written");
    strbuf_addf(out, "%s %d\n", up, store_get_state(wire->store, &since_ms, NULL) == STORE_ANSWERS);
}

void wire_write_metrics(void *arg, struct strbuf *out) {
    write_database(arg, out);
    write_head(out, "kaasd_certificate_not_after_seconds", "Unix time at which a certificate ends.");
    wire_each_expiry(arg, write_expiry, out);
    write_watches(arg, out);
}
