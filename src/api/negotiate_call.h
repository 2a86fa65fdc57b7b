/* A call that proves by Kerberos who sends it. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"
#include "kerberos.h"

/* In the handler, in the server thread: finds the token, in header or body, and what the connection has kept of the token before. ERR_UNAUTHENTICATED when there is
 * none, which is how a client asks for the scheme; ERR_NOT_FOUND without Kerberos; ERR_INVALID; as api_read_members. */
int negotiate_call_read(struct api_call *call, struct err *err);

/* In a lane: accepts the token, and writes log and audit trail if it is refused. Errors of kerberos_accept; ERR_UNAUTHENTICATED when another token has to follow. *peer
 * (uninitialised) is freed by kerberos_peer_done in any case. */
int negotiate_call_accept(struct api_call *call, struct kerberos_peer *peer, struct err *err);

/* The reason of a refusal that comes after the token was accepted, for log and audit trail. */
void negotiate_call_refuse(struct api_call *call, struct kerberos_peer *peer, const char *reason, int rc);

/* The same where the audit trail has its line already. */
void negotiate_call_tell(struct api_call *call, struct kerberos_peer *peer, const char *reason);

void negotiate_call_headers(const struct api_call *call, struct http_response *resp); /* what the scheme has to say */
void negotiate_call_done(struct api_call *call);
