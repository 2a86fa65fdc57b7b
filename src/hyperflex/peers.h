/* Peers: controllers of HX clusters that kaasd signs in to by its own Kerberos account. Layer 5 (hyperflex). Programs that sign in to kaasd are accounts.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "platform.h"
#include "principal.h"

struct hyperflex;
struct strbuf;

/* The functions below block (database). */

/* *out is given back by hx_peer_list_done. */
int peers_list(struct hyperflex *h, struct hx_peer_list *out, struct err *err);
/* *out is freed by hx_peer_free. ERR_NOT_FOUND. */
int peers_load(struct hyperflex *h, const char *hx_id, struct hx_peer **out, struct err *err);
/* Stores a peer: version_no 0 makes a new one. kaasd soon tries to sign in to it. ERR_UNPROCESSABLE; errors of peer_store_put. */
int peers_put(struct hyperflex *h, const struct actor *actor, struct hx_peer *wish, struct err *err);
/* Removes a peer; `version_no` 0: whatever it is now. ERR_NOT_FOUND, ERR_PRECONDITION. */
int peers_remove(struct hyperflex *h, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err);

/* Signs in to the peer now and stores the result; *out, freed by hx_peer_free, has it: a failed sign-in is a result, not an error. Waits for KDC and peer: in
 * the worker pool `outside`, and for whoever asks the HX cluster. ERR_NOT_FOUND; ERR_BUSY while another replica asks it. */
int peers_test(struct hyperflex *h, const struct actor *actor, const char *hx_id, struct hx_peer **out, struct err *err);
