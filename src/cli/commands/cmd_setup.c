/* kaasctl init, db and config: everything that must be there before kaasd starts, step by step, and whether it is. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each step of init tells what it made or kept, at once, so that a failure half-way leaves no doubt; all may be repeated. */
#include <stdlib.h>
#include <unistd.h>

#include "cli_address.h"
#include "cli_command.h"
#include "cli_prompt.h"
#include "first_setup.h"
#include "fsutil.h"
#include "names.h"
#include "ovf_env.h"
#include "secret.h"
#include "setup_check.h"
#include "setup_files.h"
#include "store_schema.h"
#include "str.h"

#define FIRST_PORT_OF_USERS 1024
#define USUAL_PORT 8443

/* What the steps share. */
struct cmd_init {
    struct cli *cli;
    char *config_path; /* absolute */
    struct ovf_appliance ovf;
    char *public_url; /* given or asked for; NULL: neither */
    struct setup_user user;
    struct store *store; /* from step_schema on */
    json_t *told;        /* for --output json */
};

typedef int cmd_init_fn(struct cmd_init *s, struct err *err);

static int cmd_init_step_find_paths(struct cmd_init *s, struct err *err) {
    s->config_path = cli_config_path_absolute(s->cli);
    return s->config_path ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Root makes the files for the user of the service; anybody else runs it as himself. */
static int cmd_init_step_find_user(struct cmd_init *s, struct err *err) {
    const char *wanted = opt_get(&s->cli->given, "service-user");
    int rc = setup_find_user(wanted, &s->user, err);
    if (rc == ERR_NOT_FOUND || rc == ERR_FORBIDDEN)
        s->cli->status = CLI_USAGE;
    if (rc)
        return rc == ERR_NOT_FOUND ? err_remedy(err, "make it first, for instance by: useradd --system %s", wanted) : rc;
    if (wanted || geteuid() || str_eq(s->user.name, SETUP_USER))
        return 0;
    if (str_eq(s->config_path, CONFIG_DEFAULT_PATH)) {
        s->cli->status = CLI_USAGE;
        (void)err_set(err, ERR_NOT_FOUND, "there is no user " SETUP_USER " on this machine, as whom the service runs");
        return err_remedy(err,
                          "make it: systemd-sysusers, or useradd --system " SETUP_USER "; or name another one by --service-user");
    }
    cli_note("kaasctl: there is no user " SETUP_USER
             " on this machine: the files are made for root, and kaasd has to run as root");
    return 0;
}

/* As deployed; options come first. */
static int cmd_init_step_read_ovf(struct cmd_init *s, struct err *err) {
    const char *path = opt_get(&s->cli->given, "ovf-env");
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init_secret(&text, OVF_ENV_BYTES_MAX);
    if (!path)
        return 0;
    rc = str_eq(path, "-") ? prompt_read_input(&text, err) : fs_read_secret_text(path, &text, err);
    return rc ? rc : ovf_appliance_parse(text.data, text.len, &s->ovf, err);
}

/* Without it the service is of little use, and where to listen follows from it. */
static int cmd_init_step_ask_address(struct cmd_init *s, struct err *err) {
    const char *option = opt_get(&s->cli->given, "public-url"), *given = option ? option : s->ovf.public_url;
    const bool asks = !given && access(s->config_path, F_OK) && prompt_has_terminal() && !opt_get_common(&s->cli->given, "yes");
    if (asks)
        return prompt_text(
            "Under which address will browsers and vCenter reach this service? Such as https://kaas.example.com:8443, "
            "or Enter to set it later: ",
            &s->public_url, err);
    s->public_url = given ? str_dup(given) : NULL;
    return given && !s->public_url ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

static void cmd_init_tell_file(struct cmd_init *s, const char *what, const char *member, const char *path,
                               enum setup_file became) {
    static const char *const words[] = {[SETUP_KEPT] = "kept", [SETUP_MADE] = "made", [SETUP_MENDED] = "kept"};
    show_line(s->cli, "%-14s %s %s%s", what, words[became], path, became == SETUP_MENDED ? ", owner and mode mended" : "");
    json_put_string(s->told, member, path);
}

/* Where kaasd has to listen to be reached at the URL; NULL: as by default. */
static char *cmd_init_listen_for(const char *url) {
    _cleanup_free_ char *host = str_starts(url, "https://") ? strndup(url + 8, strcspn(url + 8, "/")) : NULL;
    struct cli_address address;
    if (!host || cli_address_parse(host, &address, NULL))
        return NULL;
    if (address.port < FIRST_PORT_OF_USERS) {
        cli_note(
            "kaasctl: kaasd runs without the right to listen on port %d: it will listen on port %d; have a proxy or balancer lead "
            "there, or give the port in --public-url",
            address.port ? address.port : 443, USUAL_PORT);
        address.port = USUAL_PORT;
    }
    if (cli_address_is_loopback(&address))
        return str_format(strchr(address.host, ':') ? "[::1]:%d" : "127.0.0.1:%d", address.port);
    return str_format("*:%d", address.port);
}

static int cmd_init_step_config(struct cmd_init *s, struct err *err) {
    const struct opt_given *given = &s->cli->given;
    const char *host = opt_get(given, "database-host"), *ca = opt_get(given, "database-ca-file"),
               *listen = opt_get(given, "listen");
    _cleanup_free_ char *derived = listen || !s->public_url ? NULL : cmd_init_listen_for(s->public_url);
    _cleanup_free_ char *ca_path = ca ? realpath(ca, NULL) : NULL;
    struct cli_address database = {.port = 0};
    enum setup_file became = SETUP_KEPT;
    int rc = host ? cli_address_parse(host, &database, err) : 0;
    struct setup_config settings = {.path = s->config_path,
                                    .database_socket = host ? NULL : opt_get(given, "database-socket"),
                                    .database_host = host ? database.host : NULL,
                                    .database_port = database.port,
                                    .database_ca_file = ca_path,
                                    .public_url = s->public_url,
                                    .listen = listen ? listen : derived};
    if (rc)
        return rc;
    if (ca && !ca_path)
        return err_set(err, ERR_IO, "cannot find the file %s: %m", ca);
    rc = setup_write_config(&settings, &s->user, &became, err);
    if (rc)
        return rc;
    rc = cli_load_config(s->cli, err);
    if (rc && became == SETUP_MADE) /* one with a fault in it, from a wrong option, must not be what the next run keeps */
        (void)unlink(s->config_path);
    if (rc)
        return rc;
    cmd_init_tell_file(s, "configuration", "config", s->config_path, became);
    if (became == SETUP_MADE)
        show_line(s->cli, "%-14s %s", "listens on", s->cli->config.server_listen);
    else if (settings.public_url || settings.listen || host)
        cli_note("kaasctl: %s was there already; --public-url, --listen and --database-host change nothing in it",
                 s->config_path);
    return 0;
}

static int cmd_init_step_database(struct cmd_init *s, struct err *err) {
    const struct opt_given *given = &s->cli->given;
    const struct config *config = &s->cli->config;
    const char *file = opt_get(given, "database-admin-password-file");
    struct setup_database_admin admin = {.socket = opt_get(given, "database-socket"), .user = opt_get(given, "database-admin")};
    _cleanup_secret_ char *password = NULL;
    int rc = file ? prompt_read_password(file, &password, err) : 0;
    if (rc)
        return rc;
    admin.password = password;
    rc = setup_make_database(config, s->config_path, &admin, &s->user, err);
    if (rc)
        return rc;
    show_line(s->cli, "%-14s %s, with accounts %s and %s", "database", config->database_name, config->database_user,
              config->database_owner_user);
    json_put_string(s->told, "database", config->database_name);
    return 0;
}

static int cmd_init_step_schema(struct cmd_init *s, struct err *err) {
    struct setup_migration migration = {.on_step = NULL};
    unsigned applied = 0;
    int rc = setup_migrate(&s->cli->config, s->config_path, &migration, &applied, err);
    if (rc)
        return rc;
    if (migration.rights.code) {
        *err = migration.rights;
        return err->code;
    }
    if (applied)
        show_line(s->cli, "%-14s made, %u files applied", "schema", applied);
    else
        show_line(s->cli, "%-14s up to date", "schema");
    json_put_int(s->told, "schema_files_applied", applied);
    return db_settings_open(&s->cli->config, s->config_path, DB_ACCOUNT_RUNTIME, &s->store, err);
}

/* After the schema, since the database tells whether a key is missed. */
static int cmd_init_step_master_key(struct cmd_init *s, struct err *err) {
    const char *path = s->cli->config.secrets_master_key_file;
    enum setup_file became = SETUP_KEPT;
    int rc = setup_make_master_key(s->store, path, &s->user, &became, err);
    if (!rc)
        cmd_init_tell_file(s, "master key", "master_key", path, became);
    return rc;
}

/* The only time that a password made here is seen; one that was given is not told. */
static void cmd_init_tell_admin(struct cmd_init *s, const char *name, const char *one_time) {
    show_line(s->cli, "%-14s made %s", "administrator", name);
    json_put_string(s->told, "admin", name);
    if (!one_time)
        return;
    strbuf_adds(&s->cli->out, s->cli->is_json ? "" : "\n");
    show_line(s->cli, "One-time password of %s: %s", name, one_time);
    show_line(s->cli, "It must be changed before anything else, by the command below or in the page.");
    json_put_string(s->told, "one_time_password", one_time);
}

static int cmd_init_step_admin(struct cmd_init *s, struct err *err) {
    const char *given = opt_get(&s->cli->given, "admin"), *name = given ? given : "admin";
    const char *file = opt_get(&s->cli->given, "admin-password-file");
    _cleanup_secret_ char *password = NULL;
    bool is_made = false, is_given, is_seen;
    int rc = file ? prompt_read_password(file, &password, err) : 0;
    if (rc)
        return rc;
    is_seen = !password && s->ovf.admin_password; /* by whoever may look at the properties of the virtual machine */
    if (is_seen)
        SWAP(password, s->ovf.admin_password);
    is_given = password != NULL;
    rc = setup_make_first_admin(s->store, name, &password, is_seen, &is_made, err);
    if (rc)
        return rc;
    if (is_made)
        cmd_init_tell_admin(s, name, is_given ? NULL : password);
    else
        show_line(s->cli, "%-14s kept: there are users already", "administrator");
    return 0;
}

int cmd_config_check_as(struct cli *cli, const struct setup_user *user, const char *path, struct err *err) {
    _cleanup_strbuf_ struct strbuf told;
    int rc;
    strbuf_init(&told, CONFIG_REPORT_BYTES_MAX);
    rc = setup_check_as(user, path, &told, err);
    if (told.len)
        cli_note("%s", told.data);
    cli->is_quiet_error = rc && told.len;
    return rc;
}

static void cmd_init_tell_next(const struct cmd_init *s) {
    const struct config *config = &s->cli->config;
    const char *url = *config->server_public_url ? config->server_public_url : "URL", *admin = opt_get(&s->cli->given, "admin");
    const bool is_usual = str_eq(s->config_path, CONFIG_DEFAULT_PATH);
    _cleanup_free_ char *with = is_usual ? str_dup("") : str_format(" --config %s", s->config_path);
    _cleanup_free_ char *ca =
        *config->server_tls_certificate ? str_dup("") : str_format(" --ca-file %s/server.crt", config->state_dir);
    strbuf_addc(&s->cli->out, '\n');
    show_line(s->cli, "Keep a copy of the master key in another place: without it the secrets in the database are lost.");
    show_line(s->cli, "Next:");
    if (!*config->server_public_url)
        show_line(
            s->cli,
            "  set server.public_url in %s, needed before a vCenter is registered, and server.listen (\"*:%d\") for other hosts",
            s->config_path, USUAL_PORT);
    if (is_usual)
        show_line(s->cli, "  systemctl enable --now kaasd");
    else
        show_line(s->cli, "  kaasd%s", with ? with : "");
    if (json_object_get(s->told, "one_time_password"))
        show_line(s->cli, "  kaasctl --server %s%s --user %s user password", url, ca ? ca : "",
                  name_quote(admin ? admin : "admin").text);
    show_line(s->cli, "  kaasctl%s vcenter add ADDRESS", with ? with : "");
}

static void cmd_init_done(struct cmd_init *s) {
    json_wipe_string(json_object_get(s->told, "one_time_password"));
    json_decref(s->told);
    store_free(s->store);
    ovf_appliance_done(&s->ovf);
    free(s->config_path);
    free(s->public_url);
}

int cmd_init(struct cli *cli, struct err *err) {
    static cmd_init_fn *const steps[] = {cmd_init_step_find_paths,  cmd_init_step_find_user,  cmd_init_step_read_ovf,
                                         cmd_init_step_ask_address, cmd_init_step_config,     cmd_init_step_database,
                                         cmd_init_step_schema,      cmd_init_step_master_key, cmd_init_step_admin};
    __attribute__((cleanup(cmd_init_done))) struct cmd_init s = {.cli = cli, .told = json_object()};
    int rc;
    for (size_t i = 0; i < ARRAY_COUNT(steps); i++) {
        rc = steps[i](&s, err);
        if (rc)
            return rc;
        rc = cli_flush(cli, err);
        if (rc)
            return rc;
    }
    rc = cli->is_json ? show_json(cli, s.told, err) : 0;
    if (rc)
        return rc;
    /* What the service would stumble over is told here, not by its log; after what was made, so that no one-time password is lost. */
    rc = cmd_config_check_as(cli, &s.user, s.config_path, err);
    if (!rc && !cli->is_json)
        cmd_init_tell_next(&s);
    return rc;
}

/* -- db and config ---------------------------------------------------------------------------------------------------------------- */

static void cmd_db_on_step(void *arg, const char *file) {
    struct cli *cli = arg;
    show_line(cli, "applying %s", file);
}

static int cmd_db_finish(struct cli *cli, unsigned applied, struct err *err) {
    _cleanup_json_ json_t *result = NULL;
    if (cli->is_json) {
        result = json_object();
        json_put_int(result, "applied", applied);
        return show_json(cli, result, err);
    }
    if (applied)
        show_line(cli, "the schema of database %s is up to date now", cli->config.database_name);
    else
        show_line(cli, "the schema of database %s was up to date already", cli->config.database_name);
    return 0;
}

int cmd_db_migrate(struct cli *cli, struct err *err) {
    const char *done = opt_get(&cli->given, "done"), *redo = opt_get(&cli->given, "redo");
    struct setup_migration migration = {
        .resolve_file = done ? done : redo, .resolve_as_done = done, .on_step = cmd_db_on_step, .on_step_arg = cli};
    unsigned applied = 0;
    int rc;
    if (done && redo)
        return cli_usage(cli, err, "give either --done or --redo, not both");
    rc = cli_load_config(cli, err);
    if (rc)
        return rc;
    rc = setup_migrate(&cli->config, cli_config_path(cli), &migration, &applied, err);
    if (rc)
        return rc;
    if (migration.rights.code)
        cli_note(
            "kaasctl: the account %s keeps rights that it does not need, among them to change audit lines: %s; run once as a "
            "database administrator: kaasctl init",
            cli->config.database_user, migration.rights.text);
    return cmd_db_finish(cli, applied, err);
}

int cmd_db_status(struct cli *cli, struct err *err) {
    struct store_schema schema = store_schema_builtin();
    _cleanup_(store_free) struct store *store = NULL;
    _cleanup_json_ json_t *result = NULL;
    int rc = cli_load_config(cli, err);
    if (rc)
        return rc;
    rc = db_settings_open(&cli->config, cli_config_path(cli), DB_ACCOUNT_RUNTIME, &store, err);
    if (rc)
        return rc;
    rc = store_check_schema(store, schema, err);
    if (rc)
        return rc;
    show_line(cli, "the schema of database %s is up to date (%zu files)", cli->config.database_name, schema.count);
    if (!cli->is_json)
        return 0;
    result = json_object();
    json_put_string(result, "database", cli->config.database_name);
    json_put_bool(result, "up_to_date", true);
    return show_json(cli, result, err);
}

int cmd_config_check(struct cli *cli, struct err *err) {
    struct setup_user user;
    int rc = setup_find_user(opt_get(&cli->given, "service-user"), &user, err);
    if (rc)
        return cli_as_usage(cli, rc);
    rc = cli_load_config(cli, err);
    if (rc)
        return rc;
    rc = cmd_config_check_as(cli, &user, cli_config_path(cli), err);
    if (!rc)
        show_line(cli, "%s: the configuration is valid (checked as user %s)", cli_config_path(cli), user.name);
    return rc;
}
