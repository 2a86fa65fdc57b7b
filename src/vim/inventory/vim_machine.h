/* What virtual machines have, and what they use now. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Read when somebody asks, not watched: the numbers of a machine that runs change every 20 seconds (VirtualMachineQuickStats). General errors: vim.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct vim_client;

#define VIM_MACHINE_DATASTORES_MAX 16

/* -1: vCenter does not tell, or we may not read this of it. */
struct vim_machine {
    char *moref;
    int64_t cpu_count, cpu_mhz, cpu_used_mhz; /* cpu_mhz: as much as it may use on its host; not told while it is off */
    int64_t memory_mib, memory_used_mib;      /* used: as the guest uses it */
    int64_t disk_bytes, disk_used_bytes;      /* disk_bytes: as much as its files may grow to */
    char *datastores[VIM_MACHINE_DATASTORES_MAX];
    size_t datastore_count;
};
struct vim_machine_list {
    struct vim_machine *items;
    size_t count;
};
void vim_machine_list_done(struct vim_machine_list *list); /* NULL is allowed */

/* Reads machines by their managed object ids. Each question to vCenter may take KAAS_VIM_LOOK_TIMEOUT_MS: the numbers only adorn a page. Left out are those that are gone, those of which we may read nothing, and names of datastores beyond
 * VIM_MACHINE_DATASTORES_MAX. Where vCenter refuses a whole question for the sake of one machine, it is asked again without that one, a few times:
 * ERR_NOT_FOUND, ERR_UPSTREAM_DENIED after that. *out (uninitialised) is set on success only. */
int vim_list_machines(struct vim_client *client, const char *const *morefs, size_t count, struct vim_machine_list *out,
                      struct err *err);
