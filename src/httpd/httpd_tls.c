/* Certificate and key of the server, replaceable while it runs. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each handshake asks httpd_tls_retrieve for the current identity and uses it until it is done, without a hold on it that we could
 * see. So an identity that was replaced is kept until no handshake can be using it any more (the header deadline bounds them). */
#include <gnutls/x509.h>
#include <time.h>

#include "clock.h"
#include "digest.h"
#include "httpd_private.h"
#include "str.h"

#define CHAIN_MAX 8U

static void httpd_tls_identity_free(struct tls_identity *id) {
    if (!id)
        return;
    for (unsigned i = 0; i < id->chain_count; i++)
        gnutls_pcert_deinit(&id->chain[i]);
    gnutls_free(id->chain);
    if (id->key)
        gnutls_privkey_deinit(id->key);
    free(id);
}

static int fail_gnutls(const char *what, int code, struct err *err) {
    return err_set(err, ERR_CONFIG, "the server's %s cannot be used: %s", what, gnutls_strerror(code));
}

static gnutls_datum_t datum_of(const char *text) {
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static int load_chain(struct tls_identity *id, const char *pem, struct err *err) {
    const gnutls_datum_t data = datum_of(pem);
    unsigned count = CHAIN_MAX;
    id->chain = gnutls_calloc(CHAIN_MAX, sizeof(*id->chain));
    if (!id->chain)
        return err_set(err, ERR_NOMEM, "out of memory");
    int r =
        gnutls_pcert_list_import_x509_raw(id->chain, &count, &data, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
    if (r < 0) {
        (void)fail_gnutls("certificate", r, err);
        err_remedy(err, "it must be PEM: the server's certificate first, then at most %u of its issuers in order", CHAIN_MAX - 1);
        return ERR_CONFIG;
    }
    id->chain_count = count;
    return 0;
}

static int httpd_tls_load_key(struct tls_identity *id, const char *pem, struct err *err) {
    const gnutls_datum_t data = datum_of(pem);
    int r = gnutls_privkey_init(&id->key);
    if (r < 0)
        return err_set(err, ERR_NOMEM, "out of memory");
    r = gnutls_privkey_import_x509_raw(id->key, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (r < 0)
        return fail_gnutls("private key", r, err);
    return 0;
}

/* Signs a byte with the key and checks it with the certificate. */
static int check_pair(const struct tls_identity *id, struct err *err) {
    gnutls_datum_t probe = {(unsigned char *)(uintptr_t) "probe", 5}, signature = {0};
    gnutls_pk_algorithm_t pk = (gnutls_pk_algorithm_t)gnutls_privkey_get_pk_algorithm(id->key, NULL);
    int r = gnutls_privkey_sign_data(id->key, GNUTLS_DIG_SHA256, 0, &probe, &signature);
    if (r >= 0)
        r = gnutls_pubkey_verify_data2(id->chain[0].pubkey, gnutls_pk_to_sign(pk, GNUTLS_DIG_SHA256), 0, &probe, &signature);
    gnutls_free(signature.data);
    if (r >= 0)
        return 0;
    (void)err_set(err, ERR_CONFIG, "the server's private key does not belong to its certificate");
    err_remedy(err, "give the key that the first certificate of the file was made for");
    return ERR_CONFIG;
}

/* Twice the header limit and a minute after it was replaced, no handshake can still be using an identity. */
static void httpd_tls_drop_old(struct httpd *httpd) {
    int64_t limit_ms = clock_mono_ms() - 2 * httpd->options.header_timeout_ms - 60000;
    struct tls_identity **at = &httpd->identity->older;
    while (*at && (*at)->retired_ms > limit_ms)
        at = &(*at)->older;
    while (*at) {
        struct tls_identity *old = *at;
        *at = old->older;
        httpd_tls_identity_free(old);
    }
}

int httpd_tls_load(struct httpd *httpd, const char *cert_pem, const char *key_pem, struct err *err) {
    struct tls_identity *id = calloc(1, sizeof(*id));
    if (!id)
        return err_set(err, ERR_NOMEM, "out of memory");
    int r = load_chain(id, cert_pem, err);
    r = r ? r : httpd_tls_load_key(id, key_pem, err);
    r = r ? r : check_pair(id, err);
    if (r) {
        httpd_tls_identity_free(id);
        return r;
    }
    pthread_mutex_lock(&httpd->lock);
    id->older = httpd->identity;
    if (id->older)
        id->older->retired_ms = clock_mono_ms();
    httpd->identity = id;
    httpd_tls_drop_old(httpd);
    pthread_mutex_unlock(&httpd->lock);
    return 0;
}

void httpd_tls_done(struct httpd *httpd) {
    while (httpd->identity) {
        struct tls_identity *id = httpd->identity;
        httpd->identity = id->older;
        httpd_tls_identity_free(id);
    }
}

int httpd_tls_check_priority(const char *priority, struct err *err) {
    gnutls_priority_t parsed = NULL;
    const char *at = NULL;
    int r = gnutls_priority_init(&parsed, priority, &at);
    if (r < 0)
        return err_set(err, ERR_CONFIG, "the TLS priority string is not valid at \"%.64s\"", at ? at : priority);
    gnutls_priority_deinit(parsed);
    return 0;
}

static int httpd_tls_on_retrieve(gnutls_session_t session, const gnutls_datum_t *req_ca, int req_ca_count,
                                 const gnutls_pk_algorithm_t *algos, int algos_count, gnutls_pcert_st **chain,
                                 unsigned *chain_count, gnutls_privkey_t *key) {
    struct http_conn *conn = httpd_conn_of(gnutls_session_get_ptr(session)); /* the library sets it to its connection */
    (void)req_ca, (void)req_ca_count, (void)algos, (void)algos_count;
    if (!conn)
        return -1;
    pthread_mutex_lock(&conn->httpd->lock);
    const struct tls_identity *id = conn->httpd->identity;
    *chain = id->chain;
    *chain_count = id->chain_count;
    *key = id->key;
    pthread_mutex_unlock(&conn->httpd->lock);
    return 0;
}

gnutls_certificate_retrieve_function2 *const httpd_tls_retrieve = httpd_tls_on_retrieve;

/* -- client certificates: asking for them, and looking at them when somebody wants to know ------------------------- */

/* The library could be told to ask by its option for a CA file; it would then name those CAs in the handshake, and clients with pinned certificates of
 * other issuers would send none. So we ask, naming nobody, and judge the chain here. The handshake fails by itself when the client does not
 * prove that it holds the key (CertificateVerify, RFC 8446 section 4.4.3); who shows nothing goes on without. */

#define PEER_CHAIN_MAX 8U

static int64_t to_ms(time_t at) {
    return at == (time_t)-1 ? 0 : (int64_t)at * 1000;
}

/* -- CAs ---------------------------------------------------------------------------------------------------------------- */

static int httpd_tls_refuse(const char *what, int code, struct err *err) {
    return err_set(err, ERR_CONFIG, "the %s for client certificates cannot be used: %s", what,
                   code < 0 ? gnutls_strerror(code) : "there is none in the file");
}

/* The library marks what is revoked, but does not look at how old a list is when it judges a certificate: that is remembered here. */
static int httpd_tls_read_end(const gnutls_datum_t *pem, int64_t *until_ms, struct err *err) {
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
    return r < 0 || !count ? httpd_tls_refuse("revocation list", r, err) : 0;
}

static int httpd_tls_add_all(struct peer_trust *trust, const struct httpd_client_ca *ca, struct err *err) {
    const gnutls_datum_t cas = datum_of(ca->ca_pem);
    int r = gnutls_x509_trust_list_add_trust_mem(trust->cas, &cas, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    if (r < 1)
        return httpd_tls_refuse("CA", r, err);
    if (!ca->crl_pem)
        return 0;
    const gnutls_datum_t crls = datum_of(ca->crl_pem);
    r = gnutls_x509_trust_list_add_trust_mem(trust->cas, NULL, &crls, GNUTLS_X509_FMT_PEM, 0, 0);
    return r < 1 ? httpd_tls_refuse("revocation list", r, err) : httpd_tls_read_end(&crls, &trust->crl_until_ms, err);
}

static int load_trust(const struct httpd_client_ca *ca, struct peer_trust *out, struct err *err) {
    int rc;
    *out = (struct peer_trust){.crl_until_ms = INT64_MAX};
    if (!ca->ca_pem)
        return 0;
    if (gnutls_x509_trust_list_init(&out->cas, 0) < 0)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = httpd_tls_add_all(out, ca, err);
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

static enum http_peer_chain httpd_tls_judge(const struct peer_trust *trust, unsigned status) {
    if (status & GNUTLS_CERT_REVOKED)
        return HTTP_CHAIN_REVOKED;
    if (status)
        return HTTP_CHAIN_UNTRUSTED;
    return clock_wall_ms() < trust->crl_until_ms ? HTTP_CHAIN_GOOD : HTTP_CHAIN_REVOKED;
}

static enum http_peer_chain httpd_tls_verify(struct httpd *httpd, gnutls_x509_crt_t *chain, unsigned count) {
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    enum http_peer_chain verdict = HTTP_CHAIN_NO_CA;
    unsigned status = 0;
    (void)pthread_rwlock_rdlock(&httpd->peers.lock);
    if (httpd->peers.trust.cas)
        verdict = gnutls_x509_trust_list_verify_crt2(httpd->peers.trust.cas, chain, count, &purpose, 1, 0, &status, NULL) < 0
                      ? HTTP_CHAIN_UNTRUSTED
                      : httpd_tls_judge(&httpd->peers.trust, status);
    (void)pthread_rwlock_unlock(&httpd->peers.lock);
    return verdict;
}

static void httpd_tls_describe(gnutls_x509_crt_t leaf, const gnutls_datum_t *der, struct http_peer *out) {
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
    httpd_tls_describe(chain[0], &der[0], out);
    out->chain = httpd_tls_verify(req->httpd, chain, read);
    free_chain(chain, read);
    return true;
}
