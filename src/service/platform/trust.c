/* A vCenter whose certificate is not the trusted one: saying exactly what is wrong. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "trust.h"

#include <string.h>

#include "clock.h"
#include "platform_links.h"
#include "str.h"
#include "x509.h"

#define DAY_CHARS 10 /* "2026-11-21" of RFC 3339 */

/* The new certificate in a few words. */
static void describe(const struct x509_info *seen, char *out, size_t n) {
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES], from[CLOCK_RFC3339_BYTES], until[CLOCK_RFC3339_BYTES];
    x509_thumbprint_text(seen->sha256, thumbprint);
    clock_format(seen->not_before_ms, from);
    clock_format(seen->not_after_ms, until);
    (void)snprintf(out, n, "seen SHA-256 %s, %.60s, names %.90s, valid %.*s to %.*s", thumbprint, seen->subject,
                   seen->san[0] ? seen->san : "none", DAY_CHARS, from, DAY_CHARS, until);
}

static int explain_pin(const struct vcenter *vc, const char *seen, struct err *err) {
    char trusted[X509_THUMBPRINT_TEXT_BYTES];
    x509_thumbprint_text(vc->pin_sha256, trusted);
    return err_set(err, ERR_TLS, "%s:%u shows another certificate: trusted SHA-256 %s; %s", vc->address, vc->port, trusted, seen);
}

void trust_explain(struct link *link, struct err *err) {
    struct err why = *err;
    struct x509_info info = {0};
    struct vcenter vc = {0};
    char seen[ERR_TEXT_BYTES];
    long timeout_ms = platform_options_of(link_platform(link))->connect_timeout_ms;
    if (link_get_info(link, &vc, NULL))
        return;
    if (x509_lookup_server(vc.address, vc.port, timeout_ms, &info, NULL)) {
        vcenter_done(&vc);
        return;
    }
    describe(&info, seen, sizeof(seen));
    err_clear(err);
    if (vc.has_pin)
        (void)explain_pin(&vc, seen, err);
    else
        (void)err_set(err, ERR_TLS, "%.190s; %s", why.text, seen);
    (void)err_remedy(
        err, "nothing is sent to it; compare the SHA-256 with the one the vCenter shows, then run: kaasctl vcenter trust %s",
        vc.name);
    x509_info_done(&info);
    vcenter_done(&vc);
}
