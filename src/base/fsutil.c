/* Files: bounded reads, key-file checks, atomic writes. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fsutil.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "secret.h"
#include "str.h"

#define CHUNK_BYTES 4096

/* O_NONBLOCK: a pipe in place of a file must not hang the start; it is refused later. */
static int fs_open_to_read(const char *path, struct err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0)
        return fd;
    if (errno == ENOENT || errno == ENOTDIR)
        return err_set(err, ERR_NOT_FOUND, "there is no file %s", path);
    return err_set(err, ERR_IO, "cannot open %s: %m", path);
}

static int fsutil_read_all(int fd, const char *path, struct strbuf *out, struct err *err) {
    char chunk[CHUNK_BYTES];
    ssize_t n = 1;
    while (n > 0 && !out->failed) {
        n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            strbuf_add(out, chunk, (size_t)n);
    }
    if (n < 0)
        (void)err_set(err, ERR_IO, "cannot read %s: %m", path);
    if (out->is_secret)
        secret_wipe(chunk, sizeof(chunk));
    return n < 0 ? ERR_IO : strbuf_check(out, path, err);
}

static int require_private(const struct stat *st, const char *path, struct err *err) {
    if (st->st_mode & (S_IRWXG | S_IRWXO)) {
        (void)err_set(err, ERR_CONFIG, "%s holds a secret but is open to group or others (mode %04o)", path,
                      (unsigned)(st->st_mode & 07777));
        (void)err_remedy(err, "run: chmod 0600 %s", path);
        return ERR_CONFIG;
    }
    /* Root sets up and looks after the files of the service's own user. */
    if (st->st_uid != geteuid() && st->st_uid != 0 && geteuid() != 0) {
        (void)err_set(err, ERR_CONFIG, "%s holds a secret but belongs to user id %u", path, (unsigned)st->st_uid);
        (void)err_remedy(err, "run: chown %u %s", (unsigned)geteuid(), path);
        return ERR_CONFIG;
    }
    return 0;
}

static int read_file(const char *path, bool is_secret, struct strbuf *out, struct err *err) {
    struct stat st;
    int rc;
    _cleanup_close_ int fd = fs_open_to_read(path, err);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st))
        return err_set(err, ERR_IO, "cannot look at %s: %m", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, is_secret ? ERR_CONFIG : ERR_IO, "%s is not a regular file", path);
    /* Checked on the open file, so that nobody can swap it in between. */
    rc = is_secret ? require_private(&st, path, err) : 0;
    return rc ? rc : fsutil_read_all(fd, path, out, err);
}

int fs_read(const char *path, struct strbuf *out, struct err *err) {
    return read_file(path, false, out, err);
}

int fs_read_secret(const char *path, struct strbuf *out, struct err *err) {
    return read_file(path, true, out, err);
}

int fs_skip_mark(struct strbuf *text, const char *name, struct err *err) {
    static const char utf8[] = "\xef\xbb\xbf";
    const size_t n = sizeof(utf8) - 1;
    if (text->len >= 2 && (!memcmp(text->data, "\xff\xfe", 2) || !memcmp(text->data, "\xfe\xff", 2))) {
        (void)err_set(err, ERR_CONFIG, "%s is UTF-16, not UTF-8", name);
        return err_remedy(err, "save it as UTF-8; in PowerShell by: Set-Content -Encoding utf8, in place of >");
    }
    if (text->len >= n && !memcmp(text->data, utf8, n)) {
        text->len -= n;
        memmove(text->data, text->data + n, text->len + 1);
    }
    return 0;
}

int fs_read_text(const char *path, struct strbuf *out, struct err *err) {
    int rc = fs_read(path, out, err);
    return rc ? rc : fs_skip_mark(out, path, err);
}

int fs_read_secret_text(const char *path, struct strbuf *out, struct err *err) {
    int rc = fs_read_secret(path, out, err);
    return rc ? rc : fs_skip_mark(out, path, err);
}

static bool fs_write_all(int fd, const void *bytes, size_t n) {
    const char *at = bytes;
    while (n) {
        ssize_t wrote = write(fd, at, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return false;
        at += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

/* fchmod, since the umask has a say in the mode given to open. */
static bool fsutil_fill(int fd, const void *bytes, size_t n, mode_t mode) {
    return fchmod(fd, mode) == 0 && fs_write_all(fd, bytes, n) && fsync(fd) == 0;
}

/* Not dirname(3), which may answer from shared memory. */
static int open_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t len = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    char *folder = slash ? strndup(path, len) : str_dup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int saved = errno;
    free(folder);
    errno = saved;
    return fd;
}

int fs_sync_folder(const char *path, struct err *err) {
    _cleanup_close_ int fd = open_folder_of(path);
    /* EINVAL: some file systems cannot sync folders. */
    if (fd < 0 || (fsync(fd) && errno != EINVAL))
        return err_set(err, ERR_IO, "cannot sync the folder of %s: %m", path);
    return 0;
}

int fs_write_atomic(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err) {
    return fs_write_atomic_for(path, bytes, n, &(struct fs_owner){geteuid(), getegid(), mode}, err);
}

int fs_write_atomic_for(const char *path, const void *bytes, size_t n, const struct fs_owner *owner, struct err *err) {
    _cleanup_free_ char *temporary = str_format("%s.XXXXXX", path);
    const bool is_own = owner->uid == geteuid() && owner->gid == getegid();
    _cleanup_close_ int fd = -1;
    if (!temporary)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make a file next to %s: %m", path);
    if (!fsutil_fill(fd, bytes, n, owner->mode) || (!is_own && fchown(fd, owner->uid, owner->gid)) || rename(temporary, path)) {
        (void)err_set(err, ERR_IO, "cannot write %s: %m", path);
        (void)unlink(temporary);
        return ERR_IO;
    }
    return fs_sync_folder(path, err);
}

int fs_write_new(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err) {
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode & 0700);
    if (fd < 0 && errno == EEXIST)
        return err_set(err, ERR_EXISTS, "%s exists already", path);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make %s: %m", path);
    if (!fsutil_fill(fd, bytes, n, mode)) {
        (void)err_set(err, ERR_IO, "cannot write %s: %m", path);
        (void)unlink(path);
        return ERR_IO;
    }
    return fs_sync_folder(path, err);
}

static int make_dir(const char *path, mode_t mode, struct err *err) {
    struct stat st;
    if (mkdir(path, mode) == 0)
        return 0;
    if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    if (errno == EEXIST)
        errno = ENOTDIR;
    return err_set(err, ERR_IO, "cannot make the folder %s: %m", path);
}

int fs_make_dirs(const char *path, mode_t mode, struct err *err) {
    _cleanup_free_ char *copy = str_dup(path);
    if (!copy)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    for (char *at = copy; *at; at++) {
        int rc;
        if (*at != '/' || at == copy)
            continue;
        *at = '\0';
        rc = make_dir(copy, mode, err);
        if (rc)
            return rc;
        *at = '/';
    }
    return make_dir(copy, mode, err);
}
