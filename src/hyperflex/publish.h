/* Tells HX clusters where KaaS is, so that HX Connect can show its panel (docs/hx-publish.md). Layer 4 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It is a part of reading an HX cluster: under the same lease, with the same client and token, behind a reading that went well. So nothing is said to an
 * HX cluster that nobody vouches for or that is another one than was known, and no login is made for it. Told again each day and when certificate, address or
 * version change; withdrawn when somebody says so, when the connection goes, and when its vCenter is not registered any more.
 * An HX cluster with a peer and without a connection is told by the peer's sign-in instead, under the peer's trust. */
#pragma once

#include "err.h"
#include "hx_connection.h"
#include "hyperflex.h"
#include "uuid.h"

#define PUBLISH_HOLD_MS (3 * CLOCK_DAY_MS)        /* HX forgets it then by itself */
#define PUBLISH_RENEW_MS CLOCK_DAY_MS             /* also how often an HX without that call is asked again */
#define PUBLISH_NONCE_MS (5 * 60 * INT64_C(1000)) /* how long we answer for a request */
#define PUBLISH_RETRY_MS (60 * INT64_C(1000))     /* after the first failure; doubles */
#define PUBLISH_RETRY_MAX_MS (60 * 60 * INT64_C(1000))
#define PUBLISH_NONCE_CHARS 32U /* 128 bits */

/* All of them block (database). */

/* How it stands; one that never was is `unknown`, with times of 0 and version_no 0. *out is freed by hx_publication_free. */
int hyperflex_load_publication(struct hyperflex *h, const char *hx_id, struct hx_publication **out, struct err *err);
/* Publishes now, or withdraws and leaves it so; *out, freed by hx_publication_free, says what came of it, which is stored. Waits for HX: in the worker `outside`.
 * ERR_NOT_FOUND: there is no such HX cluster, or to publish, kaasd is not connected to it; ERR_CONFLICT: there is nothing to publish, as its vCenter is not
 * registered or server.public_url is not set; ERR_BUSY while another replica asks it, which does it then. */
int hyperflex_publish(struct hyperflex *h, const struct actor *actor, const char *hx_id, bool is_wanted,
                      struct hx_publication **out, struct err *err);

/* The peer of this HX cluster is about to go: withdraws, once, what it was told by it. Waits for HX: in the worker `outside`. */
void hyperflex_leave_peer(struct hyperflex *h, const char *hx_id);

/* Proves to HX that a request is ours: who we are, and the SHA-256 of the request's body, as hexadecimal digits. ERR_NOT_FOUND: not of the last
 * PUBLISH_NONCE_MS, or not of ours. */
struct hyperflex_proof {
    char instance_id[UUID_TEXT_BYTES];
    char sha256[HX_DIGEST_BYTES];
};
int hyperflex_prove(struct hyperflex *h, const char *nonce, struct hyperflex_proof *out, struct err *err);
