/* Where an HX cluster may be, by what its vCenter tells. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Others can write both: the extension record, and what a machine's guest reports. So these are candidates: whoever goes there must know the certificate.
 * The name of controller machines and of their port group: as public clients of HX find them (a Go command line for vSphere and HX). That the record's
 * address is that of HX Connect is told nowhere. */
#pragma once

#include "err.h"
#include "hx_connection.h"
#include "platform.h"

struct link;

/* Asks the vCenter; the addresses of the record come first. *out (uninitialised) is set on success only, given back by hx_addresses_done. Blocks: in the
 * worker `outside`. Errors of vim.h. */
int hx_addresses_list(struct link *link, const struct hx_cluster *hx, struct hx_addresses *out, struct err *err);
