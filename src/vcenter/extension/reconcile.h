/* Registration as a reconciled state: our record at a vCenter is compared with the wanted one and repaired. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plugged in as LINK_WORK_RECONCILE (remote_work.h): runs at each first contact, from time to time, when the watch sees our record changed or gone, when
 * the server certificate was replaced. All replicas compare; the one with the lease (link_task.h) repairs. Nothing is written when
 * nothing differs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "extension_record.h"
#include "link.h"

struct reconcile_result {
    struct record_note note; /* how things stand now; the link keeps a copy (link_report) */
    bool was_repaired;       /* this run wrote to the record: note.repaired names the members */
    bool has_news;           /* state or problem differs from the last run, or this run repaired: worth a log line */
};

/* Compares and repairs the record with the link's own session; blocks: in the link's worker pool. A record that may not or cannot be repaired is a result (0
 * with note.problem), not an error. ERR_NOT_REGISTERED (nothing to do; state is not touched), ERR_BUSY (a registration runs: ask again), errors of vim.h
 * (record unknown) and ERR_NOMEM. *out is filled but for errors before the record is looked up. */
int reconcile_run(struct link *link, struct reconcile_result *out, struct err *err);
