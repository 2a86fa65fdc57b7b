/* What the server's and the client library's error numbers mean for us, as pure functions. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/* Longest key name that db_errno_key copies, with NUL. */
#define DB_KEY_BYTES 65

/* ERR_* code for an error number of MariaDB or Connector/C; ERR_INTERNAL for one that only a mistake of ours can cause. */
int db_errno_code(unsigned number);

/* What to tell the caller; static. */
const char *db_errno_text(unsigned number);

/* What to do about it; static, NULL if there is nothing to say. */
const char *db_errno_remedy(unsigned number);

/* True if the transaction was undone through no fault of its own and may be run again. */
bool db_errno_is_transient(unsigned number);

/* True if the connection can no longer be used. */
bool db_errno_is_lost(unsigned number);

/* True if a COMMIT that failed so may have been made all the same. */
bool db_errno_is_open(unsigned number);

/* The name of the key or constraint in a "Duplicate entry '...' for key 'NAME'" or foreign key message; "" if there is none. The
 * entry itself may hold anything, so the last mention counts. */
void db_errno_key(const char *message, char out[DB_KEY_BYTES]);
