/* Whether kaasd can start with its configuration and the files that this names; the user that it runs as. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "setup_check.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "fsutil.h"
#include "seal.h"
#include "secret.h"
#include "setup_files.h"
#include "signature.h"
#include "str.h"
#include "x509_chain.h"

int setup_find_user(const char *name, struct setup_user *out, struct err *err) {
    const uid_t me = geteuid();
    const struct passwd *entry = name ? getpwnam(name) : me ? NULL : getpwnam(SETUP_USER);
    struct setup_user user;
    if (name && !entry)
        return err_set(err, ERR_NOT_FOUND, "there is no user \"%s\" on this machine", name);
    if (!entry)
        entry = getpwuid(me);
    user = (struct setup_user){.uid = entry ? entry->pw_uid : me, .gid = entry ? entry->pw_gid : getegid()};
    user.is_other = user.uid != me;
    (void)snprintf(user.name, sizeof(user.name), "%s", entry ? entry->pw_name : "");
    if (user.is_other && me)
        return err_set(err, ERR_FORBIDDEN, "only root can do this for the user %s", user.name);
    *out = user;
    return 0;
}

/* -- whether kaasd can start with its configuration and the files that this names ---------------------------------- */

#define PEM_BYTES_MAX (4U * 1024U * 1024U)
#define NO_KEY_REMEDY "first set-up: run kaasctl init; else put the key file of another replica, or a copy of it, in its place"

static void check_master_key(const struct config *config, struct config_report *report) {
    struct seal *seal = NULL;
    struct err fault = {0};
    int rc = seal_open_file(config->secrets_master_key_file, &seal, &fault);
    seal_free(seal);
    if (rc && rc != ERR_IO) /* which the look at all files tells better */
        config_report_fault(report, "secrets.master_key_file", fault.text, rc == ERR_NOT_FOUND ? NO_KEY_REMEDY : fault.remedy);
}

/* What kaasd puts right for itself. */
static void warn_of_form(const struct server_cert_paths *paths, const struct x509_chain *chain, struct config_report *report) {
    struct err fault = {0};
    if (chain->has_key && !str_eq(paths->cert, paths->key)) {
        (void)err_set(&fault, ERR_CONFIG, "%s holds a private key, and others may read that file", paths->cert);
        config_report_warning(report, "server.tls_certificate", fault.text,
                              "take the key out of it; if others could read it, have a new certificate made for a new key");
    }
    err_clear(&fault);
    if (chain->is_reordered) {
        (void)err_set(&fault, ERR_CONFIG, "%s does not begin with the server's certificate, each followed by its issuer",
                      paths->cert);
        config_report_warning(report, "server.tls_certificate", fault.text,
                              "kaasd sends them in the right order; put the file in order for other programs that read it");
    }
}

/* When it begins and ends to be good. */
static void check_validity(const struct server_cert_paths *paths, const struct x509_info *info, bool is_issuer,
                           enum setup_check_for purpose, struct config_report *report) {
    const char *option = paths->is_own ? "state_dir" : "server.tls_certificate";
    const char *remedy = paths->is_own ? "take it and its key away and restart kaasd, which makes new ones"
                                       : "put the new certificate and its key in place, then: systemctl reload kaasd";
    const int64_t now_ms = clock_wall_ms();
    char at[CLOCK_RFC3339_BYTES], which[400];
    struct err fault = {0};
    (void)snprintf(which, sizeof(which), "%s%.150s%s%.200s", is_issuer ? "the issuer " : "", is_issuer ? info->subject : "",
                   is_issuer ? " in " : "the certificate ", paths->cert);
    clock_format(now_ms < info->not_before_ms ? info->not_before_ms : info->not_after_ms, at);
    if (now_ms < info->not_before_ms)
        (void)err_set(&fault, ERR_CONFIG, "%s is not valid before %s", which, at);
    else if (now_ms >= info->not_after_ms)
        (void)err_set(&fault, ERR_CONFIG, "%s expired at %s", which, at);
    if (fault.code && purpose == SETUP_CHECK_CHANGE) {
        config_report_fault(report, option, fault.text, remedy);
        return;
    }
    if (!fault.code && now_ms + X509_EXPIRY_WARNING_MS >= info->not_after_ms)
        (void)err_set(&fault, ERR_CONFIG, "%s expires at %s", which, at);
    if (fault.code)
        config_report_warning(report, option, fault.text, remedy);
}

static void check_server_cert(const struct config *config, enum setup_check_for purpose, struct config_report *report) {
    _cleanup_server_cert_paths_ struct server_cert_paths paths = {0};
    _cleanup_secret_ char *cert = NULL, *key = NULL;
    _cleanup_done_(x509_chain_done) struct x509_chain chain = {0};
    struct err fault = {0};
    if (server_cert_find(config, &paths, NULL) || (paths.is_own && !paths.is_there))
        return; /* kaasd will make it */
    if (server_cert_read(&paths, &cert, &key, NULL)) {
        if (paths.is_own)
            config_report_fault(report, "state_dir", "server.crt and server.key there cannot be read by this user", "");
        return; /* configured ones are among the files that are looked at anyway */
    }
    if (x509_chain_read(cert, NULL, &chain, &fault)) {
        config_report_fault(report, paths.is_own ? "state_dir" : "server.tls_certificate", fault.text, fault.remedy);
        return;
    }
    x509_chain_done(&chain);
    if (x509_chain_read(cert, key, &chain, &fault)) {
        config_report_fault(report, paths.is_own ? "state_dir" : "server.tls_key", fault.text, fault.remedy);
        return;
    }
    warn_of_form(&paths, &chain, report);
    for (size_t i = 0; i < chain.count; i++)
        check_validity(&paths, &chain.certs[i], i > 0, purpose, report);
}

/* Whether there is a text to be looked at. That there is none, or that it cannot be read, the look at all files tells. */
static bool setup_check_read_pem(const char *option, const char *path, struct strbuf *pem, struct config_report *report) {
    struct err fault = {0};
    const int rc = *path ? fs_read_text(path, pem, &fault) : ERR_NOT_FOUND;
    if (rc == ERR_CONFIG)
        config_report_fault(report, option, fault.text, fault.remedy);
    return !rc && pem->len;
}

static void setup_check_ca(const char *option, const char *path, struct config_report *report) {
    _cleanup_strbuf_ struct strbuf pem;
    struct x509_info info = {0};
    struct err fault = {0};
    strbuf_init(&pem, PEM_BYTES_MAX);
    if (!setup_check_read_pem(option, path, &pem, report))
        return;
    if (x509_parse_pem(pem.data, &info, &fault))
        config_report_fault(report, option, fault.text, "give a PEM file with CA certificates");
    x509_info_done(&info);
}

/* Not an error: with hx.names, and HX clusters that somebody confirms, it is used. */
static void check_hx_ca(const char *path, struct config_report *report) {
    _cleanup_strbuf_ struct strbuf pem;
    strbuf_init(&pem, PEM_BYTES_MAX);
    setup_check_ca("hx.ca_file", path, report);
    if (*path && !fs_read(path, &pem, NULL) && x509_is_in_system_store(pem.data))
        config_report_warning(report, "hx.ca_file",
                              "it has a CA that this system trusts for all servers, not for HX clusters alone",
                              "name a CA of the HX clusters' own; else let hx.names hold nothing that others can get");
}

static void check_update_keys(const struct config *config, struct config_report *report) {
    _cleanup_strbuf_ struct strbuf pem;
    struct signature_keys *keys = NULL;
    struct err fault = {0};
    strbuf_init(&pem, PEM_BYTES_MAX);
    if (!setup_check_read_pem("updates.key_file", config->updates_key_file, &pem, report))
        return;
    if (signature_keys_read(pem.data, &keys, &fault))
        config_report_fault(report, "updates.key_file", fault.text, fault.remedy);
    signature_keys_free(keys);
}

/* The file that there is by default need not be, where no server is asked. */
static void check_updates(const struct config *config, struct config_report *report) {
    struct err fault = {0};
    check_update_keys(config, report);
    if (!*config->updates_url)
        return;
    if (eaccess(config->updates_ca_file, R_OK)) {
        (void)err_set(&fault, ERR_CONFIG, "%s cannot be read by this user: %s", config->updates_ca_file, strerror(errno));
        config_report_fault(report, "updates.ca_file", fault.text, "install ca-certificates, or name another file");
    }
    setup_check_ca("updates.ca_file", config->updates_ca_file, report);
}

static void check_database(const struct config *config, const char *config_path, struct config_report *report) {
    _cleanup_(store_free) struct store *store = NULL;
    struct err fault = {0};
    if (db_settings_open(config, config_path, DB_ACCOUNT_RUNTIME, &store, &fault))
        config_report_fault(report, "database.password_file", fault.text, fault.remedy);
}

static void check_scrape_token(const struct config *config, struct config_report *report) {
    struct scrape_token token;
    struct err fault = {0};
    if (scrape_token_read(config, &token, &fault) == ERR_CONFIG)
        config_report_fault(report, "metrics.token_file", fault.text, fault.remedy);
}

/* Not an error: it may come later, and health tells. */
static void check_keytab(const char *path, struct config_report *report) {
    struct err fault = {0};
    if (!*path || !eaccess(path, R_OK))
        return;
    (void)err_set(&fault, ERR_CONFIG, "%s cannot be read by this user: %s", path, strerror(errno));
    config_report_warning(report, "auth.kerberos.keytab", fault.text, "until it can nobody signs in by Kerberos");
}

int setup_check(const struct config *config, const char *config_path, enum setup_check_for purpose, struct config_report *report,
                struct err *err) {
    check_master_key(config, report);
    (void)config_check_files(config, report, NULL);
    check_server_cert(config, purpose, report);
    setup_check_ca("server.client_ca_file", config->server_client_ca_file, report);
    check_hx_ca(config->hx_ca_file, report);
    setup_check_ca("database.tls_ca_file", config->database_tls_ca_file, report);
    check_updates(config, report);
    check_database(config, config_path, report);
    check_scrape_token(config, report);
    check_keytab(config->auth_kerberos_keytab, report);
    return config_report_finish(report, config_path, err);
}

static int check_here(const char *config_path, struct strbuf *told) {
    _cleanup_config_report_ struct config_report report;
    _cleanup_config_ struct config config = {0};
    struct err err = {0};
    config_report_init(&report);
    int rc = config_load(config_path, &config, &report, &err);
    if (rc && !report.error_count)
        strbuf_addf(told, "%s%s%s\n", err.text, *err.remedy ? "; " : "", err.remedy);
    rc = rc ? rc : setup_check(&config, config_path, SETUP_CHECK_CHANGE, &report, NULL);
    strbuf_add(told, report.text.data, report.text.len);
    strbuf_add(told, report.warnings.data, report.warnings.len);
    return rc;
}

/* In the child. */
static _Noreturn void setup_check_as_other(const struct setup_user *user, const char *config_path, int to) {
    _cleanup_strbuf_ struct strbuf told;
    int rc = ERR_IO;
    strbuf_init(&told, CONFIG_REPORT_BYTES_MAX);
    if (initgroups(user->name, user->gid) || setgid(user->gid) || setuid(user->uid))
        strbuf_addf(&told, "cannot become the user %s: %m\n", user->name);
    else
        rc = check_here(config_path, &told);
    for (size_t at = 0; at < told.len;) {
        const ssize_t n = write(to, told.data + at, told.len - at);
        if (n < 0)
            break;
        at += (size_t)n;
    }
    _exit(rc != 0);
}

int setup_check_as(const struct setup_user *user, const char *config_path, struct strbuf *told, struct err *err) {
    _cleanup_close_ int from = -1;
    int ends[2], status = 0;
    ssize_t n;
    char chunk[4096];
    if (!user->is_other)
        return check_here(config_path, told) ? err_set(err, ERR_CONFIG, "%s is not valid", config_path) : 0;
    if (pipe2(ends, O_CLOEXEC))
        return err_set(err, ERR_IO, "cannot check the configuration as the user %s: %m", user->name);
    from = ends[0];
    const pid_t child = fork();
    if (!child)
        setup_check_as_other(user, config_path, ends[1]);
    (void)close(ends[1]);
    if (child < 0)
        return err_set(err, ERR_IO, "cannot check the configuration as the user %s: %m", user->name);
    while ((n = read(from, chunk, sizeof(chunk))) > 0)
        strbuf_add(told, chunk, (size_t)n);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (status)
        return err_set(err, ERR_CONFIG, "%s is not valid for the user %s", config_path, user->name);
    return 0;
}

/* -- what the user of the service may read ------------------------------------------------------------------------- */

#define GROUPS_MAX 64

struct setup_reader {
    uid_t uid;
    gid_t groups[GROUPS_MAX];
    int count;
};

static int setup_find_reader(const struct config *config, struct setup_reader *out, struct err *err) {
    struct stat st;
    if (stat(config->secrets_master_key_file, &st))
        return err_set(err, ERR_IO, "cannot look at %s: %m", config->secrets_master_key_file);
    const struct passwd *entry = getpwuid(st.st_uid);
    *out = (struct setup_reader){.uid = st.st_uid, .groups = {st.st_gid}, .count = 1};
    if (!entry)
        return 0;
    out->count = GROUPS_MAX;
    if (getgrouplist(entry->pw_name, entry->pw_gid, out->groups, &out->count) < 0)
        out->count = GROUPS_MAX; /* as many as fit */
    return 0;
}

/* `right`: as for others, 4 to read and 1 to go through a folder. */
static bool setup_is_allowed(const struct setup_reader *reader, const struct stat *st, mode_t right) {
    if (st->st_uid == reader->uid)
        return st->st_mode & right << 6;
    for (int i = 0; i < reader->count; i++)
        if (st->st_gid == reader->groups[i])
            return st->st_mode & right << 3;
    return st->st_mode & right;
}

/* By the modes, since the unit that makes backups may not become somebody else. */
int setup_can_read(const struct config *config, const char *path, bool *can, struct err *err) {
    _cleanup_free_ char *real = realpath(path, NULL);
    struct setup_reader reader;
    struct stat st;
    int rc = setup_find_reader(config, &reader, err);
    if (rc)
        return rc;
    bool is_allowed = real != NULL;
    for (char *slash = real; is_allowed && slash && reader.uid && !geteuid();) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        is_allowed = !stat(real, &st) && setup_is_allowed(&reader, &st, slash ? 1 : 4);
        if (slash)
            *slash = '/';
    }
    *can = is_allowed;
    return 0;
}
