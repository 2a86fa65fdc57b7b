/* Jobs: durable work, its steps, and what it tells. Layer 2 (store). Common errors: store.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A replica takes a job by one conditional UPDATE that raises its generation. Whatever it writes from then on names that number, in the same UPDATE that prolongs
 * its hold: a replica that was paused and has lost the job writes nothing any more. No row is locked from one call to the next. All times are the database's. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "job.h"
#include "store.h"
#include "uuid.h"

#define JOB_LINES_MAX 2000 /* of a job; further ones are not kept */

/* -- what people do --------------------------------------------------------------------------------------------------------- */

/* One job at a time is at work on an object; of a kind that is about no one object there is one at a time. */

/* A new job. All borrowed. */
struct job_begin {
    const struct job *job;             /* times, owner and generation are made here */
    const struct job_step_list *steps; /* at least one */
    const struct audit_record *audit;  /* written with OPERATION_PENDING; the job's end writes how it ended */
};
/* Writes a job that is queued, with the line that begins it in the audit log. Notes CHANGE_JOB. ERR_EXISTS: another job is at work on the object. */
int job_store_begin(struct store *store, const struct job_begin *begin, struct err *err);
/* The id (UUID_TEXT_BYTES) of the job that is at work on this object (`object_kind` the kind of a job without one); "" with 0: there is none. */
int job_store_find_active(struct store *store, const char *object_kind, const char *object_id, char *id, struct err *err);

/* Asks for the undoing of a job that is queued, running or failed. ERR_NOT_FOUND; ERR_CONFLICT: it has ended, or was canceled already; ERR_EXISTS as above. */
int job_store_cancel(struct store *store, const char *id, const struct audit_record *audit, struct err *err);
/* Queues a job again that has failed or was canceled. Steps that were not done are pending again, and know what they had decided. ERR_NOT_FOUND; ERR_CONFLICT: it is
 * under way, or is done; ERR_EXISTS as above. */
int job_store_retry(struct store *store, const char *id, const struct audit_record *audit, struct err *err);

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

/* NULL does not restrict. */
struct job_query {
    const char *object_id, *kind, *state;
    unsigned limit;    /* 1 to 1000 */
    int64_t before_ms; /* only jobs made before, or at that time with a smaller id; 0: from the newest on */
    const char *before_id;
};
/* *out (uninitialised) is given back by job_list_done. */
int job_store_list(struct store *store, const struct job_query *query, struct job_list *out, struct err *err);
/* Reads a job (freed by job_free) and its steps (NULL: not wanted; job_step_list_done). ERR_NOT_FOUND. */
int job_store_load(struct store *store, const char *id, struct job **out, struct job_step_list *steps, struct err *err);
/* The lines behind number `after`, at most `limit`. *out (uninitialised) is given back by job_line_list_done. An unknown job has none. */
int job_store_list_lines(struct store *store, const char *id, unsigned after, unsigned limit, struct job_line_list *out,
                         struct err *err);

/* -- what replicas do --------------------------------------------------------------------------------------------------------- */

/* An active job, as a replica looks for work. */
struct job_due {
    char id[UUID_TEXT_BYTES];
    char kind[41];
    int64_t generation;
    bool is_ours; /* this replica took it last, */
    bool is_held; /* and whoever did holds it still */
    bool is_cancel_asked;
};
struct job_dues {
    struct job_due *items; /* the oldest first */
    size_t count;
};
void job_dues_done(struct job_dues *dues); /* NULL is allowed */
/* Lists all active jobs. *out (uninitialised) is given back by job_dues_done. */
int job_store_list_active(struct store *store, struct job_dues *out, struct err *err);

/* What names a replica's hold of a job in each of its writes. */
struct job_hold {
    char id[UUID_TEXT_BYTES];
    int64_t generation;
};
/* Takes a job that nobody holds, or that this replica took last, for `ttl_ms`. `due->generation` as it was read. *now_ms is the database's time. ERR_BUSY: another replica was
 * quicker, or holds it. */
int job_store_take(struct store *store, const struct job_due *due, int64_t ttl_ms, struct job_hold *out, int64_t *now_ms,
                   struct err *err);
/* Prolongs all that this replica holds. */
int job_store_renew(struct store *store, int64_t ttl_ms, struct err *err);
/* Gives all back, so that others need not wait. */
int job_store_give_back(struct store *store, struct err *err);

/* One write of the replica that holds a job. All borrowed; NULL: not written. */
struct job_write {
    const struct job_hold *hold;
    int64_t ttl_ms;
    const struct job_step *step;      /* replaces the stored one of its number */
    const char *line;                 /* is told, of that step, or of the job without one */
    int64_t at_ms;                    /* of the line */
    enum job_state state;             /* of the job from now on; */
    bool is_state;                    /* false: as it was */
    const char *reason, *remedy;      /* of a job whose state is written */
    const struct audit_record *audit; /* of one that ends so: how */
};
/* Writes all of it in one transaction, and notes CHANGE_JOB. ERR_PRECONDITION: the job is no longer ours. */
int job_store_write(struct store *store, const struct job_write *write, struct err *err);

/* Removes jobs that ended before `before_ms`, at most `limit`; *removed counts them. */
int job_store_prune(struct store *store, int64_t before_ms, unsigned limit, uint64_t *removed, struct err *err);
