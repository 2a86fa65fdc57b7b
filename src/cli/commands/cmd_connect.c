/* kaasctl cluster connect and what belongs to it: connections to Kubernetes clusters, their steps, and health. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files with credentials are read here, are sent in the body and wiped; kaasd judges what is in them, so that it is judged in one place. */
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cleanup.h"
#include "cli_command.h"
#include "cli_prompt.h"
#include "clock.h"
#include "fsutil.h"
#include "limits.h"
#include "names.h"
#include "str.h"
#include "uuid.h"

#define CONNECT_TOKEN_BYTES_MAX 16384U
#define CONNECT_SET "PUT /v2/clusters/{id}/connection"
#define CONNECT_LOOK_S 2
#define CONNECT_RENEW_MS (5LL * 60 * 1000) /* tokens live for a quarter of an hour */

/* -- what is given ---------------------------------------------------------------------------------------------------------------- */

/* Whoever connects a cluster may have got the file from somebody who did not care: said, and read all the same. */
static void connect_warn_of_mode(const char *path) {
    struct stat st;
    if (!stat(path, &st) && S_ISREG(st.st_mode) && (st.st_mode & (S_IRWXG | S_IRWXO)))
        cli_note("kaasctl: others may read %s; close it to them: chmod 600 %s", path, path);
}

/* Puts the text of a file, or of standard input for "-", into the body; without the line end behind a token. A file that is missing is no missing object. */
static int connect_put_file(const char *path, const char *member, size_t bytes_max, bool is_line, json_t *body, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct err why = {0};
    strbuf_init_secret(&text, bytes_max);
    int rc = str_eq(path, "-") ? prompt_read_input(&text, &why) : fs_read_text(path, &text, &why);
    if (rc) {
        (void)err_set(err, rc == ERR_NOT_FOUND ? ERR_IO : rc, "%s", why.text);
        return *why.remedy ? err_remedy(err, "%s", why.remedy) : err->code;
    }
    if (!str_eq(path, "-"))
        connect_warn_of_mode(path);
    if (is_line && text.len)
        text.data[strcspn(text.data, "\r\n")] = 0;
    if (!*text.data)
        return err_set(err, ERR_INVALID, "%s is empty", str_eq(path, "-") ? "standard input" : path);
    json_put_string(body, member, text.data);
    return 0;
}

int cmd_cluster_connect(struct cli *cli, json_t *body, struct err *err) {
    const char *kubeconfig = opt_get(&cli->given, "kubeconfig"), *token = opt_get(&cli->given, "token-file");
    const bool has_address = json_object_get(body, "address");
    if (kubeconfig && (has_address || token || json_object_get(body, "ca_pem")))
        return cli_usage(cli, err, "give either --kubeconfig, or --address with --token-file and --ca-file");
    if (!kubeconfig && (!has_address || !token))
        return cli_usage(cli, err, "give --kubeconfig, or --address with --token-file");
    if (json_object_get(body, "ca_pem") && json_object_get(body, "thumbprint_sha256"))
        return cli_usage(cli, err, "give either --ca-file or --sha256, not both");
    if (!kubeconfig && json_object_get(body, "context"))
        return cli_usage(cli, err, "--context is one of a --kubeconfig");
    return kubeconfig ? connect_put_file(kubeconfig, "kubeconfig", KAAS_KUBECONFIG_BYTES_MAX, false, body, err)
                      : connect_put_file(token, "token", CONNECT_TOKEN_BYTES_MAX, true, body, err);
}

/* -- steps -------------------------------------------------------------------------------------------------------------------------- */

/* What kaasd made is many things of one name: it goes into each line, not above it. */
static int connect_write_steps(struct cli *cli, const json_t *steps, struct err *err) {
    _cleanup_json_ json_t *lines = json_deep_copy(steps);
    json_t *line;
    size_t i;
    json_array_foreach (lines, i, line) {
        const char *name = json_get_string(line, "server");
        _cleanup_free_ char *text = name ? str_format("%s: %s", name, json_get_string(line, "finding")) : NULL;
        json_put_string(line, "finding", text);
        (void)json_object_del(line, "server");
    }
    return lines ? findings_write(cli, lines, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* Steps of a call that failed go before its error. */
static void connect_tell_failed(struct cli *cli) {
    const json_t *steps = json_object_get(cli_client_problem(cli->client), "steps");
    if (!json_array_size(steps))
        return;
    if (cli->is_json) {
        _cleanup_json_ json_t *told = json_pack("{sO}", "steps", (json_t *)(uintptr_t)steps);
        (void)show_json(cli, told, NULL);
        return;
    }
    (void)connect_write_steps(cli, steps, NULL);
}

/* Where no CA was given a person can confirm the certificate: by the same command with one option more. */
static int connect_fail(struct cli *cli, const json_t *body, const struct err *why, struct err *err) {
    const char *kubeconfig = opt_get(&cli->given, "kubeconfig"), *context = opt_get(&cli->given, "context");
    const char *name = cli_word(cli, 0);
    const json_t *certificate = json_object_get(cli_client_problem(cli->client), "certificate");
    const char *sha256 = json_get_string(certificate, "sha256");
    connect_tell_failed(cli);
    if (!sha256)
        return cli_fail(cli, why, err);
    (void)err_set(err, why->code, "%s", why->text);
    if (!kubeconfig)
        return err_remedy(err,
                          "compare the SHA-256 with the server's own, then: kaasctl cluster %s %s --address %s --token-file %s "
                          "--sha256 %s",
                          cli->command->verb, name, json_get_string(body, "address"), opt_get(&cli->given, "token-file"), sha256);
    return err_remedy(err,
                      "compare the SHA-256 with the server's own, then: kaasctl cluster %s %s --kubeconfig %s%s%s --sha256 %s",
                      cli->command->verb, name, kubeconfig, context ? " --context " : "", context ? context : "", sha256);
}

/* The record of this name, if there is one; else the body gets the name of the new one. */
static int connect_find_record(struct cli *cli, json_t *body, struct err *err) {
    struct err why = {0};
    int rc = cli_find(cli, &cli_clusters, cli_word(cli, 0), &cli->object, &why);
    if (rc != ERR_NOT_FOUND || uuid_is_valid(cli_word(cli, 0)))
        return err_move(err, rc, &why);
    json_put_string(body, "name", cli_word(cli, 0));
    return 0;
}

/* `connect` makes a record where there is none; for `reconnect` it has been found. */
int cmd_cluster_send_connect(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    struct err why = {0};
    int rc = cli->object ? 0 : connect_find_record(cli, body, err);
    if (rc)
        return rc;
    rc = cli_send(cli, cli->object ? CONNECT_SET : cli->command->call, cli->object, body, answer, &why);
    return rc ? connect_fail(cli, body, &why, err) : 0;
}

int cmd_cluster_tell_connected(struct cli *cli, json_t *answer, struct err *err) {
    const char *word = name_word(cli_word(cli, 0), json_get_string(answer, "cluster_id"));
    if (cli->is_json)
        return show_json(cli, answer, err);
    int rc = findings_write(cli, json_object_get(answer, "steps"), err);
    show_gap(cli);
    if (json_is_null(json_object_get(answer, "connection")))
        show_line(cli, "This was a dry run: nothing was made.");
    else
        show_line(cli, "Cluster %s is connected. See: kaasctl cluster health %s, kaasctl cluster nodes %s", cli_word(cli, 0),
                  word, word);
    return rc;
}

/* A step that fails is an answer, and a failure for scripts. */
int cmd_cluster_tell_test(struct cli *cli, json_t *answer, struct err *err) {
    findings_judge(cli, json_object_get(answer, "steps"));
    return cli->is_json ? show_json(cli, answer, err) : findings_write(cli, json_object_get(answer, "steps"), err);
}

/* -- disconnecting -------------------------------------------------------------------------------------------------------------------- */

static int connect_show_removal(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    const json_t *step;
    size_t i;
    int rc = cli_send(cli, "DELETE /v2/clusters/{id}/connection?show=true", cli->object, NULL, &answer, err);
    if (rc || cli->is_json)
        return rc;
    show_line(cli, "To be removed:");
    json_array_foreach (json_object_get(answer, "steps"), i, step) {
        const char *name = json_get_string(step, "server");
        show_line(cli, "  %s%s%s", json_get_string(step, "title"), name ? " " : "", name ? name : "");
    }
    show_gap(cli);
    return cli_flush(cli, err);
}

/* First what is to be removed, then the question, then the removal with what came of it. */
int cmd_cluster_disconnect(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    const bool is_forget = opt_get(&cli->given, "forget"), is_when_back = opt_get(&cli->given, "when-back");
    struct err why = {0};
    if (is_forget && is_when_back)
        return cli_usage(cli, err, "give either --forget or --when-back");
    int rc = cli_find_object(cli, err);
    if (!is_when_back) /* a cluster that is away cannot be looked at */
        rc = rc ? rc : connect_show_removal(cli, err);
    rc = rc ? rc : cli_ask(cli, err);
    if (rc)
        return rc;
    if (is_when_back) {
        rc = cli_send(cli, "DELETE /v2/clusters/{id}/connection?when_back=true", cli->object, NULL, &answer, err);
        return rc ? rc : cmd_job_tell_begun(cli, answer, err);
    }
    rc = cli_send(cli, is_forget ? "DELETE /v2/clusters/{id}/connection?forget=true" : "DELETE /v2/clusters/{id}/connection",
                  cli->object, NULL, &answer, &why);
    if (rc) {
        connect_tell_failed(cli);
        return err_move(err, rc, &why);
    }
    if (cli->is_json)
        return show_json(cli, answer, err);
    rc = connect_write_steps(cli, json_object_get(answer, "steps"), err);
    show_gap(cli);
    show_line(cli, "Cluster %s is disconnected; its record stays.", json_get_string(cli->object, "name"));
    return rc;
}

/* -- health ----------------------------------------------------------------------------------------------------------------------------- */

/* A cluster that does not work is an answer, and a failure for scripts. */
static void connect_judge(struct cli *cli, const json_t *health) {
    const char *state = json_get_string(health, "state");
    if (str_eq(state, "unreachable") || str_eq(state, "failed"))
        cli->status = CLI_FAILED;
}

static int connect_show_health(struct cli *cli, const json_t *health, struct err *err) {
    static const struct cli_column reasons[] = {
        {"REASON", "reason"}, {"SEVERITY", "severity"}, {"SINCE", "since", show_time},
        {"TEXT", "text"},     {"REMEDY", "remedy"},     {NULL},
    };
    const json_t *list = json_object_get(health, "reasons");
    int rc = show_object(cli, health, cli->command->object, err);
    if (rc || cli->is_json || !json_array_size(list))
        return rc;
    show_gap(cli);
    return show_list(cli, list, reasons, err);
}

int cmd_cluster_tell_health(struct cli *cli, json_t *health, struct err *err) {
    connect_judge(cli, health);
    return connect_show_health(cli, health, err);
}

/* Without the time of the last look, which changes all the time. */
static json_t *connect_comparable(const json_t *health) {
    json_t *copy = json_deep_copy(health);
    (void)json_object_del(json_object_get(copy, "connection"), "checked_at");
    return copy;
}

static int connect_renew(struct cli *cli, int64_t *renewed_ms, struct err *err) {
    const int64_t now_ms = clock_mono_ms();
    if (now_ms - *renewed_ms < CONNECT_RENEW_MS)
        return 0;
    *renewed_ms = now_ms;
    return cli->login.kept ? cli_login_renew(&cli->login, err) : cli_client_renew(cli->client, err);
}

/* A cluster's health that is watched. */
struct connect_watch {
    struct cli *cli;
    json_t *shown; /* as connect_comparable; NULL: nothing yet */
    int64_t renewed_ms;
};

/* For people with the time above it, for programs a line each. */
static int connect_show_now(struct cli *cli, const json_t *health, struct err *err) {
    char now[CLOCK_RFC3339_BYTES];
    int rc;
    clock_format(clock_wall_ms(), now);
    if (cli->is_json) {
        rc = show_json_line(cli, health, err);
    } else {
        show_line(cli, "%.19sZ", now);
        rc = connect_show_health(cli, health, err);
        show_gap(cli);
    }
    return rc ? rc : cli_flush(cli, err);
}

static int connect_look_once(struct connect_watch *w, struct err *err) {
    _cleanup_json_ json_t *health = NULL, *now = NULL;
    int rc = connect_renew(w->cli, &w->renewed_ms, err);
    rc = rc ? rc : cli_call(w->cli, NULL, &health, err);
    if (rc)
        return rc;
    now = connect_comparable(health);
    if (json_equal(now, w->shown))
        return 0;
    json_decref(w->shown);
    w->shown = json_incref(now);
    return connect_show_now(w->cli, health, err);
}

/* With --watch it is shown now and whenever it is another one. That returns only with an error that does not pass. */
int cmd_cluster_send_health(struct cli *cli, json_t *query, json_t **answer, struct err *err) {
    static const struct timespec pause = {.tv_sec = CONNECT_LOOK_S};
    struct connect_watch w = {.cli = cli, .renewed_ms = clock_mono_ms()};
    struct err why = {0};
    int rc;
    (void)query;
    if (!opt_get(&cli->given, "watch"))
        return cli_call(cli, NULL, answer, err);
    while (!(rc = connect_look_once(&w, &why)) ||
           (w.shown && cmd_cluster_is_passing(rc) && !cli_client_is_out_of_time(cli->client))) {
        if (rc)
            cli_note("kaasctl: %s; trying again", why.text);
        err_clear(&why);
        (void)nanosleep(&pause, NULL);
    }
    json_decref(w.shown);
    return err_move(err, rc, &why);
}

/* -- doctor --------------------------------------------------------------------------------------------------------------------------------- */

/* A reason of the health as a finding. */
static json_t *connect_reason_finding(const json_t *reason) {
    const char *severity = json_get_string(reason, "severity");
    json_t *finding = json_object();
    json_put_string(finding, "step", "health");
    json_put_string(finding, "title", json_get_string(reason, "reason"));
    json_put_string(finding, "status", str_eq(severity, "error") ? "failed" : str_eq(severity, "info") ? "ok" : "warning");
    json_put_string(finding, "finding", json_get_string(reason, "text"));
    (void)json_object_set(finding, "remedy", json_object_get(reason, "remedy"));
    return finding;
}

/* The steps of the connection, and whatever the cluster is not well by. */
int cmd_cluster_doctor(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *test = NULL, *health = NULL, *report = json_object();
    const json_t *reason;
    json_t *findings;
    size_t i;
    int rc = cli_find_object(cli, err);
    rc = rc ? rc : cli_send(cli, "POST /v2/clusters/{id}/connection/test", cli->object, NULL, &test, err);
    rc = rc ? rc : cli_send(cli, "GET /v2/clusters/{id}/health", cli->object, NULL, &health, err);
    if (rc)
        return rc;
    findings = json_object_get(test, "steps");
    json_array_foreach (json_object_get(health, "reasons"), i, reason)
        json_add(findings, connect_reason_finding(reason));
    findings_judge(cli, findings);
    connect_judge(cli, health);
    json_put_string(report, "state", json_get_string(health, "state"));
    (void)json_object_set(report, "findings", findings);
    if (cli->is_json)
        return show_json(cli, report, err);
    show_line(cli, "cluster %s: %s", json_get_string(cli->object, "name"), json_get_string(health, "state"));
    show_gap(cli);
    return findings_write(cli, findings, err);
}

/* -- a kubeconfig ---------------------------------------------------------------------------------------------------------------- */

/* As it is, for a file. */
int cmd_cluster_tell_kubeconfig(struct cli *cli, json_t *answer, struct err *err) {
    if (cli->is_json)
        return show_json(cli, answer, err);
    strbuf_adds(&cli->out, json_get_string(answer, "kubeconfig"));
    cli_note("%s may do everything in %s with this until %.16sZ: keep it as a password is kept", json_get_string(answer, "user"),
             json_get_string(json_object_get(answer, "cluster"), "name"), json_get_string(answer, "until"));
    return strbuf_check(&cli->out, "the kubeconfig", err);
}
