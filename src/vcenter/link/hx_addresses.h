/* Where an HX cluster may be, by what its vCenter tells. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The addresses come from the extension record and from what a machine's guest reports. Others can write both, so these are candidates: whoever connects to
 * one must know its certificate. Controller machines and their port group are found by the names that public clients of HX use (a Go command line for
 * vSphere and HX). That the record's address is that of HX Connect is documented nowhere. */
#pragma once

#include "err.h"
#include "hx_connection.h"
#include "platform.h"

struct link;

/* Asks the vCenter for the addresses of an HX cluster; those of the extension record come first. *out (uninitialised) is set on success only, given back by
 * hx_addresses_done. Blocks: in the worker pool `outside`. Errors of vim.h. */
int hx_addresses_list(struct link *link, const struct hx_cluster *hx, struct hx_addresses *out, struct err *err);
