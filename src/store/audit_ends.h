/* Both ends of the chain of a replica as the database has them. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit_mac.h"
#include "err.h"

struct db_conn;

struct audit_ends {
    uint64_t last_seq;         /* number of the last line, by the row of the replica */
    bool has_head, has_anchor; /* there is something */
    bool is_head_ok;           /* and it is signed by us */
    bool is_anchor_ok;
    struct audit_end head, anchor;
};

/* Reads and checks them. ERR_NOT_FOUND: no such replica. */
int audit_read_ends(struct db_conn *conn, unsigned replica_id, const uint8_t key[AUDIT_KEY_BYTES], struct audit_ends *out,
                    struct err *err);
