/* Certificates: making our own, reading others', looking at a server's. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "err.h"

struct net_policy;

#define X509_SHA256_BYTES 32
#define X509_THUMBPRINT_TEXT_BYTES 96 /* "AB:CD:..." of SHA-256 with NUL */
#define X509_KEY_BITS 3072            /* of keys that we make, unless told otherwise */
#define X509_EXPIRY_WARNING_DAYS 30   /* before a certificate ends people are told */
#define X509_EXPIRY_WARNING_MS (X509_EXPIRY_WARNING_DAYS * CLOCK_DAY_MS)
#define X509_PROBE_KEY_BITS 2048 /* of a key for a test only, that nobody trusts: made several times faster */

/* What a person needs to see to decide whether to trust a certificate. Texts are malloc'ed, never NULL. */
struct x509_info {
    char *subject, *issuer;              /* RFC 2253 one-line forms */
    char *san;                           /* "DNS:a, IP:b", may be "" */
    char *pem;                           /* leaf, 64-column PEM with LF */
    int64_t not_before_ms, not_after_ms; /* wall clock */
    uint8_t sha256[X509_SHA256_BYTES];   /* over the DER form */
};

/* Frees the texts and zeroes the struct. NULL is allowed. */
void x509_info_done(struct x509_info *info);

/* Colon-separated upper-case pairs; `out` needs X509_THUMBPRINT_TEXT_BYTES. */
void x509_thumbprint_text(const uint8_t sha256[X509_SHA256_BYTES], char *out);

/* Opens a PEM text as people have it. OpenSSL reads no block that is indented or has blank lines in it, and misses the first block behind a byte order
 * mark: so indents, blank lines and the mark are left out here, and private keys where certificates are wanted. *has_key (may be NULL) tells whether
 * there was a private key. Freed by BIO_free_all, which wipes keys. NULL without memory. */
enum x509_pem { X509_PEM_CERTIFICATES, X509_PEM_KEYS };
BIO *x509_open_pem(const char *pem, enum x509_pem wanted, bool *has_key);

/* Reads the first certificate of a PEM text. ERR_UNPROCESSABLE if there is none. */
int x509_parse_pem(const char *pem, struct x509_info *out, struct err *err);

/* All certificates of a PEM text in their order, as PEM of 64 columns with LF and nothing else. The caller frees *out. ERR_UNPROCESSABLE: none, one that cannot
 * be read, more than X509_BUNDLE_MAX; ERR_NOMEM. */
#define X509_BUNDLE_MAX 64
int x509_bundle(const char *pem, char **out, struct err *err);

/* Whether a private key belongs to the first certificate of a PEM text. ERR_UNPROCESSABLE with a remedy: no certificate, no key that can be read, one with a
 * passphrase, the key of another certificate; ERR_NOMEM. */
int x509_check_key(const char *cert_pem, const char *key_pem, struct err *err);

/* True if a certificate of a PEM text is among those that this system trusts for all servers (OpenSSL's default store; SSL_CERT_FILE, SSL_CERT_DIR). */
bool x509_is_in_system_store(const char *pem);

/* Describes a certificate of OpenSSL. ERR_UNPROCESSABLE. */
int x509_describe(X509 *cert, struct x509_info *out, struct err *err);

/* Reads a certificate in its binary form. ERR_UNPROCESSABLE. */
int x509_parse_der(const void *der, size_t n, struct x509_info *out, struct err *err);

/* Connects, completes a TLS handshake without sending any application data, and describes the server's leaf certificate.
 * Nothing is trusted. `networks`: where it may connect to (NULL: anywhere); elsewhere ERR_UNREACHABLE. `timeout_ms` bounds the whole call.
 * ERR_UNREACHABLE, ERR_TIMEOUT, ERR_TLS. */
int x509_lookup_server(const char *host, unsigned port, const struct net_policy *networks, long timeout_ms, struct x509_info *out,
                       struct err *err);

/* The same through an HTTP proxy: CONNECT `target` ("name:port") there, then a TLS handshake inside. *connect_status gets the HTTP status of
 * the proxy's answer, 0 if there was none. ERR_UNREACHABLE also for a refused CONNECT. */
struct x509_tunnel {
    const char *host; /* of the proxy */
    unsigned port;
    const char *target;
    const struct net_policy *networks; /* as above */
};
int x509_lookup_tunnel(const struct x509_tunnel *tunnel, long timeout_ms, struct x509_info *out, long *connect_status,
                       struct err *err);

struct x509_request {
    const char *common_name;
    const char *organization; /* NULL: none */
    const char *const *san;   /* "DNS:host" / "IP:addr" entries ended by NULL; NULL: none */
    int valid_days;
    int key_bits;  /* 0: X509_KEY_BITS */
    int is_server; /* extended key usage: server, else client */
};

/* Makes a self-signed certificate with a new key: RSA, since vCenter's support for EC client keys is not documented. Gives PEM texts; the caller frees
 * *cert_pem by free and *key_pem by secret_free. ERR_NOMEM, ERR_INTERNAL. */
int x509_make_self_signed(const struct x509_request *request, char **cert_pem, char **key_pem, struct err *err);

/* -- what a client binds itself to when it speaks to a TLS server -------------------------------------------------- */

/* Writes the TLS channel binding of a server with this certificate, the first of a PEM text: "tls-server-end-point:" and the digest of the certificate by the
 * hash of its signature, SHA-256 in place of MD5 and SHA-1 (RFC 5929 section 4.1). Writes at most `max` bytes, 85 are enough. ERR_UNPROCESSABLE if there is
 * no certificate, or its signature names no digest. */
int x509_end_point_binding(const char *pem, uint8_t *out, size_t max, size_t *n, struct err *err);
/* The same for a certificate of OpenSSL. */
int x509_end_point_of(X509 *cert, uint8_t *out, size_t max, size_t *n, struct err *err);

/* OpenSSL's callback for a passphrase: refuses keys that have one. */
int x509_no_passphrase(char *out, int bytes, int is_writing, void *arg);
