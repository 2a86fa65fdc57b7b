/* Refusals that are noted without waiting for the database, and so that a flood of them fills neither memory nor disk. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The first of a kind (same deed, person, object, outcome, and address by party, net_addr.h) becomes a line of the audit trail within a second or so. Those like it within the
 * next minute are counted, and one more line tells how many there were. What finds no room among AUDIT_NOTES_MAX kinds is counted together. */
#pragma once

#include "audit.h"
#include "err.h"
#include "store.h"

#define AUDIT_NOTES_MAX 128
#define AUDIT_NOTES_SPAN_MS 60000

/* Notes it. Copies the texts; asks memory only. */
void audit_store_note(struct store *store, const struct audit_event *event);

/* Writes what is due, in one transaction. Blocks. What could not be written stays noted. */
int audit_store_write_notes(struct store *store, struct err *err);

/* For audit_side.h: where a store keeps them. */
struct audit_notes;
int audit_notes_new(struct audit_notes **out, struct err *err); /* ERR_NOMEM; freed by audit_notes_free */
void audit_notes_free(struct audit_notes *notes);               /* NULL is allowed */
