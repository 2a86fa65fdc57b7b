/* Verdicts on a vCenter and on what we use there: reachable, valid, authorised, each since when. Layer 4 (vcenter). No calls, no locks: pure but for the
 * wall clock that is handed in.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The link judges the first two by every call of its own session, and asks about privileges from time to time (verdict_ask.h). What cannot be judged, since
 * a verdict before it is bad, is unknown. */
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
    int64_t since_ms;          /* wall clock: when the value became what it is, whatever the fault is meanwhile */
    char text[ERR_TEXT_BYTES]; /* of a "no" */
    char remedy[ERR_REMEDY_BYTES];
};

#define VERDICT_PATH_BYTES 512
#define VERDICT_PRIVILEGES_MAX 8

/* Something that we use at a vCenter. Reachable and valid are the vCenter's, whose connection and session is the only one. */
struct verdict_object {
    char moref[MOREF_BYTES];                     /* "": the root folder */
    char path[VERDICT_PATH_BYTES];               /* "/DC0/host/HX-East"; "/": the root folder */
    const char *missing[VERDICT_PRIVILEGES_MAX]; /* static */
    size_t missing_count;
    bool
        is_unseen_hx; /* HX has registered it, and our account does not see it; without a fault: somebody named what the account is for */
    struct verdict authorised;
};

/* All of one vCenter. Zeroed: nothing is known; verdicts_done gives it back. */
struct verdicts {
    struct verdict of[VERDICT_KINDS];
    struct verdict_object *objects; /* malloc'ed; the root folder first */
    size_t count;
    int64_t asked_at_ms; /* wall clock: when privileges were asked about last; 0: never */
    bool drops_unused;   /* the registration may have been narrowed: what shows no more is not kept from us by mistake */
    int64_t clock_off_s; /* how far the vCenter's clock was ahead then */
};
void verdicts_done(struct verdicts *v); /* NULL is allowed */
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int verdicts_copy(const struct verdicts *from, struct verdicts *out, struct err *err);

/* The first that is bad, and which one that is; NULL: none. */
const struct verdict *verdicts_find_bad(const struct verdicts *v, enum verdict_kind *kind);

#define VERDICT_CLOCK_OFF_MAX_S 300 /* Kerberos gives up there (RFC 4120 section 1.6) */

/* A call with our own session got an answer: reachable and valid, unless the clocks differ too much. Needs `name`, the vCenter's. */
void verdicts_note_answer(struct verdicts *v, const char *name, int64_t now_ms);
/* From this verdict on nothing can be judged. */
void verdicts_forget(struct verdicts *v, enum verdict_kind from, int64_t now_ms);
/* The vCenter answered, but there is no session to judge by. */
void verdicts_note_reached(struct verdicts *v, int64_t now_ms);
/* Something failed: the verdict of this fault is "no", those before it are "yes", those behind it cannot be judged. Text and remedy are those of the error, where
 * it has some, else the fault's. */
void verdicts_note_fault(struct verdicts *v, enum vc_fault fault, const struct err *err, const char *name, int64_t now_ms);

/* Privileges were asked about. Takes over `objects` with path, missing, fault and remedy (""; the fault's), whose times begin where the object was not there before or had another
 * value; *objects is emptied. */
void verdicts_take_objects(struct verdicts *v, struct verdict_object **objects, size_t count, const char *name, int64_t now_ms);
