/* Guests as vCenter tells of them. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "vim_guest_state.h"
#include "vim_soap.h"

#define VIM_GUEST_PATHS "runtime.powerState", "guest.toolsRunningStatus", "guest.net", "config.extraConfig"

/* Takes a changed property over; others are passed over. `val` as in PropertyChange, NULL: unset. */
void vim_guest_state_take(struct vim_guest_state *state, const char *path, int type, const void *val);
