/* TLS of outgoing connections: whom to trust, our client certificate, what was seen. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Chain, name and pin are all judged in one verify callback of OpenSSL, during the handshake: nothing of ours, neither request
 * nor client certificate, reaches a peer that was refused. */
#include "http_tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"
#include "x509.h"

CLEANUP_DEFINE(BIO, BIO_free_all);

/* Reads all certificates of a PEM text; NULL if there is none or one is malformed. */
static STACK_OF(X509) * read_certificates(const char *pem) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new_mem_buf(pem, -1);
    STACK_OF(X509) *list = sk_X509_new_null();
    X509 *cert;
    while (bio && list && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        if (!sk_X509_push(list, cert))
            X509_free(cert);
    /* the loop ends well only by "no start line", i.e. no further certificate */
    bool is_complete = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    if (is_complete && list && sk_X509_num(list) > 0)
        return list;
    sk_X509_pop_free(list, X509_free);
    return NULL;
}

static int init_store(struct http_tls *tls, const char *ca_pem, struct err *err) {
    STACK_OF(X509) *list = read_certificates(ca_pem);
    if (!list)
        return err_set(err, ERR_CONFIG, "the CA certificates are not valid PEM");
    tls->store = X509_STORE_new();
    bool is_ok = tls->store;
    for (int i = 0; is_ok && i < sk_X509_num(list); i++)
        is_ok = X509_STORE_add_cert(tls->store, sk_X509_value(list, i)) == 1;
    sk_X509_pop_free(list, X509_free);
    /* an intermediate CA, or the server's own certificate, may be the anchor */
    if (!is_ok || X509_STORE_set_flags(tls->store, X509_V_FLAG_PARTIAL_CHAIN) != 1)
        return err_set(err, ERR_NOMEM, "out of memory while reading CA certificates");
    return 0;
}

/* Keys with a passphrase are refused, instead of OpenSSL asking on the terminal. */
static int no_passphrase(char *buffer, int size, int is_writing, void *arg) {
    (void)buffer, (void)size, (void)is_writing, (void)arg;
    return -1;
}

static int init_client_cert(struct http_tls *tls, const char *cert_pem, const char *key_pem, struct err *err) {
    if (!key_pem)
        return err_set(err, ERR_CONFIG, "the client certificate comes without its key");
    tls->chain = read_certificates(cert_pem);
    if (!tls->chain)
        return err_set(err, ERR_CONFIG, "the client certificate is not valid PEM");
    tls->cert = sk_X509_shift(tls->chain);
    _cleanup_(BIO_free_all) BIO *bio = BIO_new_mem_buf(key_pem, -1);
    tls->key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
    bool fits = tls->key && X509_check_private_key(tls->cert, tls->key) == 1;
    ERR_clear_error();
    if (!tls->key)
        return err_set(err, ERR_CONFIG, "the key of the client certificate is not valid PEM");
    return fits ? 0 : err_set(err, ERR_CONFIG, "the key does not belong to the client certificate");
}

static int init_trust(struct http_tls *tls, const struct http_trust *trust, bool is_optional, struct err *err) {
    if (trust->ca_pem && trust->pin_sha256)
        return err_set(err, ERR_CONFIG, "trust is either by CA or by SHA-256 of the certificate, not both");
    if (!trust->ca_pem && !trust->pin_sha256 && !is_optional)
        return err_set(err, ERR_CONFIG, "neither a CA nor the SHA-256 of the server's certificate is given");
    if (trust->verify_host && !(tls->verify_host = str_dup(trust->verify_host)))
        return err_set(err, ERR_NOMEM, "out of memory");
    if (trust->pin_sha256) {
        memcpy(tls->pin, trust->pin_sha256, sizeof(tls->pin));
        tls->has_pin = true;
    }
    return trust->ca_pem ? init_store(tls, trust->ca_pem, err) : 0;
}

int http_tls_init(struct http_tls *tls, const struct http_client_options *options, struct err *err) {
    memset(tls, 0, sizeof(*tls));
    /* plain HTTP over a unix socket needs no trust; https there is refused without it by the verify callback */
    int rc = init_trust(tls, &options->trust, options->unix_socket, err);
    if (!rc && options->client_key_pem && !options->client_cert_pem)
        rc = err_set(err, ERR_CONFIG, "the client key comes without its certificate");
    if (!rc && options->client_cert_pem)
        rc = init_client_cert(tls, options->client_cert_pem, options->client_key_pem, err);
    if (rc)
        http_tls_done(tls);
    return rc;
}

void http_tls_done(struct http_tls *tls) {
    X509_STORE_free(tls->store);
    X509_free(tls->cert);
    EVP_PKEY_free(tls->key); /* OpenSSL clears private numbers */
    sk_X509_pop_free(tls->chain, X509_free);
    X509_free(tls->leaf);
    free(tls->verify_host);
    free(tls->host);
    memset(tls, 0, sizeof(*tls));
}

/* Host of the URL without the brackets of an IPv6 address; NULL if the URL is not valid. */
static char *url_host(const char *url) {
    CURLU *parts = curl_url();
    char *host = NULL, *copy = NULL;
    if (parts && !curl_url_set(parts, CURLUPART_URL, url, 0) && !curl_url_get(parts, CURLUPART_HOST, &host, 0)) {
        size_t len = strlen(host);
        bool has_brackets = len > 2 && host[0] == '[' && host[len - 1] == ']';
        copy = has_brackets ? str_format("%.*s", (int)len - 2, host + 1) : str_dup(host);
    }
    curl_free(host);
    curl_url_cleanup(parts);
    return copy;
}

int http_tls_begin(struct http_tls *tls, const char *url, struct err *err) {
    char *host = tls->verify_host ? str_dup(tls->verify_host) : url_host(url);
    if (!host)
        return err_set(err, ERR_CONFIG, "the address is not a valid URL");
    free(tls->host);
    tls->host = host;
    tls->was_refused = tls->has_seen = false;
    tls->verify_error = X509_V_OK;
    return 0;
}

static bool is_ip_address(const char *host) {
    unsigned char address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

static bool is_chain_trusted(struct http_tls *tls, X509_STORE_CTX *ctx) {
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
    /* RFC 9525 6.3: names stand in subjectAltName; the common name is not looked at */
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    int is_set = is_ip_address(tls->host) ? X509_VERIFY_PARAM_set1_ip_asc(param, tls->host)
                                          : X509_VERIFY_PARAM_set1_host(param, tls->host, 0);
    if (is_set != 1) {
        X509_STORE_CTX_set_error(ctx, X509_V_ERR_OUT_OF_MEM);
        return false;
    }
    return X509_verify_cert(ctx) == 1;
}

static bool is_pin_met(const struct http_tls *tls, X509_STORE_CTX *ctx) {
    bool is_met = tls->has_seen && !memcmp(tls->seen, tls->pin, sizeof(tls->pin));
    X509_STORE_CTX_set_error(ctx, is_met ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
    return is_met;
}

static void keep_leaf(struct http_tls *tls, X509 *leaf) {
    X509_free(tls->leaf);
    tls->leaf = leaf && X509_up_ref(leaf) == 1 ? leaf : NULL;
}

/* Instead of OpenSSL's own verification (SSL_CTX_set_cert_verify_callback(3)); 1: trusted. */
static int verify(X509_STORE_CTX *ctx, void *arg) {
    struct http_tls *tls = arg;
    X509 *leaf = X509_STORE_CTX_get0_cert(ctx);
    unsigned n = sizeof(tls->seen);
    bool is_trusted = false;
    keep_leaf(tls, leaf);
    tls->has_seen = leaf && X509_digest(leaf, EVP_sha256(), tls->seen, &n) == 1;
    if (tls->has_pin)
        is_trusted = is_pin_met(tls, ctx);
    else if (tls->store)
        is_trusted = is_chain_trusted(tls, ctx);
    else
        X509_STORE_CTX_set_error(ctx, X509_V_ERR_CERT_REJECTED);
    tls->was_refused = !is_trusted;
    tls->verify_error = X509_STORE_CTX_get_error(ctx);
    return is_trusted;
}

CURLcode http_tls_setup(CURL *curl, void *ssl_ctx, void *arg) {
    struct http_tls *tls = arg;
    SSL_CTX *ctx = ssl_ctx;
    (void)curl;
    SSL_CTX_set_cert_verify_callback(ctx, verify, tls);
    /* replaces whatever curl's build loads by default, e.g. Debian's /etc/ssl/certs */
    if (tls->store)
        SSL_CTX_set1_cert_store(ctx, tls->store);
    if (!tls->cert)
        return CURLE_OK;
    if (SSL_CTX_use_certificate(ctx, tls->cert) != 1 || SSL_CTX_use_PrivateKey(ctx, tls->key) != 1)
        return CURLE_SSL_CERTPROBLEM;
    for (int i = 0; i < sk_X509_num(tls->chain); i++)
        if (SSL_CTX_add1_chain_cert(ctx, sk_X509_value(tls->chain, i)) != 1)
            return CURLE_SSL_CERTPROBLEM;
    return CURLE_OK;
}

static const char *remedy_for(int verify_error) {
    switch (verify_error) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return "renew the server's certificate, or correct this machine's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "correct this machine's clock, or the server's";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "use the name that stands in the server's certificate";
    default:
        return "check the SHA-256 at the server itself; then give the CA that issued the certificate, or confirm the SHA-256";
    }
}

int http_tls_error(const struct http_tls *tls, struct err *err) {
    char seen[X509_THUMBPRINT_TEXT_BYTES] = "none", expected[X509_THUMBPRINT_TEXT_BYTES];
    int rc;
    if (tls->has_seen)
        x509_thumbprint_text(tls->seen, seen);
    if (tls->has_pin) {
        x509_thumbprint_text(tls->pin, expected);
        rc = err_set(err, ERR_TLS, "the certificate of %s is not the expected one: expected SHA-256 %s, seen %s", tls->host,
                     expected, seen);
        (void)err_remedy(err,
                         "compare with the SHA-256 shown at the server itself; if it was renewed there, confirm the new one");
        return rc;
    }
    rc = err_set(err, ERR_TLS, "the certificate of %s is not trusted: %s (SHA-256 %s)", tls->host,
                 X509_verify_cert_error_string(tls->verify_error), seen);
    (void)err_remedy(err, "%s", remedy_for(tls->verify_error));
    return rc;
}
