/* A small TLS server on 127.0.0.1 inside the test, and the certificates for it. For unit tests of outgoing HTTP.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A certificate with its key, made at run time (EC P-256). */
struct test_cert {
    X509 *cert;
    EVP_PKEY *key;
    char *cert_pem, *key_pem;
    uint8_t sha256[32];
};

struct test_cert_request {
    const char *common_name;
    const char *san;                /* OpenSSL form "DNS:a,IP:127.0.0.1"; NULL: none */
    const struct test_cert *issuer; /* NULL: self-signed */
    const char *usage;              /* extended key usage, as "clientAuth"; NULL: any */
    bool is_ca;
    long not_before_s, not_after_s; /* relative to now; both 0: valid from an hour ago for a day */
};

void test_cert_make(const struct test_cert_request *request, struct test_cert *out);
void test_cert_done(struct test_cert *c);
/* A PEM text as people have it: what stands before it, and at the end of each line. Caller frees. */
char *test_pem_dress(const char *pem, const char *before, const char *line_end);

#define TLS_SERVER_CONNECTIONS_MAX 128

/* Paths: /hello /echo /whoami (client certificate) /silent /drip /flood /flood-headers /close (drops the connection after the answer)
 * /hang-up (drops it without an answer) /cut (announces more than it sends) /interim (100 before 200) /coded (gzip, unasked) /plain
 * (says that it is in no coding) /redirect /status/NNN /garbage. */
struct tls_server_options {
    const struct test_cert *cert; /* NULL: plain HTTP */
    bool is_proxy;                /* answers CONNECT first, then is the tunnel's end itself */
    int connect_status;           /* answer to CONNECT; 0: 200 */
    bool asks_client_cert;
    bool closes_at_once;   /* accepts, then closes */
    bool stays_silent;     /* accepts, then says nothing */
    const char *unix_path; /* listen there instead */
    /* The whole answer to a request, head and body; in the server's thread. One that is empty, or says "Connection: close", ends the connection.
     * NULL: the paths above. */
    const char *(*answer)(void *arg, const char *request);
    void *answer_arg;
    /* Speaks HTTP/2 (by ALPN): after a request it sends these frames, then waits for the client to leave. NULL: HTTP/1.1. */
    const uint8_t *frames;
    size_t frames_bytes;
    bool hangs_up; /* it does not wait */
};

struct tls_server;

struct tls_server *tls_server_start(const struct tls_server_options *options);
void tls_server_stop(struct tls_server *server);
unsigned tls_server_port(const struct tls_server *server);
unsigned tls_server_connections(struct tls_server *server); /* accepted so far */
unsigned tls_server_requests(struct tls_server *server);    /* requests read inside TLS (or plain) so far */
unsigned tls_server_handshakes(struct tls_server *server);  /* completed so far */
/* These wait up to a minute, then fail the test: until so many requests were read; until so many connections have come and gone. */
void tls_server_wait_requests(struct tls_server *server, unsigned count);
void tls_server_wait_ended(struct tls_server *server, unsigned count);
const char *tls_server_connect_text(struct tls_server *server); /* the newest CONNECT, whole */
const char *tls_server_sni(struct tls_server *server);          /* the newest name asked for, "" if none */
