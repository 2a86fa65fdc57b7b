/* Objects of the inventory by their names, and where they lie. Layer 2 (vim). General errors: vim.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "err.h"

struct vim_client;

/* An object that our session may read. Texts malloc'ed. */
struct vim_object {
    char *type, *moref; /* "VirtualMachine", "vm-12": the class itself, a "StoragePod" where folders were asked for */
    char *name;         /* with vCenter's %2f, %5c and %25 turned back */
    char *parent;       /* moref; NULL: the root folder, out of sight, or a vApp */
};
struct vim_object_list {
    struct vim_object *items; /* by moref */
    size_t count;
};
void vim_object_list_done(struct vim_object_list *list); /* NULL is allowed */

/* Reads all objects of these types (ended by NULL) below the root folder, those of derived types included. ERR_TOO_LARGE over KAAS_VIM_OBJECTS_COUNT_MAX. */
int vim_list_objects(struct vim_client *client, const char *const *types, struct vim_object_list *out, struct err *err);

/* The one with this moref; NULL: none, or `moref` is NULL. */
const struct vim_object *vim_object_find(const struct vim_object_list *list, const char *moref);
/* The nearest object of this type around it, itself included; NULL: none in the list. */
const struct vim_object *vim_object_around(const struct vim_object_list *list, const struct vim_object *object, const char *type);
/* Its inventory path from the root folder, as govc writes it: "/DC0/vm/kaas". Caller frees. NULL without memory, or where vCenter told of a circle. */
char *vim_object_path(const struct vim_object_list *list, const struct vim_object *object);

/* -- objects that can have permissions, with their inventory paths ---------------------------------------------------------- */

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
