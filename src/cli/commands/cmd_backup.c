/* kaasctl backup and restore: an installation as one file, and back from it. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup.h"
#include "cli_command.h"
#include "cli_prompt.h"
#include "clock.h"
#include "os_user.h"
#include "restore.h"
#include "secret.h"
#include "setup_files.h"
#include "str.h"

#define KEEP_MAX 100000
#define SHOW_EVERY_MS 100
#define TOLD_BYTES_MAX 65536U

/* "731 kB", "12.3 MB". */
static const char *cmd_backup_size(uint64_t bytes, char out[32]) {
    if (bytes < 1000000)
        (void)snprintf(out, 32, "%" PRIu64 " kB", (bytes + 999) / 1000);
    else
        (void)snprintf(out, 32, "%.1f MB", (double)bytes / 1e6);
    return out;
}

/* -- progress -------------------------------------------------------------------------------------------------------------- */

struct cmd_backup_progress {
    const char *step; /* told last */
    int64_t shown_at_ms;
    bool is_terminal;
};

static void cmd_backup_tell(void *arg, const char *step, uint64_t bytes) {
    struct cmd_backup_progress *p = arg;
    const bool is_new = !str_eq(p->step, step);
    const int64_t now_ms = clock_mono_ms();
    char size[32];
    p->step = step;
    if (!p->is_terminal && is_new)
        cli_note("%s ...", step);
    if (!p->is_terminal || (!is_new && now_ms - p->shown_at_ms < SHOW_EVERY_MS))
        return;
    p->shown_at_ms = now_ms;
    if (bytes)
        (void)fprintf(stderr, "\r\x1b[K%s: %s", step, cmd_backup_size(bytes, size));
    else
        (void)fprintf(stderr, "\r\x1b[K%s", step);
    (void)fflush(stderr);
}

static void cmd_backup_begin(struct cmd_backup_progress *p, struct backup_watcher *watcher) {
    *p = (struct cmd_backup_progress){.is_terminal = isatty(STDERR_FILENO)};
    *watcher = (struct backup_watcher){cmd_backup_tell, p};
}

static void cmd_backup_end(const struct cmd_backup_progress *p) {
    if (p->is_terminal && p->step)
        (void)fputs("\r\x1b[K", stderr);
}

static int cmd_backup_check_here(struct cli *cli, struct err *err) {
    return cli_refuse_server(cli, "kaasd", err);
}

static int cmd_backup_admin(struct cli *cli, struct setup_database_admin *admin, char **password, struct err *err) {
    const char *file = opt_get(&cli->given, "database-admin-password-file");
    int rc = file ? prompt_read_password(file, password, err) : 0;
    *admin = (struct setup_database_admin){
        .socket = opt_get(&cli->given, "database-socket"), .user = opt_get(&cli->given, "database-admin"), .password = *password};
    return rc;
}

static void cmd_backup_put_head(json_t *told, const struct backup_head *head) {
    json_put_time(told, "at", head->at_ms);
    json_put_string(told, "installation", head->installation);
    json_put_string(told, "master_key", head->key_id);
    json_put_string(told, "version", head->version);
    json_put_string(told, "schema", head->schema);
    json_put_string(told, "host", head->host);
}

/* -- backup ---------------------------------------------------------------------------------------------------------------- */

static int cmd_backup_show(struct cli *cli, const struct backup_result *result, struct err *err) {
    _cleanup_json_ json_t *told = json_object();
    char size[32];
    if (result->notes.len)
        cli_note("%s", result->notes.data);
    if (result->not_recorded.code)
        cli_note("kaasctl: the backup is good, but kaasd will not know of it, and health may warn: %s%s%s",
                 result->not_recorded.text, *result->not_recorded.remedy ? "; " : "", result->not_recorded.remedy);
    show_line(cli, "%-14s %s, %s", "backup", result->path, cmd_backup_size(result->bytes, size));
    show_line(cli, "%-14s the database %s (%s of SQL, schema %s) and %zu files of this host", "holds", cli->config.database_name,
              cmd_backup_size(result->sql_bytes, size), result->head.schema, result->files);
    show_line(cli, "%-14s master key %s, which is not in it: keep a copy of %s in another place than the backup", "sealed by",
              result->head.key_id, cli->config.secrets_master_key_file);
    if (!cli->is_json)
        return 0;
    json_put_string(told, "path", result->path);
    json_put_int(told, "bytes", (int64_t)result->bytes);
    json_put_int(told, "files", (int64_t)result->files);
    cmd_backup_put_head(told, &result->head);
    return show_json(cli, told, err);
}

static int cmd_backup_make(struct cli *cli, const char *target, struct err *err) {
    const char *keep = opt_get(&cli->given, "keep");
    _cleanup_free_ char *config_path = cli_config_path_absolute(cli);
    _cleanup_done_(backup_result_done) struct backup_result result = {0};
    struct backup_request request = {.config = &cli->config, .config_path = config_path, .target = target};
    struct cmd_backup_progress progress;
    int64_t number = 0;
    if (keep && !str_to_i64(keep, 1, KEEP_MAX, &number))
        return cli_usage(cli, err, "--keep must be a number from 1 to %d", KEEP_MAX);
    if (!config_path)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = cli_load_config(cli, err);
    if (rc)
        return rc;
    request.keep = (unsigned)number;
    cmd_backup_begin(&progress, &request.watcher);
    rc = backup_make(&request, &result, err);
    cmd_backup_end(&progress);
    return rc ? rc : cmd_backup_show(cli, &result, err);
}

static int cmd_backup_show_proof(struct cli *cli, const struct restore *r, const struct restore_proof *proof, struct err *err) {
    _cleanup_json_ json_t *told = json_object();
    const struct database_counts *counts = &proof->counts;
    char at[CLOCK_RFC3339_BYTES];
    uint64_t rows = 0;
    for (size_t i = 0; i < r->rows.count; i++)
        rows += r->rows.tables[i].rows;
    clock_format(r->reader.head.at_ms, at);
    show_line(cli, "%-14s %s, of %.19sZ, made by version %s on %s", "backup", r->reader.path, at, r->reader.head.version,
              r->reader.head.host);
    show_line(cli, "%-14s whole and unchanged, opened by master key %s", "file", r->reader.head.key_id);
    show_line(cli, "%-14s restored as %s, which is dropped again; schema %s%s", "database", proof->scratch, r->reader.head.schema,
              proof->migrated ? ", brought up to this version there" : ", that of this version");
    show_line(cli, "%-14s %" PRIu64 " clusters, %" PRIu64 " vCenters, %" PRIu64 " users, %" PRIu64 " audit lines", "holds",
              counts->clusters, counts->vcenters, counts->users, counts->audit_lines);
    if (r->has_rows)
        show_line(cli, "%-14s %" PRIu64 " in %zu tables, each as many as were written", "rows", rows, r->rows.count);
    else
        show_line(cli, "%-14s not compared: this backup, of an older version, does not tell how many were written", "rows");
    show_line(cli, "%-14s all %" PRIu64 " open", "sealed values", proof->sealed_values);
    show_line(cli, "%-14s unbroken to its end", "audit log");
    if (!cli->is_json)
        return 0;
    json_put_string(told, "path", r->reader.path);
    cmd_backup_put_head(told, &r->reader.head);
    json_put_int(told, "clusters", (int64_t)counts->clusters);
    json_put_int(told, "vcenters", (int64_t)counts->vcenters);
    json_put_int(told, "users", (int64_t)counts->users);
    json_put_int(told, "audit_lines", (int64_t)counts->audit_lines);
    json_put_int(told, "sealed_values", (int64_t)proof->sealed_values);
    json_put_bool(told, "rows_compared", r->has_rows);
    return show_json(cli, told, err);
}

/* By the key file that is named, else by the one of this host. */
static int cmd_backup_find_key(struct cli *cli, const char **out, struct err *err) {
    const char *named = opt_get(&cli->given, "master-key");
    int rc = named ? 0 : cli_load_config(cli, err);
    if (!rc)
        *out = named ? named : cli->config.secrets_master_key_file;
    return rc;
}

static int cmd_backup_verify(struct cli *cli, const char *path, struct err *err) {
    _cleanup_done_(restore_done) struct restore r = {.watcher = {NULL, NULL}};
    _cleanup_secret_ char *password = NULL;
    struct setup_database_admin admin;
    struct cmd_backup_progress progress;
    struct backup_watcher watcher;
    struct restore_proof proof;
    const char *key_file = NULL;
    int rc = cmd_backup_find_key(cli, &key_file, err);
    rc = rc ? rc : cmd_backup_admin(cli, &admin, &password, err);
    if (rc)
        return rc;
    cmd_backup_begin(&progress, &watcher);
    rc = restore_open(path, key_file, &watcher, &r, err);
    rc = rc ? rc : restore_prove(&r, &admin, &proof, err);
    cmd_backup_end(&progress);
    return rc ? rc : cmd_backup_show_proof(cli, &r, &proof, err);
}

int cmd_backup(struct cli *cli, struct err *err) {
    const char *target = cli_word(cli, 0);
    const bool is_verify = opt_get(&cli->given, "verify") != NULL;
    int rc = cmd_backup_check_here(cli, err);
    if (rc)
        return rc;
    if (is_verify && opt_get(&cli->given, "keep"))
        return cli_usage(cli, err, "--keep is for making a backup, --verify for proving one that is there");
    return is_verify ? cmd_backup_verify(cli, target, err) : cmd_backup_make(cli, target, err);
}

/* -- restore --------------------------------------------------------------------------------------------------------------- */

static int cmd_restore_show(struct cli *cli, const struct restore *r, const struct restore_to *to,
                            const struct restore_result *result, struct err *err) {
    _cleanup_json_ json_t *told = json_object();
    const struct database_counts *counts = &result->counts;
    const struct config *config = &r->config;
    char at[CLOCK_RFC3339_BYTES];
    clock_format(r->reader.head.at_ms, at);
    show_line(cli, "%-14s %s, of %.19sZ, made by version %s on %s", "backup", r->reader.path, at, r->reader.head.version,
              r->reader.head.host);
    for (size_t i = 0; i < r->reader.items.count; i++)
        show_line(cli, "%-14s %s", i ? "" : "files", i ? r->reader.items.items[i].path : to->config_path);
    show_line(cli, "%-14s %s (%s)", "master key", config->secrets_master_key_file, r->reader.head.key_id);
    show_line(cli, "%-14s %s, with accounts %s and %s", "database", config->database_name, config->database_user,
              config->database_owner_user);
    show_line(cli, "%-14s %" PRIu64 " clusters, %" PRIu64 " vCenters, %" PRIu64 " users, %" PRIu64 " audit lines", "holds",
              counts->clusters, counts->vcenters, counts->users, counts->audit_lines);
    if (result->migrated)
        show_line(cli, "%-14s brought up to this version, %u files applied", "schema", result->migrated);
    show_line(cli, "%-14s %" PRIu64 " that were open then are ended: everybody signs in again", "sessions", result->sessions);
    if (!cli->is_json)
        return 0;
    cmd_backup_put_head(told, &r->reader.head);
    json_put_string(told, "config", to->config_path);
    json_put_string(told, "database", config->database_name);
    json_put_int(told, "clusters", (int64_t)counts->clusters);
    json_put_int(told, "vcenters", (int64_t)counts->vcenters);
    json_put_int(told, "users", (int64_t)counts->users);
    json_put_int(told, "audit_lines", (int64_t)counts->audit_lines);
    json_put_int(told, "schema_files_applied", result->migrated);
    return show_json(cli, told, err);
}

/* A state folder that has outlived its database knows of newer audit lines. */
static bool cmd_restore_has_state(const struct config *config) {
    _cleanup_free_ char *pattern = str_format("%s/audit-head-*", config->state_dir);
    glob_t found = {0};
    const bool has_state = pattern && !glob(pattern, GLOB_NOSORT, NULL, &found);
    globfree(&found);
    return has_state;
}

static void cmd_restore_tell_next(struct cli *cli, const struct restore *r, const char *config_path) {
    const bool is_usual = str_eq(config_path, CONFIG_DEFAULT_PATH);
    _cleanup_free_ char *with = is_usual ? str_dup("") : str_format(" --config %s", config_path);
    char at[CLOCK_RFC3339_BYTES];
    clock_format(r->reader.head.at_ms, at);
    show_gap(cli);
    show_line(cli,
              "What was written after %.19sZ is lost. What was taken away after it is there again: look through users, grants,",
              at);
    show_line(cli, "role mappings and service accounts. Next:");
    if (is_usual)
        show_line(cli, "  systemctl enable --now kaasd");
    else
        show_line(cli, "  kaasd%s", with ? with : "");
    if (cmd_restore_has_state(&r->config))
        show_line(cli, "  kaasctl%s audit accept-restore   # the state folder of this host knows newer audit lines",
                  with ? with : "");
    show_line(cli, "  kaasctl%s health", with ? with : "");
    show_line(cli, "  kaasctl%s audit verify", with ? with : "");
}

static int cmd_restore_run(struct cli *cli, const struct restore_to *to, const char *path, struct err *err) {
    _cleanup_done_(restore_done) struct restore r = {.watcher = {NULL, NULL}};
    _cleanup_strbuf_ struct strbuf told;
    struct cmd_backup_progress progress;
    struct backup_watcher watcher;
    struct restore_result result;
    strbuf_init(&told, TOLD_BYTES_MAX);
    cmd_backup_begin(&progress, &watcher);
    int rc = restore_open(path, to->key_file, &watcher, &r, err);
    rc = rc ? rc : restore_check_empty(&r, to, &told, err);
    rc = rc ? rc : restore_files(&r, to, err);
    rc = rc ? rc : restore_database(&r, to, &result, err);
    cmd_backup_end(&progress);
    if (told.len)
        cli_note("%s", told.data);
    rc = rc ? rc : cmd_restore_show(cli, &r, to, &result, err);
    rc = rc ? rc : cli_flush(cli, err);
    rc = rc ? rc : cmd_config_check_as(cli, &to->user, to->config_path, err);
    if (!rc)
        cmd_restore_tell_next(cli, &r, to->config_path);
    return rc;
}

/* Absolute, since the backup's paths are. */
static int cmd_restore_also(struct cli *cli, struct restore_to *to, struct err *err) {
    size_t count = 0;
    for (size_t at = 0; (to->also[count] = opt_next(&cli->given, "also", &at)); count++) {
        if (*to->also[count] != '/')
            return cli_usage(cli, err, "--also takes the whole path of a folder, not %s", to->also[count]);
        if (count + 1 == RESTORE_ALSO_MAX)
            return cli_usage(cli, err, "--also can be given %u times", RESTORE_ALSO_MAX - 1);
    }
    return 0;
}

int cmd_restore(struct cli *cli, struct err *err) {
    const char *wanted = opt_get(&cli->given, "service-user");
    _cleanup_free_ char *config_path = cli_config_path_absolute(cli), *who = os_user_describe(geteuid(), getpid());
    _cleanup_secret_ char *password = NULL;
    struct restore_to to = {.config_path = config_path, .who = who, .key_file = opt_get(&cli->given, "master-key")};
    int rc = cmd_backup_check_here(cli, err);
    rc = rc ? rc : cmd_restore_also(cli, &to, err);
    if (rc)
        return rc;
    if (!config_path)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = setup_find_user(wanted, &to.user, err);
    if (rc)
        return cli_as_usage(cli, rc);
    if (!wanted && !geteuid() && !str_eq(to.user.name, SETUP_USER))
        cli_note("kaasctl: there is no user " SETUP_USER
                 " on this machine: the files are made for root, and kaasd has to run as root");
    rc = cmd_backup_admin(cli, &to.admin, &password, err);
    return rc ? rc : cmd_restore_run(cli, &to, cli_word(cli, 0), err);
}
