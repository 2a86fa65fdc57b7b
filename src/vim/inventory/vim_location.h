/* Where a virtual machine is: its host and its datastores. Layer 2 (vim). General errors: vim.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "err.h"

struct vim_client;

#define VIM_LOCATION_DATASTORES_MAX 16
#define VIM_LOCATION_TEXT_BYTES 256

struct vim_location {
    char host[VIM_LOCATION_TEXT_BYTES];      /* managed object id; "": not told */
    char host_name[VIM_LOCATION_TEXT_BYTES]; /* as vCenter calls it */
    struct {
        char name[VIM_LOCATION_TEXT_BYTES], url[VIM_LOCATION_TEXT_BYTES]; /* no two datastores have the same url */
    } datastores[VIM_LOCATION_DATASTORES_MAX];
    size_t datastore_count; /* further datastores are left out */
};

/* Finds a virtual machine by its BIOS UUID and tells where it is; of several any one. Guests read that UUID in one of two byte orders, depending on the
 * version of their virtual hardware: both are looked for. ERR_NOT_FOUND if there is none, or we may not see it. *out is set on success only. */
int vim_lookup_location(struct vim_client *client, const char *bios_uuid, struct vim_location *out, struct err *err);
