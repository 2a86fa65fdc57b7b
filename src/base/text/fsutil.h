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

/* fs_read and fs_read_secret for a text that a person wrote: they leave out a byte order mark before UTF-8, which editors of Windows write;
 * ERR_CONFIG for UTF-16. */
int fs_read_text(const char *path, struct strbuf *out, struct err *err);
int fs_read_secret_text(const char *path, struct strbuf *out, struct err *err);
/* Applies the same rules to a text that was read by other means; `name` is the file's, for messages. */
int fs_skip_mark(struct strbuf *text, const char *name, struct err *err);

/* Writes a new file next to `path` with `mode`, syncs and renames it over. ERR_IO. */
int fs_write_atomic(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

struct fs_owner {
    uid_t uid;
    gid_t gid;
    mode_t mode;
};

/* As fs_write_atomic, for a file of this owner, called by root. It changes the owner of the open temporary file before the rename, so that nobody
 * can put a link in its place. It finds the folder by fs_place_find and returns its errors, too. ERR_IO. */
int fs_write_atomic_for(const char *path, const void *bytes, size_t n, const struct fs_owner *owner, struct err *err);

/* Writes a file that must not exist yet (O_EXCL), synced. ERR_EXISTS, ERR_IO. */
int fs_write_new(const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* -- for root, where somebody else may have put links -------------------------------------------------------------- */

/* The place of a file, which need not exist: its folder, held open, so that nobody can exchange a part of the path any more, and its name in it.
 * Given back by fs_place_done, which allows a zeroed struct with folder -1. */
#define FS_NAME_BYTES 256
struct fs_place {
    int folder;
    char name[FS_NAME_BYTES]; /* of the file in that folder; with is_to_the_end it is not the name of a link */
    bool is_folder_made;      /* a folder was missing and was made */
};
/* How fs_place_find goes along a path. */
struct fs_way {
    bool is_to_the_end; /* if the last name of the path is a link, follow it, too */
    mode_t folder_mode; /* make missing folders with this mode; 0: make none */
};
/* Finds the place of `path`. Follows a link only if the link and the folder that it lies in belong to root or to this user. Any other link, which somebody
 * may have put there to make this user read or write elsewhere, is ERR_CONFLICT with a remedy. ERR_NOT_FOUND (a folder), ERR_IO, ERR_NOMEM. */
int fs_place_find(const char *path, const struct fs_way *way, struct fs_place *out, struct err *err);
void fs_place_done(struct fs_place *place);

/* As fs_write_new, at a place; `path` is for messages. */
int fs_place_write_new(const struct fs_place *place, const char *path, const void *bytes, size_t n, mode_t mode, struct err *err);

/* As fs_read, for the place that fs_place_find finds with is_to_the_end, and with its errors. *st describes the file that was read. ERR_CONFLICT also for a
 * file with more than one hard link in a folder of another user. */
int fs_read_placed(const char *path, struct strbuf *out, struct stat *st, struct err *err);

/* Syncs the folder of a file: only then is a new name safe on disk. ERR_IO. */
int fs_sync_folder(const char *path, struct err *err);

/* Makes the folder and missing parents with `mode`. Existing ones are left alone. ERR_IO. */
int fs_make_dirs(const char *path, mode_t mode, struct err *err);
