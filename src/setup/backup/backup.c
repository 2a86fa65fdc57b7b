/* Making a backup of an installation. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backup.h"

#include <arpa/inet.h>
#include <config.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "database.h"
#include "db_tool.h"
#include "fsutil.h"
#include "seal_store.h"
#include "ldap_store.h"
#include "replica_store.h"
#include "setup_check.h"
#include "setup_files.h"
#include "sql_rows.h"
#include "str.h"

#define PART ".part"
#define NOTES_BYTES_MAX 65536U
#define FOLDER_MODE 0700
#define TRAILER "-- Dump completed" /* the last line of mariadb-dump */
#define PREFIX_BYTES 16

struct backup {
    const struct backup_request *request;
    struct backup_result *result;
    struct db_login login;
    struct store *store; /* of the owner */
    struct seal *seal;
    struct backup_items items;
    char prefix[PREFIX_BYTES]; /* of the names of this installation's backups: "kaas-5b2b4bde-" */
    char *folder;              /* NULL: the target is a file */
    char *part;                /* the name until it is whole */
    FILE *file;
    uint64_t told_bytes;
};

void backup_result_done(struct backup_result *result) {
    if (!result)
        return;
    free(result->path);
    strbuf_done(&result->notes);
}

static void backup_done(struct backup *b) {
    if (b->file)
        (void)fclose(b->file);
    backup_items_done(&b->items);
    store_free(b->store);
    db_login_done(&b->login);
    seal_free(b->seal);
    free(b->folder);
    free(b->part);
}

static void backup_say(const struct backup *b, const char *step, uint64_t bytes) {
    const struct backup_watcher *watcher = &b->request->watcher;
    if (watcher->tell)
        watcher->tell(watcher->arg, step, bytes);
}

/* -- what the database and the key file say -------------------------------------------------------------------------------- */

/* The key that seals in this installation, which must be held. */
static int backup_find_key(struct backup *b, struct err *err) {
    const char *path = b->request->config->secrets_master_key_file;
    char chosen[SEAL_STORE_ID_BYTES] = "";
    struct seal_ids ids;
    int rc = seal_open_file(path, &b->seal, err);
    rc = rc ? rc : seal_store_load_choice(b->store, chosen, err);
    if (rc)
        return rc;
    if (*chosen && seal_choose(b->seal, chosen, NULL)) {
        (void)err_set(err, ERR_CONFIG, "the master key file %s does not hold key %s, which seals in this installation", path,
                      chosen);
        return err_remedy(err, "put the master key file of another replica, or a copy of it, in its place");
    }
    seal_get_ids(b->seal, &ids);
    memcpy(b->result->head.key_id, ids.items[ids.sealing], SEAL_KEY_ID_BYTES);
    return 0;
}

static int backup_look(struct backup *b, struct err *err) {
    const struct backup_request *request = b->request;
    struct backup_head *head = &b->result->head;
    struct database_schema schema;
    int rc = db_login_load(request->config, request->config_path, DB_ACCOUNT_OWNER, &b->login, err);
    rc = rc ? rc : store_new(&b->login.options, &b->store, err);
    rc = rc ? rc : database_load_schema(b->store, &schema, err);
    rc = rc ? rc : installation_store_load(b->store, head->installation, err);
    rc = rc ? rc : backup_find_key(b, err);
    if (rc)
        return rc;
    (void)snprintf(head->version, sizeof(head->version), "%s", PACKAGE_VERSION);
    (void)snprintf(head->schema, sizeof(head->schema), "%s", schema.file);
    head->schema_release = schema.release;
    if (gethostname(head->host, sizeof(head->host) - 1))
        (void)snprintf(head->host, sizeof(head->host), "localhost");
    (void)snprintf(b->prefix, sizeof(b->prefix), "kaas-%.8s-", head->installation);
    return 0;
}

/* -- files of the host ----------------------------------------------------------------------------------------------------- */

static int read_item(const char *path, struct backup_item *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct stat st;
    strbuf_init_secret(&text, BACKUP_ITEM_BYTES_MAX);
    int rc = fs_read_placed(path, &text, &st, err);
    if (rc)
        return rc;
    const struct passwd *user = getpwuid(st.st_uid);
    const struct group *group = getgrgid(st.st_gid);
    out->path = str_dup(path);
    out->owner = user ? str_dup(user->pw_name) : str_format("%u", (unsigned)st.st_uid);
    out->group = group ? str_dup(group->gr_name) : str_format("%u", (unsigned)st.st_gid);
    out->mode = st.st_mode & 0777;
    out->bytes = malloc(text.len + 1);
    if (!out->path || !out->owner || !out->group || !out->bytes)
        return err_set(err, ERR_NOMEM, "out of memory");
    memcpy(out->bytes, text.data, text.len);
    out->count = text.len;
    return 0;
}

/* One that is not there is told: kaasd may go without it, or would not start, which is not for us to say. */
static int backup_add_file(struct backup *b, const char *path, struct err *err) {
    struct err why = {0};
    if (str_empty(path))
        return 0;
    for (size_t i = 0; i < b->items.count; i++)
        if (str_eq(b->items.items[i].path, path))
            return 0;
    if (b->items.count == BACKUP_ITEMS_MAX)
        return err_set(err, ERR_TOO_LARGE, "the configuration names more than %u files", BACKUP_ITEMS_MAX);
    int rc = read_item(path, &b->items.items[b->items.count], &why);
    if (rc == ERR_NOT_FOUND) {
        strbuf_addf(&b->result->notes, "%s, which is named, is not there, and so not in the backup\n", path);
        return 0;
    }
    b->items.count++; /* also one that was read in part is freed */
    return err_move(err, rc, &why);
}

/* The user of the service can have written the row of the database that names it, so root reads no more of it than that user may. */
static int backup_add_file_of_row(struct backup *b, const char *path, struct err *err) {
    bool is_readable = true;
    int rc = str_empty(path) || access(path, F_OK) ? 0 : setup_can_read(b->request->config, path, &is_readable, err);
    if (!rc && !is_readable)
        strbuf_addf(&b->result->notes,
                    "%s, which a directory names, is not in the backup: the user of the service cannot read it\n", path);
    return rc || !is_readable ? rc : backup_add_file(b, path, err);
}

/* Of directories in the database. A schema that is older may not have all of their columns: then they are left to the administrator. */
static int backup_add_ldap(struct backup *b, struct err *err) {
    struct ldap_row_list rows = {0};
    int rc = ldap_store_list(b->store, &rows, err);
    for (size_t i = 0; i < rows.count && !rc; i++) {
        rc = backup_add_file_of_row(b, rows.items[i].source.ca_file, err);
        rc = rc ? rc : backup_add_file_of_row(b, rows.items[i].source.keytab, err);
    }
    ldap_row_list_done(&rows);
    return rc;
}

/* Not the master key, and not the passwords of the database's accounts, which a restore makes anew. */
static int backup_collect(struct backup *b, struct err *err) {
    const struct config *config = b->request->config;
    _cleanup_server_cert_paths_ struct server_cert_paths cert = {0};
    b->items.items = calloc(BACKUP_ITEMS_MAX, sizeof(*b->items.items));
    if (!b->items.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = backup_add_file(b, b->request->config_path, err);
    for (size_t at = 0; !rc;) {
        const char *path = config_next_file(config, &at);
        if (!path)
            break;
        if (!str_eq(path, config->secrets_master_key_file) && !str_eq(path, config->database_password_file))
            rc = backup_add_file(b, path, err);
    }
    rc = rc ? rc : backup_add_file(b, config->auth_kerberos_keytab, err);
    rc = rc ? rc : server_cert_find(config, &cert, err);
    if (!rc && cert.is_there) {
        rc = backup_add_file(b, cert.cert, err);
        rc = rc ? rc : backup_add_file(b, cert.key, err);
    }
    rc = rc ? rc : backup_add_ldap(b, err);
    b->result->files = b->items.count;
    return rc;
}

/* -- the target ------------------------------------------------------------------------------------------------------------ */

static int backup_no_room(const char *path, const struct err *why, struct err *err) {
    (void)err_set(err, ERR_IO, "the backup cannot be written to %.200s: %s", path, why->text);
    return err_remedy(err, "make room there, or name another place; what was written of it is removed");
}

/* What a backup that was killed has left; one that is being written is locked. */
static void remove_stale_part(const char *path) {
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
        (void)unlink(path);
}

typedef void backup_entry_fn(struct backup *b, const char *path, void *arg);
/* Each entry of the folder that bears a name of this installation's backups with this ending. */
static void backup_walk(struct backup *b, const char *ending, backup_entry_fn *fn, void *arg) {
    DIR *folder = opendir(b->folder);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        _cleanup_free_ char *path = str_format("%s/%s", b->folder, entry->d_name);
        if (path && str_starts(entry->d_name, b->prefix) && str_ends(entry->d_name, ending))
            fn(b, path, arg);
    }
    if (folder)
        (void)closedir(folder);
}

static void backup_sweep_part(struct backup *b, const char *path, void *arg) {
    (void)b, (void)arg;
    remove_stale_part(path);
}

static int backup_find_target(struct backup *b, struct err *err) {
    const char *target = b->request->target;
    const bool is_said = str_ends(target, "/");
    const time_t at = (time_t)(b->result->head.at_ms / 1000);
    char name[32];
    struct stat st;
    struct tm utc;
    if (is_said || (!stat(target, &st) && S_ISDIR(st.st_mode))) {
        int rc = fs_make_dirs(target, FOLDER_MODE, err);
        if (rc)
            return rc;
        b->folder = str_dup(target);
        if (!b->folder)
            return err_set(err, ERR_NOMEM, "out of memory");
        for (size_t n = strlen(b->folder); n > 1 && b->folder[n - 1] == '/'; n--)
            b->folder[n - 1] = '\0';
        (void)strftime(name, sizeof(name), "%Y%m%dT%H%M%S", gmtime_r(&at, &utc));
        b->result->path =
            str_format("%s/%s%s.%03dZ" BACKUP_SUFFIX, b->folder, b->prefix, name, (int)(b->result->head.at_ms % 1000));
        backup_walk(b, BACKUP_SUFFIX PART, backup_sweep_part, NULL);
    } else if (b->request->keep) {
        (void)err_set(err, ERR_INVALID, "%s is no folder, so there is nothing to keep a number of", target);
        return err_remedy(err, "name a folder; one that is to be made with a / at its end");
    } else {
        b->result->path = str_dup(target);
    }
    b->part = b->result->path ? str_format("%s" PART, b->result->path) : NULL;
    if (!b->part)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (access(b->result->path, F_OK) == 0) {
        (void)err_set(err, ERR_EXISTS, "%s is there already", b->result->path);
        return err_remedy(err, "name another file, or a folder, in which each backup gets a name of its own");
    }
    remove_stale_part(b->part);
    return 0;
}

static int backup_open_part(struct backup *b, struct err *err) {
    struct err why = {0};
    int fd = open(b->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST) {
        (void)err_set(err, ERR_BUSY, "another backup is being written to %s", b->part);
        return err_remedy(err, "wait for it, or name another file");
    }
    if (fd < 0) {
        (void)err_set(&why, ERR_IO, "%m");
        return backup_no_room(b->part, &why, err);
    }
    b->file = flock(fd, LOCK_EX | LOCK_NB) ? NULL : fdopen(fd, "w");
    if (b->file)
        return 0;
    (void)close(fd);
    return err_set(err, ERR_IO, "%s cannot be written: %m", b->part);
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

/* For who proves it later. */
static int backup_write_rows(const struct backup *b, const struct sql_rows *rows, struct sealed_file *to, struct err *err) {
    _cleanup_strbuf_ struct strbuf line;
    struct err why = {0};
    strbuf_init(&line, SQL_ROWS_LINE_BYTES_MAX);
    int rc = sql_rows_write(rows, &line, err);
    return rc || !sealed_file_write(to, line.data, line.len, &why) ? rc : backup_no_room(b->part, &why, err);
}

/* The database, as mariadb-dump tells it. */
static int backup_write_sql(struct backup *b, struct sealed_file *to, struct err *err) {
    _cleanup_free_ struct sql_rows *rows = calloc(1, sizeof(*rows));
    struct db_tool tool;
    char bytes[65536], tail[128] = "";
    size_t n = 1;
    if (!rows)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = db_tool_dump(&b->login.options, b->request->config->database_name, &tool, err);
    if (rc)
        return rc;
    while (!rc && n) {
        struct err why = {0};
        rc = db_tool_read(&tool, bytes, sizeof(bytes), &n, err);
        if (rc || !n)
            break;
        if (sealed_file_write(to, bytes, n, &why))
            rc = backup_no_room(b->part, &why, err);
        sql_rows_feed(rows, bytes, n);
        const size_t last = n < sizeof(tail) - 1 ? n : sizeof(tail) - 1;
        memmove(tail, tail + last, sizeof(tail) - last);
        memcpy(tail + sizeof(tail) - 1 - last, bytes + n - last, last);
        b->result->sql_bytes += n;
        backup_say(b, "database", b->result->sql_bytes);
    }
    if (rc) {
        db_tool_stop(&tool);
        return rc;
    }
    rc = db_tool_finish(&tool, err);
    if (rc)
        return err_remedy(err, "nothing is left of it; is kaasctl db migrate running, or the database ending? try again");
    return memmem(tail, sizeof(tail), TRAILER, sizeof(TRAILER) - 1)
               ? backup_write_rows(b, rows, to, err)
               : err_set(err, ERR_IO, "mariadb-dump ended before the end of the database");
}

static int backup_write_items(struct backup *b, struct sealed_file *to, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct err why = {0};
    strbuf_init_secret(&text, BACKUP_ITEMS_BYTES_MAX);
    int rc = backup_items_write(&b->items, &text, err);
    if (rc)
        return rc;
    const uint32_t word = htonl((uint32_t)text.len);
    if (sealed_file_write(to, &word, sizeof(word), &why) || sealed_file_write(to, text.data, text.len, &why))
        return backup_no_room(b->part, &why, err);
    return 0;
}

static int backup_write(struct backup *b, struct err *err) {
    _cleanup_(sealed_file_free) struct sealed_file *to = NULL;
    _cleanup_strbuf_ struct strbuf head;
    struct err why = {0};
    struct stat st;
    strbuf_init(&head, SEALED_FILE_HEAD_BYTES_MAX);
    int rc = backup_head_write(&b->result->head, &head, err);
    if (rc)
        return rc;
    if (sealed_file_new(b->file, head.data, b->seal, b->result->head.key_id, &to, &why))
        return backup_no_room(b->part, &why, err);
    rc = backup_write_items(b, to, err);
    rc = rc ? rc : backup_write_sql(b, to, err);
    if (rc)
        return rc;
    if (sealed_file_finish(to, &why))
        return backup_no_room(b->part, &why, err);
    if (fsync(fileno(b->file)) || fstat(fileno(b->file), &st)) {
        (void)err_set(&why, ERR_IO, "%m");
        return backup_no_room(b->part, &why, err);
    }
    b->result->bytes = (uint64_t)st.st_size;
    return 0;
}

/* Its name only once it is whole and was read back: a name that ends so is a good backup. */
static int backup_name(struct backup *b, struct err *err) {
    backup_say(b, "reading it back", b->result->bytes);
    int rc = backup_check(b->part, b->seal, err);
    if (rc)
        return rc;
    if (renameat2(AT_FDCWD, b->part, AT_FDCWD, b->result->path, RENAME_NOREPLACE) &&
        (errno != EINVAL || link(b->part, b->result->path) || unlink(b->part))) /* EINVAL: as on NFS */
        return err_set(err, ERR_IO, "%s cannot get its name: %m", b->result->path);
    return fs_sync_folder(b->result->path, err);
}

/* -- which are kept -------------------------------------------------------------------------------------------------------- */

struct kept {
    char *path;
    int64_t at_ms;
};
struct keeping {
    struct kept *items;
    size_t count;
};

static int kept_compare(const void *a, const void *b) {
    const int64_t one = ((const struct kept *)a)->at_ms, other = ((const struct kept *)b)->at_ms;
    return (one < other) - (one > other); /* newest first */
}

/* The good ones of this installation. What cannot be judged stays, and is told. */
static void backup_note_kept(struct backup *b, const char *path, void *arg) {
    struct keeping *keeping = arg;
    struct err why = {0};
    struct backup_reader r;
    const int rc = backup_open(path, &r, &why);
    const struct backup_head head = r.head;
    backup_close(&r);
    if (!rc && !str_eq(head.installation, b->result->head.installation))
        return;
    if (rc || backup_check(path, b->seal, &why)) {
        strbuf_addf(&b->result->notes, "left alone, since it is no good backup: %s\n", why.text);
        return;
    }
    struct kept *more = reallocarray(keeping->items, keeping->count + 1, sizeof(*more));
    char *copy = str_dup(path);
    if (more)
        keeping->items = more;
    if (more && copy)
        keeping->items[keeping->count++] = (struct kept){copy, head.at_ms};
    else
        free(copy);
}

static void backup_prune(struct backup *b) {
    struct keeping keeping = {0};
    backup_say(b, "looking at those before", 0);
    backup_walk(b, BACKUP_SUFFIX, backup_note_kept, &keeping);
    qsort(keeping.items, keeping.count, sizeof(*keeping.items), kept_compare);
    for (size_t i = 0; i < keeping.count; i++) {
        if (i >= b->request->keep && !str_eq(keeping.items[i].path, b->result->path))
            strbuf_addf(&b->result->notes, unlink(keeping.items[i].path) ? "%s cannot be removed: %m\n" : "removed %s\n",
                        keeping.items[i].path);
        free(keeping.items[i].path);
    }
    free(keeping.items);
}

/* -- all of it ------------------------------------------------------------------------------------------------------------- */

int backup_make(const struct backup_request *request, struct backup_result *out, struct err *err) {
    _cleanup_done_(backup_done) struct backup b = {.request = request, .result = out};
    *out = (struct backup_result){.head = {.at_ms = clock_wall_ms()}};
    strbuf_init(&out->notes, NOTES_BYTES_MAX);
    strbuf_init_secret(&b.login.password, 0);
    int rc = backup_look(&b, err);
    rc = rc ? rc : backup_find_target(&b, err);
    rc = rc ? rc : backup_collect(&b, err);
    rc = rc ? rc : backup_open_part(&b, err);
    if (rc)
        return rc;
    rc = backup_write(&b, err);
    rc = rc ? rc : backup_name(&b, err);
    if (rc) {
        (void)unlink(b.part);
        return rc;
    }
    (void)installation_store_note_backup(b.store, out->head.at_ms, &out->not_recorded);
    if (request->keep)
        backup_prune(&b);
    return 0;
}
