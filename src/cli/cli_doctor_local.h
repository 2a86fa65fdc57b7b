/* What kaasctl doctor can see from here: this host, kaasd on it, an address. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Findings are JSON objects as those of POST /v2/vcenters/{id}/doctor; they are appended to `findings`. */
#pragma once

#include "cli.h"
#include "json.h"

/* Configuration, database, clock, kaasd and its certificate, each vCenter in short. A step that fails does not end it. With --server only what
 * kaasd tells. */
void doctor_local_examine(struct cli *cli, json_t *findings);

/* Name, port and certificate of an address: nothing but a TLS handshake is sent. */
void doctor_local_look_at(json_t *findings, const char *host, unsigned port);
