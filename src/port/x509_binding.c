/* Channel bindings of TLS. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "x509_binding.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "cleanup.h"

CLEANUP_DEFINE(X509, X509_free);
CLEANUP_DEFINE(BIO, BIO_free_all);

static const char prefix[] = "tls-server-end-point:";

/* Ed25519 and the like name none: RFC 5929 leaves those open, and what others do is SHA-256, SHA-512 or nothing. */
static const EVP_MD *digest_of(const X509 *cert) {
    int digest = NID_undef;
    if (!X509_get_signature_info((X509 *)(uintptr_t)cert, &digest, NULL, NULL, NULL) || digest == NID_undef)
        return NULL;
    return digest == NID_md5 || digest == NID_sha1 ? EVP_sha256() : EVP_get_digestbynid(digest);
}

int x509_end_point_binding(const char *pem, uint8_t *out, size_t max, size_t *n, struct err *err) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new_mem_buf(pem, -1);
    _cleanup_(X509_free) X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    const EVP_MD *kind = cert ? digest_of(cert) : NULL;
    unsigned bytes = 0;
    ERR_clear_error();
    if (!kind)
        return err_set(err, ERR_UNPROCESSABLE, "%s",
                       cert ? "the certificate's signature names no digest to bind to" : "the text holds no PEM certificate");
    if (max < sizeof(prefix) - 1 + (size_t)EVP_MD_get_size(kind))
        return err_set(err, ERR_UNPROCESSABLE, "the digest of the certificate is too long");
    if (!X509_digest(cert, kind, out + sizeof(prefix) - 1, &bytes))
        return err_set(err, ERR_UNPROCESSABLE, "the certificate has no digest");
    memcpy(out, prefix, sizeof(prefix) - 1);
    *n = sizeof(prefix) - 1 + bytes;
    return 0;
}
