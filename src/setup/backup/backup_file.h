/* The file of a backup: what is in it, and reading it. Layer 4 (setup). Making it: backup.h. Putting it back: restore.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It is a sealed file (sealed_file.h). Its head is JSON that everybody can read without the master key: which master key is needed, which program made the
 * backup, of which installation it is. Sealed are the length of a JSON text (4 bytes, network order), that text, which holds the files of the host, and
 * behind it to the end the database as SQL, as mariadb-dump writes it. The master key is not in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"
#include "seal.h"
#include "sealed_file.h"
#include "strbuf.h"
#include "uuid.h"

#define BACKUP_SUFFIX ".kaasbackup"
#define BACKUP_FORMAT 1

/* The members of the head. */
struct backup_head {
    int64_t at_ms;           /* wall clock, of the database as it is in the backup */
    char version[65];        /* of the program that made it */
    char schema[101];        /* the newest file of sql/ that was applied */
    unsigned schema_release; /* the highest release of those files */
    char installation[UUID_TEXT_BYTES];
    char key_id[SEAL_KEY_ID_BYTES]; /* of the master key that is needed */
    char host[256];                 /* on which it was made */
};
/* Appends the head as JSON. ERR_NOMEM. */
int backup_head_write(const struct backup_head *head, struct strbuf *out, struct err *err);
/* Parses a head. ERR_INVALID: the text is none, or has a newer format; then the program that made it is named. */
int backup_head_parse(const char *text, size_t n, struct backup_head *out, struct err *err);

/* A file of the host. */
struct backup_item {
    char *path;          /* absolute */
    char *owner, *group; /* names, as on the host */
    unsigned mode;       /* permission bits: 0600 */
    uint8_t *bytes;      /* never NULL; wiped when it is freed */
    size_t count;
};
#define BACKUP_ITEMS_MAX 64U
#define BACKUP_ITEM_BYTES_MAX (4U * 1024U * 1024U)
struct backup_items {
    struct backup_item *items; /* the first one is the configuration */
    size_t count;
};
void backup_items_done(struct backup_items *items); /* NULL is allowed */

/* Appends the items as the JSON text of a backup; `out` is of strbuf_init_secret with a cap of BACKUP_ITEMS_BYTES_MAX. ERR_NOMEM, ERR_TOO_LARGE. */
#define BACKUP_ITEMS_BYTES_MAX (8U * 1024U * 1024U)
int backup_items_write(const struct backup_items *items, struct strbuf *out, struct err *err);
/* Parses that text. *out (uninitialised) is given back by backup_items_done. ERR_INVALID. */
int backup_items_parse(const char *text, size_t n, struct backup_items *out, struct err *err);

/* -- reading --------------------------------------------------------------------------------------------------------------- */

struct backup_reader {
    char *path;
    FILE *file;
    struct sealed_file *sealed;
    struct backup_head head;
    struct strbuf head_text, chunk;
    size_t at; /* bytes of `chunk` that were handed out */
    bool is_last;
    struct backup_items items; /* valid from backup_unseal on */
};

/* Opens the file and reads its head. *r (uninitialised) is given back by backup_close, also after a failure. Errors name the file. ERR_NOT_FOUND,
 * ERR_IO, ERR_INVALID. */
int backup_open(const char *path, struct backup_reader *r, struct err *err);
void backup_close(struct backup_reader *r);

/* Unseals what follows the head with one of the master keys of `seal`, and reads the files of the host. ERR_CONFIG names the key that is needed and those
 * that are held; ERR_INVALID: the file was cut off, changed or damaged. */
int backup_unseal(struct backup_reader *r, struct seal *seal, struct err *err);

/* Gives the next piece of the SQL, borrowed until the next call; *n is 0 at the end, when all of the file has been authenticated. ERR_INVALID, ERR_IO. */
int backup_next(struct backup_reader *r, const char **bytes, size_t *n, struct err *err);

/* Reads the whole file and keeps nothing: 0 if all of it is what was written. Errors of the three functions above. */
int backup_check(const char *path, struct seal *seal, struct err *err);
