/* Certificates: making our own. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>

#include "cleanup.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"
#include "x509.h"

#define SERIAL_BYTES 16
#define CLOCK_SLACK_S 300 /* peers whose clock is a little behind */

CLEANUP_DEFINE(BIO, BIO_free_all);
CLEANUP_DEFINE(X509, X509_free);
CLEANUP_DEFINE(EVP_PKEY, EVP_PKEY_free);
CLEANUP_DEFINE(GENERAL_NAMES, GENERAL_NAMES_free);
CLEANUP_DEFINE(X509_EXTENSION, X509_EXTENSION_free);

/* RFC 5280 4.1.2.2: positive, at most 20 octets. */
static bool set_serial(X509 *cert) {
    uint8_t raw[SERIAL_BYTES];
    random_bytes(raw, sizeof(raw));
    raw[0] = (uint8_t)((raw[0] & 0x7F) | 0x40);
    BIGNUM *number = BN_bin2bn(raw, sizeof(raw), NULL);
    bool is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return is_set;
}

static bool set_names(X509 *cert, const struct x509_request *r) {
    X509_NAME *name = X509_get_subject_name(cert);
    if (r->organization && X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const uint8_t *)r->organization, -1, -1, 0) != 1)
        return false;
    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const uint8_t *)r->common_name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, name) == 1;
}

static bool add_extension(X509 *cert, int nid, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    _cleanup_(X509_EXTENSION_free) X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    return extension && X509_add_ext(cert, extension, -1) == 1;
}

/* Built name by name: the text form of OpenSSL's configuration gives commas and colons a meaning. */
static bool add_san(X509 *cert, const char *const *san) {
    _cleanup_(GENERAL_NAMES_free) GENERAL_NAMES *names = GENERAL_NAMES_new();
    for (; names && *san; san++) {
        bool is_dns = str_starts(*san, "DNS:");
        if ((!is_dns && !str_starts(*san, "IP:")) || str_has_control(*san))
            return false;
        const char *value = strchr(*san, ':') + 1;
        GENERAL_NAME *name = *value ? a2i_GENERAL_NAME(NULL, NULL, NULL, is_dns ? GEN_DNS : GEN_IPADD, value, 0) : NULL;
        if (!name)
            return false;
        if (!sk_GENERAL_NAME_push(names, name)) {
            GENERAL_NAME_free(name);
            return false;
        }
    }
    return names && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0) == 1;
}

static bool fill(X509 *cert, EVP_PKEY *key, const struct x509_request *r) {
    bool has_san = r->san && r->san[0];
    return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) && set_names(cert, r) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -CLOCK_SLACK_S) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), r->valid_days, 0, NULL) && X509_set_pubkey(cert, key) == 1 &&
           add_extension(cert, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
           add_extension(cert, NID_ext_key_usage, r->is_server ? "serverAuth" : "clientAuth") &&
           add_extension(cert, NID_subject_key_identifier, "hash") && (!has_san || add_san(cert, r->san)) &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

/* Text of its own, copied out of a BIO whose memory OpenSSL clears. */
static char *take_text(BIO *bio) {
    char *data = NULL;
    long n = BIO_get_mem_data(bio, &data);
    char *text = n > 0 ? malloc((size_t)n + 1) : NULL;
    if (!text)
        return NULL;
    memcpy(text, data, (size_t)n);
    text[n] = '\0';
    return text;
}

static char *write_cert(X509 *cert) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
    return bio && PEM_write_bio_X509(bio, cert) == 1 ? take_text(bio) : NULL;
}

static char *write_key(EVP_PKEY *key) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_secmem());
    return bio && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1 ? take_text(bio) : NULL;
}

int x509_make_self_signed(const struct x509_request *request, char **cert_pem, char **key_pem, struct err *err) {
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = EVP_RSA_gen(request->key_bits ? request->key_bits : X509_KEY_BITS);
    _cleanup_(X509_free) X509 *cert = X509_new();
    bool is_made = key && cert && fill(cert, key, request);
    ERR_clear_error();
    if (!is_made)
        return err_set(err, ERR_INTERNAL, "a certificate for \"%s\" could not be made", request->common_name);
    _cleanup_free_ char *cert_text = write_cert(cert);
    _cleanup_secret_ char *key_text = write_key(key);
    if (!cert_text || !key_text)
        return err_set(err, ERR_NOMEM, "out of memory");
    *cert_pem = STEAL(cert_text);
    *key_pem = STEAL(key_text);
    return 0;
}
