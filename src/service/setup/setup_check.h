/* Whether kaasd can start with its configuration and the files that this names. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "daemon_config.h"
#include "err.h"
#include "setup_user.h"
#include "strbuf.h"

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
