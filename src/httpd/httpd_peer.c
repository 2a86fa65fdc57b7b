/* Client certificates: asking for them, and looking at them when somebody wants to know. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library could be told to ask by its option for a CA file; it would then name those CAs in the handshake, and clients with pinned certificates of
 * other issuers would send none. So we ask, naming nobody, and judge the chain here. The handshake fails by itself when the client does not
 * prove that it holds the key (CertificateVerify, RFC 8446 section 4.4.3); who shows nothing goes on without. */
#include <gnutls/x509.h>
#include <time.h>

#include "clock.h"
#include "digest.h"
#include "httpd_private.h"
#include "str.h"

#define PEER_CHAIN_MAX 8U

void httpd_peer_ask(const struct http_conn *conn, gnutls_session_t session) {
    if (conn->httpd->options.asks_client_certificate)
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
}

static int64_t to_ms(time_t at) {
    return at == (time_t)-1 ? 0 : (int64_t)at * 1000;
}

/* -- CAs ---------------------------------------------------------------------------------------------------------------- */

static int refuse(const char *what, int code, struct err *err) {
    return err_set(err, ERR_CONFIG, "the %s for client certificates cannot be used: %s", what,
                   code < 0 ? gnutls_strerror(code) : "there is none in the file");
}

static gnutls_datum_t datum_of(const char *text) {
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

/* The library marks what is revoked, but does not look at how old a list is when it judges a certificate: that is remembered here. */
static int read_end(const gnutls_datum_t *pem, int64_t *until_ms, struct err *err) {
    gnutls_x509_crl_t *lists = NULL;
    unsigned count = 0;
    int r = gnutls_x509_crl_list_import2(&lists, &count, pem, GNUTLS_X509_FMT_PEM, 0);
    for (unsigned i = 0; r >= 0 && i < count; i++) {
        const int64_t end_ms = to_ms(gnutls_x509_crl_get_next_update(lists[i]));
        if (end_ms && end_ms < *until_ms)
            *until_ms = end_ms;
        gnutls_x509_crl_deinit(lists[i]);
    }
    gnutls_free(lists);
    return r < 0 || !count ? refuse("revocation list", r, err) : 0;
}

static int add_all(struct peer_trust *trust, const struct httpd_client_ca *ca, struct err *err) {
    const gnutls_datum_t cas = datum_of(ca->ca_pem);
    int r = gnutls_x509_trust_list_add_trust_mem(trust->cas, &cas, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    if (r < 1)
        return refuse("CA", r, err);
    if (!ca->crl_pem)
        return 0;
    const gnutls_datum_t crls = datum_of(ca->crl_pem);
    r = gnutls_x509_trust_list_add_trust_mem(trust->cas, NULL, &crls, GNUTLS_X509_FMT_PEM, 0, 0);
    return r < 1 ? refuse("revocation list", r, err) : read_end(&crls, &trust->crl_until_ms, err);
}

static int load_trust(const struct httpd_client_ca *ca, struct peer_trust *out, struct err *err) {
    int rc;
    *out = (struct peer_trust){.crl_until_ms = INT64_MAX};
    if (!ca->ca_pem)
        return 0;
    if (gnutls_x509_trust_list_init(&out->cas, 0) < 0)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = add_all(out, ca, err);
    if (rc)
        gnutls_x509_trust_list_deinit(out->cas, 1);
    return rc;
}

int httpd_reload_client_ca(struct httpd *httpd, const struct httpd_client_ca *ca, struct err *err) {
    struct peer_trust fresh, old;
    int rc = load_trust(ca, &fresh, err);
    if (rc)
        return rc;
    (void)pthread_rwlock_wrlock(&httpd->peers.lock);
    old = httpd->peers.trust;
    httpd->peers.trust = fresh;
    (void)pthread_rwlock_unlock(&httpd->peers.lock);
    if (old.cas)
        gnutls_x509_trust_list_deinit(old.cas, 1);
    return 0;
}

void httpd_peer_init(struct httpd_peers *peers) {
    (void)pthread_rwlock_init(&peers->lock, NULL);
}

void httpd_peer_done(struct httpd_peers *peers) {
    if (peers->trust.cas)
        gnutls_x509_trust_list_deinit(peers->trust.cas, 1);
    peers->trust.cas = NULL;
    (void)pthread_rwlock_destroy(&peers->lock);
}

/* -- looking ------------------------------------------------------------------------------------------------------------ */

static void free_chain(gnutls_x509_crt_t *chain, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(chain[i]);
}

/* Returns how many were read; 0: none, or one that cannot be read. */
static unsigned read_chain(const gnutls_datum_t *der, unsigned count, gnutls_x509_crt_t *chain) {
    unsigned read = 0;
    for (; read < count && read < PEER_CHAIN_MAX; read++) {
        if (gnutls_x509_crt_init(&chain[read]) < 0)
            break;
        if (gnutls_x509_crt_import(chain[read], &der[read], GNUTLS_X509_FMT_DER) < 0) {
            gnutls_x509_crt_deinit(chain[read]);
            break;
        }
    }
    if (read == count)
        return read;
    free_chain(chain, read);
    return 0;
}

static enum http_peer_chain judge(const struct peer_trust *trust, unsigned status) {
    if (status & GNUTLS_CERT_REVOKED)
        return HTTP_CHAIN_REVOKED;
    if (status)
        return HTTP_CHAIN_UNTRUSTED;
    return clock_wall_ms() < trust->crl_until_ms ? HTTP_CHAIN_GOOD : HTTP_CHAIN_REVOKED;
}

static enum http_peer_chain verify(struct httpd *httpd, gnutls_x509_crt_t *chain, unsigned count) {
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    enum http_peer_chain verdict = HTTP_CHAIN_NO_CA;
    unsigned status = 0;
    (void)pthread_rwlock_rdlock(&httpd->peers.lock);
    if (httpd->peers.trust.cas)
        verdict = gnutls_x509_trust_list_verify_crt2(httpd->peers.trust.cas, chain, count, &purpose, 1, 0, &status, NULL) < 0
                      ? HTTP_CHAIN_UNTRUSTED
                      : judge(&httpd->peers.trust, status);
    (void)pthread_rwlock_unlock(&httpd->peers.lock);
    return verdict;
}

static void describe(gnutls_x509_crt_t leaf, const gnutls_datum_t *der, struct http_peer *out) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    gnutls_datum_t name = {0};
    digest_sha256(der->data, der->size, digest);
    str_hex(digest, sizeof(digest), out->sha256);
    out->not_before_ms = to_ms(gnutls_x509_crt_get_activation_time(leaf));
    out->not_after_ms = to_ms(gnutls_x509_crt_get_expiration_time(leaf));
    if (gnutls_x509_crt_get_dn3(leaf, &name, 0) >= 0 && name.size < sizeof(out->subject) && !memchr(name.data, 0, name.size))
        memcpy(out->subject, name.data, name.size);
    gnutls_free(name.data);
}

bool http_request_peer(const struct http_request *req, struct http_peer *out) {
    gnutls_x509_crt_t chain[PEER_CHAIN_MAX];
    const union MHD_ConnectionInfo *info = req->conn && req->is_tls && req->httpd->options.asks_client_certificate
                                               ? MHD_get_connection_info(req->conn->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)
                                               : NULL;
    unsigned count = 0, read;
    const gnutls_datum_t *der = info && info->tls_session ? gnutls_certificate_get_peers(info->tls_session, &count) : NULL;
    *out = (struct http_peer){.chain = HTTP_CHAIN_NO_CA};
    read = der ? read_chain(der, count, chain) : 0;
    if (!read)
        return false;
    describe(chain[0], &der[0], out);
    out->chain = verify(req->httpd, chain, read);
    free_chain(chain, read);
    return true;
}
