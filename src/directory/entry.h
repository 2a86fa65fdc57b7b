/* One cluster of the list: made from the record as stored, kept up to date by time. Layer 3 (directory).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What an entry is made of is struct dir_cluster of snapshot.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "snapshot.h"

struct dir_watch;

/* What an entry is made with. Borrowed. */
struct dir_basis {
    struct dir_platform *platform;
    const struct dir_watch *watch; /* NULL: whatever was observed counts */
    int64_t wall_ms, mono_ms;      /* now */
    int64_t stale_after_ms;        /* age at which reports no longer count; 0: never */
};

/* Makes an entry from a record as stored, which it takes over also on failure: rolls up its state and placement and renders it with the
 * names in basis->platform. One reference. ERR_NOMEM. */
int dir_cluster_new(struct cluster *record, const struct dir_basis *basis, struct dir_cluster **out, struct err *err);

/* The record as it is stored, a copy freed by cluster_free, with the last report that is known. ERR_NOMEM. */
int dir_cluster_stored(const struct dir_cluster *entry, struct cluster **out, struct err *err);

/* Makes an entry from the same record anew. One reference. ERR_NOMEM. */
int dir_cluster_renew(const struct dir_cluster *entry, const struct dir_basis *basis, struct dir_cluster **out, struct err *err);

/* Would the entry come out differently now: has a report aged (or come in), or, if that is to be looked at, other evidence to count? */
bool dir_cluster_is_due(const struct dir_cluster *entry, const struct dir_basis *basis, bool with_evidence);

/* In what do two entries of one cluster differ: a member of the record as stored, or "text" if just what is shown does; NULL: in nothing.
 * What depends on the time at which they were made (dir_cluster_is_as_due) is not looked at where that differs. */
const char *dir_cluster_difference(const struct dir_cluster *a, const struct dir_cluster *b);
/* Were they made with the same evidence and reports? */
bool dir_cluster_is_as_due(const struct dir_cluster *a, const struct dir_cluster *b);

/* Wall-clock time at which its last report grows too old; INT64_MAX: never. */
int64_t dir_cluster_stale_ms(const struct dir_cluster *entry, const struct dir_basis *basis);

/* Notes a report at this time, that only memory knows of; or one that the database knows of. The one thing about an entry that changes. */
void dir_cluster_note_report(const struct dir_cluster *entry, int64_t at_ms);
void dir_cluster_note_saved(const struct dir_cluster *entry, int64_t at_ms);
