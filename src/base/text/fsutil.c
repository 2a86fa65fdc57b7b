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
#define TO_READ (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

static int fsutil_not_opened(const char *path, struct err *err) {
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
    _cleanup_close_ int fd = open(path, TO_READ);
    if (fd < 0)
        return fsutil_not_opened(path, err);
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

static int fsutil_sync_open(int folder, const char *path, struct err *err) {
    /* EINVAL: some file systems cannot sync folders. */
    if (folder < 0 || (fsync(folder) && errno != EINVAL))
        return err_set(err, ERR_IO, "cannot sync the folder of %s: %m", path);
    return 0;
}

int fs_sync_folder(const char *path, struct err *err) {
    _cleanup_close_ int fd = open_folder_of(path);
    return fsutil_sync_open(fd, path, err);
}

struct fsutil_text {
    const void *bytes;
    size_t n;
};

/* A new file by the template, which becomes `name` in `folder`; `path` is for messages. */
static int fsutil_replace(char *template, int folder, const char *name, const char *path, const struct fsutil_text *text,
                          const struct fs_owner *owner, struct err *err) {
    const bool is_own = owner->uid == geteuid() && owner->gid == getegid();
    _cleanup_close_ int fd = template ? mkostemp(template, O_CLOEXEC) : -1;
    if (!template)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make a file next to %s: %m", path);
    if (!fsutil_fill(fd, text->bytes, text->n, owner->mode) || (!is_own && fchown(fd, owner->uid, owner->gid)) ||
        renameat(AT_FDCWD, template, folder, name)) {
        (void)err_set(err, ERR_IO, "cannot write %s: %m", path);
        (void)unlink(template);
        return ERR_IO;
    }
    return 0;
}

int fs_write_atomic(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err) {
    _cleanup_free_ char *template = str_format("%s.XXXXXX", path);
    const struct fs_owner owner = {geteuid(), getegid(), mode};
    int rc = fsutil_replace(template, AT_FDCWD, path, path, &(struct fsutil_text){bytes, n}, &owner, err);
    return rc ? rc : fs_sync_folder(path, err);
}

/* `name` is taken from `folder`; `path` is for messages. */
static int fsutil_write_new(int folder, const char *name, const char *path, const void *bytes, size_t n, mode_t mode,
                            struct err *err) {
    _cleanup_close_ int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode & 0700);
    if (fd < 0 && errno == EEXIST)
        return err_set(err, ERR_EXISTS, "%s exists already", path);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make %s: %m", path);
    if (!fsutil_fill(fd, bytes, n, mode)) {
        (void)err_set(err, ERR_IO, "cannot write %s: %m", path);
        (void)unlinkat(folder, name, 0);
        return ERR_IO;
    }
    return 0;
}

int fs_write_new(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err) {
    int rc = fsutil_write_new(AT_FDCWD, path, path, bytes, n, mode, err);
    return rc ? rc : fs_sync_folder(path, err);
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

/* -- for root, where somebody else may have put links -------------------------------------------------------------- */

#define LINKS_MAX 40 /* as of the kernel */
#define PATH_BYTES 4096

struct walk {
    const char *path;
    const struct fs_way *way;
    struct fs_place at;
    char *rest; /* of the way */
    unsigned links;
    bool is_found;
};

void fs_place_done(struct fs_place *place) {
    if (place->folder >= 0)
        (void)close(place->folder);
    place->folder = -1;
}

/* Root, or whoever runs this. */
static bool fsutil_is_trusted(const struct stat *st) {
    return st->st_uid == 0 || st->st_uid == geteuid();
}

/* The folder is named as the kernel knows it. */
static int fsutil_refuse_link(const struct walk *w, uid_t whose, struct err *err) {
    char link[64], folder[PATH_BYTES];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", w->at.folder);
    const ssize_t n = readlink(link, folder, sizeof(folder) - 1);
    folder[n > 0 ? n : 0] = '\0';
    (void)err_set(err, ERR_CONFLICT, "the way to %s leads over the link %s/%s, which user id %u can have put there", w->path,
                  folder, w->at.name, (unsigned)whose);
    return err_remedy(
        err, "remove the link, or put what it leads to in its place: only links of root in folders of root are followed");
}

/* Puts what the link leads to before the rest of the way; what begins with / begins there. */
static int fsutil_follow(struct walk *w, int link, struct err *err) {
    char target[PATH_BYTES];
    struct stat of_folder, of_link;
    const ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
    if (n < 0 || fstat(w->at.folder, &of_folder) || fstat(link, &of_link))
        return err_set(err, ERR_IO, "cannot look at the way to %s: %m", w->path);
    if (!fsutil_is_trusted(&of_folder) || !fsutil_is_trusted(&of_link))
        return fsutil_refuse_link(w, fsutil_is_trusted(&of_folder) ? of_link.st_uid : of_folder.st_uid, err);
    if (++w->links > LINKS_MAX)
        return err_set(err, ERR_IO, "the way to %s leads over too many links", w->path);
    target[n] = '\0';
    char *joined = str_format("%s/%s", target, w->rest);
    if (!joined)
        return err_set(err, ERR_NOMEM, "no memory for a path");
    free(w->rest);
    w->rest = joined;
    if (*target != '/')
        return 0;
    fs_place_done(&w->at);
    w->at.folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return w->at.folder < 0 ? err_set(err, ERR_IO, "cannot open /: %m") : 0;
}

/* Moves the first name of the rest of the way to the place. */
static int fsutil_take_name(struct walk *w, struct err *err) {
    const char *name = w->rest + strspn(w->rest, "/"), *behind = name + strcspn(name, "/");
    if (behind - name >= FS_NAME_BYTES)
        return err_set(err, ERR_IO, "a name in %s is too long", w->path);
    (void)snprintf(w->at.name, sizeof(w->at.name), "%.*s", (int)(behind - name), name);
    behind += strspn(behind, "/");
    memmove(w->rest, behind, strlen(behind) + 1);
    return 0;
}

static int fsutil_step(struct walk *w, struct err *err) {
    _cleanup_close_ int next = -1;
    struct stat st;
    int rc = fsutil_take_name(w, err);
    if (rc)
        return rc;
    const bool is_last = !*w->rest;
    next = openat(w->at.folder, w->at.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && errno == ENOENT && is_last) {
        w->is_found = true;
        return 0;
    }
    if (next < 0 && errno == ENOENT && w->way->folder_mode && !mkdirat(w->at.folder, w->at.name, w->way->folder_mode)) {
        w->at.is_folder_made = true;
        next = openat(w->at.folder, w->at.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    if (next < 0)
        return fsutil_not_opened(w->path, err);
    if (fstat(next, &st))
        return err_set(err, ERR_IO, "cannot look at the way to %s: %m", w->path);
    if (S_ISLNK(st.st_mode) && (!is_last || w->way->is_to_the_end))
        return fsutil_follow(w, next, err);
    w->is_found = is_last;
    if (!is_last)
        SWAP(w->at.folder, next);
    return 0;
}

int fs_place_find(const char *path, const struct fs_way *way, struct fs_place *out, struct err *err) {
    struct walk w = {.path = path, .way = way, .rest = str_dup(path)};
    w.at.folder = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int rc = !w.rest           ? err_set(err, ERR_NOMEM, "no memory for a path")
             : w.at.folder < 0 ? err_set(err, ERR_IO, "cannot look at the way to %s: %m", path)
                               : 0;
    while (!rc && !w.is_found)
        rc = fsutil_step(&w, err);
    free(w.rest);
    if (rc)
        fs_place_done(&w.at);
    *out = w.at;
    return rc;
}

static int fsutil_sync_place(const struct fs_place *place, const char *path, struct err *err) {
    _cleanup_close_ int folder = openat(place->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fsutil_sync_open(folder, path, err);
}

int fs_place_write_new(const struct fs_place *place, const char *path, const void *bytes, size_t n, mode_t mode,
                       struct err *err) {
    int rc = fsutil_write_new(place->folder, place->name, path, bytes, n, mode, err);
    return rc ? rc : fsutil_sync_place(place, path, err);
}

/* The template goes by the open folder. */
int fs_write_atomic_for(const char *path, const void *bytes, size_t n, const struct fs_owner *owner, struct err *err) {
    _cleanup_done_(fs_place_done) struct fs_place place = {.folder = -1};
    int rc = fs_place_find(path, &(struct fs_way){.is_to_the_end = false}, &place, err);
    if (rc)
        return rc;
    _cleanup_free_ char *template = str_format("/proc/self/fd/%d/%s.XXXXXX", place.folder, place.name);
    rc = fsutil_replace(template, place.folder, place.name, path, &(struct fsutil_text){bytes, n}, owner, err);
    return rc ? rc : fsutil_sync_place(&place, path, err);
}

int fs_read_placed(const char *path, struct strbuf *out, struct stat *st, struct err *err) {
    _cleanup_done_(fs_place_done) struct fs_place place = {.folder = -1};
    struct stat folder;
    int rc = fs_place_find(path, &(struct fs_way){.is_to_the_end = true}, &place, err);
    if (rc)
        return rc;
    _cleanup_close_ int fd = openat(place.folder, place.name, TO_READ | O_NOFOLLOW);
    if (fd < 0)
        return fsutil_not_opened(path, err);
    if (fstat(fd, st) || fstat(place.folder, &folder))
        return err_set(err, ERR_IO, "cannot look at %s: %m", path);
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_IO, "%s is not a regular file", path);
    if (st->st_nlink != 1 && !fsutil_is_trusted(&folder)) {
        (void)err_set(err, ERR_CONFLICT, "%s has another name elsewhere, and user id %u can have put it there", path,
                      (unsigned)folder.st_uid);
        return err_remedy(err, "put a copy in its place");
    }
    return fsutil_read_all(fd, path, out, err);
}
