/* The user that kaasd runs as. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"

#define SETUP_USER "kaas" /* in the unit; made by sysusers.d */
#define SETUP_USER_BYTES 33

struct setup_user {
    char name[SETUP_USER_BYTES];
    uid_t uid;
    gid_t gid;
    bool is_other; /* than whoever runs this program */
};

/* Finds the user `name`; with NULL for root the user of the unit, if there is one, for anybody else himself. ERR_NOT_FOUND; ERR_FORBIDDEN
 * for somebody else when this is not root. */
int setup_find_user(const char *name, struct setup_user *out, struct err *err);

/* Makes this process that user's for good. ERR_IO. */
int setup_become_user(const struct setup_user *user, struct err *err);
