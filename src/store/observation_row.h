/* Rows of node_observations, for the modules of this folder. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "db_stmt.h"
#include "observation.h"

/* The columns that observation_row_read reads, in its order; `o` is the table. */
#define OBSERVATION_COLUMNS                                                                                                  \
    "o.vcenter_id, o.bound_uuid, o.vm_match, o.vm_moref, o.vm_name, o.vm_power, o.vm_connection, o.host_moref, o.host_name," \
    " o.host_connection, o.cluster_moref, o.instance_uuid, o.bios_uuid, o.observed_at_ms"
#define OBSERVATION_KINDS "ttttttttttttti"
#define OBSERVATION_COLUMNS_COUNT 14

/* Reads the columns from `first` on into a zeroed struct, except node_id. Words that only a newer version knows become "unknown", and a
 * match a mismatch: what we cannot judge is not taken for the node's own. Failures are kept in the row (db_row_dup). */
void observation_row_read(const struct db_row *row, size_t first, struct node_observation *out);

/* The same with borrowed texts (db_row_lend). */
void observation_row_lend(const struct db_row *row, size_t first, struct node_observation *out);
