/* Publishes the URL of KaaS to HX clusters, so that HX Connect can show its panel (docs/hx-publish.md). Layer 5 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Publishing is a part of reading an HX cluster: under the same lease, with the same client and token, after a reading that went well. So nothing is
 * published to an HX cluster that nobody has vouched for or that turned out to be another one, and it costs no login. It is repeated each day and when
 * certificate, address or version change; it is withdrawn on request, when the connection is removed, and when the vCenter is no longer registered. To an HX
 * cluster with a peer and without a connection it goes by the peer's sign-in, under the peer's trust. */
#pragma once

#include "err.h"
#include "hx_connection.h"
#include "hyperflex.h"
#include "uuid.h"

#define PUBLISH_HOLD_MS (3 * CLOCK_DAY_MS)        /* HX drops a publication after that */
#define PUBLISH_RENEW_MS CLOCK_DAY_MS             /* also how often an HX without this API call is tried again */
#define PUBLISH_NONCE_MS (5 * 60 * INT64_C(1000)) /* how long hyperflex_prove knows a request */
#define PUBLISH_RETRY_MS (60 * INT64_C(1000))     /* until the next try, after the first failure; doubles */
#define PUBLISH_RETRY_MAX_MS (60 * 60 * INT64_C(1000))
#define PUBLISH_NONCE_CHARS 32U /* 128 bits */

/* All of them block (database). */

/* Loads the publication to an HX cluster; if there never was one, its state is `unknown`, with times of 0 and version_no 0. *out is freed by
 * hx_publication_free. */
int hyperflex_load_publication(struct hyperflex *h, const char *hx_id, struct hx_publication **out, struct err *err);
/* Publishes now (is_wanted), or withdraws until it is wanted again, and stores the result; *out, freed by hx_publication_free, has it. Waits for HX: in the
 * worker pool `outside`. ERR_NOT_FOUND: there is no such HX cluster, or it is wanted and there is neither connection nor peer; ERR_CONFLICT: there is nothing
 * to publish, as its vCenter is not registered or server.public_url is not set; ERR_BUSY while another replica visits it, which publishes then. */
int hyperflex_publish(struct hyperflex *h, const struct actor *actor, const char *hx_id, bool is_wanted,
                      struct hx_publication **out, struct err *err);

/* Withdraws, tried once, what was published by the peer of this HX cluster; call it before the peer is removed. Waits for HX: in the worker pool `outside`.
 * ERR_BUSY while another replica asks it: try again, for nobody else would withdraw it; errors of the store. */
int hyperflex_leave_peer(struct hyperflex *h, const char *hx_id, struct err *err);

/* Proof for HX that a publication came from us: our installation, and the SHA-256 of the request's body in hexadecimal digits. ERR_NOT_FOUND: no request with
 * this nonce in the last PUBLISH_NONCE_MS. */
struct hyperflex_proof {
    char instance_id[UUID_TEXT_BYTES];
    char sha256[HX_DIGEST_BYTES];
};
int hyperflex_prove(struct hyperflex *h, const char *nonce, struct hyperflex_proof *out, struct err *err);
