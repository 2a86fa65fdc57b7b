/* API versions: the ones we know, and the choice among those a server offers. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "err.h"

#define VIM_VERSION_BYTES 16

/* Picks the newest version that we know out of a vimServiceVersions.xml. ERR_PROTOCOL (not that file), ERR_UPSTREAM (nothing we know). */
int vim_version_choose(const char *xml, size_t n, char out[VIM_VERSION_BYTES], struct err *err);
