/* Whether kaasd can start with its configuration and the files that this names; the user that it runs as. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "daemon_config.h"
#include "err.h"
#include "strbuf.h"

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

/* -- whether kaasd can start with its configuration and the files that this names ---------------------------------- */

enum setup_check_for {
    SETUP_CHECK_START,  /* a server certificate that has expired is a warning: better than no service after a restart */
    SETUP_CHECK_CHANGE, /* an error, as all the rest */
};

/* Reads all files as kaasd would, changes nothing and connects to nothing: whether they are there, readable for this user, closed to others, of
 * the right form, and fit each other. Adds a line per fault and per warning to `report`. ERR_CONFIG if there are faults. */
int setup_check(const struct config *config, const char *config_path, enum setup_check_for purpose, struct config_report *report,
                struct err *err);

/* Loads the configuration and runs the whole check as `user`, in a process of its own if that is somebody else. Adds the lines to `told`.
 * ERR_CONFIG if there are faults; ERR_IO. */
int setup_check_as(const struct setup_user *user, const char *config_path, struct strbuf *told, struct err *err);

/* Whether the user of the service, to whom the master key file belongs, may read a file, by the modes of it and its folders; root asks for him, and anybody
 * else is he. ERR_IO. */
int setup_can_read(const struct config *config, const char *path, bool *can, struct err *err);
