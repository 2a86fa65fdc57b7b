/* The link to one vCenter: client, worker pool, state. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "link_env.h"
#include "record_note.h"
#include "remote.h"
#include "vcenter.h"
#include "verdict.h"
#include "vim.h"

struct event_budget;
struct link;
struct login_refusals;
struct watch;

/* "not_registered" (REMOTE_IDLE), "connecting", "connected", "unreachable", "refused", as in docs/openapi.yaml; static. */
const char *link_state_name(enum remote_state state);

/* Work that links do: bits for link_request. */
enum link_work {
    LINK_WORK_IDENTITY = 1U << 0,  /* what vCenter says about itself is read and compared again */
    LINK_WORK_RECONCILE = 1U << 1, /* our extension record is brought to what it should be */
    LINK_WORK_RENEW = 1U << 2,     /* the login certificate: its age, a rotation that was left half done */
    LINK_WORK_SWEEP = 1U << 3,     /* sessions of ours that nobody holds any more are ended */
    LINK_WORK_EVENTS = 1U << 4,    /* events that wait are posted */
    LINK_WORK_LOGIN = 1U << 5,     /* the link's session is exchanged if the account in force is another one */
    LINK_WORK_VERDICTS = 1U << 6,  /* privileges and clocks are judged */
};

/* Until when certificates are valid, as far as it is known; wall clock, 0: unknown. */
struct link_certificates {
    int64_t vcenter_not_after_ms; /* the certificate that vCenter shows */
    int64_t login_not_after_ms;   /* the certificate that we log in with */
};

/* State of a link, as a consistent copy. */
struct link_report {
    struct remote_status status; /* without a word for the reason */
    int64_t last_contact_ms;     /* wall clock of the last good answer; 0: never */
    bool has_strategy;           /* logged in at least once */
    enum vim_strategy strategy;  /* the login way that worked last */
    struct link_certificates certificates;
    struct record_note record; /* what is known of our record there */
};

/* The live watch of a link as the link drives it: a table, because the watch (watch_run.h) lies above the link. */
struct link_watch_ops {
    /* Makes the watch of this link, which owns it; no thread yet. ERR_NOMEM. */
    int (*make)(struct link *link, struct watch **out, struct err *err);
    /* Starts the threads if that has not been done. ERR_BUSY if the system gives none. */
    int (*start)(struct watch *watch, struct err *err);
    /* Wakes the watch after the state of the link has changed; `is_registered` false also cancels the pending call. Does not block. */
    void (*note_link)(struct watch *watch, bool is_registered);
    /* Stops the watch for good: cancels the pending call and tells the threads to end. Does not wait for them. */
    void (*cancel)(struct watch *watch);
    /* Cancels, then waits for the threads to end. A call of theirs to the vCenter must have been cancelled (vim_client_cancel) or end by itself. */
    void (*stop)(struct watch *watch);
    void (*free)(struct watch *watch); /* stops it; NULL is allowed */
};

/* Makes a link with a worker pool of its own; copies `vc`. One reference; for remotes_put. ERR_NOMEM, ERR_CONFIG. */
int link_new(const struct link_env *env, const struct vcenter *vc, struct link **out, struct err *err);
/* The link of a remote of vCenter, and its remote. */
struct link *link_of(struct remote *remote);
struct remote *link_remote(struct link *link);

/* One more reference; returns the link. */
struct link *link_ref(struct link *link);
void link_unref(struct link *link); /* NULL is allowed; as remote_unref */
CLEANUP_DEFINE(struct link, link_unref);

const char *link_id(const struct link *link);           /* instance UUID */
struct worker_pool *link_pool(const struct link *link); /* lives as long as a reference is held */
struct worker_pool *
link_machine_pool(const struct link *link);               /* likewise; for making machines, which others need not wait behind */
struct vim_client *link_client(const struct link *link);  /* blocks: use in the worker */
const struct link_env *link_env(const struct link *link); /* outlives the link */
struct watch *link_watch(const struct link *link);        /* watch_run.h; lives as long as the link */
enum remote_state link_get_state(struct link *link);
bool link_is_away(struct link *link);            /* the vCenter cannot be reached, or refuses our login */
char *link_get_extension_key(struct link *link); /* copy, free(); NULL: not known yet */

/* Copies what the database says about the vCenter; vcenter_done gives it back. ERR_NOMEM. */
int link_get_info(struct link *link, struct vcenter *out, struct err *err);
#define LINK_NAME_BYTES 256 /* a host name, or KAAS_NAME_CHARS_MAX characters */
/* Copies the name by which people know the vCenter. It is unique: registration_add and vcenter_change refuse a second one. */
void link_get_name(struct link *link, char out[LINK_NAME_BYTES]);
/* Copies the attributes in `vc` into the link. True if they need another client (address, trust, ports): replace the link then. */
bool link_set_info(struct link *link, const struct vcenter *vc);

/* Copies the state of the link now; nothing to free. */
void link_get_report(struct link *link, struct link_report *out);

/* Verdicts as they are now; verdicts_done gives them back. ERR_NOMEM. */
int link_get_verdicts(struct link *link, struct verdicts *out, struct err *err);
/* Notes that the vCenter's clock is `off_s` seconds ahead of ours (negative: behind). */
void link_note_clock(struct link *link, int64_t off_s);
/* Takes over the privileges on `objects` (verdicts_take_objects), unless the link is no longer connected: then *objects stays the caller's. */
void link_note_objects(struct link *link, struct verdict_object **objects, size_t count);
/* Copies the verdicts of `from`, the link that this one replaces. Without memory the verdicts stay as they were. */
void link_inherit_verdicts(struct link *link, struct link *from);

/* Copies the result of a comparison of our extension record. */
void link_note_record(struct link *link, const struct record_note *note);

/* Notes the outcome of a call to the vCenter with our own session (0 or ERR_* with `err`) and sets the link's state by it. Returns rc. `since_ms` is when the
 * call began (clock_mono_ms): the outcome of a call that began before the one noted last is ignored. A failure is ignored too while the vCenter is not
 * registered: work that was under way while somebody unregistered fails, which says nothing about the vCenter. */
int link_note(struct link *link, int64_t since_ms, int rc, const struct err *err);

/* As link_note, for a call that a person asked for: a failure counts also without a registration. */
void link_note_asked(struct link *link, int64_t since_ms, int rc, const struct err *err);

/* Notes that the vCenter answered a call that was not made with our own session: the vCenter can be reached, no more. `since_ms` as for link_note. */
void link_note_answer(struct link *link, int64_t since_ms);

/* Notes the login way of the link's own session, and its account (NULL: by certificate). Copied. */
void link_note_login(struct link *link, enum vim_strategy strategy, const char *account);

/* The stored passwords that this vCenter has refused; everything that logs in with a stored password looks here first. Lives as long as the link. */
struct login_refusals *link_refusals(struct link *link);

/* Exchanges the link's own session for one of the credential in force, if the session was made by another account, or by none; the old session goes on until
 * the new one is made. remote_work_fn of LINK_WORK_LOGIN; also the end of a change of accounts. Blocks. Errors of vim.h and store.h. */
int link_follow_login(struct link *link, struct err *err);

/* Forgets the credentials in memory, since those in the database have changed: the next login reads them again. */
void link_forget_material(struct link *link);

/* Logs in again at once, after the credential was changed: what was refused may be accepted now. Does not block. */
void link_retry_login(struct link *link);

void link_note_certificates(struct link *link, const struct link_certificates *seen); /* members that are 0 stay as they were */

/* Negotiates the API version, checks the vCenter's identity, and saves its version; a new version asks for LINK_WORK_RECONCILE. Needs no login. Blocks.
 * ERR_CONFLICT: it is another vCenter; errors of vim.h. */
int link_read_about(struct link *link, struct err *err);

/* For the watch, when it begins anew: link_read_about, unless link_connect has done it since the last link_verify or link_forget_verified. Blocks. */
int link_verify(struct link *link, struct err *err);
void link_forget_verified(struct link *link);

/* First contact or a new try: link_read_about, then logs in if the vCenter is registered; notes the outcome (link_note). Then the watch reads the inventory.
 * Blocks. Errors of vim.h and store.h. */
int link_connect(struct link *link, struct err *err);

/* Begins a change of the registration in this process; false if another one runs. link_end_admin ends it. See admin_lease (link_task.h). */
bool link_begin_admin(struct link *link);
void link_end_admin(struct link *link);

/* Counts the tasks that have a session of their own at this vCenter: link_begin_task before a task logs in, link_end_task after it has logged out. As long as
 * other tasks are counted, session_sweep ends no session of a task. */
void link_begin_task(struct link *link);
void link_end_task(struct link *link);
unsigned link_count_tasks(const struct link *link);

/* How many events were posted in the current minute (event_plan.h). For the work LINK_WORK_EVENTS only, which runs once at a time. */
struct event_budget *link_event_budget(struct link *link);

/* As remote_is_retired. */
bool link_is_retired(struct link *link);

/* Asks for work (bits of enum link_work); as remote_request. */
void link_request(struct link *link, unsigned bits);
