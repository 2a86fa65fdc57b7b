/* Files: bounded reads, key-file checks, atomic writes. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
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

/* As fs_write_atomic, for the owner: root gives the open file away before it has its name, so that nobody can put a link in its place; the way there is that of
 * fs_place_find, with its errors. ERR_IO. */
int fs_write_atomic_for(const char *path, const void *bytes, size_t n, const struct fs_owner *owner, struct err *err);

/* Writes a file that must not exist yet (O_EXCL), synced. ERR_EXISTS, ERR_IO. */
int fs_write_new(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* -- for root, where somebody else may have put links -------------------------------------------------------------- */

/* Where a file is, or would be. No part of the way there can be exchanged any more. Given back by fs_place_done; a zeroed struct with folder -1 is allowed. */
#define FS_NAME_BYTES 256
struct fs_place {
    int folder;
    char name[FS_NAME_BYTES]; /* in it; no link, if links are followed to the end */
    bool is_folder_made;
};
/* How to get there. */
struct fs_way {
    bool is_to_the_end; /* a link by which the file itself is named is followed, too */
    mode_t folder_mode; /* folders that are missing are made with it; 0: none */
};
/* Finds the place of `path`. A link is followed where it, and the folder in which it lies, belong to root or to this user: any other, which somebody may
 * have put there to have this user read or write elsewhere, is ERR_CONFLICT, named with what to do. ERR_NOT_FOUND (a folder), ERR_IO, ERR_NOMEM. */
int fs_place_find(const char *path, const struct fs_way *way, struct fs_place *out, struct err *err);
void fs_place_done(struct fs_place *place);

/* As fs_write_new, at a place; `path` is for messages. */
int fs_place_write_new(const struct fs_place *place, const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* As fs_read, by fs_place_find to the end. *st tells of what was read. ERR_CONFLICT also for a file in a folder of somebody else that has a second name. */
int fs_read_placed(const char *path, struct strbuf *out, struct stat *st, struct err *err);

/* Syncs the folder of a file: only then is a new name safe on disk. ERR_IO. */
int fs_sync_folder(const char *path, struct err *err);

/* Makes the folder and missing parents with `mode`. Existing ones are left alone. ERR_IO. */
int fs_make_dirs(const char *path, mode_t mode, struct err *err);
