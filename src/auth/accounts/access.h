/* Local users, grants and the audit log: who may sign in, who may see what, and who did what. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Not here: proving who one is (src/auth/login), deciding what is visible (model/access/policy.h), reading grants (src/inventory has them in memory). Every
 * change and its line in the audit log are one transaction; a refused change gets a line, too. All functions block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit_store.h"
#include "err.h"
#include "finding.h"
#include "grant.h"
#include "principal.h"
#include "grant_store.h"
#include "runtime.h"
#include "user_store.h"

struct access;

#define ACCESS_USER_NAME_CHARS_MAX 100
#define ACCESS_FULL_NAME_CHARS_MAX 200

struct access_options {
    const struct runtime *runtime;
    bool maps_privileges; /* roles may be given by privileges of a vCenter */
};

int access_new(const struct access_options *options, struct access **out, struct err *err); /* ERR_NOMEM */
void access_free(struct access *access);                                                    /* NULL is allowed */

/* -- grants ----------------------------------------------------------------------------------------------------------------- */

/* Stores a grant. The caller sets principal_id, object, object_id and role (NULL: "viewer") as somebody wrote them; this function brings them into the stored
 * form (the principal into that of the grants it has already) and sets id and time. ERR_UNPROCESSABLE (form; an unknown local user), ERR_NOT_FOUND (no such
 * object), ERR_EXISTS. */
int access_add_grant(struct access *access, const struct actor *actor, struct grant *g, struct err *err);

/* Removes the grant `id`. ERR_NOT_FOUND. */
int access_remove_grant(struct access *access, const struct actor *actor, const char *id, struct err *err);

/* -- local users ------------------------------------------------------------------------------------------------------------ */

/* *out is given back by user_list_done. */
int access_list_users(struct access *access, struct user_list *out, struct err *err);
/* *out is freed by user_free. ERR_NOT_FOUND. */
int access_get_user(struct access *access, const char *id, struct user **out, struct err *err);

/* Reads the names of local users anew: at start, and when the change feed says so. Blocks (database). */
int access_sync_names(struct access *access, struct err *err);
/* The name of "local:<uuid>", from memory. False if it is not known. Does not block. */
bool access_get_name(struct access *access, const char *principal_id, char *out, size_t n);

/* Add a warning if principals of grants (in the order of grant_compare), or names of local users, differ only in the case of letters, which the release
 * before allowed. Do not block. */
void access_check_grants(const struct grant *grants, size_t count, int64_t started_at_ms, struct findings *out);
void access_check_users(struct access *access, int64_t started_at_ms, struct findings *out);

/* Stores a new user: the caller sets what an administrator may set in `user`; id and times are set here, and `id` gets the id. `password` NULL: none, so that
 * the user cannot sign in yet. Slow (hashing). ERR_UNPROCESSABLE, ERR_EXISTS. */
int access_add_user(struct access *access, const struct actor *actor, struct user *user, const char *password, char id[37],
                    struct err *err);

struct access_user_edit {
    const char *id;
    int64_t version_no;                                             /* 0: whatever it is now */
    int (*fn)(const void *arg, struct user *user, struct err *err); /* changes the record; may be called several times */
    const void *arg;
};
/* Changes a user. Disabling ends the user's sessions; a new role counts in them at once. ERR_NOT_FOUND, ERR_PRECONDITION, ERR_EXISTS, ERR_UNPROCESSABLE;
 * ERR_CONFLICT for the last administrator. */
int access_change_user(struct access *access, const struct actor *actor, const struct access_user_edit *edit, struct err *err);

/* Removes a user, the user's sessions and grants. `version_no` as above. ERR_NOT_FOUND, ERR_PRECONDITION, ERR_CONFLICT. */
int access_remove_user(struct access *access, const struct actor *actor, const char *id, int64_t version_no, struct err *err);

/* Gives a user another password, by an administrator: all sessions of the user end. Slow (hashing). ERR_NOT_FOUND, ERR_UNPROCESSABLE. */
struct access_password {
    const char *user_id;
    const char *password;
    bool must_change_password;
};
int access_reset_password(struct access *access, const struct actor *actor, const struct access_password *wanted,
                          struct err *err);

/* Gives the caller, who has proved the old one, another password: the caller's other sessions end. Slow (hashing). ERR_UNPROCESSABLE. */
int access_change_own_password(struct access *access, const struct actor *actor, const char *password, struct err *err);

/* -- role mappings ---------------------------------------------------------------------------------------------------------- */

/* *out is given back by role_mapping_list_done. */
int access_list_role_mappings(struct access *access, struct role_mapping_list *out, struct err *err);
/* *out (uninitialised) is given back by role_mapping_done. ERR_NOT_FOUND. */
int access_get_role_mapping(struct access *access, const char *id, struct role_mapping *out, struct err *err);

/* Stores a mapping. The caller sets kind, subject_id, privilege, role and note as somebody wrote them; this function brings them into the stored form and
 * sets id, times and version. The mapping counts at once in every session. ERR_UNPROCESSABLE (form; a directory or vCenter that is not there), ERR_EXISTS,
 * ERR_CONFLICT (too many). */
int access_add_role_mapping(struct access *access, const struct actor *actor, struct role_mapping *m, struct err *err);
/* Changes role and note of the mapping with m's id and version_no. ERR_NOT_FOUND, ERR_PRECONDITION, ERR_UNPROCESSABLE. */
int access_change_role_mapping(struct access *access, const struct actor *actor, struct role_mapping *m, struct err *err);
/* Removes a mapping; `version_no` 0: whatever it is now. ERR_NOT_FOUND, ERR_PRECONDITION. */
int access_remove_role_mapping(struct access *access, const struct actor *actor, const char *id, int64_t version_no,
                               struct err *err);

/* -- audit log ------------------------------------------------------------------------------------------------------------ */

/* One page, newest first (audit_store.h). *out is given back by audit_page_done. ERR_UNPROCESSABLE. */
int access_list_audit(struct access *access, const struct audit_query *query, struct audit_page *out, struct err *err);

/* Notes a refusal for the audit log, which gets it within about a second; their number is bounded (audit_store_note). Does not block. */
void access_note_refusal(struct access *access, const struct audit_event *event);

/* Verifies the chain of lines of each replica, about `limit` lines in all, from `place` on (audit_store_verify). */
struct access_audit_place {
    unsigned replica_id;
    uint64_t after_seq; /* 0: from the beginning of this replica's */
};
struct access_audit_part {
    char name[101]; /* of the replica; "": it is not known */
    struct audit_verification v;
};
struct access_audit {
    struct access_audit_part *items;
    size_t count;
    bool has_more;
    struct access_audit_place next;
};
void access_audit_done(struct access_audit *found); /* NULL is allowed */
/* *out (uninitialised) is given back by access_audit_done. */
int access_verify_audit(struct access *access, const struct access_audit_place *place, unsigned limit, struct access_audit *out,
                        struct err *err);

/* Makes this replica continue its audit chain from the lines in the database (after a restore), though lines that it wrote are missing there. Errors of
 * audit_store_accept. */
int access_accept_restore(struct access *access, const struct actor *actor, struct err *err);
