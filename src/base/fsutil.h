/* Files: bounded reads, key-file checks, atomic writes. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "strbuf.h"

/* Reads the whole file into `out` (initialised; its cap counts). ERR_NOT_FOUND, ERR_TOO_LARGE, ERR_IO; names the path. */
int fs_read(const char *path, struct strbuf *out, struct err *err);

/* As fs_read for a secret: refuses (ERR_CONFIG, with the chmod to run as remedy) a file that group or others may read or
 * write, that is not a regular file, or that belongs neither to this user nor to root; root may read everybody's. */
int fs_read_secret(const char *path, struct strbuf *out, struct err *err);

/* The same two for a text that a person wrote: a byte order mark before UTF-8 is left out, as editors of Windows write it; ERR_CONFIG for UTF-16. */
int fs_read_text(const char *path, struct strbuf *out, struct err *err);
int fs_read_secret_text(const char *path, struct strbuf *out, struct err *err);
/* What they do with a text that was read otherwise; `name` is that of the file. */
int fs_skip_mark(struct strbuf *text, const char *name, struct err *err);

/* Writes a new file next to `path` with `mode`, syncs and renames it over. ERR_IO. */
int fs_write_atomic(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

struct fs_owner {
    uid_t uid;
    gid_t gid;
    mode_t mode;
};

/* As fs_write_atomic, for the owner: root gives the open file away before it has its name, so that nobody can put a link in its place. ERR_IO. */
int fs_write_atomic_for(const char *path, const void *bytes, size_t n, const struct fs_owner *owner, struct err *err);

/* Writes a file that must not exist yet (O_EXCL), synced. ERR_EXISTS, ERR_IO. */
int fs_write_new(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* Syncs the folder of a file: only then is a new name safe on disk. ERR_IO. */
int fs_sync_folder(const char *path, struct err *err);

/* Makes the folder and missing parents with `mode`. Existing ones are left alone. ERR_IO. */
int fs_make_dirs(const char *path, mode_t mode, struct err *err);
