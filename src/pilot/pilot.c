/* The run of all probes, and those without any login. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pilot.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "limits.h"
#include "pilot_private.h"
#include "pilot_record.h"
#include "secret.h"
#include "str.h"

#define LOOK_LIMIT_MS 5000L
#define TUNNEL_TARGET "sdkTunnel:8089"

static const struct probe {
    const char *id, *title, *row;
    enum pilot_need need;
    pilot_probe_fn *look;
} probes[] = {
#define PROBE(id, title, needs, row) {#id, title, row, PILOT_NEEDS_##needs, pilot_probe_##id},
#include "probes.def"
#undef PROBE
};

/* Why a probe that needs this is not made. */
static const char *const lacks[PILOT_NEEDS_COUNT] = {
    [PILOT_NEEDS_ADDRESS] = "the name does not resolve",
    [PILOT_NEEDS_PORT] = "nothing answers there",
    [PILOT_NEEDS_TRUST] = "no certificate is trusted",
    [PILOT_NEEDS_API] = "no vCenter was recognised there",
    [PILOT_NEEDS_SESSION] = "there was no login",
    [PILOT_NEEDS_EXTENSIONS] = "the list of extensions was not read",
    [PILOT_NEEDS_HX_KEYS] = "no HX cluster is in the list of extensions",
    [PILOT_NEEDS_HX] = "no HX was named",
    [PILOT_NEEDS_HX_ADDRESS] = "the name of the HX does not resolve",
    [PILOT_NEEDS_HX_TRUST] = "no certificate of the HX is trusted",
    [PILOT_NEEDS_HX_TOKEN] = "there was no login to the HX",
    [PILOT_NEEDS_HX_FACTS] = "the HX was not read",
};

const char *pilot_row(const char *id) {
    for (size_t i = 0; i < ARRAY_COUNT(probes); i++)
        if (str_eq(probes[i].id, id))
            return probes[i].row;
    return "";
}

bool pilot_say_rc(struct finding *f, int rc, const struct err *err) {
    if (rc)
        finding_say_error(f, FINDING_FAILED, err);
    return !rc;
}

/* -- names, ports, certificates ------------------------------------------------------------------------------------------------ */

bool pilot_look_name(const char *address, struct net_addresses *out, struct finding *f) {
    _cleanup_strbuf_ struct strbuf list;
    struct err err = {0};
    strbuf_init(&list, sizeof(f->text));
    if (!pilot_say_rc(f, net_lookup_name(address, LOOK_LIMIT_MS, out, &err), &err)) {
        finding_advise(f, "on this host try: getent hosts %.200s; see /etc/resolv.conf", address);
        return false;
    }
    for (size_t i = 0; i < out->count; i++)
        strbuf_addf(&list, "%s%s", i ? ", " : "", out->items[i]);
    finding_say(f, FINDING_OK, "%s", list.data);
    return true;
}

void pilot_probe_name(struct pilot *p, struct finding *f) {
    p->has[PILOT_NEEDS_ADDRESS] = pilot_look_name(p->options->vcenter.address, &p->addresses, f);
}

void pilot_probe_port(struct pilot *p, struct finding *f) {
    const unsigned port = p->options->vcenter.port;
    struct err err = {0};
    int rc = ERR_UNREACHABLE;
    for (size_t i = 0; rc && i < p->addresses.count; i++) {
        err_clear(&err);
        rc = net_probe_port(p->addresses.items[i], port, LOOK_LIMIT_MS, &err);
        p->address = rc ? NULL : p->addresses.items[i];
    }
    p->has[PILOT_NEEDS_PORT] = pilot_say_rc(f, rc, &err);
    if (rc)
        finding_advise(f, "open TCP port %u from this host to the vCenter, or give its port: --vcenter ADDRESS:PORT", port);
    else
        finding_say(f, FINDING_OK, "%s accepts connections on port %u", p->address, port);
}

/* The chain and the name, as each call judges them: a handshake, in which nothing is sent. */
static int pilot_check_chain(const struct pilot_server *server, struct err *err) {
    const struct http_client_options options = {.trust = server->trust, .connect_timeout_ms = LOOK_LIMIT_MS};
    const bool is_v6 = strchr(server->address, ':') != NULL;
    _cleanup_free_ char *url = str_format(is_v6 ? "https://[%s]:%u/" : "https://%s:%u/", server->address, server->port);
    const struct http_exchange handshake = {.method = "GET", .url = url, .timeout_ms = LOOK_LIMIT_MS, .is_handshake = true};
    _cleanup_strbuf_ struct strbuf reply;
    struct http_client *client = NULL;
    long status = 0;
    int rc = url ? http_client_new(&options, &client, err) : err_set(err, ERR_NOMEM, "out of memory");
    strbuf_init(&reply, 1024);
    if (!rc)
        rc = http_client_run(client, &handshake, &reply, &status, err);
    http_client_free(client);
    return rc;
}

bool pilot_look_certificate(const struct pilot_server *server, struct x509_info *seen, struct finding *f) {
    char sha256[X509_THUMBPRINT_TEXT_BYTES], until[CLOCK_RFC3339_BYTES];
    struct err err = {0};
    if (!pilot_say_rc(f, x509_lookup_server(server->address, server->port, NULL, LOOK_LIMIT_MS, seen, &err), &err))
        return false;
    x509_thumbprint_text(seen->sha256, sha256);
    clock_format(seen->not_after_ms, until);
    if (server->trust.pin_sha256 && memcmp(server->trust.pin_sha256, seen->sha256, X509_SHA256_BYTES) != 0) {
        finding_say(f, FINDING_FAILED, "another certificate than the one that was confirmed: %s", sha256);
        return false;
    }
    if (server->trust.ca_pem && !pilot_say_rc(f, pilot_check_chain(server, &err), &err))
        return false;
    if (!server->trust.ca_pem && !server->trust.pin_sha256) {
        finding_say(f, FINDING_SKIPPED, "nothing was given to trust it by: %s", sha256);
        return false;
    }
    finding_say(f, FINDING_OK, "%s, of %.200s, valid until %.10s",
                server->trust.ca_pem ? "signed by the CA that was given" : "the one that was confirmed", seen->subject, until);
    return true;
}

void pilot_probe_tls(struct pilot *p, struct finding *f) {
    p->has[PILOT_NEEDS_TRUST] = pilot_look_certificate(&p->options->vcenter, &p->seen, f);
}

/* Inside must be the vCenter itself. */
static void pilot_judge_inner(const struct pilot *p, struct finding *f, const struct x509_info *inner, const char *where) {
    const bool is_same = p->seen.pem && !memcmp(inner->sha256, p->seen.sha256, X509_SHA256_BYTES);
    char sha256[X509_THUMBPRINT_TEXT_BYTES];
    x509_thumbprint_text(inner->sha256, sha256);
    if (is_same)
        finding_say(f, FINDING_OK, "%s, with the certificate of port %u", where, p->options->vcenter.port);
    else if (p->options->vcenter.trust.ca_pem)
        finding_say(f, FINDING_OK, "%s, with a certificate of its own: %.23s...", where, sha256);
    else
        finding_say(f, FINDING_FAILED, "%s, but with another certificate than port %u: %s", where, p->options->vcenter.port,
                    sha256);
    if (f->status == FINDING_FAILED)
        finding_advise(f, "trust the vCenter by its CA in place of one SHA-256: --ca-file FILE");
}

void pilot_probe_tunnel(struct pilot *p, struct finding *f) {
    const struct x509_tunnel tunnel = {
        .host = p->options->vcenter.address, .port = p->options->tunnel_port, .target = TUNNEL_TARGET};
    _cleanup_done_(x509_info_done) struct x509_info inner = {0};
    struct err err = {0};
    long status = 0;
    if (!tunnel.port) {
        finding_say(f, FINDING_SKIPPED, "not looked at: --tunnel-port 0");
        return;
    }
    if (x509_lookup_tunnel(&tunnel, LOOK_LIMIT_MS, &inner, &status, &err)) {
        if (status && status / 100 != 2)
            finding_say(f, FINDING_FAILED, "port %u refuses CONNECT " TUNNEL_TARGET " with HTTP status %ld", tunnel.port, status);
        else
            finding_say_error(f, FINDING_FAILED, &err);
        finding_advise(f, "a service account logs in without the tunnel (" DOC_PAGE("admin/vcenter.md") ", \"Login ways\")");
        return;
    }
    p->has_tunnel = true;
    pilot_judge_inner(p, f, &inner, "CONNECT " TUNNEL_TARGET " leads to vCenter");
}

/* That it is closed is usual, and no assumption. */
void pilot_probe_direct(struct pilot *p, struct finding *f) {
    const unsigned port = p->options->direct_port;
    _cleanup_done_(x509_info_done) struct x509_info inner = {0};
    struct err err = {0};
    if (!port) {
        finding_say(f, FINDING_SKIPPED, "not looked at: --direct-port 0");
        return;
    }
    if (x509_lookup_server(p->options->vcenter.address, port, NULL, LOOK_LIMIT_MS, &inner, &err)) {
        finding_say(f, FINDING_SKIPPED, "port %u is closed to this host, as usual", port);
        return;
    }
    p->has_direct = true;
    pilot_judge_inner(p, f, &inner, "vCenter answers");
}

/* -- giving up ----------------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_stopped;

void pilot_stop(void) {
    is_stopped = 1;
}

bool pilot_is_stopped(void) {
    return is_stopped;
}

/* -- the run ------------------------------------------------------------------------------------------------------------------- */

static int open_vcenter(struct pilot *p, struct err *err) {
    const struct pilot_server *server = &p->options->vcenter;
    const struct vim_options options = {.host = server->address,
                                        .port = server->port,
                                        .ca_pem = server->trust.ca_pem,
                                        .pin_sha256 = server->trust.pin_sha256,
                                        .user_agent = "Harmony-KaaS-pilot",
                                        .tunnel_port = p->options->tunnel_port,
                                        .direct_port = p->options->direct_port,
                                        .transport = &p->vcenter_guard.transport};
    pilot_guard_init(&p->vcenter_guard, PILOT_VCENTER, NULL);
    return server->trust.ca_pem || server->trust.pin_sha256 ? vim_client_new(&options, &p->client, err) : 0;
}

static int open_hx(struct pilot *p, struct err *err) {
    const struct pilot_server *server = &p->options->hx;
    const struct hx_options options = {.address = server->address,
                                       .port = server->port,
                                       .trust = server->trust,
                                       .connect_timeout_ms = KAAS_VIM_CONNECT_TIMEOUT_MS,
                                       .call_timeout_ms = KAAS_VIM_CALL_TIMEOUT_MS,
                                       .transport = &p->hx_guard.transport};
    pilot_guard_init(&p->hx_guard, PILOT_HX, NULL);
    p->facts = HX_FACTS_NONE;
    p->has[PILOT_NEEDS_HX] = server->address;
    return server->address && (server->trust.ca_pem || server->trust.pin_sha256) ? hx_client_new(&options, &p->hx, err) : 0;
}

static void make_probe(struct pilot *p, const struct probe *probe, struct findings *out) {
    const int64_t began_ms = clock_mono_ms();
    struct finding f = {.status = FINDING_SKIPPED};
    (void)snprintf(f.step, sizeof(f.step), "%s", probe->id);
    (void)snprintf(f.title, sizeof(f.title), "%s", probe->title);
    if (pilot_is_stopped())
        finding_say(&f, FINDING_SKIPPED, "given up");
    else if (p->has[probe->need])
        probe->look(p, &f);
    else
        finding_say(&f, FINDING_SKIPPED, "%s", lacks[probe->need]);
    f.duration_ms = clock_mono_ms() - began_ms;
    findings_add(out, &f);
}

static void pilot_done(struct pilot *p) {
    if (p->client)
        (void)vim_logout(p->client, NULL);
    if (p->token.access)
        (void)hx_revoke(p->hx, &p->token, NULL);
    vim_client_free(p->client);
    hx_client_free(p->hx);
    x509_info_done(&p->seen);
    vim_about_done(&p->about);
    vim_user_session_done(&p->own);
    free(p->ended_key);
    for (size_t i = 0; i < p->object_count; i++) {
        free(p->objects[i].moref);
        free(p->objects[i].parent);
        free(p->objects[i].name);
    }
    free(p->objects);
    vim_key_list_done(&p->keys);
    for (size_t i = 0; i < p->hx_key_count; i++)
        free(p->hx_keys[i].key);
    hx_token_done(&p->token);
    hx_facts_done(&p->facts);
    pilot_guard_done(&p->vcenter_guard);
    pilot_guard_done(&p->hx_guard);
}

/* What was recorded is written when all has been asked, the ends of the sessions too. */
static void write_recording(const struct pilot_recorder *recorder, struct findings *out) {
    struct finding f = {.step = "recording", .title = "Recording"};
    struct err err = {0};
    if (pilot_say_rc(&f, pilot_recorder_write(recorder, out, &err), &err))
        finding_say(&f, recorder->is_cut ? FINDING_FAILED : FINDING_OK, "%zu exchanges in %.200s%s",
                    json_array_size(recorder->exchanges), recorder->folder,
                    recorder->is_cut ? ", and no more of them: there were too many" : "");
    findings_add(out, &f);
}

int pilot_run(const struct pilot_options *options, struct findings *out, struct err *err) {
    struct pilot p = {.options = options, .has = {[PILOT_NEEDS_NOTHING] = true}};
    _cleanup_done_(pilot_recorder_done) struct pilot_recorder recorder = {0};
    int rc = options->record_folder ? pilot_recorder_init(&recorder, options->record_folder, err) : 0;
    if (!rc)
        rc = open_vcenter(&p, err);
    if (!rc)
        rc = open_hx(&p, err);
    if (options->record_folder)
        p.vcenter_guard.recorder = p.hx_guard.recorder = &recorder;
    for (size_t i = 0; !rc && i < ARRAY_COUNT(probes); i++)
        if (probes[i].need < PILOT_NEEDS_HX || p.has[PILOT_NEEDS_HX]) /* an HX that was not named is no gap */
            make_probe(&p, &probes[i], out);
    pilot_done(&p);
    if (!rc && options->record_folder)
        write_recording(&recorder, out);
    return rc ? rc : findings_check(out, err);
}
