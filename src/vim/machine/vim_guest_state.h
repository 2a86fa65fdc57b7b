/* What a virtual machine and its guest say of themselves while it is being set up. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The guest writes phase, error and addresses: whoever rules it can write anything there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "vim_task.h"

#define VIM_GUEST_STATE_ADDRESSES_MAX 32
#define VIM_GUEST_PHASE_BYTES 65
#define VIM_GUEST_ERROR_BYTES 400

/* All-zero: nothing was told yet. Nothing to free. Texts are one line each, cut where they do not fit. */
struct vim_guest_state {
    char moref[VIM_MOREF_BYTES];
    bool is_told, is_gone;
    bool is_on;
    bool has_tools; /* VMware Tools run in the guest */
    char addresses[VIM_GUEST_STATE_ADDRESSES_MAX][46];
    size_t address_count;
    /* Of extraConfig. Keys: guestinfo.userdata, .metadata, .kaas.phase, .kaas.error. */
    bool has_userdata, has_metadata;
    char phase[VIM_GUEST_PHASE_BYTES], error[VIM_GUEST_ERROR_BYTES];
};

/* Does the guest report this address, spelled so? */
bool vim_guest_state_has_address(const struct vim_guest_state *state, const char *address);
