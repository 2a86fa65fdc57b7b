/* The places of the inventory that a permission may stand on, by their inventory paths. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 * General errors: vim.h. */
#pragma once

#include <stddef.h>

#include "err.h"

struct vim_client;

struct vim_place {
    char *type, *moref; /* "Datacenter", "datacenter-2" */
    char *
        path; /* "DC0", "DC0/HX-East", "Sites/DC1/vm/KaaS": as vSphere has it, without the folder `host` that each datacenter has, and with
                           vCenter's %2f, %5c and %25 turned back */
};

struct vim_place_list {
    struct vim_place *items; /* by moref */
    size_t count;
};
void vim_place_list_done(struct vim_place_list *list); /* frees and zeroes; NULL is allowed */

/* Lists the folders, datacenters and vSphere clusters below the root folder that our session may see. Not the folders that each datacenter has by itself
 * (host, vm, ...): vCenter lets no permission stand on these. ERR_TOO_LARGE over KAAS_VIM_OBJECTS_COUNT_MAX objects. */
int vim_list_places(struct vim_client *client, struct vim_place_list *out, struct err *err);
