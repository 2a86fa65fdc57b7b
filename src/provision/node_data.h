/* What a machine is told by guestinfo at its first boot: metadata and user-data of cloud-init. Layer 5 (provision); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: cloud-init, "VMware" data source and "Network config version 2". The keys are guestinfo.metadata and guestinfo.userdata, each beside
 * guestinfo.metadata.encoding and guestinfo.userdata.encoding with the value NODE_DATA_ENCODING. */
#pragma once

#include "cleanup.h"
#include "err.h"
#include "node_plan.h"

#define NODE_DATA_ENCODING "gzip+base64"
#define NODE_DATA_BYTES_MAX (60U * 1024U) /* of each, packed: vSphere takes 64 KiB */

/* Values of guestinfo, packed: malloc'ed texts. User-data holds keys and the token, and is wiped when it is freed. */
struct node_data {
    char *metadata, *userdata;
};
void node_data_done(struct node_data *data); /* wipes; NULL and a zeroed struct are allowed */

/* Makes both of a plan, which is checked first (node_plan_check). *out, uninitialised, is given back by node_data_done. ERR_UNPROCESSABLE: the plan; ERR_TOO_LARGE, with
 * the size: more than NODE_DATA_BYTES_MAX; ERR_NOMEM. */
int node_data_make(const struct node_plan *plan, struct node_data *out, struct err *err);

/* The same as they are before packing, for tests and eyes: "#cloud-config" and JSON. Secret. */
int node_data_make_plain(const struct node_plan *plan, struct node_data *out, struct err *err);
