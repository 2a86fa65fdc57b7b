/* Verdicts on a vCenter and on the objects we use there: reachable, valid, authorised, each since when. Layer 4 (vcenter). No calls, no locks: pure but for
 * the wall clock that is passed in.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The link judges the first two by every call of its own session, and asks about privileges from time to time (verdict_ask.h). A verdict that cannot be
 * judged, because one before it is "no", is "unknown". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "object_ref.h"
#include "vc_fault.h"

enum verdict_value { VERDICT_UNKNOWN, VERDICT_YES, VERDICT_NO };
const char *verdict_value_name(enum verdict_value value); /* "unknown", "yes", "no"; static */

/* Nothing in it is to be freed. */
struct verdict {
    enum verdict_value value;
    enum vc_fault fault;       /* of a "no" */
    int64_t since_ms;          /* wall clock: when `value` last changed, whatever the fault has been since */
    char text[ERR_TEXT_BYTES]; /* of a "no" */
    char remedy[ERR_REMEDY_BYTES];
};

#define VERDICT_PATH_BYTES 512
#define VERDICT_PRIVILEGES_MAX 8

/* An object that we use at a vCenter. Only `authorised` is judged for each object; reachable and valid are the same for all objects of the vCenter. */
struct verdict_object {
    char moref[MOREF_BYTES];                     /* "": the root folder */
    char path[VERDICT_PATH_BYTES];               /* "/DC0/host/HX-East"; "/": the root folder */
    const char *missing[VERDICT_PRIVILEGES_MAX]; /* static */
    size_t missing_count;
    bool
        is_unseen_hx; /* HX has registered it, and our account does not see it; without a fault: somebody named the objects for the account's role */
    struct verdict authorised;
};

/* All verdicts of one vCenter. Zeroed: nothing is known; verdicts_done frees it. */
struct verdicts {
    struct verdict of[VERDICT_KINDS];
    struct verdict_object *objects; /* malloc'ed; the root folder first */
    size_t count;
    int64_t asked_at_ms; /* wall clock: when privileges were asked about last; 0: never */
    bool drops_unused;   /* the registration may have been narrowed: drop objects no longer in use; none is hidden by mistake */
    int64_t clock_off_s; /* how far the vCenter's clock was ahead of ours when last read */
};
void verdicts_done(struct verdicts *v); /* NULL is allowed */
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int verdicts_copy(const struct verdicts *from, struct verdicts *out, struct err *err);

/* The first verdict that is "no", and its kind in *kind; NULL: none is. */
const struct verdict *verdicts_find_bad(const struct verdicts *v, enum verdict_kind *kind);

#define VERDICT_CLOCK_OFF_MAX_S 300 /* beyond that Kerberos refuses (RFC 4120 section 1.6) */

/* Notes that a call with our own session got an answer: the vCenter is reachable, and valid unless the clocks differ too much. `name` is the vCenter's. */
void verdicts_note_answer(struct verdicts *v, const char *name, int64_t now_ms);
/* Sets the verdicts from `from` on, and those of all objects, to unknown. */
void verdicts_forget(struct verdicts *v, enum verdict_kind from, int64_t now_ms);
/* Notes that the vCenter answered a call without our session: reachable; the other verdicts become unknown. */
void verdicts_note_reached(struct verdicts *v, int64_t now_ms);
/* Notes a fault: its verdict is "no", those before it are "yes", those after it unknown. Text and remedy are those of `err` where it has some, else the
 * fault's. */
void verdicts_note_fault(struct verdicts *v, enum vc_fault fault, const struct err *err, const char *name, int64_t now_ms);

/* Takes over the answer about privileges: `objects` with path, missing, fault and remedy ("": the fault's). An object's verdict keeps its time if it was
 * known before with the same value. *objects becomes NULL. */
void verdicts_take_objects(struct verdicts *v, struct verdict_object **objects, size_t count, const char *name, int64_t now_ms);
