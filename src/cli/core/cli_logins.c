/* Logins that are kept between commands. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_logins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "fsutil.h"
#include "http_client.h"
#include "str.h"

#define FILE_NAME "logins.json"
#define LOCK_NAME "lock"
#define FILE_BYTES_MAX (4U * 1024U * 1024U)
#define FOLDER_MODE 0700
#define FILE_MODE 0600
#define OTHERS (S_IRWXG | S_IRWXO)

static void logins_wipe(const json_t *login) {
    json_wipe_string(json_object_get(login, "token"));
    json_wipe_string(json_object_get(login, "refresh_token"));
}

void logins_free_one(json_t *login) {
    logins_wipe(login);
    json_decref(login);
}

void logins_free(json_t *logins) {
    json_t *login;
    size_t i;
    json_array_foreach (logins, i, login)
        logins_wipe(login);
    json_decref(logins);
}

/* -- folder and file ------------------------------------------------------------------------------------------------------------ */

/* The XDG Base Directory Specification has relative paths ignored. NULL: not set. */
static const char *logins_get_path(const char *variable) {
    const char *path = getenv(variable); /* NOLINT(concurrency-mt-unsafe): nobody sets variables while threads run */
    return path && *path == '/' ? path : NULL;
}

static bool logins_have_place(void) {
    return logins_get_path("XDG_CONFIG_HOME") || logins_get_path("HOME");
}

static int logins_folder(char **out, struct err *err) {
    const char *xdg = logins_get_path("XDG_CONFIG_HOME");
    if (!logins_have_place()) {
        (void)err_set(err, ERR_CONFIG, "there is no place for logins: neither HOME nor XDG_CONFIG_HOME is set");
        return err_remedy(err, "set HOME");
    }
    *out = xdg ? str_format("%s/kaas", xdg) : str_format("%s/.config/kaas", logins_get_path("HOME"));
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int logins_path(char **out, struct err *err) {
    _cleanup_free_ char *folder = NULL;
    int rc = logins_folder(&folder, err);
    if (rc)
        return rc;
    *out = str_format("%s/" FILE_NAME, folder);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Of ours, and closed to others. */
static int logins_check(const struct stat *st, const char *path, const char *chmod, struct err *err) {
    if (S_ISLNK(st->st_mode))
        return err_set(err, ERR_CONFIG, "%s is a symbolic link, so no login is taken from there", path);
    if (st->st_uid != geteuid()) {
        (void)err_set(err, ERR_CONFIG, "%s belongs to user id %u, so no login is taken from there", path, (unsigned)st->st_uid);
        return err_remedy(err, "sign in by --user, or name another folder by XDG_CONFIG_HOME");
    }
    if (st->st_mode & OTHERS) {
        (void)err_set(err, ERR_CONFIG, "%s is open to group or others (mode %04o), so no login is taken from there", path,
                      (unsigned)(st->st_mode & 07777));
        return err_remedy(err, "run: chmod %s %s", chmod, path);
    }
    return 0;
}

/* Folder first: in one that nobody else may write to, nobody swaps the file in between. *is_there is false where something is missing. */
static int logins_look(const char *folder, const char *file, bool *is_there, struct err *err) {
    const char *const paths[] = {folder, file}, *const modes[] = {"0700", "0600"};
    *is_there = false;
    for (size_t i = 0; i < ARRAY_COUNT(paths); i++) {
        struct stat st;
        int rc = 0;
        if (lstat(paths[i], &st))
            return errno == ENOENT ? 0 : err_set(err, ERR_IO, "cannot look at %s: %m", paths[i]);
        rc = logins_check(&st, paths[i], modes[i], err);
        if (rc)
            return rc;
    }
    *is_there = true;
    return 0;
}

static int logins_parse(const struct strbuf *text, const char *path, json_t **out, struct err *err) {
    struct err why = {0};
    int rc = json_parse(text->data, text->len, out, &why);
    if (!rc && json_is_array(*out))
        return 0;
    logins_free(*out);
    *out = NULL;
    (void)err_set(err, ERR_JSON, "%s is no file of logins", path);
    return err_remedy(err, "remove it, then: kaasctl login");
}

int logins_read(json_t **out, struct err *err) {
    _cleanup_free_ char *folder = NULL, *path = NULL;
    _cleanup_strbuf_ struct strbuf text = {0};
    bool is_there = false;
    int rc = 0;
    if (!logins_have_place()) /* as of a service */
        return (*out = json_array()) ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    rc = logins_folder(&folder, err);
    rc = rc ? rc : logins_path(&path, err);
    rc = rc ? rc : logins_look(folder, path, &is_there, err);
    if (rc)
        return rc;
    if (!is_there)
        return (*out = json_array()) ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    strbuf_init_secret(&text, FILE_BYTES_MAX);
    rc = fs_read_secret(path, &text, err);
    return rc ? rc : logins_parse(&text, path, out, err);
}

int logins_lock(int *fd, struct err *err) {
    _cleanup_free_ char *folder = NULL, *path = NULL;
    _cleanup_close_ int lock = -1;
    bool is_there = false;
    int rc = logins_folder(&folder, err);
    rc = rc ? rc : fs_make_dirs(folder, FOLDER_MODE, err);
    if (rc)
        return rc;
    path = str_format("%s/" LOCK_NAME, folder);
    rc = path ? logins_look(folder, path, &is_there, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (lock < 0)
        return err_set(err, ERR_IO, "cannot open %s: %m", path);
    while (flock(lock, LOCK_EX))
        if (errno != EINTR)
            return err_set(err, ERR_IO, "cannot lock %s: %m", path);
    *fd = lock;
    lock = -1;
    return 0;
}

int logins_write(const json_t *logins, struct err *err) {
    _cleanup_strbuf_ struct strbuf text = {0};
    _cleanup_free_ char *path = NULL;
    int rc = logins_path(&path, err);
    strbuf_init_secret(&text, FILE_BYTES_MAX);
    if (!rc && !json_array_size(logins))
        return unlink(path) && errno != ENOENT ? err_set(err, ERR_IO, "cannot remove %s: %m", path) : 0;
    rc = rc ? rc : json_write(logins, &text, err);
    return rc ? rc : fs_write_atomic(path, text.data, text.len, FILE_MODE, err);
}

/* -- the logins ----------------------------------------------------------------------------------------------------------------- */

char *logins_origin(const char *server) {
    unsigned port = 0;
    _cleanup_free_ char *host = str_starts(server, "https://") ? http_url_host(server, &port) : NULL;
    if (!host)
        return NULL;
    str_lower(host);
    return strchr(host, ':') ? str_format("https://[%s]:%u", host, port) : str_format("https://%s:%u", host, port);
}

static bool logins_find_at(const json_t *logins, const char *origin, size_t *at) {
    for (*at = 0; *at < json_array_size(logins); (*at)++)
        if (origin && str_eq(json_get_string(json_array_get(logins, *at), "server"), origin))
            return true;
    return false;
}

json_t *logins_find(const json_t *logins, const char *origin) {
    size_t at;
    return logins_find_at(logins, origin, &at) ? json_array_get(logins, at) : NULL;
}

void logins_remove(json_t *logins, const char *origin) {
    size_t at;
    if (!logins_find_at(logins, origin, &at))
        return;
    logins_wipe(json_array_get(logins, at));
    (void)json_array_remove(logins, at);
}

void logins_put_first(json_t *logins, json_t *login) {
    logins_remove(logins, json_get_string(login, "server"));
    (void)json_array_insert_new(logins, 0, login);
}
