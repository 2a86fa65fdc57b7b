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

/* Ends every write, whose line is in its transaction: after success others learn of it, a refusal gets its line now. Returns rc. */
int access_finish(struct access *access, const struct audit_record *line, int rc);
