/* From the configuration to database connections. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "daemon_config.h"
#include "err.h"
#include "store.h"

/* Names of the password files that `kaasctl init` makes beside the configuration file. */
#define DB_PASSWORD_FILE "database.password"
#define DB_OWNER_PASSWORD_FILE "database-owner.password"

enum db_account { DB_ACCOUNT_RUNTIME, DB_ACCOUNT_OWNER };

/* Makes the pool for one of the two accounts. The password is read from the file that the configuration names, else from the one that
 * `kaasctl init` made beside the configuration file, if there is one; else the operating system's user is the proof. Connects to nothing
 * yet. ERR_CONFIG, ERR_NOMEM. */
int db_settings_open(const struct config *config, const char *config_path, enum db_account account, struct store **out,
                     struct err *err);

/* Path of a file beside the configuration file. Caller frees; NULL without memory. */
char *db_settings_beside(const char *config_path, const char *name);
