/* The newest signed end of this replica's chain in its state folder: a database that does not have that line has lost audit lines, or is an
 * older copy of itself. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit.h"
#include "err.h"
#include "store.h"

/* Where the file is: once, before other threads use the store. ERR_NOMEM. */
int audit_store_set_place(struct store *store, const char *state_dir, const char *replica_name, struct err *err);

/* Compares the database with the file; a replica without one takes what the database says, with a line about it. Needs the key and the number
 * of the replica. ERR_AUDIT_BEHIND names the replica, what was found, and what to do; ERR_IO. */
int audit_store_start(struct store *store, struct err *err);

/* Writes the file if a line was committed since the last time. Touches no database. */
int audit_store_save_head(struct store *store, struct err *err);

/* `who` has looked, and wants the replica to go on from what the database says, though audit_store_start refuses it: a line tells who and
 * what was missing. ERR_CONFLICT if nothing is; ERR_UNAVAILABLE while the key is not known. */
int audit_store_accept(struct store *store, const struct audit_event *who, struct err *err);
