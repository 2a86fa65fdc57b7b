/* TLS of outgoing connections: whom to trust, our client certificate, what was seen. Inside src/port only. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <curl/curl.h>
#include <openssl/x509.h>
#include <stdbool.h>

#include "digest.h"
#include "err.h"
#include "http_client.h"

/* All parsed at the start, so that a bad PEM text is told before anything is sent. */
struct http_tls {
    X509_STORE *store; /* with a CA: exactly the given certificates, never the system's */
    bool has_pin;
    uint8_t pin[DIGEST_SHA256_BYTES];
    char *verify_host; /* name that replaces the URL's; NULL: none */
    X509 *cert;        /* client certificate, key and further certificates of its chain; NULL: none */
    EVP_PKEY *key;
    STACK_OF(X509) * chain;
    char *host; /* name to check in the exchange under way */
    /* outcome of the newest handshake, set by the verify callback */
    bool was_refused;
    int verify_error; /* X509_V_ERR_* */
    bool has_seen;
    uint8_t seen[DIGEST_SHA256_BYTES]; /* of the leaf */
    X509 *leaf; /* of the newest handshake, also while its connection is used again; NULL: there was none */
};

/* Reads trust and client certificate. ERR_CONFIG (bad PEM, key does not belong to the certificate), ERR_NOMEM. */
int http_tls_init(struct http_tls *tls, const struct http_client_options *options, struct err *err);
void http_tls_done(struct http_tls *tls);

/* Forgets the last outcome and takes the name to check from the URL. ERR_CONFIG for a bad URL, ERR_NOMEM. */
int http_tls_begin(struct http_tls *tls, const char *url, struct err *err);

/* CURLOPT_SSL_CTX_FUNCTION; the argument is a struct http_tls. */
CURLcode http_tls_setup(CURL *curl, void *ssl_ctx, void *arg);

/* Describes the refusal that the last handshake ended with. Returns ERR_TLS. */
int http_tls_error(const struct http_tls *tls, struct err *err);
