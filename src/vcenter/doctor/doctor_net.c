/* The doctor's look at names, ports and certificates, without any login. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "clock.h"
#include "doctor_private.h"
#include "extension_record.h"
#include "http_client.h"
#include "net_policy.h"
#include "str.h"

#define LOOK_LIMIT_MS 5000L
#define PORT_LIMIT_MS 3000L
#define TUNNEL_TARGET "sdkTunnel:8089"

/* -- name and port ----------------------------------------------------------------------------------------------------------- */

void doctor_look_name(struct doctor_visit *v, struct finding *f) {
    _cleanup_strbuf_ struct strbuf list;
    struct err err = {0};
    strbuf_init(&list, sizeof(f->text));
    if (net_lookup_name(v->vc->address, doctor_time_left_ms(v, LOOK_LIMIT_MS), &v->addresses, &err)) {
        finding_say_error(f, FINDING_FAILED, &err);
        finding_advise(f, "on this host try: getent hosts %s; see /etc/resolv.conf, or whether the vCenter was renamed",
                       v->vc->address);
        return;
    }
    if (net_same_address(v->vc->address, v->addresses.items[0])) {
        finding_say(f, FINDING_OK, "%s is an address already", v->vc->address);
        return;
    }
    for (size_t i = 0; i < v->addresses.count; i++)
        strbuf_addf(&list, "%s%s", i ? ", " : "", v->addresses.items[i]);
    finding_say(f, FINDING_OK, "%s is %s", v->vc->address, list.data);
}

static void advise_port(const struct doctor_visit *v, struct finding *f, int rc) {
    if (*f->remedy)
        return;
    if (rc == ERR_TIMEOUT)
        finding_advise(f, "a firewall drops it, or the vCenter is off: open TCP port %u from this host to %s", v->vc->port,
                       v->vc->address);
    else
        finding_advise(f, "see whether the vCenter runs (its services may still be starting) and whether %u is its port",
                       v->vc->port);
}

void doctor_look_port(struct doctor_visit *v, struct finding *f) {
    struct err first = {0};
    int rc = ERR_UNREACHABLE;
    (void)snprintf(f->title, sizeof(f->title), "Port %u", v->vc->port);
    for (size_t i = 0; rc && i < v->addresses.count; i++) {
        rc = net_policy_check(v->env->options.networks, v->vc->address, v->addresses.items[i], &first);
        if (!rc)
            rc = net_probe_port(v->addresses.items[i], v->vc->port, doctor_time_left_ms(v, PORT_LIMIT_MS), &first);
        v->address = rc ? NULL : v->addresses.items[i];
    }
    if (rc) {
        finding_say_error(f, FINDING_FAILED, &first);
        advise_port(v, f, first.code);
    } else if (first.code) {
        finding_say(f, FINDING_WARNING, "%s accepts connections, but: %s", v->address, first.text);
        finding_advise(f, "make the name resolve to addresses that work only");
    } else {
        finding_say(f, FINDING_OK, "%s accepts connections", v->address);
    }
}

/* -- certificate ------------------------------------------------------------------------------------------------------------- */

static void take_date(void *arg, const char *line, size_t n) {
    (void)http_date_ms(line, n, arg);
}

int doctor_get_versions(const struct doctor_visit *v, const struct http_trust *trust, int64_t *date_ms, struct err *err) {
    struct http_client_options options = {
        .networks = v->env->options.networks, .trust = *trust, .connect_timeout_ms = LOOK_LIMIT_MS};
    _cleanup_free_ char *url = str_format("https://%s:%u/sdk/vimServiceVersions.xml", v->vc->address, v->vc->port);
    struct http_exchange exchange = {.method = "GET",
                                     .url = url,
                                     .timeout_ms = doctor_time_left_ms(v, LOOK_LIMIT_MS),
                                     .reply_max_bytes = 65536,
                                     .on_header = date_ms ? take_date : NULL,
                                     .on_header_arg = date_ms};
    _cleanup_strbuf_ struct strbuf reply;
    struct http_client *client = NULL;
    long status = 0;
    int rc = url ? http_client_new(&options, &client, err) : err_set(err, ERR_NOMEM, "out of memory");
    strbuf_init(&reply, 65536);
    if (!rc)
        rc = http_client_run(client, &exchange, &reply, &status, err);
    http_client_free(client);
    return rc;
}

/* A call judged by the CA: chain, name and dates, as each of our real calls is. */
static int check_chain(const struct doctor_visit *v, struct err *err) {
    int rc = doctor_get_versions(v, &(struct http_trust){.ca_pem = v->vc->ca_pem}, NULL, err);
    return rc == ERR_TLS || rc == ERR_CONFIG ? rc : 0; /* what else is wrong is the next step's affair */
}

static void judge_pin(const struct doctor_visit *v, struct finding *f) {
    char seen[X509_THUMBPRINT_TEXT_BYTES], trusted[X509_THUMBPRINT_TEXT_BYTES], expiry[80];
    enum finding_status status = doctor_judge_expiry(v->seen.not_after_ms, expiry, sizeof(expiry));
    x509_thumbprint_text(v->seen.sha256, seen);
    x509_thumbprint_text(v->vc->pin_sha256, trusted);
    if (memcmp(v->seen.sha256, v->vc->pin_sha256, X509_SHA256_BYTES) != 0) {
        finding_say(f, FINDING_FAILED, "another certificate than the trusted one: seen %s, trusted %s", seen, trusted);
        finding_advise(
            f, "compare the seen SHA-256 at the vCenter itself; if it was replaced there, run: kaasctl vcenter trust %s", v->ref);
        return;
    }
    finding_say(f, status == FINDING_OK ? FINDING_OK : FINDING_WARNING, "the trusted one (SHA-256 %.23s...), %s", seen, expiry);
    if (status != FINDING_OK)
        finding_advise(f, "renew the vCenter's machine certificate, then run: kaasctl vcenter trust %s", v->ref);
}

static void judge_chain(struct doctor_visit *v, struct finding *f) {
    struct err err = {0};
    char expiry[80];
    enum finding_status status = doctor_judge_expiry(v->seen.not_after_ms, expiry, sizeof(expiry));
    if (check_chain(v, &err)) {
        finding_say(f, FINDING_FAILED, "%s; it is for %s", err.text, *v->seen.san ? v->seen.san : "no name at all");
        finding_advise(f, "%s; to trust another CA run: kaasctl vcenter trust %s --ca-file FILE",
                       *err.remedy ? err.remedy : "look at the certificate", v->ref);
        return;
    }
    finding_say(f, status, "signed by the CA that was given, for %.200s, %s", v->seen.san, expiry);
    if (status != FINDING_OK)
        finding_advise(f, "renew the vCenter's machine certificate");
}

void doctor_look_tls(struct doctor_visit *v, struct finding *f) {
    struct err err = {0};
    if (x509_lookup_server(v->vc->address, v->vc->port, v->env->options.networks, doctor_time_left_ms(v, LOOK_LIMIT_MS), &v->seen,
                           &err)) {
        finding_say_error(f, FINDING_FAILED, &err);
        finding_advise(f, "see whether port %u is a vCenter's (not a proxy's) and speaks TLS 1.2 or newer", v->vc->port);
    } else if (v->vc->has_pin) {
        judge_pin(v, f);
    } else {
        judge_chain(v, f);
    }
}

/* -- where login certificates go ------------------------------------------------------------------------------------------------ */

/* One of several ways that does not work is a failure only if there is no other one. */
static enum finding_status doctor_net_weight(const struct doctor_visit *v, unsigned other_port) {
    return other_port || v->material.active.user ? FINDING_WARNING : FINDING_FAILED;
}

/* Inside must be the vCenter itself. With a CA the login way judges the certificate, as each call does. */
static void judge_inner(const struct doctor_visit *v, struct finding *f, const struct x509_info *inner, const char *where) {
    char sha[X509_THUMBPRINT_TEXT_BYTES];
    x509_thumbprint_text(inner->sha256, sha);
    if (v->vc->has_pin && !memcmp(inner->sha256, v->vc->pin_sha256, X509_SHA256_BYTES)) {
        finding_say(f, FINDING_OK, "%s, with the trusted certificate", where);
    } else if (v->seen.pem && !memcmp(inner->sha256, v->seen.sha256, X509_SHA256_BYTES)) {
        finding_say(f, v->outcome[DOCTOR_TLS] == FINDING_FAILED ? FINDING_WARNING : FINDING_OK,
                    "%s, with the certificate of port %u", where, v->vc->port);
    } else if (!v->vc->has_pin) {
        finding_say(f, FINDING_OK, "%s, with a certificate of its own (SHA-256 %.23s...)", where, sha);
    } else {
        finding_say(f, FINDING_FAILED, "%s, but with a certificate that is not trusted (SHA-256 %s)", where, sha);
        finding_advise(f, "give the CA of the vCenter instead of one SHA-256: kaasctl vcenter trust %s --ca-file FILE", v->ref);
    }
}

static void port_failed(const struct doctor_visit *v, struct finding *f, const struct err *err, unsigned port,
                        unsigned other_port) {
    finding_say_error(f, doctor_net_weight(v, other_port), err);
    finding_advise(
        f, "open TCP port %u from this host to %s, or log in another way (" DOC_PAGE("admin/vcenter.md") ", \"Login ways\")",
        port, v->vc->address);
}

static void tunnel_failed(const struct doctor_visit *v, struct finding *f, const struct err *err, long status) {
    enum finding_status how_bad = doctor_net_weight(v, v->vc->direct_port);
    if (status && status / 100 != 2) {
        finding_say(f, how_bad, "port %u answers, but refuses CONNECT " TUNNEL_TARGET " with HTTP status %ld", v->vc->tunnel_port,
                    status);
        finding_advise(f, "this vCenter offers no tunnel: use a service account or a direct port (" DOC_PAGE(
                              "admin/vcenter.md") ", \"Login ways\")");
        return;
    }
    finding_say(f, how_bad, "port %u takes connections, but then: %s", v->vc->tunnel_port, err->text);
    finding_advise(f, "look at the vCenter's services, then at what stands between (a proxy, a firewall that inspects)");
}

void doctor_look_tunnel(struct doctor_visit *v, struct finding *f) {
    struct x509_tunnel tunnel = {
        .host = v->vc->address, .port = v->vc->tunnel_port, .target = TUNNEL_TARGET, .networks = v->env->options.networks};
    _cleanup_done_(x509_info_done) struct x509_info inner = {0};
    struct err err = {0};
    long status = 0;
    if (!v->vc->tunnel_port) {
        finding_say(f, FINDING_SKIPPED, "switched off (no tunnel port is set)");
        return;
    }
    (void)snprintf(f->title, sizeof(f->title), "Port %u, tunnel", v->vc->tunnel_port);
    if (net_probe_port(v->address ? v->address : v->addresses.items[0], v->vc->tunnel_port, doctor_time_left_ms(v, PORT_LIMIT_MS),
                       &err))
        port_failed(v, f, &err, v->vc->tunnel_port, v->vc->direct_port);
    else if (x509_lookup_tunnel(&tunnel, doctor_time_left_ms(v, LOOK_LIMIT_MS), &inner, &status, &err))
        tunnel_failed(v, f, &err, status);
    else
        judge_inner(v, f, &inner, "CONNECT " TUNNEL_TARGET " leads to vCenter");
}

void doctor_look_direct(struct doctor_visit *v, struct finding *f) {
    _cleanup_done_(x509_info_done) struct x509_info inner = {0};
    struct err err = {0};
    if (!v->vc->direct_port) {
        finding_say(f, FINDING_SKIPPED, "switched off (no direct port is set)");
        return;
    }
    (void)snprintf(f->title, sizeof(f->title), "Port %u, direct", v->vc->direct_port);
    if (x509_lookup_server(v->vc->address, v->vc->direct_port, v->env->options.networks, doctor_time_left_ms(v, LOOK_LIMIT_MS),
                           &inner, &err)) {
        port_failed(v, f, &err, v->vc->direct_port, v->vc->tunnel_port);
    } else {
        judge_inner(v, f, &inner, "vCenter answers");
    }
}

/* -- our own address ---------------------------------------------------------------------------------------------------------- */

/* "https://host[:port]" to its parts. */
static bool split_url(const char *url, char *host, size_t host_bytes, unsigned *port) {
    const char *at = str_starts(url, "https://") ? url + 8 : NULL, *end, *colon;
    size_t n;
    if (!at)
        return false;
    end = *at == '[' ? strchr(at, ']') : at + strcspn(at, ":/");
    if (!end)
        return false;
    colon = *end == ']' ? end + 1 : end;
    at += *at == '[';
    n = (size_t)(end - at);
    *port = *colon == ':' ? (unsigned)strtoul(colon + 1, NULL, 10) : 443;
    if (!n || n >= host_bytes || !*port || *port > 65535)
        return false;
    memcpy(host, at, n);
    host[n] = 0;
    return true;
}

/* What the record at the vCenter says of where HX and the vSphere Client find us; NULL: the record was not seen, or says nothing. */
static const char *recorded_thumbprint(const struct doctor_visit *v) {
    for (size_t i = 0; v->found && i < v->found->server_count; i++)
        if (str_eq(v->found->servers[i].type, EXTENSION_SERVER_TYPE))
            return v->found->servers[i].thumbprint;
    return NULL;
}

static void judge_address(const struct doctor_visit *v, struct finding *f, const struct x509_info *shown, const char *own_pem) {
    _cleanup_done_(x509_info_done) struct x509_info own = {0};
    const char *url = v->env->options.runtime->public_url, *recorded = recorded_thumbprint(v);
    char shows[X509_THUMBPRINT_TEXT_BYTES], ours[X509_THUMBPRINT_TEXT_BYTES] = "", expiry[80];
    enum finding_status status = doctor_judge_expiry(shown->not_after_ms, expiry, sizeof(expiry));
    x509_thumbprint_text(shown->sha256, shows);
    if (own_pem && !x509_parse_pem(own_pem, &own, NULL))
        x509_thumbprint_text(own.sha256, ours);
    if (*ours && !str_eq(shows, ours)) {
        finding_say(f, FINDING_FAILED, "%s shows the certificate %s, but kaasd names %s in the record", url, shows, ours);
        finding_advise(
            f, "if kaasd got a new certificate, run: systemctl reload kaasd; behind a balancer set server.tls_certificate to the "
               "one that it shows");
    } else if (recorded && strcasecmp(shows, recorded) != 0) {
        finding_say(f, FINDING_FAILED, "%s shows the certificate %s, but the record at the vCenter names %.100s", url, shows,
                    recorded);
        finding_advise(f, "see \"%s\" above; until that is put right HX and the vSphere Client do not trust this service",
                       doctor_title(v, DOCTOR_RECORD));
    } else {
        finding_say(f, status, "%s shows the certificate that %s, %s", url,
                    recorded ? "the record at the vCenter names" : "kaasd would name in the record", expiry);
        if (status != FINDING_OK)
            finding_advise(f, "renew the certificate of server.tls_certificate, then run: systemctl reload kaasd");
    }
}

void doctor_look_address(struct doctor_visit *v, struct finding *f) {
    _cleanup_free_ char *own_pem = NULL;
    _cleanup_done_(x509_info_done) struct x509_info shown = {0};
    struct err err = {0};
    unsigned port = 0;
    char host[256];
    if (!split_url(v->env->options.runtime->public_url, host, sizeof(host), &port)) {
        finding_say(f, FINDING_FAILED, "server.public_url is not set, so no vCenter can be told where we are");
        finding_advise(f, "set it in the configuration to the https address of this service and restart kaasd");
        return;
    }
    (void)link_env_get_server_cert(v->env, &own_pem, NULL);
    if (x509_lookup_server(host, port, NULL, doctor_time_left_ms(v, LOOK_LIMIT_MS), &shown, &err)) {
        finding_say(f, FINDING_WARNING, "%s does not answer us: %s", v->env->options.runtime->public_url, err.text);
        finding_advise(f,
                       "see that server.public_url is right and leads to this service (through the balancer, if there is one)");
    } else {
        judge_address(v, f, &shown, own_pem);
    }
}
