/* TLS: certificates, handshakes, sending, receiving. Layer 2 (httpd), private. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct http_conn;
struct http_request;
struct httpd;

/* httpd_tls.c */
int httpd_tls_load(struct httpd *httpd, const char *cert_pem, const char *key_pem, struct err *err);
void httpd_tls_done(struct httpd *httpd);
int httpd_tls_check_priority(const char *priority, struct err *err);
extern gnutls_certificate_retrieve_function2 *const httpd_tls_retrieve;

/* httpd_peer.c */
struct peer_trust {
    gnutls_x509_trust_list_t cas; /* whose client certificates are good, with revocation lists; NULL: none */
    int64_t crl_until_ms;         /* wall clock; when the first of the lists is out of date */
};
struct httpd_peers {
    pthread_rwlock_t lock;
    struct peer_trust trust;
};
void httpd_peer_init(struct httpd_peers *peers);
void httpd_peer_ask(const struct http_conn *conn, gnutls_session_t session); /* before the handshake */
void httpd_peer_done(struct httpd_peers *peers);

/* httpd_handshake.c */
void httpd_handshake_begin(struct http_conn *conn);
void httpd_handshake_ready(struct http_conn *conn);   /* in the sweeper: the client has sent something */
void httpd_handshake_resume_all(struct httpd *httpd); /* after the sweeper has ended */
