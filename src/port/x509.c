/* Certificates: reading others' and describing them for people. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "str.h"
#include "x509.h"
#include "x509_describe.h"

#define TEXT_BYTES_MAX (64U * 1024U) /* of one printed part of a certificate */

CLEANUP_DEFINE(BIO, BIO_free_all);
CLEANUP_DEFINE(X509, X509_free);
CLEANUP_DEFINE(EVP_PKEY, EVP_PKEY_free);
CLEANUP_DEFINE(GENERAL_NAMES, GENERAL_NAMES_free);

void x509_info_done(struct x509_info *info) {
    if (!info)
        return;
    free(info->subject);
    free(info->issuer);
    free(info->san);
    free(info->pem);
    memset(info, 0, sizeof(*info));
}

void x509_thumbprint_text(const uint8_t sha256[X509_SHA256_BYTES], char *out) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < X509_SHA256_BYTES; i++) {
        *out++ = digits[sha256[i] >> 4];
        *out++ = digits[sha256[i] & 15];
        *out++ = ':';
    }
    out[-1] = '\0';
}

/* What was written to a memory BIO, as text of its own; NULL without memory or if too long. */
static char *bio_text(BIO *bio) {
    char *data = NULL;
    long n = BIO_get_mem_data(bio, &data);
    return n < 0 || n > (long)TEXT_BYTES_MAX ? NULL : str_format("%.*s", (int)n, n ? data : "");
}

static char *name_text(const X509_NAME *name) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
    /* RFC 2253 with UTF-8 left readable; control characters are escaped */
    if (!bio || X509_NAME_print_ex(bio, name, 0, (XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB)) < 0)
        return NULL;
    return bio_text(bio);
}

static void print_address(BIO *bio, const ASN1_OCTET_STRING *address) {
    const unsigned char *b = ASN1_STRING_get0_data(address);
    int n = ASN1_STRING_length(address);
    if (n == 4)
        (void)BIO_printf(bio, "IP:%d.%d.%d.%d", b[0], b[1], b[2], b[3]);
    for (int i = 0; n == 16 && i < 16; i += 2)
        (void)BIO_printf(bio, "%s%x", i ? ":" : "IP:", b[i] << 8 | b[i + 1]);
}

static void print_dns(BIO *bio, const ASN1_IA5STRING *name) {
    const unsigned char *b = ASN1_STRING_get0_data(name);
    (void)BIO_puts(bio, "DNS:");
    for (int i = 0; i < ASN1_STRING_length(name); i++)
        (void)BIO_printf(bio, "%c", b[i] > ' ' && b[i] < 127 && b[i] != ',' ? b[i] : '?');
}

static char *san_text(const X509 *cert) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
    _cleanup_(GENERAL_NAMES_free) GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    if (!bio)
        return NULL;
    for (int i = 0, shown = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS && name->type != GEN_IPADD)
            continue; /* other forms do not name a server */
        if (shown++)
            (void)BIO_puts(bio, ", ");
        if (name->type == GEN_DNS)
            print_dns(bio, name->d.dNSName);
        else
            print_address(bio, name->d.iPAddress);
    }
    return bio_text(bio);
}

static char *pem_text(X509 *cert) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
    return bio && PEM_write_bio_X509(bio, cert) == 1 ? bio_text(bio) : NULL;
}

static int64_t time_ms(const ASN1_TIME *at) {
    struct tm tm;
    return ASN1_TIME_to_tm(at, &tm) == 1 ? (int64_t)timegm(&tm) * 1000 : 0;
}

int x509_describe(X509 *cert, struct x509_info *out, struct err *err) {
    struct x509_info info = {
        .subject = name_text(X509_get_subject_name(cert)),
        .issuer = name_text(X509_get_issuer_name(cert)),
        .san = san_text(cert),
        .pem = pem_text(cert),
        .not_before_ms = time_ms(X509_get0_notBefore(cert)),
        .not_after_ms = time_ms(X509_get0_notAfter(cert)),
    };
    bool is_hashed = X509_digest(cert, EVP_sha256(), info.sha256, NULL) == 1;
    ERR_clear_error();
    if (info.subject && info.issuer && info.san && info.pem && is_hashed) {
        *out = info;
        return 0;
    }
    x509_info_done(&info);
    return err_set(err, ERR_UNPROCESSABLE, "a certificate cannot be described: a part is malformed or too long");
}

int x509_parse_pem(const char *pem, struct x509_info *out, struct err *err) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new_mem_buf(pem, -1);
    _cleanup_(X509_free) X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    ERR_clear_error();
    if (!cert)
        return err_set(err, ERR_UNPROCESSABLE, "the text holds no PEM certificate (-----BEGIN CERTIFICATE-----)");
    return x509_describe(cert, out, err);
}

/* Else OpenSSL would ask on the terminal. */
static int no_password(char *out, int bytes, int is_writing, void *arg) {
    (void)out, (void)bytes, (void)is_writing, (void)arg;
    return -1;
}

int x509_check_key(const char *cert_pem, const char *key_pem, struct err *err) {
    _cleanup_(BIO_free_all) BIO *cert_bio = BIO_new_mem_buf(cert_pem, -1), *key_bio = BIO_new_mem_buf(key_pem, -1);
    _cleanup_(X509_free) X509 *cert = cert_bio ? PEM_read_bio_X509(cert_bio, NULL, NULL, NULL) : NULL;
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = key_bio ? PEM_read_bio_PrivateKey(key_bio, NULL, no_password, NULL) : NULL;
    const bool fits = cert && key && X509_check_private_key(cert, key) == 1;
    ERR_clear_error();
    if (fits)
        return 0;
    if (!cert)
        return err_set(err, ERR_UNPROCESSABLE, "the text holds no PEM certificate (-----BEGIN CERTIFICATE-----)");
    if (!key) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the text holds no PEM private key that is not encrypted");
        return err_remedy(err, "give the key without a passphrase: openssl pkey -in KEY -out FILE");
    }
    (void)err_set(err, ERR_UNPROCESSABLE, "the private key does not belong to its certificate");
    return err_remedy(err, "give the key that the first certificate of the file was made for");
}

int x509_parse_der(const void *der, size_t n, struct x509_info *out, struct err *err) {
    const unsigned char *at = der;
    _cleanup_(X509_free) X509 *cert = d2i_X509(NULL, &at, (long)n);
    ERR_clear_error();
    if (!cert)
        return err_set(err, ERR_UNPROCESSABLE, "these bytes are no certificate");
    return x509_describe(cert, out, err);
}
