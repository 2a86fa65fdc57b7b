/* What `kaasctl init` does, step by step. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "first_setup.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "db_settings.h"
#include "fsutil.h"
#include "passwd.h"
#include "password.h"
#include "seal.h"
#include "secret.h"
#include "store_schema.h"
#include "str.h"
#include "user_store.h"
#include "uuid.h"

#define SECRET_MODE 0600
#define PASSWORD_RANDOM_BYTES 24

static int give_to(const char *path, const struct setup_owner *owner, struct err *err) {
    if (!owner->is_given || chown(path, owner->uid, owner->gid) == 0)
        return 0;
    return err_set(err, ERR_IO, "cannot give %s to the user of the service", path);
}

static int make_folder_of(const char *path, const struct setup_owner *owner, struct err *err) {
    _cleanup_free_ char *folder = str_dup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    int rc;
    if (!folder)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!slash || slash == folder)
        return 0;
    *slash = 0;
    if (access(folder, F_OK) == 0)
        return 0;
    rc = fs_make_dirs(folder, 0750, err);
    return rc ? rc : give_to(folder, owner, err);
}

/* Makes a new file; one that is there already is left alone. */
static int make_file(const char *path, const void *bytes, size_t n, const struct setup_owner *owner, bool *made,
                     struct err *err) {
    int rc = make_folder_of(path, owner, err);
    struct err why = {0};
    if (rc)
        return rc;
    rc = fs_write_new(path, bytes, n, SECRET_MODE, &why);
    *made = !rc;
    if (rc == ERR_EXISTS)
        return 0;
    if (rc) {
        if (err)
            *err = why;
        return rc;
    }
    return give_to(path, owner, err);
}

int setup_write_config(const struct setup_config *settings, const struct setup_owner *owner, bool *made, struct err *err) {
    _cleanup_free_ char *key = db_settings_beside(settings->path, "master.key");
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, 16384);
    strbuf_adds(&text,
                "# Configuration of kaasd; all options: docs/configuration.md. Check with: kaasd --check-config\nserver:\n");
    if (settings->listen)
        strbuf_addf(&text, "  listen: \"%s\"\n", settings->listen);
    if (settings->public_url)
        strbuf_addf(&text, "  public_url: \"%s\"\n", settings->public_url);
    else
        strbuf_adds(&text, "  # public_url: https://kaas.example.com   # needed before a vCenter is registered\n");
    strbuf_adds(&text, "  admin_socket: /run/kaas/admin.sock\n");
    if (settings->database_socket)
        strbuf_addf(&text, "database:\n  socket: \"%s\"\n", settings->database_socket);
    strbuf_addf(&text, "secrets:\n  master_key_file: \"%s\"\n", key ? key : "");
    rc = key ? strbuf_check(&text, "configuration", err) : err_set(err, ERR_NOMEM, "out of memory");
    return rc ? rc : make_file(settings->path, text.data, text.len, owner, made, err);
}

int setup_make_master_key(const char *path, const struct setup_owner *owner, bool *made, struct err *err) {
    uint8_t key[SEAL_KEY_BYTES];
    int rc;
    random_bytes(key, sizeof(key));
    rc = make_file(path, key, sizeof(key), owner, made, err);
    secret_wipe(key, sizeof(key));
    return rc;
}

/* The password in the file, which is made with a random one if it is missing. */
static int password_of(const char *named, const char *config_path, const char *usual, const struct setup_owner *owner,
                       struct strbuf *out, struct err *err) {
    _cleanup_free_ char *path = *named ? str_dup(named) : db_settings_beside(config_path, usual);
    uint8_t raw[PASSWORD_RANDOM_BYTES];
    char text[2 * PASSWORD_RANDOM_BYTES + 2];
    bool made = false;
    int rc;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    random_bytes(raw, sizeof(raw));
    str_hex(raw, sizeof(raw), text);
    text[2 * PASSWORD_RANDOM_BYTES] = '\n';
    rc = make_file(path, text, 2 * PASSWORD_RANDOM_BYTES + 1, owner, &made, err);
    secret_wipe(raw, sizeof(raw));
    secret_wipe(text, sizeof(text));
    if (!rc)
        rc = fs_read_secret(path, out, err);
    if (!rc && strpbrk(out->data, "\r\n"))
        *strpbrk(out->data, "\r\n") = 0;
    return rc;
}

static const char *os_user(void) {
    const struct passwd *entry = getpwuid(geteuid());
    return entry ? entry->pw_name : "root";
}

static int open_admin(const struct config *config, const struct setup_database_admin *admin, struct store **out,
                      struct err *err) {
    struct store_options options = {
        .user = admin->user ? admin->user : os_user(), .password = admin->password, .connections_max = 1};
    if (*config->database_host && !admin->socket) {
        options.host = config->database_host;
        options.port = (unsigned)config->database_port;
        options.ca_file = *config->database_tls_ca_file ? config->database_tls_ca_file : NULL;
    } else {
        options.unix_socket = admin->socket ? admin->socket : config->database_socket;
    }
    return store_new(&options, out, err);
}

int setup_make_database(const struct config *config, const char *config_path, const struct setup_database_admin *admin,
                        const struct setup_owner *owner, struct err *err) {
    _cleanup_strbuf_ struct strbuf runtime, owning;
    const char *host = *config->database_host ? "%" : "localhost";
    struct store_accounts accounts = {.database = config->database_name,
                                      .owner = {.name = config->database_owner_user, .host = host},
                                      .runtime = {.name = config->database_user, .host = host}};
    struct store *store = NULL;
    int rc;
    strbuf_init_secret(&runtime, 1024);
    strbuf_init_secret(&owning, 1024);
    rc = password_of(config->database_password_file, config_path, DB_PASSWORD_FILE, owner, &runtime, err);
    if (!rc)
        rc = password_of(config->database_owner_password_file, config_path, DB_OWNER_PASSWORD_FILE, &(struct setup_owner){0},
                         &owning, err);
    if (!rc)
        rc = open_admin(config, admin, &store, err);
    accounts.owner.password = owning.data;
    accounts.runtime.password = runtime.data;
    if (!rc)
        rc = store_create_accounts(store, &accounts, err);
    store_free(store);
    if (rc == ERR_DATABASE)
        (void)err_remedy(
            err,
            "is MariaDB running? give its socket with --database-socket and run this as root or as a database administrator");
    return rc;
}

int setup_migrate(const struct config *config, const char *config_path, const struct setup_migration *migration,
                  unsigned *applied, struct err *err) {
    char host[64] = "localhost";
    _cleanup_free_ char *holder = NULL;
    struct store_migrate_options options = {.schema = store_schema_builtin(),
                                            .resolve_file = migration->resolve_file,
                                            .resolve_as_done = migration->resolve_as_done,
                                            .on_step = migration->on_step,
                                            .on_step_arg = migration->on_step_arg};
    struct store *store = NULL;
    int rc = db_settings_open(config, config_path, DB_ACCOUNT_OWNER, &store, err);
    (void)gethostname(host, sizeof(host) - 1);
    holder = str_format("%s:%d", host, (int)getpid());
    options.holder = holder;
    if (!rc && !holder)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = store_migrate(store, &options, applied, err);
    store_free(store);
    return rc;
}

static int insert_admin(struct store *store, const char *name, const char *password, bool must_change, struct err *err) {
    _cleanup_free_ char *hash = NULL, *shown = str_dup(name);
    char id[UUID_TEXT_BYTES];
    struct user user = {
        .id = id, .name = shown, .role = ROLE_ADMIN, .must_change_password = must_change, .created_at_ms = clock_wall_ms()};
    int rc = shown ? passwd_hash(password, &hash, err) : err_set(err, ERR_NOMEM, "out of memory");
    uuid_new(id);
    user.password_hash = hash;
    user.updated_at_ms = user.created_at_ms;
    return rc ? rc : user_store_insert(store, &user, NULL, err);
}

int setup_make_first_admin(struct store *store, const char *name, char **password, bool *is_made, struct err *err) {
    _cleanup_secret_ char *fresh = NULL;
    struct user_list users = {0};
    int rc = user_store_list(store, &users, err);
    *is_made = !users.count;
    user_list_done(&users);
    if (rc || !*is_made)
        return rc;
    if (*password) {
        rc = password_check(*password, name, err);
        return rc ? rc : insert_admin(store, name, *password, false, err);
    }
    fresh = passwd_generate();
    rc = fresh ? insert_admin(store, name, fresh, true, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        *password = STEAL(fresh);
    return rc;
}
