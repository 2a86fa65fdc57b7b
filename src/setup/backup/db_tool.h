/* The client programs of MariaDB, run with one end of a stream in our hands: mariadb-dump, mariadb. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * They get account and password in an option file in memory, which no other user can read, not in arguments or environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "store.h"

struct db_tool {
    const char *program;
    pid_t pid;
    int fd;      /* our end of its standard output (dump) or standard input (load) */
    int said;    /* file with its standard error */
    bool is_cut; /* we have stopped reading or writing before the end */
};

/* Starts mariadb-dump, which writes a whole database as SQL, in one snapshot, to be read by db_tool_read. ERR_NOT_FOUND: the program is not installed;
 * ERR_IO. */
int db_tool_dump(const struct store_options *login, const char *database, struct db_tool *out, struct err *err);
/* Starts mariadb, which runs the SQL of db_tool_write in this database and ends at the first error. Errors as db_tool_dump. */
int db_tool_load(const struct store_options *login, const char *database, struct db_tool *out, struct err *err);

/* Reads up to `size` bytes; *n is 0 at the end. ERR_IO. */
int db_tool_read(struct db_tool *tool, char *bytes, size_t size, size_t *n, struct err *err);
/* Writes n bytes. ERR_IO if the program has ended: db_tool_finish tells why. */
int db_tool_write(struct db_tool *tool, const char *bytes, size_t n, struct err *err);

/* Waits for the end of the program. ERR_IO with its standard error, if it failed. To be called once, also after an error of the others. */
int db_tool_finish(struct db_tool *tool, struct err *err);
/* Kills the program, in place of db_tool_finish. */
void db_tool_stop(struct db_tool *tool);
