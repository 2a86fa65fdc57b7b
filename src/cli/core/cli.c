/* What all commands of kaasctl share. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_prompt.h"
#include "cli_table.h"
#include "http_client.h"
#include "str.h"

#define NOTE_BYTES_MAX 65536U

const char *cli_config_path(const struct cli *cli) {
    const char *path = opt_get_common(&cli->given, "config");
    return path ? path : CONFIG_DEFAULT_PATH;
}

char *cli_config_path_absolute(const struct cli *cli) {
    const char *path = cli_config_path(cli);
    _cleanup_free_ char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    return here ? str_format("%s/%s", here, path) : str_dup(path);
}

const char *cli_word(const struct cli *cli, size_t i) {
    return i < cli->given.words_count ? cli->given.words[i] : NULL;
}

/* -- errors --------------------------------------------------------------------------------------------------------------- */

int cli_as_usage(struct cli *cli, int rc) {
    if (rc)
        cli->status = CLI_USAGE;
    return rc;
}

enum cli_status cli_status_of(int code) {
    switch (code) {
    case 0: return CLI_OK;
    case ERR_UNAVAILABLE:
    case ERR_BUSY:
    case ERR_DATABASE: return CLI_UNREACHABLE;
    case ERR_HX_NAME_UNKNOWN:
    case ERR_NOT_FOUND: return CLI_NOT_FOUND;
    case ERR_UNAUTHENTICATED:
    case ERR_TOKEN_EXPIRED:
    case ERR_SESSION_ENDED:
    case ERR_CREDENTIALS:
    case ERR_TOO_MANY:
    case ERR_PASSWORD_CHANGE:
    case ERR_FORBIDDEN: return CLI_REFUSED;
    case ERR_CERT_UNCONFIRMED: return CLI_UNCONFIRMED;
    default: return CLI_FAILED;
    }
}

int cli_flush(struct cli *cli, struct err *err) {
    size_t n = cli->out.len;
    bool is_written = fwrite(cli->out.data, 1, n, stdout) == n && fflush(stdout) == 0;
    if (!is_written && errno == EPIPE) { /* "kaasctl ... | head -1": whoever reads has what it wanted */
        cli->signal = SIGPIPE;
        cli->is_quiet_error = true;
    }
    strbuf_reset(&cli->out);
    return is_written ? 0 : err_set(err, ERR_IO, "standard output cannot be written: %m");
}

void cli_note(const char *fmt, ...) {
    _cleanup_strbuf_ struct strbuf clean;
    _cleanup_free_ char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    strbuf_init(&clean, NOTE_BYTES_MAX);
    for (char *rest = text, *line; rest && (line = strsep(&rest, "\n")) && (rest || *line);) {
        text_add_clean(&clean, line);
        strbuf_addc(&clean, '\n');
    }
    (void)fputs(clean.data, stderr);
}

/* -- configuration and connection ----------------------------------------------------------------------------------------- */

static int cli_no_config(const struct err *why, const char *path, struct err *err) {
    if (why->code == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_CONFIG, "there is no configuration %s", path);
        return err_remedy(err, "run: kaasctl init, or give the file with --config FILE");
    }
    if (why->code != ERR_IO)
        return err_move(err, why->code, why);
    (void)err_set(err, ERR_IO, "%s", why->text);
    return err_remedy(err, "run this as root or as the user of the service, or use --server URL --user NAME");
}

int cli_load_config(struct cli *cli, struct err *err) {
    struct err why = {0};
    if (cli->has_config)
        return 0;
    _cleanup_config_report_ struct config_report report;
    config_report_init(&report);
    if (config_load(cli_config_path(cli), &cli->config, &report, &why)) {
        cli->is_quiet_error = report.error_count > 0;
        if (report.error_count)
            cli_note("%s", report.text.data);
        return cli_no_config(&why, cli_config_path(cli), err);
    }
    cli->has_config = true;
    return 0;
}

int cli_get_password(struct cli *cli, const char *path, const char *question, char **out, struct err *err) {
    int rc = path ? prompt_read_password(path, out, err) : prompt_password(question ? question : "Password: ", out, err);
    return rc == ERR_INVALID ? cli_as_usage(cli, rc) : rc;
}

/* NOLINTBEGIN(concurrency-mt-unsafe): nobody sets variables while threads run */
static const char *cli_get_variable(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}
/* NOLINTEND(concurrency-mt-unsafe) */

/* By an option, or by a variable, which a configuration that is given takes no notice of. */
static const char *cli_named_server(const struct cli *cli) {
    const char *server = cli->named_server ? cli->named_server : opt_get_common(&cli->given, "server");
    return server || opt_get_common(&cli->given, "config") ? server : cli_get_variable("KAAS_SERVER");
}

const char *cli_user(const struct cli *cli) {
    const char *user = opt_get_common(&cli->given, "user");
    return user ? user : cli_get_variable("KAAS_USER");
}

int cli_refuse_server(struct cli *cli, const char *why, struct err *err) {
    return cli_named_server(cli) ? cli_usage(cli, err, "run this on the host of %s, without --server and KAAS_SERVER", why) : 0;
}

/* A name that is said is signed in by a password; one of the environment may be that of the login. */
static bool cli_is_login_wanted(const struct cli *cli, const json_t *login) {
    const char *user = cli_get_variable("KAAS_USER");
    return !opt_get_common(&cli->given, "user") && !opt_get_common(&cli->given, "password-file") &&
           (!user || str_eq(user, json_get_string(login, "user")));
}

static int cli_take_login(struct cli *cli, const char *server, struct err *err) {
    _cleanup_logins_ json_t *logins = NULL;
    _cleanup_free_ char *origin = server ? logins_origin(server) : NULL;
    json_t *login;
    int rc = logins_read(&logins, err);
    if (rc)
        return rc;
    login = server ? logins_find(logins, origin) : json_array_get(logins, 0);
    if (!login)
        return 0;
    if (!server)
        cli->server = str_dup(json_get_string(login, "server"));
    cli->ca_pem = json_incref(json_object_get(login, "ca_pem"));
    if (cli->is_about_login || cli_is_login_wanted(cli, login))
        cli->login.kept = json_deep_copy(login);
    return 0;
}

int cli_choose_server(struct cli *cli, struct err *err) {
    const char *server = cli_named_server(cli);
    const bool is_here = opt_get_common(&cli->given, "config") || access(cli_config_path(cli), R_OK) == 0;
    if (cli->has_chosen || (!server && is_here && !cli->is_about_login))
        return 0;
    struct err why = {0};
    cli->server = str_dup(server);
    int rc = cli_take_login(cli, server, &why);
    if (rc && !(server && cli_user(cli))) /* who signs in anew needs no file */
        return err_move(err, rc, &why);
    cli->has_chosen = true;
    return 0;
}

const char *cli_ca_file(const struct cli *cli) {
    const char *path = opt_get_common(&cli->given, "ca-file");
    return path ? path : cli_get_variable("KAAS_CA_FILE");
}

int cli_sign_in(struct cli *cli, const struct cli_account *who, struct err *err) {
    _cleanup_free_ char *question = str_format("Password of %s at %s: ", who->user, cli->server);
    struct cli_account account = *who;
    int rc =
        cli->password ? 0 : cli_get_password(cli, opt_get_common(&cli->given, "password-file"), question, &cli->password, err);
    account.password = cli->password;
    return rc ? rc : cli_client_sign_in(cli->client, &account, err);
}

static int cli_sign_in_once(struct cli *cli, struct err *err) {
    const struct cli_account account = {.user = cli_user(cli), .source = opt_get_common(&cli->given, "source")};
    if (account.user)
        return cli_sign_in(cli, &account, err);
    (void)cli_usage(cli, err, "nobody is signed in at %s", cli->server);
    return err_remedy(err, "run: kaasctl login %s, or add --user NAME before the command", cli->server);
}

/* For its admin socket. Who has no configuration is most likely at a machine of their own, not at a server that is to be set up. */
static int cli_load_config_to_connect(struct cli *cli, struct err *err) {
    struct err why = {0};
    int rc = cli_load_config(cli, &why);
    if (!rc)
        return 0;
    if (opt_get_common(&cli->given, "config") || access(cli_config_path(cli), F_OK) == 0 || errno != ENOENT)
        return err_move(err, rc, &why);
    (void)err_set(err, rc, "which KaaS? This machine has no configuration %s", cli_config_path(cli));
    return err_remedy(
        err, "give the server: --server https://HOST:PORT --user NAME, or once: kaasctl login https://HOST:PORT; to make "
             "this machine a server, root runs: kaasctl init");
}

static int cli_open_client(struct cli *cli, struct err *err) {
    struct cli_client_options options = {.ca_file = cli_ca_file(cli), .ends_at_ms = cli->ends_at_ms};
    int rc = cli_choose_server(cli, err);
    if (!rc && !cli->server)
        rc = cli_load_config_to_connect(cli, err);
    if (rc)
        return rc;
    options.server = cli->server;
    options.ca_pem = json_string_value(cli->ca_pem);
    if (!cli->server)
        options.unix_socket = cli->config.server_admin_socket;
    rc = http_client_global_init(err);
    if (rc)
        return rc;
    rc = cli_client_new(&options, &cli->client, err);
    return rc == ERR_INVALID ? cli_as_usage(cli, rc) : rc;
}

int cli_connect_public(struct cli *cli, struct err *err) {
    return cli->client ? 0 : cli_open_client(cli, err);
}

int cli_connect(struct cli *cli, struct err *err) {
    int rc;
    if (cli->client)
        return 0;
    rc = cli_open_client(cli, err);
    if (rc || !cli->server)
        return rc;
    if (!cli->login.kept)
        return cli_sign_in_once(cli, err);
    cli->login.client = cli->client;
    cli->login.server = cli->server;
    return cli_login_use(&cli->login, err);
}

void cli_tell_stale(const struct cli *cli) {
    const char *reasons = cli->client ? cli_client_stale(cli->client) : "";
    if (*reasons)
        cli_note("kaasctl: what is shown is not up to date (%s); what is wrong tells: kaasctl health", reasons);
}

/* -- confirmation --------------------------------------------------------------------------------------------------------- */

int cli_confirm_by(struct cli *cli, const char *question, const char *word, struct err *err) {
    _cleanup_free_ char *answer = NULL;
    int rc;
    if (opt_get_common(&cli->given, "yes"))
        return 0;
    cli->status = CLI_UNCONFIRMED;
    if (!prompt_has_terminal()) {
        (void)err_set(err, ERR_CERT_UNCONFIRMED, "this needs a confirmation, and there is no terminal to ask on");
        return err_remedy(err, "add --yes");
    }
    rc = prompt_text(question, &answer, err);
    if (rc)
        return rc;
    if (!str_eq(answer, word))
        return err_set(err, ERR_CERT_UNCONFIRMED, "not confirmed; nothing was changed");
    cli->status = CLI_OK;
    return 0;
}

int cli_confirm(struct cli *cli, const char *question, struct err *err) {
    return cli_confirm_by(cli, question, "yes", err);
}
