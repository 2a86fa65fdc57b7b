/* What the files of this room share. Layer 4 (service/access); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>

#include "access.h"

/* user_names.c: local users by id. */
struct user_name {
    char *id, *name;
};
struct user_names {
    struct user_name *items;
    size_t count;
};
void user_names_done(struct user_names *names);

struct access {
    struct access_options options;
    pthread_rwlock_t names_lock;
    struct user_names names; /* guarded by names_lock */
};

/* A line of the audit trail about a change. Borrowed. */
struct access_deed {
    const char *action;
    const char *object_kind, *object_id, *object_name;
    const char *reason;
};
/* The line that goes with the change, saying that it was done. */
struct audit_record access_record(const struct actor *actor, const struct access_deed *deed);

/* Ends every write: after success others learn of it, a refusal is noted. Returns rc. */
int access_finish(struct access *access, const struct actor *actor, const struct access_deed *deed, int rc);
