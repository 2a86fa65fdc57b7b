/* The tables of clusters, for what is written beside the records. Layer 2 (store), for this folder's modules.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "db_table.h"

extern const struct db_table cluster_table, node_table, observation_table;
