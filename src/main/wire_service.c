/* The port for service accounts: a server of its own that asks clients for certificates, and whose are good. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "fsutil.h"
#include "limits.h"
#include "log.h"
#include "str.h"
#include "strbuf.h"
#include "wire_private.h"
#include "x509.h"

#define PEM_BYTES_MAX (4U * 1024U * 1024U) /* revocation lists of large CAs */

static int read_file(const char *path, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text = {0};
    int rc;
    if (!*path)
        return 0;
    strbuf_init(&text, PEM_BYTES_MAX);
    rc = fs_read(path, &text, err);
    if (rc)
        return rc;
    *out = strbuf_steal(&text);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int wire_read_client_ca(const struct config *config, char **ca_pem, char **crl_pem, struct err *err) {
    _cleanup_free_ char *ca = NULL, *crl = NULL;
    int rc = read_file(config->server_client_ca_file, &ca, err);
    if (!rc)
        rc = read_file(config->server_client_crl_file, &crl, err);
    if (rc)
        return rc;
    *ca_pem = STEAL(ca);
    *crl_pem = STEAL(crl);
    return 0;
}

struct httpd_options wire_service_options(struct wire *w, struct httpd_options options, const struct httpd_client_ca *ca) {
    options.listen = w->config.server_service_listen;
    options.cert_pem = w->cert_pem;
    options.key_pem = w->key_pem;
    options.asks_client_certificate = true;
    options.client_ca = *ca;
    if (options.connections_max > KAAS_HTTP_SERVICE_CONNECTIONS)
        options.connections_max = KAAS_HTTP_SERVICE_CONNECTIONS;
    return options;
}

int wire_reload_service(struct wire *w, const struct config *fresh, const char *cert_pem, const char *key_pem, struct err *err) {
    _cleanup_free_ char *ca = NULL, *crl = NULL;
    struct httpd *server = w->servers[WIRE_SERVICE];
    int rc;
    if (!server)
        return 0;
    rc = wire_read_client_ca(fresh, &ca, &crl, err);
    if (!rc)
        rc = httpd_reload_client_ca(server, &(struct httpd_client_ca){ca, crl}, err);
    return rc ? rc : httpd_reload_tls(server, cert_pem, key_pem, err);
}

/* -- health ----------------------------------------------------------------------------------------------------------------- */

struct ending {
    const struct service_account *account;
    int64_t at_ms;
    unsigned count;
};

/* What ends next among accounts that are in use. */
static struct ending find_ending(const struct dir_platform *platform, int64_t before_ms) {
    struct ending found = {.at_ms = INT64_MAX};
    for (size_t i = 0; i < platform->services_count; i++) {
        const struct service_account *a = &platform->services[i];
        for (size_t j = 0; !a->is_disabled && j < a->certificates_count; j++) {
            const int64_t at_ms = a->certificates[j].not_after_ms;
            if (!at_ms || at_ms > before_ms)
                continue;
            found.count++;
            if (at_ms < found.at_ms) {
                found.account = a;
                found.at_ms = at_ms;
            }
        }
    }
    return found;
}

static void check_endings(const struct dir_platform *platform, struct findings *out) {
    const int64_t now_ms = clock_wall_ms();
    const struct ending found = find_ending(platform, now_ms + X509_EXPIRY_WARNING_MS);
    char at[CLOCK_RFC3339_BYTES];
    struct finding f = {.step = "service_certificates"};
    if (!found.account)
        return;
    clock_format(found.at_ms, at);
    f.since_ms = found.at_ms - X509_EXPIRY_WARNING_MS;
    finding_say(&f, FINDING_WARNING,
                "%u client certificates of service accounts have ended or will within %d days; first of \"%s\" at %s",
                found.count, X509_EXPIRY_WARNING_DAYS, found.account->name, at);
    finding_advise(&f, "give the new certificate beside the old one: kaasctl service set %s --add-certificate FILE",
                   found.account->name);
    findings_add(out, &f);
}

void wire_check_services(struct wire *w, struct findings *out) {
    struct dir_snapshot *snapshot = directory_get(w->directory);
    if (w->config.auth_vcenter_session_key) {
        struct finding f = {.step = "session_key", .since_ms = w->started_at_ms};
        finding_say(&f, FINDING_WARNING,
                    "auth.vcenter.session_key is \"allow\": whoever can list the sessions of a vCenter can sign in "
                    "as any person who is signed in there");
        finding_advise(&f, "give programs a service account with --may-delegate, and set the option to \"services\"");
        findings_add(out, &f);
    }
    if (!snapshot)
        return;
    check_endings(snapshot->platform, out);
    dir_snapshot_unref(snapshot);
}
