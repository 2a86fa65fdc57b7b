/* The link to one vCenter: client, worker pool, state. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "worker_pool.h"
#include "link_env.h"
#include "link_work.h"
#include "record_note.h"
#include "vcenter.h"
#include "verdict.h"
#include "vim.h"

struct event_budget;
struct link;
struct login_refusals;

enum link_state { LINK_NOT_REGISTERED, LINK_CONNECTING, LINK_CONNECTED, LINK_UNREACHABLE, LINK_REFUSED };
/* "not_registered", ... as in docs/openapi.yaml; static. */
const char *link_state_name(enum link_state state);

/* Until when certificates are valid, as far as it is known; wall clock, 0: unknown. */
struct link_certificates {
    int64_t vcenter_not_after_ms; /* the one vCenter shows */
    int64_t login_not_after_ms;   /* the one we log in with */
};

/* How things stand, as a consistent copy. */
struct link_report {
    enum link_state state;
    char reason[ERR_TEXT_BYTES]; /* why it is not connected; "" if there is nothing to say */
    char remedy[ERR_REMEDY_BYTES];
    int64_t last_contact_ms;    /* wall clock of the last good answer; 0: never */
    int64_t state_since_ms;     /* wall clock */
    bool has_strategy;          /* logged in at least once */
    enum vim_strategy strategy; /* the one that worked last */
    struct link_certificates certificates;
    struct record_note record; /* what is known of our record there */
};

/* Makes a link with a worker pool of its own; copies `vc`. One reference. ERR_NOMEM, ERR_CONFIG. */
int link_new(const struct link_env *env, const struct vcenter *vc, struct link **out, struct err *err);

/* One more reference; returns the link. */
struct link *link_ref(struct link *link);
void link_unref(struct link *link); /* NULL is allowed; never frees: the platform does when it has retired the link */
CLEANUP_DEFINE(struct link, link_unref);

const char *link_id(const struct link *link);             /* instance UUID */
struct worker_pool *link_pool(const struct link *link);   /* lives as long as a reference is held */
struct vim_client *link_client(const struct link *link);  /* blocks: use in the worker */
const struct link_env *link_env(const struct link *link); /* outlives the link */
struct watch *link_watch(const struct link *link);        /* watch_run.h; lives as long as the link */
enum link_state link_get_state(struct link *link);
bool link_is_away(struct link *link);            /* it cannot be reached, or does not let us in */
char *link_get_extension_key(struct link *link); /* copy, free(); NULL: not known yet */

/* Copies what the database says about the vCenter; vcenter_done gives it back. ERR_NOMEM. */
int link_get_info(struct link *link, struct vcenter *out, struct err *err);
#define LINK_NAME_BYTES 256 /* a host name, or KAAS_NAME_CHARS_MAX characters */
/* The name by which people know the vCenter; adding and changing see to it that no two have one. */
void link_get_name(struct link *link, char out[LINK_NAME_BYTES]);
/* Takes over changed attributes. True if they need another client (address, trust, ports): replace the link then. */
bool link_set_info(struct link *link, const struct vcenter *vc);

/* Copies how things are now; nothing to free. */
void link_get_report(struct link *link, struct link_report *out);

/* Verdicts as they are now; verdicts_done gives them back. ERR_NOMEM. */
int link_get_verdicts(struct link *link, struct verdicts *out, struct err *err);
/* How far the vCenter's clock is ahead of ours. */
void link_note_clock(struct link *link, int64_t off_s);
/* Takes over what was heard about privileges (verdicts_take_objects), unless the link has ceased to be connected meanwhile: then *objects stays the caller's. */
void link_note_objects(struct link *link, struct verdict_object **objects, size_t count);
/* Goes on with the verdicts of the link that this one takes the place of. */
void link_inherit_verdicts(struct link *link, struct link *from);

/* Takes over what a comparison of our record gave. */
void link_note_record(struct link *link, const struct record_note *note);

/* Notes the outcome of a call to the vCenter with our own session (0 or ERR_* with `err`): moves the state. Returns rc. `since_ms` is when the call began
 * (clock_mono_ms): what began before the call that was noted last says nothing new, however late it ends. Work that was under way while somebody
 * unregistered fails, which says nothing about the vCenter: without a registration no failure is noted. */
int link_note(struct link *link, int64_t since_ms, int rc, const struct err *err);

/* Notes the outcome of what a person asked of the vCenter, also of one without a registration: moves the state. */
void link_note_asked(struct link *link, int64_t since_ms, int rc, const struct err *err);

/* Notes that the vCenter answered a call that was not made with our own session: it can be reached, no more. */
void link_note_answer(struct link *link, int64_t since_ms);

/* Notes the way by which the link's own session was made, and by which account (NULL: by certificate). Copied. */
void link_note_login(struct link *link, enum vim_strategy strategy, const char *account);

/* Passwords that were refused: for all who log in with what is stored for this vCenter. Lives as long as the link. */
struct login_refusals *link_refusals(struct link *link);

/* Logs in with the credential that is in force, if its own session was made by another account, or by none: that session goes on until the new one
 * stands. link_work_fn of LINK_WORK_LOGIN; also the end of a change of accounts. Blocks. Errors of vim.h and store.h. */
int link_follow_login(struct link *link, struct err *err);

/* The credentials in the database have changed: the next login reads them again. */
void link_forget_material(struct link *link);

/* What was refused may be accepted now (another password): tries at once. Does not block. */
void link_retry_login(struct link *link);

void link_note_certificates(struct link *link, const struct link_certificates *seen); /* what is 0 stays as it was */

/* Negotiates, checks the identity, saves what the vCenter says of its version; a new one asks for LINK_WORK_RECONCILE. Needs no login.
 * Blocks. ERR_CONFLICT: it is another vCenter; errors of vim.h. */
int link_read_about(struct link *link, struct err *err);

/* For the watch, when it begins anew: link_read_about, unless link_connect has just done it. */
int link_verify(struct link *link, struct err *err);
void link_forget_verified(struct link *link);

/* First contact or a new try: link_read_about, then logs in. Then the watch reads the inventory. Blocks. */
int link_connect(struct link *link, struct err *err);

/* One registration or unregistration at a time: false if another one runs. */
bool link_begin_admin(struct link *link);
void link_end_admin(struct link *link);

/* Something with a session of its own at this vCenter begins, before it logs in, and has ended, after it has logged out: meanwhile its session is
 * not taken for one that was left behind. */
void link_begin_task(struct link *link);
void link_end_task(struct link *link);
unsigned link_count_tasks(const struct link *link);

/* What was posted of late: for the work LINK_WORK_EVENTS alone, which runs once at a time. */
struct event_budget *link_event_budget(struct link *link);

/* True once the link is on its way out: another one has taken its place, or the service stops. */
bool link_is_retired(struct link *link);

/* Asks for work (bits of enum link_work; link_work.h): done in the worker as soon as the link is connected and the work before it is done.
 * Does not block; from any thread, also from a function of that work itself. */
void link_request(struct link *link, unsigned bits);

/* Copies how each kind of work stands; returns how many there are. */
size_t link_get_work(struct link *link, struct link_work_state out[LINK_WORK_COUNT]);

/* Queues link_connect, the keep-alive or other work if it is due. Does not block. */
void link_tick(struct link *link, int64_t now_ms);

/* From now on it logs in no more and starts no work: another link may take its place. Does not block. */
void link_note_retired(struct link *link);

/* Begins to end: nothing new is started, the watch is given up. Does not block. */
void link_begin_retire(struct link *link);
/* Ends worker pool and watch and logs out. Blocks, but no longer than about two seconds for the vCenter; not from the link's own worker pool. May be called twice. */
void link_retire(struct link *link);
/* Frees a retired link if the caller's is the only reference. */
bool link_try_free(struct link *link);
