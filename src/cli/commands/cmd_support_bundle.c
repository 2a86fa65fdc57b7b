/* kaasctl support-bundle: what helps to find a fault, in one file, without secrets. Layer 7 (cli). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Most of it is said by other programs, kaasctl itself among them, each run by itself: none can hold up or end the rest. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli_command.h"
#include "clock.h"
#include "database.h"
#include "host_secrets.h"
#include "setup_files.h"
#include "str.h"
#include "support_bundle.h"

#define WORDS_MAX 12
#define TEXT_BYTES_MAX 262144U
#define DATABASE_SILENCE_MS 5000 /* the configuration may allow minutes */
#define LIMIT_S 30U
#define DOCTOR_LIMIT_S 120U /* it waits for hosts that do not answer, one after the other */

struct cmd_bundle {
    struct cli *cli;
    char *config_path;
    char *folder; /* in the archive */
    char *path;   /* of the archive */
    struct config config;
    struct host_secrets secrets;
    struct support_bundle bundle;
    size_t bytes;
};

static void cmd_bundle_done(struct cmd_bundle *b) {
    support_bundle_done(&b->bundle);
    host_secrets_done(&b->secrets);
    config_free(&b->config);
    free(b->config_path);
    free(b->folder);
    free(b->path);
}

/* -- where it is written ------------------------------------------------------------------------------------------------------- */

static int cmd_bundle_find_path(struct cmd_bundle *b, struct err *err) {
    const char *wanted = cli_word(b->cli, 0);
    const time_t now = (time_t)clock_wall_s();
    char host[65] = "", at[32] = "";
    struct stat st;
    struct tm utc;
    if (gethostname(host, sizeof(host) - 1) || !*host)
        (void)snprintf(host, sizeof(host), "host");
    host[strcspn(host, "./")] = '\0';
    (void)strftime(at, sizeof(at), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    b->folder = str_format("kaas-support-%.30s-%s", host, at);
    b->path = wanted ? str_dup(wanted) : str_format("%s.tar.gz", b->folder ? b->folder : "");
    if (!b->folder || !b->path)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (lstat(b->path, &st))
        return 0;
    (void)err_set(err, ERR_EXISTS, "%s is there already", b->path);
    return err_remedy(err, "name a file that is not there yet");
}

/* -- what is no secret, and what is ---------------------------------------------------------------------------------------------- */

/* One that is not valid must not keep anybody from help: then the usual places are looked into. */
static int cmd_bundle_load_config(struct cmd_bundle *b, bool *is_valid, struct err *err) {
    _cleanup_config_report_ struct config_report report;
    struct err why = {0};
    config_report_init(&report);
    int rc = config_load(b->config_path, &b->config, &report, &why);
    *is_valid = !rc;
    if (rc == ERR_IO) { /* not ours to read: neither are the secrets */
        (void)err_set(err, ERR_IO, "%s", why.text);
        return err_remedy(err, "run this as root or as the user of the service");
    }
    config_report_done(&report);
    config_report_init(&report);
    rc = rc ? config_parse("defaults", "", 0, &b->config, &report, err) : 0;
    if (!rc && b->config.database_call_timeout_ms > DATABASE_SILENCE_MS)
        b->config.database_call_timeout_ms = DATABASE_SILENCE_MS;
    return rc;
}

static int cmd_bundle_add(struct cmd_bundle *b, const char *name, const char *heading, const struct strbuf *text,
                          struct err *err) {
    return support_bundle_add(&b->bundle, &(struct support_text){name, heading, text->data, text->len, NULL}, err);
}

static int cmd_bundle_load_secrets(struct cmd_bundle *b, bool is_valid, char server[DATABASE_SERVER_BYTES], struct err *err) {
    _cleanup_(store_free) struct store *store = NULL;
    struct err why = {0};
    int rc = host_secrets_load(&b->config, b->config_path, &b->secrets, err);
    if (rc)
        return rc;
    b->bundle.masker = b->secrets.masker;
    if (!is_valid) {
        b->secrets.is_all = false;
        strbuf_addf(&b->secrets.told, "%s is not valid or not there: the files that it names are not known\n", b->config_path);
    }
    rc = db_settings_open(&b->config, b->config_path, DB_ACCOUNT_RUNTIME, &store, &why);
    rc = rc ? rc : database_load_server(store, server, &why);
    if (!rc)
        return host_secrets_load_sealed(&b->secrets, &b->config, store, err);
    b->secrets.is_all = false;
    (void)snprintf(server, DATABASE_SERVER_BYTES, "unknown: %.80s", why.text);
    strbuf_addf(&b->secrets.told, "what is sealed in the database is not known: %s\n", why.text);
    return 0;
}

/* -- the parts --------------------------------------------------------------------------------------------------------------------- */

/* A file of the bundle and what is run for it; several with one name go into one file. */
struct cmd_bundle_part {
    const char *name;
    bool is_kaasctl;
    unsigned limit_s;
    const char *words[WORDS_MAX];
};

static const char unit_properties[] =
    "--property=Id,LoadState,UnitFileState,ActiveState,SubState,Result,ExecMainStatus,ExecMainPID,NRestarts,StateChangeTimestamp,"
    "FragmentPath,DropInPaths,MemoryCurrent,TasksCurrent,LimitNOFILE";

static const struct cmd_bundle_part parts[] = {
    {"versions.txt", true, LIMIT_S, {"version"}},
    {"versions.txt", false, LIMIT_S, {"uname", "-a"}},
    {"versions.txt", false, LIMIT_S, {"cat", "/etc/os-release"}},
    {"packages.txt", false, LIMIT_S, {"dpkg-query", "--show", "--showformat=${db:Status-Abbrev} ${Package} ${Version}\\n"}},
    {"unit.txt", false, LIMIT_S, {"systemctl", "show", "--no-pager", unit_properties, "kaasd.service", "kaas-backup.timer"}},
    {"config.txt", true, LIMIT_S, {"config", "check"}},
    {"schema.txt", true, LIMIT_S, {"db", "status"}},
    {"health.txt", true, LIMIT_S, {"health"}},
    {"doctor.txt", true, DOCTOR_LIMIT_S, {"doctor"}},
    {"vcenters.txt", true, LIMIT_S, {"vcenter", "status"}},
    {"hx.txt", true, LIMIT_S, {"hx", "list"}},
    {"hx.txt", true, LIMIT_S, {"hx", "connections"}},
    {"clusters.txt", true, LIMIT_S, {"cluster", "connections"}},
    {"replicas.txt", true, LIMIT_S, {"key", "master"}},
    {"metrics.txt", true, LIMIT_S, {"metrics"}},
};

static int cmd_bundle_run_part(struct cmd_bundle *b, const struct cmd_bundle_part *part, struct err *err) {
    const char *argv[WORDS_MAX + 4] = {"/proc/self/exe", "--config", b->config_path};
    const char **words = part->is_kaasctl ? argv + 3 : argv;
    _cleanup_strbuf_ struct strbuf heading;
    strbuf_init(&heading, 1024);
    strbuf_adds(&heading, "kaasctl");
    for (size_t i = 0; i < WORDS_MAX; i++) {
        words[i] = part->words[i];
        if (words[i])
            strbuf_addf(&heading, " %s", words[i]);
    }
    return support_bundle_run(
        &b->bundle,
        &(struct support_program){
            .name = part->name, .heading = part->is_kaasctl ? heading.data : NULL, .argv = argv, .limit_s = part->limit_s},
        err);
}

/* The end of the log: of the file that is named, else of the journal. */
static int cmd_bundle_run_log(struct cmd_bundle *b, struct err *err) {
    const char *file = opt_get(&b->cli->given, "log");
    const char *const of_file[] = {"tail", "--lines=5000", "--", file, NULL};
    const char *const journal[] = {"journalctl", "--unit=kaasd", "--lines=5000", "--output=short-iso", "--no-pager", NULL};
    const struct support_program program = {
        .name = "log.txt", .argv = file ? of_file : journal, .limit_s = LIMIT_S, .is_end_kept = true};
    return support_bundle_run(&b->bundle, &program, err);
}

/* Owners and modes, no content. */
static int cmd_bundle_run_files(struct cmd_bundle *b, struct err *err) {
    _cleanup_free_ char *folder = db_settings_beside(b->config_path, "");
    const char *const argv[] = {"ls", "-la", "--time-style=long-iso", "--", folder, b->config.state_dir, NULL};
    if (!folder)
        return err_set(err, ERR_NOMEM, "out of memory");
    return support_bundle_run(&b->bundle, &(struct support_program){.name = "files.txt", .argv = argv, .limit_s = LIMIT_S}, err);
}

static int cmd_bundle_add_config(struct cmd_bundle *b, bool is_valid, const char *server, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, TEXT_BYTES_MAX);
    strbuf_addf(&text, "%s\n", server);
    int rc = cmd_bundle_add(b, "versions.txt", "The server of the database", &text, err);
    strbuf_reset(&text);
    if (is_valid)
        config_print(&b->config, &text);
    else
        strbuf_adds(&text, "The configuration is not valid, so that options and values cannot be told apart; it is not here.\n");
    return rc ? rc : cmd_bundle_add(b, "config.txt", "All options in effect, without comments", &text, err);
}

static int cmd_bundle_collect(struct cmd_bundle *b, bool is_valid, const char *server, struct err *err) {
    int rc = cmd_bundle_add_config(b, is_valid, server, err);
    for (size_t i = 0; !rc && i < ARRAY_COUNT(parts); i++)
        rc = cmd_bundle_run_part(b, &parts[i], err);
    rc = rc ? rc : cmd_bundle_run_files(b, err);
    return rc ? rc : cmd_bundle_run_log(b, err);
}

/* -- what is in it ------------------------------------------------------------------------------------------------------------------ */

static const char left_out[] =
    "Not in it: contents of the files that hold secrets; the configuration file itself, with its comments; the database, and so clusters, users,\n"
    "grants and sessions; environment, memory and core dumps of processes.\n"
    "In it: names and addresses of vCenters, HX clusters, hosts and replicas; in the log also those of people and Kubernetes clusters, and with\n"
    "audit.log lines of the audit log.\n"
    "Look through it before you give it to somebody.\n";

static int cmd_bundle_begin_manifest(struct cmd_bundle *b, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    char at[CLOCK_RFC3339_BYTES];
    clock_format(clock_wall_ms(), at);
    strbuf_init(&text, TEXT_BYTES_MAX);
    strbuf_addf(&text, "made at %s by kaasctl %s; " MASKER_WORD " stands where a secret was, or what looks like one\n\n%s", at,
                PACKAGE_VERSION, left_out);
    return cmd_bundle_add(b, "MANIFEST", "Support bundle of Harmony KaaS", &text, err);
}

static int cmd_bundle_end_manifest(struct cmd_bundle *b, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, TEXT_BYTES_MAX);
    for (size_t i = 1; i < b->bundle.count; i++) {
        const struct support_part *part = &b->bundle.parts[i];
        strbuf_addf(&text, "%-14s %9zu bytes, %5zu masked%s%s\n", part->name, part->text.len, part->masked,
                    *part->failure ? ", " : "", part->failure);
    }
    int rc = cmd_bundle_add(b, "MANIFEST", "Files", &text, err);
    strbuf_reset(&text);
    strbuf_addf(&text, "those of %zu files and %zu that are sealed in the database; others only where they look like secrets\n%s",
                b->secrets.files, b->secrets.sealed, b->secrets.told.data);
    return rc ? rc : cmd_bundle_add(b, "MANIFEST", "Secrets that were looked for by their value, in any form", &text, err);
}

static int cmd_bundle_show(struct cmd_bundle *b, struct err *err) {
    _cleanup_json_ json_t *told = json_object(), *files = json_array();
    struct cli *cli = b->cli;
    size_t masked = 0;
    show_line(cli, "%-8s %s, %zu kB, readable for you alone", "bundle", b->path, (b->bytes + 999) / 1000);
    for (size_t i = 0; i < b->bundle.count; i++) {
        const struct support_part *part = &b->bundle.parts[i];
        json_t *file = json_object();
        show_line(cli, "%-8s %s%s%s", i ? "" : "holds", part->name, *part->failure ? ": " : "", part->failure);
        json_put_string(file, "name", part->name);
        json_put_int(file, "bytes", (int64_t)part->text.len);
        json_put_int(file, "masked", (int64_t)part->masked);
        json_put_string(file, "failure", *part->failure ? part->failure : NULL);
        (void)json_array_append_new(files, file);
        masked += part->masked;
    }
    show_line(cli, "%-8s %zu places: secrets of %zu files and %zu of the database by their value, others by their look", "masked",
              masked, b->secrets.files, b->secrets.sealed);
    show_line(cli, "%-8s names of hosts, vCenters, clusters and people are in it; look first: tar -xzf %s", "names", b->path);
    show_line(cli, "%-8s nothing: it stays on this host until you give it to somebody", "sent");
    if (!b->secrets.is_all)
        cli_note("kaasctl: not all secrets of this host are known, and those not are masked only where they look like it:\n%s",
                 b->secrets.told.data);
    if (!cli->is_json)
        return 0;
    json_put_string(told, "path", b->path);
    json_put_int(told, "bytes", (int64_t)b->bytes);
    json_put_int(told, "masked", (int64_t)masked);
    json_put_bool(told, "all_secrets_known", b->secrets.is_all);
    (void)json_object_set(told, "files", files);
    return show_json(cli, told, err);
}

int cmd_support_bundle(struct cli *cli, struct err *err) {
    _cleanup_done_(cmd_bundle_done) struct cmd_bundle b = {.cli = cli, .config_path = cli_config_path_absolute(cli)};
    char server[DATABASE_SERVER_BYTES] = "";
    bool is_valid = false;
    int rc = cli_refuse_server(cli, "kaasd", err);
    if (!rc && !b.config_path)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = rc ? rc : cmd_bundle_find_path(&b, err);
    rc = rc ? rc : cmd_bundle_load_config(&b, &is_valid, err);
    rc = rc ? rc : cmd_bundle_load_secrets(&b, is_valid, server, err);
    rc = rc ? rc : cmd_bundle_begin_manifest(&b, err);
    rc = rc ? rc : cmd_bundle_collect(&b, is_valid, server, err);
    rc = rc ? rc : cmd_bundle_end_manifest(&b, err);
    rc = rc ? rc : support_bundle_write(&b.bundle, b.folder, b.path, &b.bytes, err);
    return rc ? rc : cmd_bundle_show(&b, err);
}
