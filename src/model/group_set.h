/* Sets of groups that a person is a member of, by their ids. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Ids such as "sid:S-1-5-21-..." and "ldap:<source>:<uuid>". Sealed: in the order of strcmp, each once. All-zero is the empty set. */
struct group_set {
    char **ids; /* malloc'ed, each one too */
    size_t count;
};
void group_set_done(struct group_set *set); /* NULL is allowed; zeroes the struct */

/* Appends a copy of the id; the set is not sealed until group_set_seal. ERR_TOO_LARGE beyond KAAS_GROUPS_MAX, ERR_NOMEM. */
int group_set_add(struct group_set *set, const char *id, struct err *err);
/* Sorts and removes what is there twice. */
void group_set_seal(struct group_set *set);

/* The set must be sealed. */
bool group_set_has(const struct group_set *set, const char *id);
bool group_set_eq(const struct group_set *a, const struct group_set *b);
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int group_set_copy(const struct group_set *from, struct group_set *out, struct err *err);

/* One text for a sealed set, for the database: a line for each id, "<bytes shared with the id before> <rest>"; the ids of one domain begin
 * alike. NULL for the empty set. Caller frees. ERR_NOMEM. */
int group_set_pack(const struct group_set *set, char **out, struct err *err);
/* The set again, sealed, into an uninitialised struct; NULL is the empty set. ERR_UNPROCESSABLE if the text is not of that form, ERR_NOMEM. */
int group_set_unpack(const char *text, struct group_set *out, struct err *err);
