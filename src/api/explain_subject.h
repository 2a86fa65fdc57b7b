/* Who an explanation is about: a person or program, signed in or not, as far as it is known. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* What is known of somebody, and from where. */
enum explain_basis {
    EXPLAIN_BY_ID,        /* nobody knows more than what was asked for */
    EXPLAIN_BY_ACCOUNT,   /* local user, program, administrator of the host */
    EXPLAIN_BY_SESSION,   /* what counts in a session under way */
    EXPLAIN_BY_DIRECTORY, /* what the directory says now */
    EXPLAIN_BY_VCENTER,   /* what the vCenter says now about a user's name */
};
const char *explain_basis_name(enum explain_basis basis); /* "id", "account", "session", "directory", "vcenter"; static */

/* Somebody, before the rules. */
struct subject {
    const struct api_call *call; /* who asks */
    const struct dir_platform *platform;
    const struct cluster *cluster;
    struct viewer_key viewer;
    char *principal_id;                            /* owned */
    char vcenter_id[37];                           /* "" for those who come from none */
    struct object_set rights;                      /* owned; what the vCenter says */
    char unknown[256];                             /* why what the vCenter says is not known; "": it is */
    const struct api_call *own;                    /* the caller itself; NULL: somebody else */
    struct signon_linked links[SIGNON_LINKED_MAX]; /* owned; of somebody else's sessions */
    struct viewer_vcenter linked[SIGNON_LINKED_MAX];
    size_t links_count;
    const struct group_set *groups; /* that count; NULL: not known */
    struct group_set found;         /* owned; of a session, or by a directory */
    uint32_t *picked;               /* owned; of viewer */
    bool has_no_groups;             /* of those who can have none */
    enum explain_basis basis;
    char note[320];  /* what has to be known to read the answer; "": nothing */
    char barred[64]; /* why somebody may not sign in; "": they may */
};
void explain_done(struct subject *s);

/* Is it the id of somebody whom a directory knows? */
bool explain_is_of_directory(const char *id);

/* Somebody by id or name: local users, programs, who is signed in; with call->link a person of that vCenter. In the lane database, or the vCenter's.
 * EXPLAIN_LOOK_UP when directories have to be asked; ERR_NOT_FOUND, errors of the store. */
#define EXPLAIN_LOOK_UP 1
int explain_take(const struct api_call *call, const char *wanted, struct subject *s, struct err *err);

/* Somebody who is not signed in, by id or name, as directories know them; in a lane where they may be waited for. What they do not say is not
 * known, and s->note says so. ERR_NOT_FOUND, ERR_AMBIGUOUS for names; their errors for a name. */
int explain_look_up(struct api_call *call, const char *wanted, struct subject *s, struct err *err);
