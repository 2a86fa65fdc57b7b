/* The pilot: what docs/admin/compatibility.md assumes of a vCenter and an HX cluster, held against real ones before anything is installed. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Needs no kaasd and no database, and changes nothing: each exchange passes pilot_guard.h, which sends no other than those that it lists. The sessions and
 * the token that it makes are ended before it returns. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "finding.h"
#include "http_client.h"

#define PILOT_WAIT_S 60U /* as long as kaasd has a vCenter wait for news (limits.h, KAAS_VIM_WATCH_WAIT_S) */
#define PILOT_TUNNEL_PORT 80U
#define PILOT_DIRECT_PORT 8089U

/* Somebody to be asked. All texts are borrowed. */
struct pilot_server {
    const char *address; /* NULL (of HX): nobody */
    unsigned port;
    struct http_trust trust; /* neither of the two: no further than a TLS handshake */
    const char *user, *password;
};

struct pilot_options {
    struct pilot_server vcenter, hx;
    unsigned tunnel_port, direct_port; /* 0: not looked at */
    unsigned wait_s;                   /* for how long the vCenter is to hold a call that waits for news */
    const char *record_folder;         /* where the recording goes; NULL: nowhere */
};

/* Asks all that can be asked. `out` gets a finding for each probe, in the order of probes.def: `step` is its id, FINDING_OK that the assumption holds,
 * FINDING_FAILED that it does not, FINDING_SKIPPED that it could not be asked. What is wrong out there is no error of this call. A last
 * one, "recording", tells of the recording, if one was wanted. Needs
 * http_client_global_init. Blocks for minutes at most. ERR_NOMEM; ERR_EXISTS and ERR_IO: the folder of
 * the recording cannot be used, nothing was asked. */
int pilot_run(const struct pilot_options *options, struct findings *out, struct err *err);

/* For a handler of signals: the call that is out ends as it does (it may be the one that waits for news), no further probe is made, and all sessions are ended. */
void pilot_stop(void);
/* Has it been called? */
bool pilot_is_stopped(void);

/* How the row of docs/admin/compatibility.md begins that this probe is about; "": none has it. Static. */
const char *pilot_row(const char *probe);
