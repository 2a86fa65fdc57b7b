/* kaasctl init: everything that must be there before kaasd starts, step by step. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each step tells what it made or kept, at once, so that a failure half-way leaves no doubt; all may be repeated. */
#include <pwd.h>
#include <unistd.h>

#include "cli_commands.h"
#include "cli_prompt.h"
#include "cli_show.h"
#include "db_settings.h"
#include "first_setup.h"
#include "secret.h"
#include "str.h"

#define SERVICE_USER "kaas"

/* What the steps share. */
struct setup {
    struct cli *cli;
    char *config_path; /* absolute */
    struct setup_owner owner;
    json_t *told; /* for --output json */
};

typedef int step_fn(struct setup *s, struct err *err);

/* Options name files by absolute paths, and those beside the configuration file are made from its path. */
static int step_find_paths(struct setup *s, struct err *err) {
    const char *path = cli_config_path(s->cli);
    _cleanup_free_ char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    s->config_path = here ? str_format("%s/%s", here, path) : str_dup(path);
    return s->config_path ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Root gives the files to the user of the service; anybody else runs it as himself. */
static int step_find_owner(struct setup *s, struct err *err) {
    const char *wanted = opt_get(&s->cli->given, "service-user");
    const struct passwd *user = NULL;
    if (wanted || geteuid() == 0)
        user = getpwnam(wanted ? wanted : SERVICE_USER);
    if (wanted && !user) {
        (void)cli_usage(s->cli, err, "there is no user \"%s\" on this machine", wanted);
        return err_remedy(err, "make it first, for instance by: useradd --system %s", wanted);
    }
    if (user && user->pw_uid != geteuid())
        s->owner = (struct setup_owner){.is_given = true, .uid = user->pw_uid, .gid = user->pw_gid};
    return 0;
}

static void tell_file(struct setup *s, const char *what, const char *member, const char *path, bool made) {
    show_line(s->cli, "%-14s %s %s", what, made ? "made" : "kept", path);
    json_put_string(s->told, member, path);
}

/* A new file with a fault in it, from a wrong option, must not be what the next run keeps. */
static int load_or_remove(struct setup *s, bool made, struct err *err) {
    int rc = cli_load_config(s->cli, err);
    if (rc && made)
        (void)unlink(s->config_path);
    return rc;
}

static int step_config(struct setup *s, struct err *err) {
    const struct opt_given *given = &s->cli->given;
    struct setup_config settings = {.path = s->config_path,
                                    .database_socket = opt_get(given, "database-socket"),
                                    .public_url = opt_get(given, "public-url"),
                                    .listen = opt_get(given, "listen")};
    bool made = false;
    int rc = setup_write_config(&settings, &s->owner, &made, err);
    if (!rc)
        rc = load_or_remove(s, made, err);
    if (rc)
        return rc;
    tell_file(s, "configuration", "config", s->config_path, made);
    if (!made && (settings.public_url || settings.listen))
        cli_note("kaasctl: %s was there already; --public-url and --listen change nothing in it", s->config_path);
    return 0;
}

static int step_master_key(struct setup *s, struct err *err) {
    const char *path = s->cli->config.secrets_master_key_file;
    bool made = false;
    int rc = setup_make_master_key(path, &s->owner, &made, err);
    if (!rc)
        tell_file(s, "master key", "master_key", path, made);
    return rc;
}

static int step_database(struct setup *s, struct err *err) {
    const struct opt_given *given = &s->cli->given;
    const struct config *config = &s->cli->config;
    const char *file = opt_get(given, "database-admin-password-file");
    struct setup_database_admin admin = {.socket = opt_get(given, "database-socket"), .user = opt_get(given, "database-admin")};
    _cleanup_secret_ char *password = NULL;
    int rc = file ? prompt_read_password(file, &password, err) : 0;
    admin.password = password;
    if (!rc)
        rc = setup_make_database(config, s->config_path, &admin, &s->owner, err);
    if (rc)
        return rc;
    show_line(s->cli, "%-14s %s, with accounts %s and %s", "database", config->database_name, config->database_user,
              config->database_owner_user);
    json_put_string(s->told, "database", config->database_name);
    return 0;
}

static int step_schema(struct setup *s, struct err *err) {
    struct setup_migration migration = {.on_step = NULL};
    unsigned applied = 0;
    int rc = setup_migrate(&s->cli->config, s->config_path, &migration, &applied, err);
    if (rc)
        return rc;
    if (applied)
        show_line(s->cli, "%-14s made, %u files applied", "schema", applied);
    else
        show_line(s->cli, "%-14s up to date", "schema");
    json_put_int(s->told, "schema_files_applied", applied);
    return 0;
}

/* The only time that a password made here is seen; one that was given is not told. */
static void tell_admin(struct setup *s, const char *name, const char *one_time) {
    show_line(s->cli, "%-14s made %s", "administrator", name);
    json_put_string(s->told, "admin", name);
    if (!one_time)
        return;
    strbuf_adds(&s->cli->out, s->cli->is_json ? "" : "\n");
    show_line(s->cli, "One-time password of %s: %s", name, one_time);
    show_line(s->cli,
              "It must be changed before anything else: kaasctl --server URL --user %s user password, or in the page, URL/ui/",
              name);
    json_put_string(s->told, "one_time_password", one_time);
}

static int step_admin(struct setup *s, struct err *err) {
    const char *given = opt_get(&s->cli->given, "admin"), *name = given ? given : "admin";
    const char *file = opt_get(&s->cli->given, "admin-password-file");
    _cleanup_(store_free) struct store *store = NULL;
    _cleanup_secret_ char *password = NULL;
    bool is_made = false;
    int rc = file ? prompt_read_password(file, &password, err) : 0;
    if (!rc)
        rc = db_settings_open(&s->cli->config, s->config_path, DB_ACCOUNT_RUNTIME, &store, err);
    if (!rc)
        rc = setup_make_first_admin(store, name, &password, &is_made, err);
    if (rc)
        return rc;
    if (is_made)
        tell_admin(s, name, file ? NULL : password);
    else
        show_line(s->cli, "%-14s kept: there are users already", "administrator");
    return 0;
}

static void tell_next(const struct setup *s) {
    bool is_usual = str_eq(s->config_path, CONFIG_DEFAULT_PATH);
    _cleanup_free_ char *with = is_usual ? str_dup("") : str_format(" --config %s", s->config_path);
    strbuf_addc(&s->cli->out, '\n');
    show_line(s->cli, "Keep a copy of the master key in another place: without it the secrets in the database are lost.");
    show_line(s->cli, "Next:");
    if (!*s->cli->config.server_public_url)
        show_line(s->cli, "  set server.public_url in %s, needed before a vCenter is registered", s->config_path);
    show_line(s->cli, "  kaasd%s --check-config && kaasd%s", with ? with : "", with ? with : "");
    show_line(s->cli, "  kaasctl%s vcenter add ADDRESS", with ? with : "");
}

int cmd_init(struct cli *cli, struct err *err) {
    static step_fn *const steps[] = {step_find_paths, step_find_owner, step_config, step_master_key,
                                     step_database,   step_schema,     step_admin};
    struct setup s = {.cli = cli, .told = json_object()};
    int rc = 0;
    for (size_t i = 0; !rc && i < ARRAY_COUNT(steps); i++) {
        rc = steps[i](&s, err);
        if (!rc)
            rc = cli_flush(cli, err);
    }
    if (!rc && cli->is_json)
        rc = show_json(cli, s.told, err);
    else if (!rc)
        tell_next(&s);
    json_wipe_string(json_object_get(s.told, "one_time_password"));
    json_decref(s.told);
    free(s.config_path);
    return rc;
}
