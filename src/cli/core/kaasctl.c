/* kaasctl: the administrator's command line. Layer 7 (cli). Commands are in cmd_*.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "cli_command.h"
#include "cli_table.h"
#include "http_client.h"
#include "secret.h"
#include "store.h"

#define OUTPUT_BYTES_MAX (256U * 1024U * 1024U)
#define MORE_BYTES_MAX 65536U

static int kaasctl_run(struct cli *cli, int argc, char **argv, struct err *err) {
    int rc = cli_parse(cli, argc, argv, err);
    if (!rc && cli->command)
        rc = cli->command->run ? cli->command->run(cli, err) : cli_run_steps(cli, err);
    if (cli_flush(cli, rc ? NULL : err) && !rc)
        return ERR_IO;
    if (!rc)
        cli_tell_stale(cli);
    return rc;
}

static void kaasctl_done(struct cli *cli) {
    cli_client_free(cli->client);
    secret_free(cli->password);
    secret_free(cli->one_time);
    json_decref(cli->object);
    json_decref(cli->ca_pem);
    logins_free_one(cli->login.kept);
    free(cli->server);
    config_free(&cli->config);
    opt_done(&cli->given);
    strbuf_done(&cli->out);
    strbuf_done(&cli->more);
    store_global_done();
    http_client_global_done();
}

int main(int argc, char **argv) {
    struct cli cli = {.client = NULL};
    struct err err = {0};
    int rc;
    secret_protect_process();
    text_init_locale();
    strbuf_init_secret(&cli.out, OUTPUT_BYTES_MAX); /* a one-time password goes through it */
    strbuf_init(&cli.more, MORE_BYTES_MAX);
    rc = kaasctl_run(&cli, argc, argv, &err);
    if (rc && !cli.is_quiet_error)
        cli_note("kaasctl: %s%s%s", err.text, err.remedy[0] ? "; " : "", err.remedy);
    if (rc)
        (void)fputs(cli.more.data, stderr);
    if (cli.status == CLI_OK)
        cli.status = cli_status_of(rc);
    kaasctl_done(&cli);
    if (cli.signal) {
        (void)signal(cli.signal, SIG_DFL);
        (void)raise(cli.signal);
    }
    return (int)cli.status;
}
