/* Putting a backup back on an empty host, and proving one. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "restore.h"

#include <config.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "audit_store.h"
#include "cleanup.h"
#include "clock.h"
#include "db_tool.h"
#include "fsutil.h"
#include "replica_store.h"
#include "sealing.h"
#include "secret.h"
#include "setup_files.h"
#include "store_schema.h"
#include "str.h"
#include "uuid.h"

#define FILE_BYTES_MAX (4U * 1024U * 1024U)
#define STATE_MODE 0755
#define RESTORE_CONFIG_DIR "/etc/kaas"    /* of CONFIG_DEFAULT_PATH */
#define RESTORE_STATE_DIR "/var/lib/kaas" /* of state_dir, unless somebody sets it */
#define AUDIT_LINES_AT_ONCE 5000U

static void restore_say(const struct restore *r, const char *step, uint64_t bytes) {
    if (r->watcher.tell)
        r->watcher.tell(r->watcher.arg, step, bytes);
}

/* -- opening --------------------------------------------------------------------------------------------------------------- */

static int restore_check_version(const struct restore *r, struct err *err) {
    const struct backup_head *head = &r->reader.head;
    const struct store_schema schema = store_schema_builtin();
    if (head->schema_release <= schema.release && strcmp(head->schema, schema.files[schema.count - 1].name) <= 0)
        return 0;
    (void)err_set(err, ERR_SCHEMA,
                  "the backup %.200s is of version %s, whose database schema (%s) is newer than that of this program, %s",
                  r->reader.path, head->version, head->schema, PACKAGE_VERSION);
    return err_remedy(err, "install version %s or a newer one, then repeat this; nothing was changed", head->version);
}

/* All of it is proved before any of it is used. */
static int restore_read_all(struct restore *r, struct err *err) {
    _cleanup_done_(backup_close) struct backup_reader all;
    const char *bytes;
    size_t n = 1;
    int rc = backup_open(r->reader.path, &all, err);
    rc = rc ? rc : backup_unseal(&all, r->seal, err);
    while (!rc && n) {
        rc = backup_next(&all, &bytes, &n, err);
        r->sql_bytes += rc ? 0 : n;
        restore_say(r, "reading the backup", r->sql_bytes);
    }
    return rc;
}

static int restore_read_config(struct restore *r, struct err *err) {
    const struct backup_item *item = &r->reader.items.items[0];
    _cleanup_config_report_ struct config_report report;
    struct err why = {0};
    config_report_init(&report);
    int rc = config_parse(item->path, (const char *)item->bytes, item->count, &r->config, &report, &why);
    return rc ? err_set(err, rc, "the configuration in the backup cannot be used: %s", why.text) : 0;
}

/* The CA of a database on another machine is needed before the files of the host are written, and where none are. */
static int restore_put_ca(struct restore *r, struct err *err) {
    const struct backup_item *ca = NULL;
    for (size_t i = 0; *r->config.database_host && i < r->reader.items.count; i++)
        if (str_eq(r->reader.items.items[i].path, r->config.database_tls_ca_file))
            ca = &r->reader.items.items[i];
    if (!ca)
        return 0;
    char path[] = "/tmp/kaas-database-ca.XXXXXX";
    _cleanup_close_ int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make a file in /tmp: %m");
    r->ca_file = str_dup(path);
    if (!r->ca_file) {
        (void)unlink(path);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    if (write(fd, ca->bytes, ca->count) != (ssize_t)ca->count)
        return err_set(err, ERR_IO, "cannot write %s: %m", path);
    return str_replace(&r->config.database_tls_ca_file, path, err);
}

int restore_open(const char *path, const char *key_file, const struct backup_watcher *watcher, struct restore *r,
                 struct err *err) {
    *r = (struct restore){.watcher = *watcher};
    int rc = backup_open(path, &r->reader, err);
    rc = rc ? rc : restore_check_version(r, err);
    rc = rc ? rc : seal_open_file(key_file, &r->seal, err);
    rc = rc ? rc : restore_read_all(r, err);
    rc = rc ? rc : backup_unseal(&r->reader, r->seal, err);
    rc = rc ? rc : restore_read_config(r, err);
    return rc ? rc : restore_put_ca(r, err);
}

void restore_done(struct restore *r) {
    if (r->ca_file)
        (void)unlink(r->ca_file);
    free(r->ca_file);
    backup_close(&r->reader);
    seal_free(r->seal);
    config_free(&r->config);
}

/* -- what stands in the way ------------------------------------------------------------------------------------------------ */

static const char *restore_path_of(const struct restore *r, const struct restore_to *to, size_t i) {
    return i ? r->reader.items.items[i].path : to->config_path;
}

static int restore_check_file(const char *path, const void *bytes, size_t n, struct strbuf *told, struct err *err) {
    _cleanup_strbuf_ struct strbuf there;
    struct err why = {0};
    struct stat st;
    strbuf_init_secret(&there, FILE_BYTES_MAX);
    int rc = fs_read_placed(path, &there, &st, &why);
    if (rc == ERR_NOT_FOUND)
        return 0;
    if (rc == ERR_CONFLICT) {
        strbuf_addf(told, "%s; %s\n", why.text, why.remedy);
        return 0;
    }
    if (rc && rc != ERR_TOO_LARGE)
        return err_move(err, rc, &why);
    if (rc || !secret_eq(there.data, there.len, bytes, n))
        strbuf_addf(told, "%s is there, and is not the one of the backup; move it away\n", path);
    return 0;
}

static bool restore_is_below(const char *path, const char *folder) {
    const size_t n = strlen(folder);
    return n && str_starts(path, folder) && path[n] == '/';
}

/* Beside the configuration, or in a folder that was meant when this program was made, or named by who runs it. */
static bool restore_is_at_home(const struct restore_to *to, const char *path) {
    const char *slash = strrchr(to->config_path, '/');
    const size_t n = slash ? (size_t)(slash - to->config_path) : 0;
    bool is_also = false;
    if (strstr(path, "/../") || str_ends(path, "/.."))
        return false;
    for (size_t i = 0; i < RESTORE_ALSO_MAX && to->also[i]; i++)
        is_also |= restore_is_below(path, to->also[i]) || str_eq(path, to->also[i]);
    return is_also || (strncmp(path, to->config_path, n) == 0 && path[n] == '/' && (n || str_eq(path, to->config_path))) ||
           restore_is_below(path, RESTORE_CONFIG_DIR) || restore_is_below(path, RESTORE_STATE_DIR) ||
           str_eq(path, RESTORE_STATE_DIR);
}

/* The configuration names it, or it is the certificate that kaasd made itself. */
static bool restore_is_named(const struct restore *r, const char *path) {
    const struct config *config = &r->config;
    _cleanup_free_ char *cert = str_format("%s/server.crt", config->state_dir),
                        *key = str_format("%s/server.key", config->state_dir);
    const char *named;
    for (size_t at = 0; (named = config_next_file(config, &at));)
        if (str_eq(named, path))
            return true;
    return str_eq(config->auth_kerberos_keytab, path) || str_eq(config->database_owner_password_file, path) ||
           str_eq(config->state_dir, path) || str_eq(cert, path) || str_eq(key, path);
}

/* Root writes them, and whoever has the master key can make a backup that holds any, and a configuration that names them. */
static void restore_check_path(const struct restore *r, const struct restore_to *to, const char *path, struct strbuf *told) {
    const char *slash = strrchr(path, '/');
    const size_t folder = str_eq(path, r->config.state_dir) ? strlen(path) : slash > path ? (size_t)(slash - path) : 1;
    if (restore_is_at_home(to, path))
        return;
    if (restore_is_named(r, path))
        strbuf_addf(
            told,
            "%s, which the configuration in the backup names, lies neither beside the configuration nor in %s or %s: if files of "
            "KaaS belong there, say so by --also %.*s\n",
            path, RESTORE_CONFIG_DIR, RESTORE_STATE_DIR, (int)folder, path);
    else
        strbuf_addf(told,
                    "%s is in the backup, but no option names it, and it lies neither beside the configuration nor in "
                    "%s: put it there yourself if it is needed\n",
                    path, RESTORE_STATE_DIR);
}

/* One that is there already is neither written nor given to anybody (restore_put_text). */
static void restore_check_new(const struct restore *r, const struct restore_to *to, const char *path, struct strbuf *told) {
    if (access(path, F_OK))
        restore_check_path(r, to, path, told);
}

/* What is not in the backup, and made or given to its owner nevertheless. */
static void restore_check_made(const struct restore *r, const struct restore_to *to, struct strbuf *told) {
    const char *password = r->config.database_password_file, *owner = r->config.database_owner_password_file;
    struct stat st;
    restore_check_new(r, to, r->config.state_dir, told);
    if (*password)
        restore_check_path(r, to, password, told);
    if (*owner)
        restore_check_path(r, to, owner, told);
    if (*password && to->user.is_other && !stat(password, &st) && st.st_uid != to->user.uid)
        strbuf_addf(told, "%s, which is to hold a password of the user %s, is there and does not belong to him; move it away\n",
                    password, to->user.name);
}

static int restore_check_key(const struct restore *r, const struct restore_to *to, struct strbuf *told, struct err *err) {
    _cleanup_strbuf_ struct strbuf key;
    strbuf_init_secret(&key, FILE_BYTES_MAX);
    int rc = fs_read_secret(to->key_file, &key, err);
    restore_check_new(r, to, r->config.secrets_master_key_file, told);
    return rc ? rc : restore_check_file(r->config.secrets_master_key_file, key.data, key.len, told, err);
}

/* One that waits for its database would go on before all of it is there. */
static void check_daemon(const struct restore *r, struct strbuf *told) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", r->config.server_admin_socket);
    if (fd >= 0 && !connect(fd, (const struct sockaddr *)&address, sizeof(address)))
        strbuf_adds(told, "kaasd runs on this host; stop it: systemctl stop kaasd\n");
}

static int restore_open_admin(const struct restore *r, const struct setup_database_admin *admin, struct store **out,
                              struct err *err) {
    const struct store_options options = setup_admin_login(&r->config, admin);
    return store_new(&options, out, err);
}

static int restore_check_database(const struct restore *r, const struct restore_to *to, struct strbuf *told, struct err *err) {
    _cleanup_(store_free) struct store *admin = NULL;
    const char *name = r->config.database_name;
    unsigned tables = 0;
    struct err why = {0};
    int rc = restore_open_admin(r, &to->admin, &admin, err);
    rc = rc ? rc : database_count_tables(admin, name, &tables, err);
    if (!rc && setup_check_accounts(&r->config, admin, &why) == ERR_CONFLICT)
        strbuf_addf(told, "%s; %s\n", why.text, why.remedy);
    else if (!rc)
        rc = err_move(err, why.code, &why);
    if (!rc && tables)
        strbuf_addf(told, "the database %s has %u tables; if nothing in it is needed any more: DROP DATABASE %s\n", name, tables,
                    name);
    return rc == ERR_DATABASE
               ? err_remedy(err, "is MariaDB running? run this as root, or name an account that may create accounts by "
                                 "--database-admin")
               : rc;
}

int restore_check_empty(struct restore *r, const struct restore_to *to, struct strbuf *told, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < r->reader.items.count && !rc; i++) {
        const struct backup_item *item = &r->reader.items.items[i];
        if (i)
            restore_check_new(r, to, item->path, told);
        rc = restore_check_file(restore_path_of(r, to, i), item->bytes, item->count, told, err);
    }
    rc = rc ? rc : restore_check_key(r, to, told, err);
    rc = rc ? rc : restore_check_database(r, to, told, err);
    if (rc)
        return rc;
    restore_check_made(r, to, told);
    check_daemon(r, told);
    return told->len ? err_set(err, ERR_CONFLICT, "this host is not empty; nothing was changed") : 0;
}

/* -- files of the host ----------------------------------------------------------------------------------------------------- */

/* What lies elsewhere is there, or was refused: it is not given to anybody. */
static int restore_put_text(const struct restore_to *to, const char *path, const struct strbuf *text,
                            const struct setup_owner *owner, struct err *err) {
    enum setup_file became;
    return restore_is_at_home(to, path) ? setup_put_file(path, text, owner, &to->user, &became, err) : 0;
}

/* What did not belong to root belongs to the service, as whoever that is called here. Nothing becomes a program. */
static int restore_put(const char *path, const struct backup_item *item, const struct restore_to *to, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    const struct setup_owner owner = {.uid = str_eq(item->owner, "root") ? 0 : to->user.uid,
                                      .gid = str_eq(item->group, "root") ? 0 : to->user.gid,
                                      .mode = item->mode & 0666U};
    strbuf_init_secret(&text, BACKUP_ITEM_BYTES_MAX);
    strbuf_add(&text, item->bytes, item->count);
    int rc = strbuf_check(&text, path, err);
    return rc ? rc : restore_put_text(to, path, &text, &owner, err);
}

/* As systemd makes it at the first start. */
static int make_state_dir(const struct restore *r, const struct restore_to *to, struct err *err) {
    _cleanup_done_(fs_place_done) struct fs_place place = {.folder = -1};
    const char *folder = r->config.state_dir;
    if (!access(folder, F_OK))
        return 0;
    int rc = fs_place_find(folder, &(struct fs_way){.folder_mode = STATE_MODE}, &place, err);
    if (rc)
        return rc;
    if (mkdirat(place.folder, place.name, STATE_MODE))
        return err_set(err, ERR_IO, "cannot make the folder %s: %m", folder);
    if (to->user.is_other && fchownat(place.folder, place.name, to->user.uid, to->user.gid, AT_SYMLINK_NOFOLLOW))
        return err_set(err, ERR_IO, "cannot give %s to its owner: %m", folder);
    return 0;
}

int restore_files(struct restore *r, const struct restore_to *to, struct err *err) {
    const struct setup_owner owner = {.uid = to->user.uid, .gid = to->user.gid, .mode = 0600};
    _cleanup_strbuf_ struct strbuf key;
    strbuf_init_secret(&key, FILE_BYTES_MAX);
    int rc = make_state_dir(r, to, err);
    for (size_t i = 0; i < r->reader.items.count && !rc; i++)
        rc = restore_put(restore_path_of(r, to, i), &r->reader.items.items[i], to, err);
    rc = rc ? rc : fs_read_secret(to->key_file, &key, err);
    return rc ? rc : restore_put_text(to, r->config.secrets_master_key_file, &key, &owner, err);
}

/* -- the database ---------------------------------------------------------------------------------------------------------- */

/* Keeps the end of what was read. */
static void restore_keep_end(struct strbuf *end, const char *bytes, size_t n) {
    const size_t last = n < SQL_ROWS_LINE_BYTES_MAX ? n : SQL_ROWS_LINE_BYTES_MAX;
    const size_t kept = end->len + last < SQL_ROWS_LINE_BYTES_MAX ? end->len : SQL_ROWS_LINE_BYTES_MAX - last;
    if (kept)
        memmove(end->data, end->data + end->len - kept, kept);
    end->len = kept;
    strbuf_add(end, bytes + n - last, last);
}

/* What was written has to be there: each table has as many rows as the dump had. An older backup does not tell. */
static int restore_compare_rows(const struct restore *r, struct store *store, struct err *err) {
    for (size_t i = 0; r->has_rows && i < r->rows.count; i++) {
        const struct sql_rows_table *table = &r->rows.tables[i];
        uint64_t rows = 0;
        int rc = database_count_rows(store, table->name, &rows, err);
        if (rc)
            return rc;
        if (rows != table->rows)
            return err_set(err, ERR_CONFLICT, "the table %s has %" PRIu64 " rows, and %" PRIu64 " were written into the backup",
                           table->name, rows, table->rows);
    }
    return 0;
}

static int restore_load(struct restore *r, const struct store_options *login, const char *database, struct err *err) {
    _cleanup_strbuf_ struct strbuf end;
    struct db_tool tool;
    const char *bytes;
    uint64_t done = 0;
    size_t n = 1;
    strbuf_init_secret(&end, SQL_ROWS_LINE_BYTES_MAX);
    int rc = db_tool_load(login, database, &tool, err);
    if (rc)
        return rc;
    while (n) {
        rc = backup_next(&r->reader, &bytes, &n, err);
        if (rc) {
            db_tool_stop(&tool);
            return rc;
        }
        if (n && db_tool_write(&tool, bytes, n, NULL)) /* it has ended: why is told below */
            break;
        done += n;
        restore_keep_end(&end, bytes, n);
        restore_say(r, "database", done);
    }
    r->has_rows = sql_rows_parse(end.data, end.len, &r->rows);
    return db_tool_finish(&tool, err);
}

static int restore_write_line(const struct restore *r, const struct restore_to *to, struct store *store, struct err *err) {
    char at[CLOCK_RFC3339_BYTES], reason[400];
    clock_format(r->reader.head.at_ms, at);
    (void)snprintf(reason, sizeof(reason), "from the backup of %.19sZ, made on %.200s; what was written after it is lost", at,
                   r->reader.head.host);
    const struct audit_record line = audit_record_make(NULL, &(struct audit_event){.action = "installation.restore",
                                                                                   .principal_name = to->who,
                                                                                   .source = "socket",
                                                                                   .object_kind = "installation",
                                                                                   .object_id = r->reader.head.installation,
                                                                                   .reason = reason});
    int rc = audit_store_open_key(store, r->seal, err);
    rc = rc ? rc : audit_store_sign_new(store, err);
    return rc ? rc : audit_store_append(store, &line, err);
}

static int restore_fill(struct restore *r, const struct restore_to *to, struct restore_result *out, struct err *err) {
    _cleanup_done_(db_login_done) struct db_login login = {.password = {.is_secret = true}};
    _cleanup_(store_free) struct store *store = NULL;
    struct setup_migration migration = {.on_step = NULL};
    int rc = db_login_load(&r->config, to->config_path, DB_ACCOUNT_OWNER, &login, err);
    rc = rc ? rc : restore_load(r, &login.options, r->config.database_name, err);
    rc = rc ? rc : store_new(&login.options, &store, err);
    rc = rc ? rc : restore_compare_rows(r, store, err);
    if (rc)
        return rc;
    restore_say(r, "schema and rights", 0);
    rc = setup_migrate(&r->config, to->config_path, &migration, &out->migrated, err);
    if (!rc && migration.rights.code)
        rc = err_move(err, migration.rights.code, &migration.rights);
    rc = rc ? rc : database_end_sessions(store, &out->sessions, err);
    rc = rc ? rc : installation_store_note_backup(store, r->reader.head.at_ms, err);
    rc = rc ? rc : restore_write_line(r, to, store, err);
    return rc ? rc : database_count(store, &out->counts, err);
}

int restore_database(struct restore *r, const struct restore_to *to, struct restore_result *out, struct err *err) {
    struct restore_result result = {0};
    int rc = setup_make_database(&r->config, to->config_path, &to->admin, &to->user, err);
    if (rc)
        return rc;
    rc = restore_fill(r, to, &result, err);
    if (rc) { /* it was empty before */
        _cleanup_(store_free) struct store *admin = NULL;
        if (!restore_open_admin(r, &to->admin, &admin, NULL))
            (void)database_drop(admin, r->config.database_name, NULL);
        return err_remedy(
            err, "mend it and repeat this: what was written to the database is removed, and files that are there are kept");
    }
    *out = result;
    return 0;
}

/* -- in a scratch database ------------------------------------------------------------------------------------------------- */

static int prove_chain(struct store *store, unsigned replica_id, const char *name, struct err *err) {
    struct audit_verification v = {.replica_id = replica_id, .limit = AUDIT_LINES_AT_ONCE};
    while (!v.is_complete) {
        int rc = audit_store_verify(store, &v, err);
        if (rc)
            return rc;
        if (v.fault)
            return err_set(err, ERR_CONFLICT, "the audit log in the backup is broken at replica %u (%s): %s", replica_id, name,
                           v.text);
    }
    return 0;
}

static int prove_chains(struct restore *r, struct store *store, struct err *err) {
    struct audit_chain_list list = {0};
    int rc = audit_store_open_key(store, r->seal, err);
    rc = rc ? rc
            : audit_store_sign_new(store, err); /* as the first start does, which may not have been when the backup was made */
    rc = rc ? rc : audit_store_list_chains(store, &list, err);
    for (size_t i = 0; i < list.count && !rc; i++)
        rc = prove_chain(store, list.items[i].replica_id, list.items[i].name, err);
    audit_chain_list_done(&list);
    return rc;
}

static int restore_prove_in(struct restore *r, const struct store_options *login, struct restore_proof *proof, struct err *err) {
    const struct store_migrate_options migration = {.schema = store_schema_builtin(), .holder = "verification"};
    _cleanup_(store_free) struct store *store = NULL;
    int rc = restore_load(r, login, proof->scratch, err);
    if (rc)
        return rc;
    restore_say(r, "schema, sealed values, audit log", 0);
    rc = store_new(login, &store, err);
    rc = rc ? rc : restore_compare_rows(r, store, err);
    rc = rc ? rc : store_migrate(store, &migration, &proof->migrated, err);
    rc = rc ? rc : database_count(store, &proof->counts, err);
    rc = rc ? rc : sealing_prove(store, r->seal, &proof->sealed_values, err);
    return rc ? rc : prove_chains(r, store, err);
}

/* By an account that has rights on the scratch database and nowhere else: the SQL is whatever stands in the file. */
int restore_prove(struct restore *r, const struct setup_database_admin *admin, struct restore_proof *out, struct err *err) {
    _cleanup_(store_free) struct store *store = NULL;
    struct store_options login = setup_admin_login(&r->config, admin);
    struct restore_proof proof = {.scratch = ""};
    uint8_t random[4], secret[16];
    char hex[2 * sizeof(random) + 1], password[2 * sizeof(secret) + 1];
    random_bytes(random, sizeof(random));
    random_bytes(secret, sizeof(secret));
    str_hex(random, sizeof(random), hex);
    str_hex(secret, sizeof(secret), password);
    (void)snprintf(proof.scratch, sizeof(proof.scratch), "kaas_verify_%s", hex);
    const struct store_accounts scratch = {
        .database = proof.scratch,
        .owner = {.name = proof.scratch, .host = login.unix_socket ? "localhost" : "%", .password = password}};
    int rc = restore_open_admin(r, admin, &store, err);
    rc = rc ? rc : store_create_accounts(store, &scratch, err);
    if (rc)
        return rc == ERR_DATABASE
                   ? err_remedy(err, "is MariaDB running? run this as root, or name an account that may create databases "
                                     "and accounts by --database-admin")
                   : rc;
    login.database = login.user = proof.scratch;
    login.password = password;
    rc = restore_prove_in(r, &login, &proof, err);
    struct err ignored = {0};
    const int dropped = store_drop_accounts(store, &scratch, rc ? &ignored : err);
    rc = rc ? rc : dropped;
    if (!rc)
        *out = proof;
    return rc;
}
