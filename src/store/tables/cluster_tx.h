/* Tables that more than one of the stores reads and writes. Layer 2 (store), for this folder's modules.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "db_table.h"

extern const struct db_table vcenter_table, cluster_table, hx_cluster_table, hx_status_table, vsphere_cluster_table, node_table,
    observation_table;
