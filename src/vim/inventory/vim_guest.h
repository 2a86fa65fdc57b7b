/* What the guests of virtual machines report of their network. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * VMware Tools in the guest report these addresses, so the owner of a machine can make it report anything. General errors: vim.h. */
#pragma once

#include <stddef.h>

#include "err.h"

struct vim_client;

#define VIM_GUEST_ADDRESSES_MAX 64

struct vim_guest_query {
    const char *cluster;     /* managed object id of a vSphere cluster: the machines on its hosts */
    const char *name_prefix; /* machines whose name begins with it, in this letter case */
    const char *network;     /* adapters on the port group of this name */
};
struct vim_guest_addresses {
    char *items[VIM_GUEST_ADDRESSES_MAX]; /* numeric, as reported; each once */
    size_t count;
};
void vim_guest_addresses_done(struct vim_guest_addresses *addresses); /* NULL is allowed */

/* Lists the addresses of the machines and adapters that the query chooses, VIM_GUEST_ADDRESSES_MAX at most. Machines that are off or without Tools report
 * none. *out (uninitialised) is set on success only. ERR_NOT_FOUND: there is no such cluster. */
int vim_list_guest_addresses(struct vim_client *client, const struct vim_guest_query *query, struct vim_guest_addresses *out,
                             struct err *err);
