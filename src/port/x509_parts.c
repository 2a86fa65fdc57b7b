/* Parts that certificates of our own are made of. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "x509_parts.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "uuid.h"

#define SERIAL_BYTES 16

CLEANUP_DEFINE(X509_EXTENSION, X509_EXTENSION_free);

/* RFC 5280 4.1.2.2: positive, at most 20 octets. */
bool x509_set_serial(X509 *cert) {
    uint8_t raw[SERIAL_BYTES];
    random_bytes(raw, sizeof(raw));
    raw[0] = (uint8_t)((raw[0] & 0x7F) | 0x40);
    BIGNUM *number = BN_bin2bn(raw, sizeof(raw), NULL);
    bool is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return is_set;
}

bool x509_add_extension(X509 *cert, X509 *issuer, int nid, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    _cleanup_(X509_EXTENSION_free) X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    return extension && X509_add_ext(cert, extension, -1) == 1;
}

/* Built name by name: the text form of OpenSSL's configuration gives commas and colons a meaning. */
bool x509_add_san(X509 *cert, const char *const *san) {
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

/* No printf, which leaves copies: it may be a key. */
char *x509_bio_text(BIO *bio) {
    char *data = NULL, *text;
    long n = BIO_get_mem_data(bio, &data);
    text = n < 0 || n > (long)X509_TEXT_BYTES_MAX ? NULL : malloc((size_t)n + 1);
    if (!text)
        return NULL;
    if (n)
        memcpy(text, data, (size_t)n);
    text[n] = '\0';
    return text;
}

char *x509_cert_text(X509 *cert) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
    return bio && PEM_write_bio_X509(bio, cert) == 1 ? x509_bio_text(bio) : NULL;
}

/* Out of a BIO whose memory OpenSSL clears. */
char *x509_key_text(EVP_PKEY *key) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_secmem());
    return bio && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1 ? x509_bio_text(bio) : NULL;
}
