/* Certificates: reading others' and describing them for people. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "x509.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "x509_parts.h"

CLEANUP_DEFINE(X509_STORE, X509_STORE_free);
CLEANUP_DEFINE(X509_STORE_CTX, X509_STORE_CTX_free);

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

static char *x509_name_text(const X509_NAME *name) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
    /* RFC 2253 with UTF-8 left readable; control characters are escaped */
    if (!bio || X509_NAME_print_ex(bio, name, 0, (XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB)) < 0)
        return NULL;
    return x509_bio_text(bio);
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
    return x509_bio_text(bio);
}

static int64_t time_ms(const ASN1_TIME *at) {
    struct tm tm;
    return ASN1_TIME_to_tm(at, &tm) == 1 ? (int64_t)timegm(&tm) * 1000 : 0;
}

int x509_describe(X509 *cert, struct x509_info *out, struct err *err) {
    struct x509_info info = {
        .subject = x509_name_text(X509_get_subject_name(cert)),
        .issuer = x509_name_text(X509_get_issuer_name(cert)),
        .san = san_text(cert),
        .pem = x509_cert_text(cert),
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

BIO *x509_open_pem(const char *pem, enum x509_pem wanted, bool *has_key) {
    BIO *bio = BIO_new(wanted == X509_PEM_KEYS ? BIO_s_secmem() : BIO_s_mem());
    bool is_in_key = false, is_whole = bio != NULL, has = false;
    if (str_starts(pem, "\xEF\xBB\xBF"))
        pem += 3;
    while (*pem && is_whole) {
        const size_t n = strcspn(pem, "\r\n"), indent = strspn(pem, " \t");
        size_t end = n;
        while (end > indent && strchr(" \t", pem[end - 1]))
            end--;
        const bool is_rule = n > indent && str_starts(pem + indent, "-----") && memmem(pem, n, "PRIVATE KEY-----", 16);
        if (is_rule)
            is_in_key = str_starts(pem + indent, "-----BEGIN ");
        has = has || is_rule;
        if (end > indent && (wanted == X509_PEM_KEYS || !(is_rule || is_in_key)))
            is_whole = BIO_write(bio, pem + indent, (int)(end - indent)) > 0 && BIO_write(bio, "\n", 1) == 1;
        pem += n + (pem[n] != '\0');
    }
    if (!is_whole) {
        BIO_free_all(bio);
        return NULL;
    }
    BIO_set_mem_eof_return(bio, 0);
    if (has_key)
        *has_key = has;
    return bio;
}

/* The first certificate of a PEM text; NULL if there is none. */
static X509 *read_pem(const char *pem) {
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(pem, X509_PEM_CERTIFICATES, NULL);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    ERR_clear_error();
    return cert;
}

int x509_parse_pem(const char *pem, struct x509_info *out, struct err *err) {
    _cleanup_(X509_free) X509 *cert = read_pem(pem);
    if (!cert)
        return err_set(err, ERR_UNPROCESSABLE, "the text holds no PEM certificate (-----BEGIN CERTIFICATE-----)");
    return x509_describe(cert, out, err);
}

int x509_bundle(const char *pem, char **out, struct err *err) {
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(pem, X509_PEM_CERTIFICATES, NULL);
    _cleanup_strbuf_ struct strbuf all;
    size_t count = 0;
    strbuf_init(&all, X509_BUNDLE_MAX * X509_TEXT_BYTES_MAX);
    if (!bio)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (X509 *cert; count <= X509_BUNDLE_MAX && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)); count++) {
        _cleanup_free_ char *text = x509_cert_text(cert);
        X509_free(cert);
        if (!text)
            return err_set(err, ERR_UNPROCESSABLE, "certificate %zu is too long, or there is no memory for it", count + 1);
        strbuf_adds(&all, text);
    }
    const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    if (count > X509_BUNDLE_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "there are more than %d certificates", X509_BUNDLE_MAX);
    if (!is_end)
        return err_set(err, ERR_UNPROCESSABLE, "certificate %zu cannot be read: it was cut or changed", count + 1);
    if (!count)
        return err_set(err, ERR_UNPROCESSABLE, "there is no PEM certificate (-----BEGIN CERTIFICATE-----)");
    *out = strbuf_steal(&all);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int x509_check_key(const char *cert_pem, const char *key_pem, struct err *err) {
    _cleanup_(X509_free) X509 *cert = read_pem(cert_pem);
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(key_pem, X509_PEM_KEYS, NULL);
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, x509_no_passphrase, NULL) : NULL;
    const bool fits = cert && key && X509_check_private_key(cert, key) == 1;
    ERR_clear_error();
    if (!bio)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!cert)
        return err_set(err, ERR_UNPROCESSABLE, "there is no PEM certificate (-----BEGIN CERTIFICATE-----)");
    if (!key && (strstr(key_pem, "BEGIN ENCRYPTED PRIVATE KEY") || strstr(key_pem, "4,ENCRYPTED"))) { /* RFC 7468, RFC 1421 */
        (void)err_set(err, ERR_UNPROCESSABLE, "the private key has a passphrase");
        return err_remedy(err, "give it without one: openssl pkey -in KEY -out FILE");
    }
    if (!key) {
        (void)err_set(err, ERR_UNPROCESSABLE, "there is no PEM private key that can be read (-----BEGIN PRIVATE KEY-----)");
        return err_remedy(err, "give the key that the certificate was made for, as PEM");
    }
    if (fits)
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "the private key does not belong to the certificate");
    return err_remedy(err, "give certificate and key that were made together");
}

bool x509_is_in_system_store(const char *pem) {
    _cleanup_(X509_STORE_free) X509_STORE *store = X509_STORE_new();
    _cleanup_(X509_STORE_CTX_free) X509_STORE_CTX *look = X509_STORE_CTX_new();
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(pem, X509_PEM_CERTIFICATES, NULL);
    bool is_found = false;
    bool is_ready =
        store && look && bio && X509_STORE_set_default_paths(store) == 1 && X509_STORE_CTX_init(look, store, NULL, NULL);
    for (X509 *cert; is_ready && !is_found && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)); X509_free(cert)) {
        STACK_OF(X509) *namesakes = X509_STORE_CTX_get1_certs(look, X509_get_subject_name(cert));
        for (int i = 0; i < sk_X509_num(namesakes); i++)
            is_found = is_found || !X509_cmp(sk_X509_value(namesakes, i), cert);
        sk_X509_pop_free(namesakes, X509_free);
    }
    ERR_clear_error();
    return is_found;
}

/* Else OpenSSL would ask on the terminal. */
int x509_no_passphrase(char *out, int bytes, int is_writing, void *arg) {
    (void)out, (void)bytes, (void)is_writing, (void)arg;
    return -1;
}

int x509_parse_der(const void *der, size_t n, struct x509_info *out, struct err *err) {
    const unsigned char *at = der;
    _cleanup_(X509_free) X509 *cert = d2i_X509(NULL, &at, (long)n);
    ERR_clear_error();
    if (!cert)
        return err_set(err, ERR_UNPROCESSABLE, "these bytes are no certificate");
    return x509_describe(cert, out, err);
}

/* -- channel bindings of TLS --------------------------------------------------------------------------------------- */

static const char prefix[] = "tls-server-end-point:";

/* Ed25519 and the like name none: RFC 5929 leaves those open, and what others do is SHA-256, SHA-512 or nothing. */
static const EVP_MD *digest_of(X509 *cert) {
    int digest = NID_undef;
    if (!X509_get_signature_info(cert, &digest, NULL, NULL, NULL) || digest == NID_undef)
        return NULL;
    return digest == NID_md5 || digest == NID_sha1 ? EVP_sha256() : EVP_get_digestbynid(digest);
}

int x509_end_point_of(X509 *cert, uint8_t *out, size_t max, size_t *n, struct err *err) {
    const EVP_MD *kind = digest_of(cert);
    unsigned bytes = 0;
    ERR_clear_error();
    if (!kind)
        return err_set(err, ERR_UNPROCESSABLE, "the certificate's signature names no digest to bind to");
    if (max < sizeof(prefix) - 1 + (size_t)EVP_MD_get_size(kind))
        return err_set(err, ERR_UNPROCESSABLE, "the digest of the certificate is too long");
    if (!X509_digest(cert, kind, out + sizeof(prefix) - 1, &bytes))
        return err_set(err, ERR_UNPROCESSABLE, "the certificate has no digest");
    memcpy(out, prefix, sizeof(prefix) - 1);
    *n = sizeof(prefix) - 1 + bytes;
    return 0;
}

int x509_end_point_binding(const char *pem, uint8_t *out, size_t max, size_t *n, struct err *err) {
    _cleanup_(X509_free) X509 *cert = read_pem(pem);
    return cert ? x509_end_point_of(cert, out, max, n, err)
                : err_set(err, ERR_UNPROCESSABLE, "the text holds no PEM certificate");
}

/* -- certificates: making our own ---------------------------------------------------------------------------------- */

static bool set_names(X509 *cert, const struct x509_request *r) {
    X509_NAME *name = X509_get_subject_name(cert);
    if (r->organization && X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const uint8_t *)r->organization, -1, -1, 0) != 1)
        return false;
    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const uint8_t *)r->common_name, -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, name) == 1;
}

static bool x509_fill(X509 *cert, EVP_PKEY *key, const struct x509_request *r) {
    bool has_san = r->san && r->san[0];
    return X509_set_version(cert, X509_VERSION_3) == 1 && x509_set_serial(cert) && set_names(cert, r) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -X509_CLOCK_SLACK_S) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), r->valid_days, 0, NULL) && X509_set_pubkey(cert, key) == 1 &&
           x509_add_extension(cert, cert, NID_basic_constraints, "critical,CA:FALSE") &&
           x509_add_extension(cert, cert, NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
           x509_add_extension(cert, cert, NID_ext_key_usage, r->is_server ? "serverAuth" : "clientAuth") &&
           x509_add_extension(cert, cert, NID_subject_key_identifier, "hash") && (!has_san || x509_add_san(cert, r->san)) &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

int x509_make_self_signed(const struct x509_request *request, char **cert_pem, char **key_pem, struct err *err) {
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = EVP_RSA_gen(request->key_bits ? request->key_bits : X509_KEY_BITS);
    _cleanup_(X509_free) X509 *cert = X509_new();
    bool is_made = key && cert && x509_fill(cert, key, request);
    ERR_clear_error();
    if (!is_made)
        return err_set(err, ERR_INTERNAL, "a certificate for \"%s\" could not be made", request->common_name);
    _cleanup_free_ char *cert_text = x509_cert_text(cert);
    _cleanup_secret_ char *key_text = x509_key_text(key);
    if (!cert_text || !key_text)
        return err_set(err, ERR_NOMEM, "out of memory");
    *cert_pem = STEAL(cert_text);
    *key_pem = STEAL(key_text);
    return 0;
}
