/* The BIOS UUID of the machine that we run on. Layer 7 (daemon). SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "uuid.h"

/* Writes the UUID in lower case, in the byte order of this guest; "" if it is not known. The kernel shows it to root only: the systemd unit leaves a copy for
 * the service's user in its runtime folder ($RUNTIME_DIRECTORY). */
void machine_uuid_read(char out[UUID_TEXT_BYTES]);
