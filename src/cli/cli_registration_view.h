/* What registering or unregistering found and did, laid out for people. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "cli.h"
#include "json.h"

/* Appends the API's Registration of a dry run: who looked, what is there, the members, the steps. ERR_NOMEM. */
int registration_view_write(struct cli *cli, const json_t *vcenter, const json_t *registration, struct err *err);

/* Appends the members of the record that would be changed or lost; with `is_whole` all of them. ERR_NOMEM. */
int registration_view_members(struct cli *cli, const json_t *registration, bool is_whole, struct err *err);

/* One sentence about the record that was found, and whose it is. Caller frees; NULL without memory. */
char *registration_view_found(const json_t *registration);

/* Appends what stays behind after unregistering. */
void registration_view_left(struct cli *cli, const json_t *registration);

/* Tells at once, on standard error, which privileges the role gets and why: reading and provisioning apart. ERR_NOMEM. */
int registration_view_role(const char *name, bool with_provisioning, struct err *err);
