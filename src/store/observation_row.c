/* Rows of node_observations. Layer 2 (store).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "observation_row.h"

typedef char *text_fn(const struct db_row *row, size_t column);

static void read_words(const struct db_row *row, size_t first, struct node_observation *out) {
    if (!vm_match_parse(db_row_text(row, first + 2), &out->match))
        out->match = VM_MATCH_MISMATCH;
    if (!vm_power_parse(db_row_text(row, first + 5), &out->power))
        out->power = VM_POWER_UNKNOWN;
    if (!vm_connection_parse(db_row_text(row, first + 6), &out->connection))
        out->connection = VM_CONNECTION_UNKNOWN;
    if (!host_connection_parse(db_row_text(row, first + 9), &out->host_connection))
        out->host_connection = HOST_CONNECTION_UNKNOWN;
}

static void read_row(const struct db_row *row, size_t first, text_fn *text, struct node_observation *out) {
    out->vcenter_id = text(row, first);
    out->bound_uuid = text(row, first + 1);
    out->vm_moref = text(row, first + 3);
    out->vm_name = text(row, first + 4);
    out->host_moref = text(row, first + 7);
    out->host_name = text(row, first + 8);
    out->cluster_moref = text(row, first + 10);
    out->instance_uuid = text(row, first + 11);
    out->bios_uuid = text(row, first + 12);
    out->observed_at_ms = db_row_number(row, first + 13);
    read_words(row, first, out);
}

void observation_row_read(const struct db_row *row, size_t first, struct node_observation *out) {
    read_row(row, first, db_row_dup, out);
}

void observation_row_lend(const struct db_row *row, size_t first, struct node_observation *out) {
    read_row(row, first, db_row_lend, out);
}
