/* What `kaasctl init` does, step by step. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "first_setup.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "fsutil.h"
#include "names.h"
#include "passwd.h"
#include "seal.h"
#include "seal_store.h"
#include "secret.h"
#include "setup_files.h"
#include "store_schema.h"
#include "str.h"
#include "user_store.h"
#include "uuid.h"

#define PASSWORD_RANDOM_BYTES 24
#define FOLDER_MODE 0750

/* Who may do what with a file. Root makes it for the user of the service; whoever makes it for himself owns everything. */
enum file_kind {
    FILE_READ,   /* by the service: root owns it, its group may read */
    FILE_SECRET, /* of the service, which has to own it */
    FILE_OF_ROOT
};

/* With the owner and mode that it is made with. */
static struct setup_owner owner_of_kind(enum file_kind kind, const struct setup_user *user) {
    return (struct setup_owner){.uid = kind == FILE_SECRET ? user->uid : 0,
                                .gid = kind == FILE_OF_ROOT ? 0 : user->gid,
                                .mode = kind == FILE_READ ? 0640 : 0600};
}

/* Gives the open file to whom it belongs; *is_mended tells whether it was different. */
static int set_owner(int fd, const char *path, const struct setup_owner *wanted, bool *is_mended, struct err *err) {
    struct stat st;
    if (fstat(fd, &st))
        return err_set(err, ERR_IO, "cannot look at %s: %m", path);
    *is_mended = st.st_uid != wanted->uid || st.st_gid != wanted->gid || (st.st_mode & 07777) != wanted->mode;
    if (*is_mended && (fchown(fd, wanted->uid, wanted->gid) || fchmod(fd, wanted->mode)))
        return err_set(err, ERR_IO, "cannot set owner and mode of %s: %m", path);
    return 0;
}

/* The user of the service may have been able to put a link in its place: what that leads to is left alone. */
static int mend_file(const struct fs_place *place, const char *path, const struct setup_owner *wanted,
                     const struct setup_user *user, bool *is_mended, struct err *err) {
    _cleanup_close_ int fd =
        user->is_other ? openat(place->folder, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    struct stat st;
    *is_mended = false;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1)
        return 0;
    return set_owner(fd, path, wanted, is_mended, err);
}

/* Of the file. One that was there is mended only if it is our own. */
static int mend_folder(const struct fs_place *place, const char *path, const struct setup_user *user, bool *is_mended,
                       struct err *err) {
    const struct setup_owner wanted = {.uid = 0, .gid = user->gid, .mode = FOLDER_MODE};
    const bool is_ours = user->is_other && (place->is_folder_made || str_eq(path, CONFIG_DEFAULT_PATH));
    _cleanup_close_ int fd = is_ours ? openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    *is_mended = false;
    return fd < 0 ? 0 : set_owner(fd, path, &wanted, is_mended, err);
}

int setup_put_file(const char *path, const struct strbuf *text, const struct setup_owner *owner, const struct setup_user *user,
                   enum setup_file *became, struct err *err) {
    _cleanup_done_(fs_place_done) struct fs_place place = {.folder = -1};
    bool is_folder_mended = false, is_mended = false;
    struct err why = {0};
    int rc = fs_place_find(path, &(struct fs_way){.folder_mode = FOLDER_MODE}, &place, err);
    rc = rc ? rc : mend_folder(&place, path, user, &is_folder_mended, err);
    if (rc)
        return rc;
    const int made = fs_place_write_new(&place, path, text->data, text->len, owner->mode, &why);
    if (made && made != ERR_EXISTS)
        return err_move(err, made, &why);
    rc = mend_file(&place, path, owner, user, &is_mended, err);
    *became = !made ? SETUP_MADE : is_mended || is_folder_mended ? SETUP_MENDED : SETUP_KEPT;
    return rc;
}

static int make_file(const char *path, const struct strbuf *text, enum file_kind kind, const struct setup_user *user,
                     enum setup_file *became, struct err *err) {
    const struct setup_owner owner = owner_of_kind(kind, user);
    return setup_put_file(path, text, &owner, user, became, err);
}

static void write_database(struct strbuf *text, const struct setup_config *settings) {
    if (settings->database_socket || settings->database_host)
        strbuf_adds(text, "database:\n");
    if (settings->database_socket)
        strbuf_addf(text, "  socket: \"%s\"\n", settings->database_socket);
    if (settings->database_host)
        strbuf_addf(text, "  host: \"%s\"\n", settings->database_host);
    if (settings->database_port)
        strbuf_addf(text, "  port: %d\n", settings->database_port);
    if (settings->database_ca_file)
        strbuf_addf(text, "  tls_ca_file: \"%s\"\n", settings->database_ca_file);
}

int setup_write_config(const struct setup_config *settings, const struct setup_user *user, enum setup_file *became,
                       struct err *err) {
    _cleanup_free_ char *key = db_settings_beside(settings->path, "master.key");
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, 16384);
    strbuf_adds(&text, "# Configuration of kaasd; all options: " DOC_PAGE(
                           "admin/configuration.md") ". Check with: kaasd --check-config\nserver:\n");
    if (settings->listen)
        strbuf_addf(&text, "  listen: \"%s\"\n", settings->listen);
    if (settings->public_url)
        strbuf_addf(&text, "  public_url: \"%s\"\n", settings->public_url);
    else
        strbuf_adds(&text, "  # public_url: https://kaas.example.com   # needed before a vCenter is registered\n");
    strbuf_adds(&text, "  admin_socket: /run/kaas/admin.sock\n");
    write_database(&text, settings);
    strbuf_addf(&text, "secrets:\n  master_key_file: \"%s\"\n", key ? key : "");
    strbuf_adds(&text, "audit:\n  log: true   # who changed what and who signed in, in the log as well\n");
    rc = key ? strbuf_check(&text, "configuration", err) : err_set(err, ERR_NOMEM, "out of memory");
    return rc ? rc : make_file(settings->path, &text, FILE_READ, user, became, err);
}

static bool setup_is_held(const struct seal_ids *held, const char *key_id) {
    for (size_t i = 0; i < held->count; i++)
        if (str_eq(held->items[i], key_id))
            return true;
    return false;
}

/* A key that sealed something, or is to seal, and is not among those held; "" if there is none. */
static int find_missing_key(struct store *store, const struct seal_ids *held, char key_id[SEAL_STORE_ID_BYTES], struct err *err) {
    struct seal_counts counts = {.count = 0};
    int rc = seal_store_load_choice(store, key_id, err);
    if (rc || (*key_id && !setup_is_held(held, key_id)))
        return rc;
    *key_id = 0;
    rc = seal_store_count(store, &counts, err);
    for (size_t i = 0; !rc && i < counts.count; i++)
        if (!setup_is_held(held, counts.items[i].key_id))
            (void)snprintf(key_id, SEAL_STORE_ID_BYTES, "%s", counts.items[i].key_id);
    return rc;
}

int setup_make_master_key(struct store *store, const char *path, const struct setup_user *user, enum setup_file *became,
                          struct err *err) {
    const bool is_there = access(path, F_OK) == 0;
    char missing[SEAL_STORE_ID_BYTES];
    struct seal_ids held = {.count = 0};
    _cleanup_strbuf_ struct strbuf key = {0};
    uint8_t bytes[SEAL_KEY_BYTES];
    int rc = is_there ? master_key_file_read(path, &held, err) : 0;
    if (!rc)
        rc = find_missing_key(store, &held, missing, err);
    if (rc)
        return rc;
    if (*missing) {
        (void)err_set(err, ERR_CONFIG, "the database holds secrets sealed by master key %s, which %s %s", missing,
                      is_there ? "is not in" : "was in a file that is gone:", path);
        return err_remedy(err, "put the key file of another replica, or a copy of it, in its place; if there is none anywhere: "
                               "kaasctl key forget-sealed");
    }
    random_bytes(bytes, sizeof(bytes));
    strbuf_init_secret(&key, sizeof(bytes));
    strbuf_add(&key, bytes, sizeof(bytes));
    secret_wipe(bytes, sizeof(bytes));
    rc = strbuf_check(&key, "master key", err);
    return rc ? rc : make_file(path, &key, FILE_SECRET, user, became, err);
}

/* The password in the file, which is made with a random one if it is missing. */
static int password_of(const char *named, const char *config_path, enum db_account account, const struct setup_user *user,
                       struct strbuf *out, struct err *err) {
    const bool is_owner = account == DB_ACCOUNT_OWNER;
    _cleanup_free_ char *path =
        *named ? str_dup(named) : db_settings_beside(config_path, is_owner ? DB_OWNER_PASSWORD_FILE : DB_PASSWORD_FILE);
    _cleanup_strbuf_ struct strbuf line = {0};
    uint8_t raw[PASSWORD_RANDOM_BYTES];
    char text[2 * PASSWORD_RANDOM_BYTES + 1];
    enum setup_file became;
    int rc;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    random_bytes(raw, sizeof(raw));
    str_hex(raw, sizeof(raw), text);
    strbuf_init_secret(&line, sizeof(text));
    strbuf_addf(&line, "%s\n", text);
    secret_wipe(raw, sizeof(raw));
    secret_wipe(text, sizeof(text));
    rc = strbuf_check(&line, "password", err);
    if (!rc)
        rc = make_file(path, &line, is_owner ? FILE_OF_ROOT : FILE_SECRET, user, &became, err);
    return rc ? rc : password_file_read(path, out, err);
}

static const char *os_user(void) {
    const struct passwd *entry = getpwuid(geteuid());
    return entry ? entry->pw_name : "root";
}

struct store_options setup_admin_login(const struct config *config, const struct setup_database_admin *admin) {
    struct store_options options = {
        .user = admin->user ? admin->user : os_user(),
        .account_remedy =
            "run this as root on the host of the database, or name an account that may create databases and accounts: "
            "--database-admin NAME --database-admin-password-file FILE",
        .password = admin->password,
        .connections_max = 1};
    if (*config->database_host && !admin->socket) {
        options.host = config->database_host;
        options.port = (unsigned)config->database_port;
        options.ca_file = *config->database_tls_ca_file ? config->database_tls_ca_file : NULL;
    } else {
        options.unix_socket = admin->socket ? admin->socket : config->database_socket;
    }
    return options;
}

static int open_admin(const struct config *config, const struct setup_database_admin *admin, struct store **out,
                      struct err *err) {
    const struct store_options options = setup_admin_login(config, admin);
    return store_new(&options, out, err);
}

/* Without passwords. */
static struct store_accounts accounts_of(const struct config *config) {
    const char *host = *config->database_host ? "%" : "localhost";
    return (struct store_accounts){.database = config->database_name,
                                   .owner = {.name = config->database_owner_user, .host = host},
                                   .runtime = {.name = config->database_user, .host = host}};
}

int setup_check_accounts(const struct config *config, struct store *admin, struct err *err) {
    struct store_accounts accounts = accounts_of(config);
    accounts.owner.password = accounts.runtime.password = "";
    return store_check_accounts(admin, &accounts, err);
}

/* Says how to come as one who may, if that is what failed. */
static int advise_admin(const struct config *config, int rc, struct err *err) {
    if (rc == ERR_DATABASE)
        (void)err_remedy(
            err,
            *config->database_host
                ? "is MariaDB running there, with TLS? give an account that may create accounts by --database-admin"
                : "is MariaDB running? give its socket with --database-socket and run this as root or as a database administrator");
    return rc;
}

int setup_make_database(const struct config *config, const char *config_path, const struct setup_database_admin *admin,
                        const struct setup_user *user, struct err *err) {
    _cleanup_strbuf_ struct strbuf runtime, owning;
    struct store_accounts accounts = accounts_of(config);
    _cleanup_(store_free) struct store *store = NULL;
    int rc;
    strbuf_init_secret(&runtime, 1024);
    strbuf_init_secret(&owning, 1024);
    rc = password_of(config->database_password_file, config_path, DB_ACCOUNT_RUNTIME, user, &runtime, err);
    if (!rc)
        rc = password_of(config->database_owner_password_file, config_path, DB_ACCOUNT_OWNER, user, &owning, err);
    if (!rc)
        rc = open_admin(config, admin, &store, err);
    accounts.owner.password = owning.data;
    accounts.runtime.password = runtime.data;
    if (!rc)
        rc = store_create_accounts(store, &accounts, err);
    return advise_admin(config, rc, err);
}

int setup_check_admin(const struct config *config, const struct setup_database_admin *admin, struct err *err) {
    _cleanup_(store_free) struct store *store = NULL;
    char host[STORE_HOST_BYTES];
    struct err why = {0};
    int rc = open_admin(config, admin, &store, &why);
    if (!rc)
        rc = store_lookup_host(store, host, &why);
    if (rc != ERR_DATABASE)
        return err_move(err, rc, &why);
    (void)err_set(err, rc, "the database cannot be asked as its administrator %s: %s", admin->user ? admin->user : os_user(),
                  why.text);
    return advise_admin(config, rc, err);
}

int setup_drop_database(const struct config *config, const struct setup_database_admin *admin, struct err *err) {
    struct store_accounts accounts = accounts_of(config);
    _cleanup_(store_free) struct store *store = NULL;
    int rc = open_admin(config, admin, &store, err);
    accounts.owner.password = accounts.runtime.password = "";
    if (!rc)
        rc = store_drop_accounts(store, &accounts, err);
    return advise_admin(config, rc, err);
}

static int grant_as_admin(const struct config *config, const struct store_runtime *runtime, struct err *err) {
    _cleanup_(store_free) struct store *admin = NULL;
    int rc = open_admin(config, &(struct setup_database_admin){.user = NULL}, &admin, err);
    return rc ? rc : store_grant_runtime(admin, runtime, err);
}

/* Both accounts were made for the same host. */
static void set_rights(const struct config *config, struct store *owner, struct err *why) {
    char host[STORE_HOST_BYTES];
    const struct store_runtime runtime = {config->database_name, config->database_user, host};
    struct err ignored = {0};
    err_clear(why);
    if (store_lookup_host(owner, host, why) || !store_grant_runtime(owner, &runtime, &ignored))
        return;
    (void)grant_as_admin(config, &runtime, why);
}

int setup_migrate(const struct config *config, const char *config_path, struct setup_migration *migration, unsigned *applied,
                  struct err *err) {
    char host[64] = "localhost";
    _cleanup_free_ char *holder = NULL;
    struct store_migrate_options options = {.schema = store_schema_builtin(),
                                            .resolve_file = migration->resolve_file,
                                            .resolve_as_done = migration->resolve_as_done,
                                            .on_step = migration->on_step,
                                            .on_step_arg = migration->on_step_arg};
    _cleanup_(store_free) struct store *store = NULL;
    int rc = db_settings_open(config, config_path, DB_ACCOUNT_OWNER, &store, err);
    (void)gethostname(host, sizeof(host) - 1);
    holder = str_format("%s:%d", host, (int)getpid());
    options.holder = holder;
    if (!rc && !holder)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = store_migrate(store, &options, applied, err);
    if (!rc)
        set_rights(config, store, &migration->rights);
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

int setup_make_first_admin(struct store *store, const char *name, char **password, bool is_seen, bool *is_made, struct err *err) {
    _cleanup_secret_ char *fresh = NULL;
    struct user_list users = {0};
    int rc = user_store_list(store, &users, err);
    *is_made = !users.count;
    user_list_done(&users);
    if (rc || !*is_made)
        return rc;
    if (*password) {
        rc = password_check(*password, name, err);
        return rc ? rc : insert_admin(store, name, *password, is_seen, err);
    }
    fresh = passwd_generate();
    rc = fresh ? insert_admin(store, name, fresh, true, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        *password = STEAL(fresh);
    return rc;
}
