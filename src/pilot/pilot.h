/* The pilot: checks what docs/admin/compatibility.md assumes of a vCenter and an HX cluster on real ones, before anything is installed. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Needs no kaasd and no database, and changes nothing: each exchange passes pilot_guard.h, which sends only those that it lists. The pilot ends the
 * sessions and the token that it makes before it returns. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "finding.h"
#include "http_client.h"

#define PILOT_WAIT_S 60U /* as long as kaasd has a vCenter wait for news (limits.h, KAAS_VIM_WATCH_WAIT_S) */
#define PILOT_TUNNEL_PORT 80U
#define PILOT_DIRECT_PORT 8089U

/* A server to be asked. All texts are borrowed. */
struct pilot_server {
    const char *address; /* of HX also NULL: no HX cluster is asked */
    unsigned port;
    struct http_trust trust; /* without CA and SHA-256 nothing is sent after the TLS handshake */
    const char *user, *password;
};

struct pilot_options {
    struct pilot_server vcenter, hx;
    unsigned tunnel_port, direct_port; /* 0: not probed */
    unsigned wait_s;                   /* how long the vCenter should hold a call that waits for changes */
    const char *record_folder;         /* where the recording goes; NULL: nowhere */
};

/* Makes all probes that can be made. `out` gets a finding for each, in the order of probes.def: `step` is its id; FINDING_OK: the assumption holds;
 * FINDING_FAILED: it does not; FINDING_SKIPPED: it could not be probed. A failed probe is no error of this call. A last finding, "recording", tells of the
 * recording, if one was wanted. Needs http_client_global_init. Blocks for minutes at most. ERR_NOMEM; ERR_EXISTS and ERR_IO: the folder of the recording
 * cannot be used, and no probe was made. */
int pilot_run(const struct pilot_options *options, struct findings *out, struct err *err);

/* For a signal handler: the call under way goes on to its end (it may be the one that waits for changes), no further probe is made, and all sessions are
 * ended. */
void pilot_stop(void);
/* True if pilot_stop has been called. */
bool pilot_is_stopped(void);

/* The beginning of the row of docs/admin/compatibility.md that this probe checks; "": none. Static. */
const char *pilot_row(const char *probe);
