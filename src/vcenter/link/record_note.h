/* What is known of our record at one vCenter since it was last compared. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"

#define RECORD_MEMBERS_BYTES 400

enum record_state { RECORD_UNKNOWN, RECORD_OURS, RECORD_OUTDATED, RECORD_FOREIGN, RECORD_MISSING };

/* A plain value: copied whole, nothing to free. All zero before the first comparison. */
struct record_note {
    enum record_state state;
    int64_t reconciled_at_ms;            /* wall clock of the last comparison; 0: never */
    int64_t repaired_at_ms;              /* wall clock of the last repair by any replica; 0: never */
    char repaired[RECORD_MEMBERS_BYTES]; /* what was repaired then: "version, server" */
    char begun[RECORD_MEMBERS_BYTES];    /* members that an unfinished repair is about; "": there is none */
    char differs[RECORD_MEMBERS_BYTES];  /* members that still differ */
    char problem[ERR_TEXT_BYTES];        /* why the record is not as it should be; "": no problem */
    char remedy[ERR_REMEDY_BYTES];
    int64_t problem_since_ms; /* wall clock; 0: there is no problem */
};
