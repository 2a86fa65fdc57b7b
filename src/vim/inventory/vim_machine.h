/* CPU, memory and disk that virtual machines have, and use now. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Read on request, not watched: the numbers of a running machine change every 20 seconds (VirtualMachineQuickStats). General errors: vim.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct vim_client;

#define VIM_MACHINE_DATASTORES_MAX 16

/* Numbers are -1 where vCenter does not tell them, or we may not read them. */
struct vim_machine {
    char *moref;
    int64_t cpu_count, cpu_mhz, cpu_used_mhz; /* cpu_mhz: the most that it may use on its host; -1 while it is off */
    int64_t memory_mib, memory_used_mib;      /* used: as the guest uses it */
    int64_t disk_bytes, disk_used_bytes;      /* disk_bytes: the size that its files may grow to */
    char *datastores[VIM_MACHINE_DATASTORES_MAX];
    size_t datastore_count;
};
struct vim_machine_list {
    struct vim_machine *items;
    size_t count;
};
void vim_machine_list_done(struct vim_machine_list *list); /* NULL is allowed */

/* Reads machines by their managed object ids. Each call to vCenter may take KAAS_VIM_LOOK_TIMEOUT_MS at most, since a page can do without the numbers. Left
 * out are machines that are gone or of which we may read nothing, and names of datastores beyond VIM_MACHINE_DATASTORES_MAX. If vCenter refuses a whole call
 * because of one machine, the call is repeated without it, a few times; after that ERR_NOT_FOUND or ERR_UPSTREAM_DENIED. *out (uninitialised) is set on
 * success only. */
int vim_list_machines(struct vim_client *client, const char *const *morefs, size_t count, struct vim_machine_list *out,
                      struct err *err);
