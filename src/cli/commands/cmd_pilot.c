/* kaasctl pilot: what is assumed of a vCenter and an HX cluster, asked of real ones before anything is installed. Layer 7 (cli). The probes are those of
 * src/pilot; here is who is asked, whom to trust, and how it is told. No kaasd is needed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pilot.h"

#include <signal.h>
#include <string.h>

#include "cli_address.h"
#include "cli_command.h"
#include "cli_prompt.h"
#include "secret.h"
#include "str.h"
#include "x509.h"

#define LOOK_LIMIT_MS 5000L
#define HX_USER "local/admin"
#define WAIT_S_MAX 300

/* One server of the command, and what was asked of the person for it. */
struct cmd_pilot_target {
    const char *what;     /* "vCenter" */
    const char *option;   /* that names it; "hx" is also the begin of its other options */
    const char *question; /* that confirms its certificate */
    const char *file, *pin_option;
    struct cli_address address;
    uint8_t pin[X509_SHA256_BYTES];
    char *password; /* secret */
    struct pilot_server server;
};

static void cmd_pilot_target_done(struct cmd_pilot_target *t) {
    secret_free(t->password);
}

/* -- trust --------------------------------------------------------------------------------------------------------------------- */

static json_t *cmd_pilot_certificate(const struct x509_info *info, const char *sha256) {
    json_t *certificate = json_object(), *names = json_array();
    json_put_string(certificate, "subject", info->subject);
    json_put_string(certificate, "issuer", info->issuer);
    json_put_time(certificate, "not_before", info->not_before_ms);
    json_put_time(certificate, "not_after", info->not_after_ms);
    json_put_string(certificate, "sha256", sha256);
    json_add(names, json_string(info->san));
    json_put(certificate, "san", names);
    return certificate;
}

/* Shows the certificate and asks, as `vcenter add` does. A server that shows none is left untrusted: the probes tell why. */
static int cmd_pilot_confirm(struct cli *cli, struct cmd_pilot_target *t, struct err *err) {
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    _cleanup_free_ char *title = str_format("%s %s shows this certificate:", t->what, t->server.address);
    _cleanup_json_ json_t *certificate = NULL;
    char sha256[X509_THUMBPRINT_TEXT_BYTES];
    if (x509_lookup_server(t->server.address, t->server.port, NULL, LOOK_LIMIT_MS, &info, NULL))
        return 0;
    x509_thumbprint_text(info.sha256, sha256);
    certificate = cmd_pilot_certificate(&info, sha256);
    cmd_note_certificate(title ? title : "", certificate);
    if (!opt_get_common(&cli->given, "yes") && !prompt_has_terminal()) {
        cli->status = CLI_UNCONFIRMED;
        (void)err_set(err, ERR_CERT_UNCONFIRMED,
                      "the certificate must be confirmed, and there is no terminal to ask on (nothing was sent)");
        return err_remedy(err, "compare the SHA-256 with what the server itself shows, then add --%s %s", t->pin_option, sha256);
    }
    int rc = cli_confirm(cli, t->question, err);
    if (rc)
        return rc;
    memcpy(t->pin, info.sha256, sizeof(t->pin));
    t->server.trust.pin_sha256 = t->pin;
    return 0;
}

/* `prefix` is that of the members of the body. */
static int cmd_pilot_trust(struct cli *cli, struct cmd_pilot_target *t, const json_t *ca, const char *pin, struct err *err) {
    if (ca && pin)
        return cli_usage(cli, err, "give for %s either a SHA-256 or a CA, not both", t->what);
    t->server.trust.ca_pem = json_string_value(ca);
    if (pin && str_to_sha256(pin, t->pin))
        t->server.trust.pin_sha256 = t->pin;
    return ca || pin ? 0 : cmd_pilot_confirm(cli, t, err);
}

static int cmd_pilot_prepare(struct cli *cli, struct cmd_pilot_target *t, const json_t *body, const char *const members[3],
                             struct err *err) {
    _cleanup_free_ char *question = NULL;
    int rc = cli_address_parse(json_get_string(body, t->option), &t->address, err);
    if (rc)
        return cli_as_usage(cli, rc);
    t->server.address = t->address.host;
    t->server.port = t->address.port ? (unsigned)t->address.port : 443;
    t->server.user = json_get_string(body, members[0]);
    rc = cmd_pilot_trust(cli, t, json_object_get(body, members[1]), json_get_string(body, members[2]), err);
    if (rc)
        return rc;
    if (!t->server.trust.ca_pem && !t->server.trust.pin_sha256) /* nothing will be sent */
        return 0;
    question = str_format("Password of %s at %s %s: ", t->server.user, t->what, t->server.address);
    rc = cli_get_password(cli, opt_get(&cli->given, t->file), question, &t->password, err);
    t->server.password = t->password;
    return rc;
}

/* -- what came of it ----------------------------------------------------------------------------------------------------------- */

static const char *cmd_pilot_word(enum finding_status status) {
    return status == FINDING_OK ? "holds" : status == FINDING_SKIPPED ? "not_asked" : "does_not_hold";
}

static json_t *cmd_pilot_report(const struct findings *findings) {
    json_t *report = json_object(), *probes = json_array();
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *f = &findings->items[i];
        json_t *probe = json_object();
        json_put_string(probe, "probe", f->step);
        json_put_string(probe, "title", f->title);
        json_put_string(probe, "result", cmd_pilot_word(f->status));
        json_put_string(probe, "seen", f->text);
        json_put_string(probe, "remedy", *f->remedy ? f->remedy : NULL);
        json_put_string(probe, "row", *pilot_row(f->step) ? pilot_row(f->step) : NULL);
        json_put_int(probe, "duration_ms", f->duration_ms);
        json_add(probes, probe);
    }
    json_put_string(report, "status", findings_worst(findings, 0) == FINDING_FAILED ? "failed" : "ok");
    json_put(report, "probes", probes);
    return report;
}

static int cmd_pilot_read_wait(struct cli *cli, unsigned *out, struct err *err) {
    const char *text = opt_get(&cli->given, "wait");
    int64_t seconds = PILOT_WAIT_S;
    if (text && !str_to_i64(text, 1, WAIT_S_MAX, &seconds))
        return cli_usage(cli, err, "--wait takes 1 to %d seconds", WAIT_S_MAX);
    *out = (unsigned)seconds;
    return 0;
}

/* -- the run ------------------------------------------------------------------------------------------------------------------- */

static void cmd_pilot_on_signal(int number) {
    (void)number;
    pilot_stop();
}

/* A signal lets the sessions and the token be given back first; a second one ends the program at once. */
static int cmd_pilot_run(struct cli *cli, const struct pilot_options *options, struct findings *findings, struct err *err) {
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = cmd_pilot_on_signal, .sa_flags = (int)SA_RESETHAND}, before[ARRAY_COUNT(watched)];
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_COUNT(watched); i++)
        (void)sigaction(watched[i], &action, &before[i]);
    int rc = pilot_run(options, findings, err);
    for (size_t i = 0; i < ARRAY_COUNT(watched); i++)
        (void)sigaction(watched[i], &before[i], NULL);
    if (pilot_is_stopped())
        cli->status = CLI_FAILED;
    return rc;
}

int cmd_pilot_send(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    _cleanup_done_(cmd_pilot_target_done) struct cmd_pilot_target vcenter = {
        .what = "vCenter",
        .option = "vcenter",
        .question = "Compare the SHA-256 with the one the vCenter shows. Type yes to trust this certificate: ",
        .file = "password-file",
        .pin_option = "sha256"};
    _cleanup_done_(cmd_pilot_target_done) struct cmd_pilot_target hx = {
        .what = "HX Connect",
        .option = "hx",
        .question = "Compare the SHA-256 with the one that a browser shows at HX Connect. Type yes to trust it: ",
        .file = "hx-password-file",
        .pin_option = "hx-sha256"};
    _cleanup_done_(findings_done) struct findings findings = {0};
    struct pilot_options options = {
        .record_folder = opt_get(&cli->given, "record"),
        .tunnel_port = (unsigned)json_get_int(body, "tunnel_port", PILOT_TUNNEL_PORT),
        .direct_port = (unsigned)json_get_int(body, "direct_port", PILOT_DIRECT_PORT),
    };
    int rc = cmd_pilot_read_wait(cli, &options.wait_s, err);
    if (!rc)
        rc = http_client_global_init(err);
    if (!rc)
        rc = cmd_pilot_prepare(cli, &vcenter, body, (const char *const[]){"user", "ca_pem", "thumbprint"}, err);
    if (!rc && json_object_get(body, "hx")) {
        if (!json_object_get(body, "hx_user"))
            json_put_string(body, "hx_user", HX_USER);
        rc = cmd_pilot_prepare(cli, &hx, body, (const char *const[]){"hx_user", "hx_ca_pem", "hx_thumbprint"}, err);
    }
    if (rc)
        return rc;
    options.vcenter = vcenter.server;
    options.hx = hx.server;
    cli_note("asking; nothing is changed there. A call that waits for news takes up to %u s.", options.wait_s);
    rc = cmd_pilot_run(cli, &options, &findings, err);
    if (!rc)
        *answer = cmd_pilot_report(&findings);
    return rc;
}

static void cmd_pilot_show_result(struct table *t, const json_t *value) {
    const char *word = json_string_value(value);
    table_add(t, str_eq(word, "holds") ? "holds" : str_eq(word, "not_asked") ? "could not be asked" : "DOES NOT HOLD");
}

static size_t cmd_pilot_count(const json_t *probes, const char *result) {
    const json_t *probe;
    size_t i, n = 0;
    json_array_foreach ((json_t *)(uintptr_t)probes, i, probe)
        n += str_eq(json_get_string(probe, "result"), result);
    return n;
}

int cmd_pilot_tell(struct cli *cli, json_t *report, struct err *err) {
    static const struct cli_column columns[] = {
        {"PROBE", "probe"}, {"RESULT", "result", cmd_pilot_show_result}, {"SEEN", "seen"}, {"ROW", "row"}, {NULL},
    };
    const json_t *probes = json_object_get(report, "probes"), *probe;
    size_t i, failed = cmd_pilot_count(probes, "does_not_hold");
    if (failed)
        cli->status = CLI_FAILED;
    if (cli->is_json)
        return show_json(cli, report, err);
    int rc = show_list(cli, probes, columns, err);
    if (rc)
        return rc;
    show_gap(cli);
    json_array_foreach ((json_t *)(uintptr_t)probes, i, probe)
        if (json_get_string(probe, "remedy"))
            show_line(cli, "%s -> %s", json_get_string(probe, "probe"), json_get_string(probe, "remedy"));
    show_line(cli,
              "%zu hold, %zu do not hold, %zu could not be asked. ROW is how the row of " DOC_PAGE(
                  "admin/compatibility.md") " begins; what",
              cmd_pilot_count(probes, "holds"), failed, cmd_pilot_count(probes, "not_asked"));
    show_line(cli, "has no probe there needs a person's eyes. Nothing was changed; all sessions that were made have ended.");
    return strbuf_check(&cli->out, "report", err);
}
