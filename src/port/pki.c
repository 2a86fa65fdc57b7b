/* A certificate authority of our own, over OpenSSL. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pki.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "clock.h"
#include "secret.h"
#include "str.h"
#include "x509.h"
#include "x509_parts.h"

#define RSA_BITS 2048
#define DAY_S 86400

void pki_pair_done(struct pki_pair *pair) {
    if (!pair)
        return;
    free(pair->cert_pem);
    secret_free(pair->key_pem);
    *pair = (struct pki_pair){0};
}

/* Puts both into PEM. */
static int pki_pair_write(X509 *cert, EVP_PKEY *key, struct pki_pair *out, struct err *err) {
    struct pki_pair pair = {.cert_pem = x509_cert_text(cert), .key_pem = x509_key_text(key)};
    if (!pair.cert_pem || !pair.key_pem) {
        pki_pair_done(&pair);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = pair;
    return 0;
}

static bool pki_add_name(X509_NAME *name, const char *field, const char *value) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const uint8_t *)value, -1, -1, 0) == 1;
}

static bool pki_set_life(X509 *cert, int64_t from_s, int64_t until_s) {
    return ASN1_TIME_set(X509_getm_notBefore(cert), from_s) && ASN1_TIME_set(X509_getm_notAfter(cert), until_s);
}

static bool pki_sign_ca(X509 *cert, EVP_PKEY *key, const char *common_name) {
    const int64_t now_s = clock_wall_s();
    X509_NAME *name = X509_get_subject_name(cert);
    return X509_set_version(cert, X509_VERSION_3) == 1 && x509_set_serial(cert) && pki_add_name(name, "CN", common_name) &&
           X509_set_issuer_name(cert, name) == 1 &&
           pki_set_life(cert, now_s - X509_CLOCK_SLACK_S, now_s + (int64_t)PKI_CA_DAYS * DAY_S) &&
           X509_set_pubkey(cert, key) == 1 &&
           x509_add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           x509_add_extension(cert, cert, NID_key_usage, "critical,digitalSignature,keyEncipherment,keyCertSign") &&
           x509_add_extension(cert, cert, NID_subject_key_identifier, "hash") && X509_sign(cert, key, EVP_sha256()) > 0;
}

int pki_make_ca(const char *common_name, struct pki_pair *out, struct err *err) {
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = EVP_EC_gen("P-256");
    _cleanup_(X509_free) X509 *cert = X509_new();
    const bool is_made = key && cert && pki_sign_ca(cert, key, common_name);
    ERR_clear_error();
    if (!is_made)
        return err_set(err, ERR_INTERNAL, "a certificate authority \"%s\" could not be made", common_name);
    return pki_pair_write(cert, key, out, err);
}

/* The subject; false for a name that is empty, too long or not UTF-8 (RFC 5280, upper bounds of 64 characters). */
static bool pki_set_subject(X509 *cert, const struct pki_request *request) {
    X509_NAME *name = X509_get_subject_name(cert);
    bool is_set = !str_empty(request->common_name);
    for (size_t i = 0; is_set && request->organizations && request->organizations[i]; i++)
        is_set = pki_add_name(name, "O", request->organizations[i]);
    return is_set && pki_add_name(name, "CN", request->common_name);
}

static bool pki_sign(X509 *cert, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key, const struct pki_request *request) {
    const char *use = !request->is_server ? "clientAuth" : request->is_client ? "serverAuth,clientAuth" : "serverAuth";
    return X509_set_version(cert, X509_VERSION_3) == 1 && x509_set_serial(cert) &&
           X509_set_issuer_name(cert, X509_get_subject_name(ca)) == 1 && X509_set_pubkey(cert, key) == 1 &&
           x509_add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           x509_add_extension(cert, ca, NID_key_usage, "critical,digitalSignature") &&
           x509_add_extension(cert, ca, NID_ext_key_usage, use) &&
           x509_add_extension(cert, ca, NID_authority_key_identifier, "keyid") && X509_sign(cert, ca_key, EVP_sha256()) > 0;
}

/* The life of a certificate within that of its CA. */
static void pki_find_life(X509 *ca, int64_t ttl_s, int64_t *from_s, int64_t *until_s) {
    struct tm begin = {0}, end = {0};
    const int64_t now_s = clock_wall_s();
    const bool is_dated =
        ASN1_TIME_to_tm(X509_get0_notBefore(ca), &begin) == 1 && ASN1_TIME_to_tm(X509_get0_notAfter(ca), &end) == 1;
    const int64_t ca_from_s = is_dated ? timegm(&begin) : 0, ca_until_s = is_dated ? timegm(&end) : 0;
    *from_s = now_s - X509_CLOCK_SLACK_S > ca_from_s ? now_s - X509_CLOCK_SLACK_S : ca_from_s;
    *until_s = now_s + ttl_s < ca_until_s ? now_s + ttl_s : ca_until_s;
}

static EVP_PKEY *pki_read_key(const char *pem) {
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(pem, X509_PEM_KEYS, NULL);
    return bio ? PEM_read_bio_PrivateKey(bio, NULL, x509_no_passphrase, NULL) : NULL;
}

static X509 *pki_read_cert(const char *pem) {
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(pem, X509_PEM_CERTIFICATES, NULL);
    return bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
}

int pki_issue(const struct pki_pair *ca, const struct pki_request *request, struct pki_pair *out, int64_t *not_after_ms,
              struct err *err) {
    _cleanup_(X509_free) X509 *ca_cert = pki_read_cert(ca->cert_pem), *cert = X509_new();
    _cleanup_(EVP_PKEY_free) EVP_PKEY *ca_key = pki_read_key(ca->key_pem), *key = EVP_EC_gen("P-256");
    const bool is_ca = ca_cert && ca_key && X509_check_private_key(ca_cert, ca_key) == 1 && X509_check_ca(ca_cert) == 1;
    int64_t from_s = 0, until_s = 0;
    ERR_clear_error();
    if (!is_ca)
        return err_set(err, ERR_UNPROCESSABLE, "the certificate authority cannot be read, or is none");
    if (!cert || !key)
        return err_set(err, ERR_NOMEM, "out of memory");
    pki_find_life(ca_cert, request->ttl_s, &from_s, &until_s);
    if (until_s <= clock_wall_s())
        return err_set(err, ERR_UNPROCESSABLE, "the certificate authority has ended, or the life of what it is to issue is none");
    const bool is_named = pki_set_subject(cert, request) && (!request->san || x509_add_san(cert, request->san));
    const bool is_made = is_named && pki_set_life(cert, from_s, until_s) && pki_sign(cert, key, ca_cert, ca_key, request);
    ERR_clear_error();
    if (!is_named)
        return err_set(err, ERR_UNPROCESSABLE,
                       "no certificate holds the name \"%.100s\", or a name beside it: 1 to 64 characters", request->common_name);
    if (!is_made)
        return err_set(err, ERR_INTERNAL, "a certificate for \"%s\" could not be made", request->common_name);
    int rc = pki_pair_write(cert, key, out, err);
    if (!rc && not_after_ms)
        *not_after_ms = until_s * 1000;
    return rc;
}

int pki_make_rsa(char **key_pem, char **public_pem, struct err *err) {
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = EVP_RSA_gen(RSA_BITS);
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
    _cleanup_secret_ char *key_text = key ? x509_key_text(key) : NULL;
    _cleanup_free_ char *public_text = key && bio && PEM_write_bio_PUBKEY(bio, key) == 1 ? x509_bio_text(bio) : NULL;
    ERR_clear_error();
    if (!key)
        return err_set(err, ERR_INTERNAL, "an RSA key could not be made");
    if (!key_text || !public_text)
        return err_set(err, ERR_NOMEM, "out of memory");
    *key_pem = STEAL(key_text);
    *public_pem = STEAL(public_text);
    return 0;
}

int pki_hash_key(const char *cert_pem, uint8_t out[DIGEST_SHA256_BYTES], struct err *err) {
    _cleanup_(X509_free) X509 *cert = pki_read_cert(cert_pem);
    unsigned char *der = NULL;
    const int n = cert ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der) : -1;
    ERR_clear_error();
    if (n <= 0)
        return err_set(err, ERR_UNPROCESSABLE, "there is no PEM certificate (-----BEGIN CERTIFICATE-----)");
    digest_sha256(der, (size_t)n, out);
    OPENSSL_free(der);
    return 0;
}
