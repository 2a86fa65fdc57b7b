/* kaasctl doctor, health, version and kerberos: whether all is well, and a remedy where it is not. Layer 7 (cli). The steps of a vCenter are kaasd's.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Findings are JSON objects as those of POST /v2/vcenters/{id}/doctor. */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <sys/timex.h>

#include "cli_address.h"
#include "cli_command.h"
#include "clock.h"
#include "finding.h"
#include "http_client.h"
#include "names.h"
#include "net_addr.h"
#include "setup_check.h"
#include "setup_files.h"
#include "store_schema.h"
#include "str.h"
#include "vcenter.h"
#include "x509.h"

#define LOOK_LIMIT_MS 5000L
#define NAGIOS_BYTES_MAX 65536U

static void cmd_doctor_put(json_t *findings, const char *const texts[4], const char *remedy) {
    static const char *const members[] = {"step", "title", "status", "finding"};
    json_t *object = json_object();
    for (size_t i = 0; i < ARRAY_COUNT(members); i++)
        json_put_string(object, members[i], texts[i]);
    (void)json_object_set_new(object, "remedy", str_empty(remedy) ? json_null() : json_string(remedy));
    (void)json_array_append_new(findings, object);
}

static void cmd_doctor_add(json_t *findings, const struct finding *f) {
    cmd_doctor_put(findings, (const char *const[]){f->step, f->title, finding_status_name(f->status), f->text}, f->remedy);
}

/* -- an address ------------------------------------------------------------------------------------------------------------- */

static bool cmd_doctor_look_name(json_t *findings, const char *host, struct net_addresses *out) {
    struct finding f = {.step = "name", .title = "Name resolution"};
    _cleanup_strbuf_ struct strbuf list;
    struct err err = {0};
    int rc = net_lookup_name(host, LOOK_LIMIT_MS, out, &err);
    strbuf_init(&list, 512);
    if (rc) {
        finding_say_error(&f, FINDING_FAILED, &err);
        finding_advise(&f, "on this host try: getent hosts %.250s", host);
    } else {
        for (size_t i = 0; i < out->count; i++)
            strbuf_addf(&list, "%s%s", i ? ", " : "", out->items[i]);
        finding_say(&f, FINDING_OK, "%s is %s", host, list.data);
    }
    cmd_doctor_add(findings, &f);
    return !rc;
}

static bool cmd_doctor_look_port(json_t *findings, const struct net_addresses *addresses, unsigned port) {
    struct finding f = {.step = "port", .title = "Port"};
    struct err err = {0};
    int rc = ERR_UNREACHABLE;
    for (size_t i = 0; rc && i < addresses->count; i++) {
        rc = net_probe_port(addresses->items[i], port, LOOK_LIMIT_MS, &err);
        if (!rc)
            finding_say(&f, FINDING_OK, "%s accepts connections on port %u", addresses->items[i], port);
    }
    if (rc) {
        finding_say_error(&f, FINDING_FAILED, &err);
        finding_advise(&f, "see whether a service runs there, and open TCP port %u from this host", port);
    }
    cmd_doctor_add(findings, &f);
    return !rc;
}

/* "valid until", and how to judge it. */
static enum finding_status cmd_doctor_judge_expiry(const struct x509_info *info, char *words, size_t n) {
    int64_t left_ms = info->not_after_ms - clock_wall_ms();
    char at[CLOCK_RFC3339_BYTES];
    clock_format(info->not_after_ms, at);
    (void)snprintf(words, n, "%s %.10s %.8s UTC", left_ms < 0 ? "expired on" : "valid until", at, at + 11);
    return left_ms < 0 ? FINDING_FAILED : left_ms < X509_EXPIRY_WARNING_MS ? FINDING_WARNING : FINDING_OK;
}

static void cmd_doctor_look_at(json_t *findings, const char *host, unsigned port) {
    struct finding f = {.step = "tls", .title = "TLS certificate"};
    struct net_addresses addresses = {.count = 0};
    char sha[X509_THUMBPRINT_TEXT_BYTES], expiry[80];
    struct x509_info info = {0};
    struct err err = {0};
    if (!cmd_doctor_look_name(findings, host, &addresses) || !cmd_doctor_look_port(findings, &addresses, port))
        return;
    if (x509_lookup_server(host, port, NULL, LOOK_LIMIT_MS, &info, &err)) {
        finding_say_error(&f, FINDING_FAILED, &err);
    } else {
        x509_thumbprint_text(info.sha256, sha);
        finding_say(&f, cmd_doctor_judge_expiry(&info, expiry, sizeof(expiry)),
                    "SHA-256 %s; %.200s, issued by %.200s, for %.200s, %s", sha, info.subject, info.issuer,
                    *info.san ? info.san : "no name", expiry);
        finding_advise(&f, "compare the SHA-256 at the server itself before you trust it");
    }
    cmd_doctor_add(findings, &f);
    x509_info_done(&info);
}

/* -- this host --------------------------------------------------------------------------------------------------------------- */

static bool cmd_doctor_look_config(struct cli *cli, json_t *findings) {
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
        finding_say_error(&f, FINDING_FAILED, &err);
    else if (told.len)
        finding_say(&f, rc ? FINDING_FAILED : FINDING_WARNING, "%.900s", told.data);
    else
        finding_say(&f, FINDING_OK, "%s is valid for the user %s", cli_config_path(cli), user.name);
    if (f.status != FINDING_OK)
        finding_advise(&f, "mend it, then: kaasctl config check");
    cli->is_quiet_error = false;
    cmd_doctor_add(findings, &f);
    return cli->has_config;
}

static void cmd_doctor_look_database(struct cli *cli, json_t *findings) {
    struct finding f = {.step = "database", .title = "Database"};
    _cleanup_(store_free) struct store *store = NULL;
    struct err err = {0};
    int rc = db_settings_open(&cli->config, cli_config_path(cli), DB_ACCOUNT_RUNTIME, &store, &err);
    if (!rc)
        rc = store_check_schema(store, store_schema_builtin(), &err);
    if (rc)
        finding_say_error(&f, FINDING_FAILED, &err);
    else
        finding_say(&f, FINDING_OK, "database %s answers, its schema fits version %s", cli->config.database_name,
                    PACKAGE_VERSION);
    cmd_doctor_add(findings, &f);
}

/* The kernel knows whether somebody keeps its clock right (adjtimex(2)). */
static void cmd_doctor_look_clock(json_t *findings) {
    struct finding f = {.step = "clock", .title = "Clock"};
    struct timex state = {.modes = 0};
    if (adjtimex(&state) < 0) {
        finding_say(&f, FINDING_SKIPPED, "the kernel does not tell whether the clock is kept right");
    } else if (state.status & STA_UNSYNC) {
        finding_say(&f, FINDING_WARNING, "nothing keeps this host's clock right");
        finding_advise(&f, "run a time service (systemd-timesyncd, chrony); in a container the host's counts");
    } else {
        finding_say(&f, FINDING_OK, "kept right by a time service");
    }
    cmd_doctor_add(findings, &f);
}

/* The public address leads to a host; kaasd answers there only where it listens. */
static void cmd_doctor_advise_reach(const struct cli *cli, const struct cli_address *public, struct finding *f) {
    const char *listen = cli->config.server_listen;
    const bool is_here = str_starts(listen, "127.") || str_starts(listen, "[::1]") || str_starts(listen, "localhost");
    if (is_here && !cli_address_is_loopback(public))
        finding_advise(
            f,
            "server.listen is %s, where other hosts cannot reach kaasd: set it to \"*:%u\" and restart kaasd, or see that a proxy leads there",
            listen, public->port ? (unsigned)public->port : 443U);
    else
        finding_advise(f, "see that kaasd runs, and that server.public_url leads to where it listens: server.listen is %s",
                       *listen ? listen : "empty");
}

static void cmd_doctor_look_address(struct cli *cli, json_t *findings) {
    struct finding f = {.step = "address", .title = "Public address"};
    const char *url = cli->config.server_public_url;
    struct cli_address address = {.port = 0};
    char host[300], expiry[80];
    struct x509_info info = {0};
    struct err err = {0};
    if (!str_starts(url, "https://")) {
        finding_say(&f, FINDING_FAILED, "server.public_url is not set, so no vCenter can be told where kaasd is");
        finding_advise(&f, "set it to the https address of this service and restart kaasd");
        cmd_doctor_add(findings, &f);
        return;
    }
    (void)snprintf(host, sizeof(host), "%.*s", (int)strcspn(url + 8, "/"), url + 8);
    if (cli_address_parse(host, &address, &err) ||
        x509_lookup_server(address.host, address.port ? (unsigned)address.port : 443, NULL, LOOK_LIMIT_MS, &info, &err)) {
        finding_say_error(&f, FINDING_FAILED, &err);
        cmd_doctor_advise_reach(cli, &address, &f);
    } else {
        finding_say(&f, cmd_doctor_judge_expiry(&info, expiry, sizeof(expiry)), "%s answers with a certificate for %.200s, %s",
                    url, *info.san ? info.san : "no name", expiry);
        if (f.status != FINDING_OK)
            finding_advise(&f, "renew the certificate of server.tls_certificate, then: systemctl reload kaasd");
    }
    cmd_doctor_add(findings, &f);
    x509_info_done(&info);
}

/* -- kaasd -------------------------------------------------------------------------------------------------------------------- */

static bool cmd_doctor_look_kaasd(struct cli *cli, json_t *findings) {
    struct finding f = {.step = "kaasd", .title = "kaasd"};
    _cleanup_json_ json_t *version = NULL;
    struct err err = {0};
    const char *theirs;
    int rc = cli_send(cli, "GET /v2/version", NULL, NULL, &version, &err);
    theirs = json_get_string(version, "version");
    if (rc) {
        finding_say_error(&f, FINDING_FAILED, &err);
    } else if (!str_eq(theirs, PACKAGE_VERSION)) {
        finding_say(&f, FINDING_WARNING, "answers, version %s, but kaasctl is %s", theirs ? theirs : "unknown", PACKAGE_VERSION);
        finding_advise(&f, "after an upgrade: systemctl restart kaasd");
    } else {
        finding_say(&f, FINDING_OK, "answers, version %s", theirs);
    }
    cmd_doctor_add(findings, &f);
    return !rc;
}

/* vCenters have lines of their own, with their names. */
static void cmd_doctor_look_health(struct cli *cli, json_t *findings) {
    _cleanup_json_ json_t *health = NULL;
    const json_t *check;
    size_t i;
    if (cli_send(cli, "GET /v2/health", NULL, NULL, &health, NULL))
        return;
    json_array_foreach (json_object_get(health, "checks"), i, check) {
        const char *status = json_get_string(check, "status"), *detail = json_get_string(check, "detail");
        const char *name = json_get_string(check, "name");
        _cleanup_free_ char *title = str_format("kaasd: %s", name ? name : "?");
        const char *const texts[] = {"health", title, status ? status : "skipped", detail ? detail : "ok"};
        if (!str_starts(name, "vcenter:"))
            cmd_doctor_put(findings, texts, json_get_string(check, "remedy"));
    }
}

static void cmd_doctor_add_vcenter(json_t *findings, const json_t *vcenter) {
    const char *state = json_get_string(vcenter, "state"), *reason = json_get_string(vcenter, "state_reason");
    const char *name = json_get_string(vcenter, "name");
    struct finding f = {.step = "vcenter"};
    (void)snprintf(f.title, sizeof(f.title), "vCenter %.80s", name);
    if (str_eq(state, "connected")) {
        finding_say(&f, FINDING_OK, "connected");
    } else {
        finding_say(&f, str_eq(state, "unreachable") || str_eq(state, "refused") ? FINDING_FAILED : FINDING_WARNING, "%s%s%.900s",
                    state, reason ? ": " : "", reason ? reason : "");
        finding_advise(&f, "look closer: kaasctl doctor --vcenter %.200s", name_word(name, json_get_string(vcenter, "id")));
    }
    cmd_doctor_add(findings, &f);
}

static void cmd_doctor_look_vcenters(struct cli *cli, json_t *findings) {
    _cleanup_json_ json_t *vcenters = NULL;
    const json_t *vcenter;
    size_t i;
    if (cli_list(cli, "/v2/vcenters", NULL, NULL, &vcenters, NULL))
        return;
    json_array_foreach (vcenters, i, vcenter)
        cmd_doctor_add_vcenter(findings, vcenter);
}

static void cmd_doctor_look_here(struct cli *cli, json_t *findings) {
    const bool is_remote = cli->server;
    if (!is_remote && cmd_doctor_look_config(cli, findings)) {
        cmd_doctor_look_database(cli, findings);
        cmd_doctor_look_address(cli, findings);
    }
    if (!is_remote)
        cmd_doctor_look_clock(findings);
    if ((!is_remote && !cli->has_config) || !cmd_doctor_look_kaasd(cli, findings))
        return;
    cmd_doctor_look_health(cli, findings);
    cmd_doctor_look_vcenters(cli, findings);
}

/* -- what is examined ----------------------------------------------------------------------------------------------------------- */

static int cmd_doctor_examine_vcenter(struct cli *cli, const char *ref, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *report = NULL;
    int rc = cli_find(cli, &cli_vcenters, ref, &vcenter, err);
    if (rc)
        return rc;
    rc = cli_send(cli, "POST /v2/vcenters/{id}/doctor", vcenter, NULL, &report, err);
    if (rc)
        return rc;
    findings_judge(cli, json_object_get(report, "findings"));
    if (cli->is_json)
        return show_json(cli, report, err);
    show_line(cli, "vCenter %s (%s, port %lld), %s", json_get_string(report, "name"), json_get_string(report, "address"),
              (long long)json_get_int(report, "port", 0),
              json_get_bool(report, "registered", false) ? "registered" : "not registered");
    show_gap(cli);
    return findings_write(cli, json_object_get(report, "findings"), err);
}

static int cmd_doctor_show_local(struct cli *cli, const char *headline, json_t *findings, struct err *err) {
    const char *status = findings_count(findings, "failed") ? "failed" : findings_count(findings, "warning") ? "warning" : "ok";
    _cleanup_json_ json_t *report = json_object();
    findings_judge(cli, findings);
    json_put_string(report, "status", status);
    (void)json_object_set(report, "findings", findings);
    if (cli->is_json)
        return show_json(cli, report, err);
    show_line(cli, "%s", headline);
    show_gap(cli);
    return findings_write(cli, findings, err);
}

static int cmd_doctor_examine_address(struct cli *cli, const char *text, struct err *err) {
    _cleanup_json_ json_t *findings = json_array();
    _cleanup_free_ char *headline = NULL;
    struct cli_address address = {.port = 0};
    unsigned port;
    int rc = cli_address_parse(text, &address, err);
    if (rc)
        return cli_as_usage(cli, rc);
    port = address.port ? (unsigned)address.port : 443;
    headline = str_format("%s, port %u, as seen from this host; nothing but a TLS handshake was sent", address.host, port);
    cmd_doctor_look_at(findings, address.host, port);
    return headline ? cmd_doctor_show_local(cli, headline, findings, err) : err_set(err, ERR_NOMEM, "out of memory");
}

int cmd_doctor(struct cli *cli, struct err *err) {
    const char *vcenter = opt_get(&cli->given, "vcenter"), *address = opt_get(&cli->given, "address");
    _cleanup_json_ json_t *findings = json_array();
    int rc;
    if (vcenter && address)
        return cli_usage(cli, err, "give either --vcenter or --address, not both");
    if (vcenter)
        return cmd_doctor_examine_vcenter(cli, vcenter, err);
    if (address)
        return cmd_doctor_examine_address(cli, address, err);
    rc = cli_choose_server(cli, err);
    if (rc)
        return rc;
    cmd_doctor_look_here(cli, findings);
    return cmd_doctor_show_local(cli, "kaasd on this host (one vCenter in depth: kaasctl doctor --vcenter VCENTER)", findings,
                                 err);
}

/* -- health, version, kerberos ---------------------------------------------------------------------------------------------------- */

/* A failed check is an answer, and a failure for scripts: kaasd's own, or of something that it works with. */
/* Exit statuses of a plug-in of Nagios, and of what runs those (Monitoring Plugins Development Guidelines, "Plugin Return Codes"). */
enum nagios { NAGIOS_OK, NAGIOS_WARNING, NAGIOS_CRITICAL, NAGIOS_UNKNOWN };

/* A plug-in says all in one line. */
static void nagios_say(struct cli *cli, enum nagios status, const char *text) {
    static const char *const words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
    show_line(cli, "KAAS %s: %s", words[status], text);
    cli->status = (enum cli_status)status;
}

static void nagios_add_names(struct strbuf *text, const json_t *checks, const char *status) {
    const char *between = " (";
    size_t i;
    const json_t *check;
    json_array_foreach (checks, i, check)
        if (str_eq(json_get_string(check, "status"), status)) {
            strbuf_addf(text, "%s%s", between, json_get_string(check, "name"));
            between = ", ";
        }
    if (*between == ',')
        strbuf_addc(text, ')');
}

static int nagios_tell(struct cli *cli, const json_t *checks, struct err *err) {
    const size_t failed = findings_count(checks, "failed"), warnings = findings_count(checks, "warning");
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, NAGIOS_BYTES_MAX);
    strbuf_addf(&text, "%zu of %zu checks failed", failed, json_array_size(checks));
    nagios_add_names(&text, checks, "failed");
    strbuf_addf(&text, ", %zu warnings", warnings);
    nagios_add_names(&text, checks, "warning");
    int rc = strbuf_check(&text, "names of checks", err);
    if (!rc)
        nagios_say(cli, failed ? NAGIOS_CRITICAL : warnings ? NAGIOS_WARNING : NAGIOS_OK, text.data);
    return rc;
}

/* The first line says the worst of all below it, which is not what kaasd says of itself: it may serve while a vCenter does not answer. */
int cmd_health_tell(struct cli *cli, json_t *health, struct err *err) {
    static const struct cli_column checks[] = {
        {"CHECK", "name"},    {"STATUS", "status"}, {"SINCE", "since", show_time},
        {"DETAIL", "detail"}, {"REMEDY", "remedy"}, {NULL},
    };
    const json_t *list = json_object_get(health, "checks");
    const bool has_failed = findings_count(list, "failed");
    if (opt_get(&cli->given, "nagios"))
        return nagios_tell(cli, list, err);
    if (has_failed)
        cli->status = CLI_FAILED;
    if (cli->is_json)
        return show_json(cli, health, err);
    show_line(cli, "kaasd %s: %s", json_get_string(health, "version"), has_failed ? "failed" : json_get_string(health, "status"));
    return show_list(cli, list, checks, err);
}

/* A kaasd that does not answer is the worst for who watches it; what keeps this program from asking tells nothing of it. */
int cmd_health(struct cli *cli, struct err *err) {
    struct err why = {0};
    if (!opt_get(&cli->given, "nagios"))
        return cli_run_steps(cli, err);
    const int rc = cli_run_steps(cli, &why);
    if (rc)
        nagios_say(cli, cli_status_of(rc) == CLI_UNREACHABLE ? NAGIOS_CRITICAL : NAGIOS_UNKNOWN, why.text);
    return 0;
}

static void cmd_version_show_available(struct cli *cli, const json_t *available) {
    const char *url = json_get_string(available, "notes_url");
    show_gap(cli);
    show_line(cli, "%s is available, released %.10s", json_get_string(available, "version"),
              json_get_string(available, "released_at"));
    show_lines(cli, "What is new:", json_object_get(available, "notes"));
    if (url)
        show_line(cli, "  %s", url);
    show_lines(cli, "How to upgrade:", json_object_get(available, "steps"));
}

static void cmd_version_show_replicas(struct cli *cli, const json_t *replicas) {
    show_gap(cli);
    show_line(cli, "The replicas run different versions:");
    for (size_t i = 0; i < json_array_size(replicas); i++) {
        const json_t *replica = json_array_get(replicas, i);
        const char *version = json_get_string(replica, "version");
        show_line(cli, "  %s %s", json_get_string(replica, "name"), version ? version : "an older one");
    }
}

/* For administrators, and by no kaasd before 0.4: who is told nothing is told nothing of that either. */
static void cmd_version_show_updates(struct cli *cli, json_t *told) {
    _cleanup_json_ json_t *updates = NULL;
    if (cli_send(cli, "GET /v2/updates", NULL, NULL, &updates, NULL))
        return;
    const json_t *available = json_object_get(updates, "available"), *replicas = json_object_get(updates, "replicas");
    if (json_is_object(available))
        cmd_version_show_available(cli, available);
    if (json_is_array(replicas))
        cmd_version_show_replicas(cli, replicas);
    json_put(told, "available", json_incref((json_t *)(uintptr_t)available));
    json_put(told, "replicas", json_incref((json_t *)(uintptr_t)replicas));
}

/* Our own version is told even if kaasd does not answer. Nobody signs in for it unless a user is named. */
int cmd_version(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *theirs = NULL, *both = json_object();
    int rc = cli_choose_server(cli, err);
    const bool is_known = !cli->server || cli->login.kept || cli_user(cli);
    if (!rc)
        rc = is_known ? cli_connect(cli, err) : cli_connect_public(cli, err);
    if (!rc)
        rc = cli_send(cli, "GET /v2/version", NULL, NULL, &theirs, err);
    json_put_string(both, "kaasctl", PACKAGE_VERSION);
    json_put_string(both, "kaasd", rc ? NULL : json_get_string(theirs, "version"));
    show_line(cli, "kaasctl %s", PACKAGE_VERSION);
    if (!rc)
        show_line(cli, "kaasd   %s", json_get_string(theirs, "version"));
    if (!rc && is_known)
        cmd_version_show_updates(cli, both);
    if (cli->is_json && show_json(cli, both, rc ? NULL : err))
        return ERR_NOMEM;
    return rc;
}

int cmd_metrics(struct cli *cli, struct err *err) {
    const struct cli_request request = {.method = "GET", .path = "/metrics", .reply = &cli->out};
    struct err why = {0};
    int rc = cli_connect(cli, err);
    if (rc)
        return rc;
    rc = cli_client_call(cli->client, &request, NULL, &why);
    return rc ? cli_fail(cli, &why, err) : 0;
}

/* A keytab that cannot be used is an answer, and a failure for scripts. */
int cmd_kerberos_tell(struct cli *cli, json_t *status, struct err *err) {
    static const struct cli_column keys[] = {
        {"PRINCIPAL", "principal"},     {"VERSION", "kvno"},           {"ENCRYPTION TYPE", "encryption_type"},
        {"MADE", "made_at", show_time}, {"USED", "used", show_yes_no}, {NULL},
    };
    const json_t *list = json_object_get(status, "keys");
    int rc = show_object(cli, status, cli->command->object, err);
    if (json_get_bool(status, "configured", false) && !json_get_bool(status, "usable", false))
        cli->status = CLI_FAILED;
    if (rc || cli->is_json || !json_array_size(list))
        return rc;
    show_gap(cli);
    return show_list(cli, list, keys, err);
}
