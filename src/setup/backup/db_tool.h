/* The client programs of MariaDB, run with one end of a stream in our hands: mariadb-dump, mariadb. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * They get account and password as an option file in memory, which no other user can read: nothing stands in arguments or environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "store.h"

struct db_tool {
    const char *program;
    pid_t pid;
    int fd;      /* what it writes, or what it reads */
    int said;    /* what it says on standard error */
    bool is_cut; /* we have stopped to read or write before the end */
};

/* The dump of a whole database that is read meanwhile: SQL, in one snapshot. ERR_NOT_FOUND: the program is not installed; ERR_IO. */
int db_tool_dump(const struct store_options *login, const char *database, struct db_tool *out, struct err *err);
/* Runs SQL in this database and ends at the first error. Likewise. */
int db_tool_load(const struct store_options *login, const char *database, struct db_tool *out, struct err *err);

/* Reads up to `size` bytes; *n is 0 at the end. ERR_IO. */
int db_tool_read(struct db_tool *tool, char *bytes, size_t size, size_t *n, struct err *err);
/* ERR_IO when it has ended meanwhile: db_tool_finish tells why. */
int db_tool_write(struct db_tool *tool, const char *bytes, size_t n, struct err *err);

/* Waits for its end. ERR_IO with what it said, if it failed. To be called once, after whatever has happened. */
int db_tool_finish(struct db_tool *tool, struct err *err);
/* Ends it, as what it does is of no use any more; in place of db_tool_finish. */
void db_tool_stop(struct db_tool *tool);
