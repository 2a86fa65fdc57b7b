/* Makes backups of an installation and removes old ones. Layer 4 (setup). What is in a backup: backup_file.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backup_file.h"
#include "daemon_config.h"
#include "err.h"
#include "strbuf.h"

/* Callback that shows progress: called at each step, and within a step as bytes are written. */
struct backup_watcher {
    void (*tell)(void *arg, const char *step, uint64_t bytes); /* NULL: none */
    void *arg;
};

struct backup_request {
    const struct config *config;
    const char *config_path; /* absolute */
    const char
        *target;   /* a folder (there already, or with a / at the end: made with mode 0700), or a file that is not there yet */
    unsigned keep; /* in a folder: how many good ones of this installation stay; 0: all */
    struct backup_watcher watcher;
};

struct backup_result {
    char *path;
    uint64_t bytes, sql_bytes;
    size_t files;
    struct backup_head head;
    struct strbuf notes;     /* lines: files of the host that are missing, old backups that were removed or are no good */
    struct err not_recorded; /* why the database could not be told the time of the backup; code 0: it was */
};
void backup_result_done(struct backup_result *result); /* NULL is allowed */

/* Writes a backup of the database, in one snapshot, and of the files of this host. The file has another name until all of it is on disk and was read back.
 * Then notes the time of the backup in the database, and removes the oldest backups beyond `keep`, never the new one. Needs the owner's account and the
 * master key file. On failure nothing new is left. *out (uninitialised) is given back by backup_result_done, also after a failure.
 * ERR_EXISTS, ERR_BUSY (another process writes it), ERR_IO (disk full), ERR_CONFIG, ERR_NOT_FOUND (mariadb-dump), ERR_DATABASE, ERR_INVALID (`keep` for a
 * file). */
int backup_make(const struct backup_request *request, struct backup_result *out, struct err *err);
