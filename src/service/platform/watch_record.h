/* Has our extension record changed? Layer 4 (service/platform); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "vim_extension.h"

/* A number that changes when a member of the record does; the time of the last heartbeat is left out. For comparing in memory only. */
uint64_t watch_record_digest(const struct vim_extension *record);
