/* Reading a configuration: defaults, file, and what must fit together. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsutil.h"
#include "option_table.h"
#include "str.h"

void config_free(struct config *config) {
    if (!config)
        return;
    option_done_all(&option_table_daemon, config);
    memset(config, 0, sizeof(*config));
}

int config_key_bits(const struct config *config) {
    static const int bits[] = {2048, 3072, 4096}; /* in the order of the words in options.def */
    return bits[config->certificates_key_bits];
}

/* Reports a clash at the line where the file sets the option. */
static void config_load_clash(const struct config *c, const char *name, int index, struct config_report *report,
                              const char *text) {
    const struct config_place place = {name, c->lines[index], 1};
    config_report_add(report, &place, text, "");
}

/* Each option may be fine by itself, and yet two contradict each other. */
static void check_together(const struct config *c, const char *name, struct config_report *report) {
    if (!*c->server_listen && !*c->server_unix_socket)
        config_load_clash(c, name, CONFIG_INDEX_server_listen, report,
                          "server.listen and server.unix_socket are both empty: nobody could connect");
    if (!*c->server_tls_certificate != !*c->server_tls_key)
        config_load_clash(c, name, *c->server_tls_key ? CONFIG_INDEX_server_tls_key : CONFIG_INDEX_server_tls_certificate, report,
                          "server.tls_certificate and server.tls_key belong together: give both or neither");
    if (c->lines[CONFIG_INDEX_database_socket] && *c->database_socket && *c->database_host)
        config_load_clash(c, name, CONFIG_INDEX_database_host, report,
                          "database.socket and database.host are both given: remove one");
    if (!*c->database_socket && !*c->database_host)
        config_load_clash(c, name, CONFIG_INDEX_database_socket, report,
                          "database.socket and database.host are both empty: give one");
    if (*c->database_host && !*c->database_tls_ca_file)
        config_load_clash(
            c, name, CONFIG_INDEX_database_host, report,
            "database.host needs database.tls_ca_file: connections by TCP are made with TLS only, also on this machine, where "
            "database.socket needs none");
    if (*c->server_client_crl_file && !*c->server_client_ca_file)
        config_load_clash(
            c, name, CONFIG_INDEX_server_client_crl_file, report,
            "server.client_crl_file is set, but server.client_ca_file is not: name the CA whose revocation lists these are");
    if (*c->updates_url && *c->updates_folder)
        config_load_clash(c, name, CONFIG_INDEX_updates_folder, report,
                          "updates.url and updates.folder are both given: remove one");
    if ((*c->updates_url || *c->updates_folder) && !*c->updates_key_file)
        config_load_clash(c, name, *c->updates_url ? CONFIG_INDEX_updates_url : CONFIG_INDEX_updates_folder, report,
                          "updates.url and updates.folder need updates.key_file: name a PEM file with the publisher's public key "
                          "(harmony-kaas.pub), without which no release file is believed");
    if (c->auth_token_lifetime_ms > c->auth_session_lifetime_ms)
        config_load_clash(c, name, CONFIG_INDEX_auth_token_lifetime_ms, report,
                          "auth.token_lifetime is longer than auth.session_lifetime");
    if (c->vcenter_connect_timeout_ms > c->vcenter_call_timeout_ms)
        config_load_clash(c, name, CONFIG_INDEX_vcenter_connect_timeout_ms, report,
                          "vcenter.connect_timeout is longer than vcenter.call_timeout");
}

int config_parse(const char *name, const char *text, size_t n, struct config *out, struct config_report *report,
                 struct err *err) {
    struct config config = {0};
    const struct config_source source = {name, text, n};
    int rc = option_defaults(&option_table_daemon, &config, err);
    if (rc)
        return rc;
    rc = config_yaml_read(&option_table_daemon, &source, &config, config.lines, report, err);
    if (!rc && !report->error_count)
        check_together(&config, name, report);
    if (!rc)
        rc = config_report_finish(report, name, err);
    if (rc)
        config_free(&config);
    else
        *out = config;
    return rc;
}

int config_load(const char *path, struct config *out, struct config_report *report, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, CONFIG_FILE_BYTES_MAX);
    int rc = fs_read_text(path, &text, err);
    if (rc == ERR_NOT_FOUND)
        (void)err_remedy(err, "run: kaasctl init, or name another file by --config");
    if (rc == ERR_IO)
        (void)config_tell_user(err);
    return rc ? rc : config_parse(path, text.data, text.len, out, report, err);
}

/* -- a look at the files and folders that options name ------------------------------------------------------------- */

#define FILE_BYTES_MAX (4U * 1024U * 1024U)

/* Whoever reads this is often not the user whose rights are short. */
int config_tell_user(struct err *err) {
    const struct passwd *user = getpwuid(geteuid());
    return err_remedy(err, "the user %s must be able to read it, and to enter its folders; kaasctl init mends what it made",
                      user ? user->pw_name : "of kaasd");
}

static int check_file(const char *path, bool is_secret, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init_secret(&text, FILE_BYTES_MAX);
    int rc = is_secret ? fs_read_secret(path, &text, err) : fs_read(path, &text, err);
    if (rc == ERR_IO && eaccess(path, R_OK) && errno == EACCES)
        return config_tell_user(err);
    return !rc && !text.len ? err_set(err, ERR_CONFIG, "%s is empty", path) : rc;
}

static int config_load_check_directory(const char *path, bool may_be_missing, struct err *err) {
    struct stat st;
    if (stat(path, &st)) {
        const int why = errno;
        if (why == ENOENT && may_be_missing)
            return 0;
        (void)err_set(err, ERR_CONFIG, "folder %s: %s", path, strerror(why));
        return why == EACCES ? config_tell_user(err) : err_remedy(err, "make it, or name another one");
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_CONFIG, "%s is no folder", path);
    if (eaccess(path, may_be_missing ? R_OK | W_OK | X_OK : R_OK | X_OK)) {
        (void)err_set(err, ERR_CONFIG, "folder %s cannot be used by this user: %s", path, strerror(errno));
        return config_tell_user(err);
    }
    return 0;
}

/* The file belongs to somebody else: only what stat can tell, and only if we get as far. */
static int check_closed(const char *path, struct err *err) {
    struct stat st;
    if (stat(path, &st) || !(st.st_mode & (S_IRWXG | S_IRWXO)))
        return 0;
    (void)err_set(err, ERR_CONFIG, "%s holds a secret but is open to group or others (mode %04o)", path,
                  (unsigned)(st.st_mode & 07777));
    return err_remedy(err, "run: chmod 0600 %s", path);
}

static int config_load_check_path(unsigned flags, const char *path, struct err *err) {
    if (flags & (OPTION_FILE | OPTION_SECRET_FILE))
        return check_file(path, flags & OPTION_SECRET_FILE, err);
    if (flags & (OPTION_DIRECTORY | OPTION_DIRECTORY_MADE))
        return config_load_check_directory(path, flags & OPTION_DIRECTORY_MADE, err);
    return flags & OPTION_SECRET_OF_OTHERS ? check_closed(path, err) : 0;
}

int config_check_files(const struct config *config, struct config_report *report, struct err *err) {
    for (size_t i = 0; i < option_table_daemon.count; i++) {
        const struct option *o = &option_table_daemon.rows[i];
        struct err fault = {0};
        if (o->kind != OPTION_PATH)
            continue;
        const char *path = *(char *const *)(const void *)((const char *)config + o->offset);
        if (*path && config_load_check_path(o->flags, path, &fault))
            config_report_fault(report, o->key, fault.text, fault.remedy);
    }
    return config_report_finish(report, "configuration", err);
}

static const char *config_next_path(const struct config *config, unsigned flags, size_t *at) {
    while (*at < option_table_daemon.count) {
        const struct option *o = &option_table_daemon.rows[(*at)++];
        if (o->kind != OPTION_PATH || !(o->flags & flags))
            continue;
        const char *path = *(char *const *)(const void *)((const char *)config + o->offset);
        if (*path)
            return path;
    }
    return NULL;
}

const char *config_next_file(const struct config *config, size_t *at) {
    return config_next_path(config, OPTION_FILE | OPTION_SECRET_FILE, at);
}

const char *config_next_secret_file(const struct config *config, size_t *at) {
    return config_next_path(config, OPTION_SECRET_FILE | OPTION_SECRET_OF_OTHERS, at);
}

/* -- effective settings, and the reference page -------------------------------------------------------------------- */

void config_print(const struct config *config, struct strbuf *out) {
    for (size_t i = 0; i < option_table_daemon.count; i++) {
        const struct option *o = &option_table_daemon.rows[i];
        strbuf_addf(out, "%s = ", o->key);
        option_write(o, config, out);
        if (config->lines[i])
            strbuf_addf(out, "  # line %u\n", config->lines[i]);
        else
            strbuf_adds(out, "  # default\n");
    }
}

void config_print_unreloadable(const struct config *old, const struct config *new, struct strbuf *out) {
    for (size_t i = 0; i < option_table_daemon.count; i++) {
        const struct option *o = &option_table_daemon.rows[i];
        if (!(o->flags & OPTION_RELOAD) && !option_eq(o, old, new))
            strbuf_addf(out, "%s%s", out->len ? ", " : "", o->key);
    }
}

static const char intro[] =
    "# Configuration of kaasd\n"
    "\n"
    "kaasd reads one YAML file, by default `" CONFIG_DEFAULT_PATH
    "`; `kaasd --check-config` tells what is wrong with it. Every option has a\n"
    "default, so the file names only what differs. A dot in a key below is a nested section:\n"
    "\n"
    "```yaml\n"
    "server:\n"
    "  listen: \"*:8443\"\n"
    "  public_url: https://kaas.example.com:8443\n"
    "```\n"
    "\n"
    "Durations are a number with one of the units `ms`, `s`, `m`, `h`, `d`; sizes one of `B`, `KiB`, `MiB`, `GiB`. Secrets never stand in the file:\n"
    "options name the files that hold them. Anchors, aliases, tags and several documents are refused. What is marked *reloadable* takes\n"
    "effect on SIGHUP, the rest at the next start.\n";

/* Writes a heading where the first part of the key changes; keys without a dot get one of their own. */
static void write_section(const char *key, const char *previous, struct strbuf *out) {
    size_t n = strcspn(key, ".");
    if (previous && strcspn(previous, ".") == n && !memcmp(previous, key, n))
        return;
    strbuf_addf(out, "\n## %.*s\n", (int)n, key);
}

static void write_option(const struct option *o, struct strbuf *out) {
    strbuf_addf(out, "\n### `%s`\n\n%s\n\n", o->key, o->help);
    strbuf_adds(out, "Takes ");
    option_describe(o, out);
    if (o->kind == OPTION_LIST)
        strbuf_adds(out, ". Default: `[]`");
    else
        strbuf_addf(out, ". Default: %s%s%s", *o->fallback ? "`" : "", *o->fallback ? o->fallback : "empty",
                    *o->fallback ? "`" : "");
    strbuf_adds(out, o->flags & OPTION_RELOAD ? ". Reloadable.\n" : ".\n");
}

void config_write_reference(struct strbuf *out) {
    const struct option_table *table = &option_table_daemon;
    strbuf_adds(out, intro);
    for (size_t i = 0; i < table->count; i++) {
        write_section(table->rows[i].key, i ? table->rows[i - 1].key : NULL, out);
        write_option(&table->rows[i], out);
    }
}
