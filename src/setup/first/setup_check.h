/* Checks that kaasd can start with its configuration and the files that this names; finds the user that it runs as. Layer 4 (setup).
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
    bool is_other; /* not the user who runs this program */
};

/* Finds the user `name`. With NULL it is the user of the unit, if there is one, when root runs this, and else the user who runs it. ERR_NOT_FOUND;
 * ERR_FORBIDDEN for another user than the one who runs this, unless that is root. */
int setup_find_user(const char *name, struct setup_user *out, struct err *err);

/* -- whether kaasd can start with its configuration and the files that this names ---------------------------------- */

enum setup_check_for {
    SETUP_CHECK_START,  /* an expired server certificate is a warning: better than no service after a restart */
    SETUP_CHECK_CHANGE, /* an expired server certificate is a fault, too */
};

/* Reads all files as kaasd would, and checks that they are there, readable for this user, closed to others, of the right form, and fit each other.
 * Changes nothing and connects to nothing. Adds a line per fault and per warning to `report`. ERR_CONFIG if there are faults. */
int setup_check(const struct config *config, const char *config_path, enum setup_check_for purpose, struct config_report *report,
                struct err *err);

/* Loads the configuration and runs the whole check as `user`, in a child process if that is another user. Adds the lines to `told`.
 * ERR_CONFIG if there are faults; ERR_IO. */
int setup_check_as(const struct setup_user *user, const char *config_path, struct strbuf *told, struct err *err);

/* *can: the user of the service, who owns the master key file, may read this file, by the modes of the file and its folders. Only root asks about another
 * user: for anybody else it is enough that the path resolves. ERR_IO. */
int setup_can_read(const struct config *config, const char *path, bool *can, struct err *err);
