/* What kaasctl doctor can see from here: this host, kaasd on it, an address. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_doctor_local.h"

#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "cli_address.h"
#include "clock.h"
#include "db_settings.h"
#include "http_client.h"
#include "net_look.h"
#include "setup_check.h"
#include "store_schema.h"
#include "str.h"
#include "x509.h"

#define LOOK_LIMIT_MS 5000L
#define DAY_MS (24LL * 3600 * 1000)

struct finding {
    const char *step, *title, *status;
    char text[1024], remedy[512];
};

static void add(json_t *findings, const struct finding *f) {
    json_t *object = json_object();
    json_put_string(object, "step", f->step);
    json_put_string(object, "title", f->title);
    json_put_string(object, "status", f->status);
    json_put_string(object, "finding", f->text);
    (void)json_object_set_new(object, "remedy", *f->remedy ? json_string(f->remedy) : json_null());
    (void)json_array_append_new(findings, object);
}

static void say(struct finding *f, const char *status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(struct finding *f, const char *status, const char *fmt, ...) {
    va_list args;
    f->status = status;
    va_start(args, fmt);
    (void)vsnprintf(f->text, sizeof(f->text), fmt, args);
    va_end(args);
}

static void advise(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void advise(struct finding *f, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(f->remedy, sizeof(f->remedy), fmt, args);
    va_end(args);
}

static void say_error(struct finding *f, const struct err *err) {
    say(f, "failed", "%s", err->text);
    advise(f, "%s", err->remedy);
}

/* -- an address ------------------------------------------------------------------------------------------------------------- */

static bool look_name(json_t *findings, const char *host, struct net_addresses *out) {
    struct finding f = {.step = "name", .title = "Name resolution"};
    _cleanup_strbuf_ struct strbuf list;
    struct err err = {0};
    int rc = net_lookup_name(host, LOOK_LIMIT_MS, out, &err);
    strbuf_init(&list, 512);
    if (rc) {
        say_error(&f, &err);
        advise(&f, "on this host try: getent hosts %.250s", host);
    } else {
        for (size_t i = 0; i < out->count; i++)
            strbuf_addf(&list, "%s%s", i ? ", " : "", out->items[i]);
        say(&f, "ok", "%s is %s", host, list.data);
    }
    add(findings, &f);
    return !rc;
}

static bool look_port(json_t *findings, const struct net_addresses *addresses, unsigned port) {
    struct finding f = {.step = "port", .title = "Port"};
    struct err err = {0};
    int rc = ERR_UNREACHABLE;
    for (size_t i = 0; rc && i < addresses->count; i++) {
        rc = net_probe_port(addresses->items[i], port, LOOK_LIMIT_MS, &err);
        if (!rc)
            say(&f, "ok", "%s accepts connections on port %u", addresses->items[i], port);
    }
    if (rc) {
        say_error(&f, &err);
        advise(&f, "see whether a service runs there, and open TCP port %u from this host", port);
    }
    add(findings, &f);
    return !rc;
}

/* "valid until", and how to judge it. */
static const char *judge_expiry(const struct x509_info *info, char *words, size_t n) {
    int64_t left_ms = info->not_after_ms - clock_wall_ms();
    time_t seconds = (time_t)(info->not_after_ms / 1000);
    char at[32] = "?";
    struct tm parts;
    if (gmtime_r(&seconds, &parts))
        (void)strftime(at, sizeof(at), "%Y-%m-%d %H:%M:%S UTC", &parts);
    (void)snprintf(words, n, "%s %s", left_ms < 0 ? "expired on" : "valid until", at);
    return left_ms < 0 ? "failed" : left_ms < X509_EXPIRY_WARNING_DAYS * DAY_MS ? "warning" : "ok";
}

void doctor_local_look_at(json_t *findings, const char *host, unsigned port) {
    struct finding f = {.step = "tls", .title = "TLS certificate"};
    struct net_addresses addresses = {.count = 0};
    char sha[X509_THUMBPRINT_TEXT_BYTES], expiry[80];
    struct x509_info info = {0};
    struct err err = {0};
    if (!look_name(findings, host, &addresses) || !look_port(findings, &addresses, port))
        return;
    if (x509_lookup_server(host, port, LOOK_LIMIT_MS, &info, &err)) {
        say_error(&f, &err);
    } else {
        x509_thumbprint_text(info.sha256, sha);
        say(&f, judge_expiry(&info, expiry, sizeof(expiry)), "SHA-256 %s; %.200s, issued by %.200s, for %.200s, %s", sha,
            info.subject, info.issuer, *info.san ? info.san : "no name", expiry);
        advise(&f, "compare the SHA-256 at the server itself before you trust it");
    }
    add(findings, &f);
    x509_info_done(&info);
}

/* -- this host --------------------------------------------------------------------------------------------------------------- */

static bool look_config(struct cli *cli, json_t *findings) {
    struct finding f = {.step = "configuration", .title = "Configuration"};
    _cleanup_strbuf_ struct strbuf told;
    struct setup_user user = {.is_other = false};
    struct err err = {0};
    int rc = cli_load_config(cli, &err);
    strbuf_init(&told, CONFIG_REPORT_BYTES_MAX);
    if (!rc)
        rc = setup_find_user(NULL, &user, &err);
    if (!rc)
        rc = setup_check_as(&user, cli_config_path(cli), &told, &err);
    if (rc && !told.len)
        say_error(&f, &err);
    else if (told.len)
        say(&f, rc ? "failed" : "warning", "%.900s", told.data);
    else
        say(&f, "ok", "%s is valid for the user %s", cli_config_path(cli), user.name);
    if (!str_eq(f.status, "ok"))
        advise(&f, "mend it, then: kaasctl config check");
    cli->is_quiet_error = false;
    add(findings, &f);
    return cli->has_config;
}

static void look_database(struct cli *cli, json_t *findings) {
    struct finding f = {.step = "database", .title = "Database"};
    _cleanup_(store_free) struct store *store = NULL;
    struct err err = {0};
    int rc = db_settings_open(&cli->config, cli_config_path(cli), DB_ACCOUNT_RUNTIME, &store, &err);
    if (!rc)
        rc = store_check_schema(store, store_schema_builtin(), &err);
    if (rc)
        say_error(&f, &err);
    else
        say(&f, "ok", "database %s answers, its schema fits version %s", cli->config.database_name, PACKAGE_VERSION);
    add(findings, &f);
}

/* The kernel knows whether somebody keeps its clock right (adjtimex(2)). */
static void look_clock(json_t *findings) {
    struct finding f = {.step = "clock", .title = "Clock"};
    struct timex state = {.modes = 0};
    if (adjtimex(&state) < 0) {
        say(&f, "skipped", "the kernel does not tell whether the clock is kept right");
    } else if (state.status & STA_UNSYNC) {
        say(&f, "warning", "nothing keeps this host's clock right");
        advise(&f, "run a time service (systemd-timesyncd, chrony); in a container the host's counts");
    } else {
        say(&f, "ok", "kept right by a time service");
    }
    add(findings, &f);
}

/* The public address leads to a host; kaasd answers there only where it listens. */
static void advise_reach(const struct cli *cli, const struct cli_address *public, struct finding *f) {
    const char *listen = cli->config.server_listen;
    const bool is_here = str_starts(listen, "127.") || str_starts(listen, "[::1]") || str_starts(listen, "localhost");
    if (is_here && !cli_address_is_loopback(public))
        advise(
            f,
            "server.listen is %s, where other hosts cannot reach kaasd: set it to \"*:%u\" and restart kaasd, or see that a proxy leads there",
            listen, public->port ? (unsigned)public->port : 443U);
    else
        advise(f, "see that kaasd runs, and that server.public_url leads to where it listens: server.listen is %s",
               *listen ? listen : "empty");
}

static void look_address(struct cli *cli, json_t *findings) {
    struct finding f = {.step = "address", .title = "Public address"};
    const char *url = cli->config.server_public_url;
    struct cli_address address = {.port = 0};
    char host[300], expiry[80];
    struct x509_info info = {0};
    struct err err = {0};
    if (!str_starts(url, "https://")) {
        say(&f, "failed", "server.public_url is not set, so no vCenter can be told where kaasd is");
        advise(&f, "set it to the https address of this service and restart kaasd");
        add(findings, &f);
        return;
    }
    (void)snprintf(host, sizeof(host), "%.*s", (int)strcspn(url + 8, "/"), url + 8);
    if (cli_address_parse(host, &address, &err) ||
        x509_lookup_server(address.host, address.port ? (unsigned)address.port : 443, LOOK_LIMIT_MS, &info, &err)) {
        say_error(&f, &err);
        advise_reach(cli, &address, &f);
    } else {
        say(&f, judge_expiry(&info, expiry, sizeof(expiry)), "%s answers with a certificate for %.200s, %s", url,
            *info.san ? info.san : "no name", expiry);
        if (!str_eq(f.status, "ok"))
            advise(&f, "renew the certificate of server.tls_certificate, then: systemctl reload kaasd");
    }
    add(findings, &f);
    x509_info_done(&info);
}

/* -- kaasd -------------------------------------------------------------------------------------------------------------------- */

static bool look_kaasd(struct cli *cli, json_t *findings) {
    struct finding f = {.step = "kaasd", .title = "kaasd"};
    _cleanup_json_ json_t *version = NULL;
    struct err err = {0};
    const char *theirs;
    int rc = cli_connect(cli, &err);
    if (!rc)
        rc = cli_client_get(cli->client, "/v2/version", &version, &err);
    theirs = json_get_string(version, "version");
    if (rc) {
        say_error(&f, &err);
    } else if (!str_eq(theirs, PACKAGE_VERSION)) {
        say(&f, "warning", "answers, version %s, but kaasctl is %s", theirs ? theirs : "unknown", PACKAGE_VERSION);
        advise(&f, "after an upgrade: systemctl restart kaasd");
    } else {
        say(&f, "ok", "answers, version %s", theirs);
    }
    add(findings, &f);
    return !rc;
}

static void add_check(json_t *findings, const json_t *check) {
    char title[400];
    struct finding f = {.step = "health", .title = title};
    const char *detail = json_get_string(check, "detail"), *remedy = json_get_string(check, "remedy");
    const char *status = json_get_string(check, "status");
    (void)snprintf(title, sizeof(title), "kaasd: %.380s", json_get_string(check, "name"));
    say(&f, status ? status : "skipped", "%s", detail ? detail : "ok");
    advise(&f, "%s", remedy ? remedy : "");
    add(findings, &f);
}

/* vCenters have lines of their own, with their names. */
static void look_health(struct cli *cli, json_t *findings) {
    _cleanup_json_ json_t *health = NULL;
    const json_t *check;
    size_t i;
    if (cli_client_get(cli->client, "/v2/health", &health, NULL))
        return;
    json_array_foreach (json_object_get(health, "checks"), i, check)
        if (!str_starts(json_get_string(check, "name"), "vcenter:"))
            add_check(findings, check);
}

static void add_vcenter(json_t *findings, const json_t *vcenter) {
    const char *state = json_get_string(vcenter, "state"), *reason = json_get_string(vcenter, "state_reason");
    const char *name = json_get_string(vcenter, "name");
    char title[96];
    struct finding f = {.step = "vcenter", .title = title};
    (void)snprintf(title, sizeof(title), "vCenter %.80s", name);
    if (str_eq(state, "connected")) {
        say(&f, "ok", "connected");
    } else {
        say(&f, str_eq(state, "unreachable") || str_eq(state, "refused") ? "failed" : "warning", "%s%s%.900s", state,
            reason ? ": " : "", reason ? reason : "");
        advise(&f, "look closer: kaasctl doctor --vcenter %.200s", json_get_string(vcenter, "id"));
    }
    add(findings, &f);
}

static void look_vcenters(struct cli *cli, json_t *findings) {
    _cleanup_json_ json_t *vcenters = NULL;
    const json_t *vcenter;
    size_t i;
    if (cli_client_list(cli->client, "/v2/vcenters", &vcenters, NULL))
        return;
    json_array_foreach (vcenters, i, vcenter)
        add_vcenter(findings, vcenter);
}

void doctor_local_examine(struct cli *cli, json_t *findings) {
    bool is_remote = opt_get_common(&cli->given, "server") != NULL;
    if (!is_remote && look_config(cli, findings)) {
        look_database(cli, findings);
        look_address(cli, findings);
    }
    if (!is_remote)
        look_clock(findings);
    if ((!is_remote && !cli->has_config) || !look_kaasd(cli, findings))
        return;
    look_health(cli, findings);
    look_vcenters(cli, findings);
}
