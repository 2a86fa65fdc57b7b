/* A certificate authority of our own: its making, the certificates that it issues, key pairs without one. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys of certificates are EC P-256. A private key is a text in PEM (PKCS #8) here, and OpenSSL wipes its own copies.
 * What is made begins X509_CLOCK_SLACK_S before it is made: the clock of a peer may be a little behind. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digest.h"
#include "err.h"

#define PKI_CA_DAYS 3650             /* life of a CA */
#define PKI_HASH_TEXT_BYTES (7 + 65) /* "sha256:" and hexadecimal digits, with NUL */

/* A certificate and its private key, both PEM. All zero: none. */
struct pki_pair {
    char *cert_pem, *key_pem; /* malloc'ed; key_pem is wiped when it is freed */
};
void pki_pair_done(struct pki_pair *pair); /* wipes the key; NULL and a zeroed struct are allowed */

/* Makes a CA whose subject is this common name: self-signed, for PKI_CA_DAYS, allowed to sign end certificates only (path length 0). *out, uninitialised, is given
 * back by pki_pair_done. ERR_NOMEM, ERR_INTERNAL. */
int pki_make_ca(const char *common_name, struct pki_pair *out, struct err *err);

/* What a certificate is to say. Borrowed. */
struct pki_request {
    const char *common_name;
    const char *const *organizations; /* each an O of the subject, ended by NULL; NULL: none. Kubernetes takes them for groups */
    const char *const *san;           /* "DNS:host" and "IP:address", ended by NULL; NULL: none */
    bool is_server, is_client;        /* what it may be used for: at least one of the two */
    int64_t ttl_s;                    /* its life from now on; cut at the end of the CA */
};
/* Issues a certificate with a new key. *out as above; *not_after_ms (NULL: nobody asks) gets its end, wall clock. ERR_UNPROCESSABLE: a name that no certificate holds,
 * the CA's certificate or key cannot be read or do not belong together, or the CA has ended; ERR_NOMEM, ERR_INTERNAL. */
int pki_issue(const struct pki_pair *ca, const struct pki_request *request, struct pki_pair *out, int64_t *not_after_ms,
              struct err *err);

/* Makes an RSA-2048 key pair without certificate. *key_pem is freed by secret_free, *public_pem ("BEGIN PUBLIC KEY") by free. ERR_NOMEM, ERR_INTERNAL. */
int pki_make_rsa(char **key_pem, char **public_pem, struct err *err);

/* SHA-256 over the public key of a certificate in its binary form (SubjectPublicKeyInfo, RFC 5280), as kubeadm's discovery wants it. ERR_UNPROCESSABLE: no certificate. */
int pki_hash_key(const char *cert_pem, uint8_t out[DIGEST_SHA256_BYTES], struct err *err);
