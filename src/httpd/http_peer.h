/* Who is at the other end of a TLS connection, as its client certificate says. Layer 2 (httpd). Part of http_request.h.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct http_request;

/* What becomes of the certificate's chain under the CAs of the server's options. */
enum http_peer_chain {
    HTTP_CHAIN_NO_CA,     /* no CA is configured */
    HTTP_CHAIN_UNTRUSTED, /* issued by another one, not valid at this time, or not meant for clients */
    HTTP_CHAIN_REVOKED,   /* revoked, or the revocation list is out of date */
    HTTP_CHAIN_GOOD,
};

#define HTTP_PEER_SUBJECT_BYTES 512

/* The client's own certificate. TLS has proved that the client holds its key; nothing else is promised here. */
struct http_peer {
    char sha256[65];                       /* of the DER form, lower-case hex */
    char subject[HTTP_PEER_SUBJECT_BYTES]; /* RFC 4514, most specific part first; "" if it is longer */
    int64_t not_before_ms, not_after_ms;   /* wall clock */
    enum http_peer_chain chain;
};

/* Fills *out; false if the client showed no certificate, or was not asked for one. Costs some 0.1 ms where a CA is configured. In server threads only,
 * before the request goes slow. */
bool http_request_peer(const struct http_request *req, struct http_peer *out);
