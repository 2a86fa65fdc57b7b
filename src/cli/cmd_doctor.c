/* kaasctl doctor: looking for what is wrong, step by step. Layer 6 (cli). The steps of a vCenter are kaasd's.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_address.h"
#include "cli_command.h"
#include "cli_doctor_local.h"
#include "cli_find.h"
#include "cli_findings.h"
#include "cli_show.h"
#include "str.h"

/* -- what is examined ----------------------------------------------------------------------------------------------------------- */

static int examine_vcenter(struct cli *cli, const char *ref, struct err *err) {
    _cleanup_json_ json_t *vcenter = NULL, *report = NULL;
    _cleanup_free_ char *path = NULL;
    struct cli_request request = {.method = "POST"};
    int rc = cli_find(cli, &cli_vcenters, ref, &vcenter, err);
    if (rc)
        return rc;
    path = cli_path_of("vcenters", vcenter, "doctor");
    request.path = path;
    rc = path ? cli_client_call(cli->client, &request, &report, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    findings_judge(cli, json_object_get(report, "findings"));
    if (cli->is_json)
        return show_json(cli, report, err);
    show_line(cli, "vCenter %s (%s, port %lld), %s", json_get_string(report, "name"), json_get_string(report, "address"),
              (long long)json_get_int(report, "port", 0),
              json_get_bool(report, "registered", false) ? "registered" : "not registered");
    strbuf_addc(&cli->out, '\n');
    return findings_write(cli, json_object_get(report, "findings"), err);
}

static int show_local(struct cli *cli, const char *headline, const json_t *findings, struct err *err) {
    _cleanup_json_ json_t *report = NULL;
    findings_judge(cli, findings);
    if (!cli->is_json) {
        show_line(cli, "%s", headline);
        strbuf_addc(&cli->out, '\n');
        return findings_write(cli, findings, err);
    }
    report = json_object();
    json_put_string(report, "status",
                    findings_count(findings, "failed")    ? "failed"
                    : findings_count(findings, "warning") ? "warning"
                                                          : "ok");
    (void)json_object_set(report, "findings", (json_t *)(uintptr_t)findings);
    return show_json(cli, report, err);
}

static int examine_address(struct cli *cli, const char *text, struct err *err) {
    _cleanup_json_ json_t *findings = json_array();
    _cleanup_free_ char *headline = NULL;
    struct cli_address address = {.port = 0};
    unsigned port;
    int rc = cli_address_parse(text, &address, err);
    if (rc) {
        cli->status = CLI_USAGE;
        return rc;
    }
    port = address.port ? (unsigned)address.port : 443;
    headline = str_format("%s, port %u, as seen from this host; nothing but a TLS handshake was sent", address.host, port);
    doctor_local_look_at(findings, address.host, port);
    return headline ? show_local(cli, headline, findings, err) : err_set(err, ERR_NOMEM, "out of memory");
}

static int examine_here(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *findings = json_array();
    doctor_local_examine(cli, findings);
    return show_local(cli, "kaasd on this host (one vCenter in depth: kaasctl doctor --vcenter VCENTER)", findings, err);
}

int cmd_doctor(struct cli *cli, struct err *err) {
    const char *vcenter = opt_get(&cli->given, "vcenter"), *address = opt_get(&cli->given, "address");
    if (vcenter && address)
        return cli_usage(cli, err, "give either --vcenter or --address, not both");
    if (vcenter)
        return examine_vcenter(cli, vcenter, err);
    return address ? examine_address(cli, address, err) : examine_here(cli, err);
}
