/* Certificate and key of the server, replaceable while it runs. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each handshake asks httpd_tls_retrieve for the current identity and uses it until it is done, without a hold on it that we could
 * see. So an identity that was replaced is kept until no handshake can be using it any more (the header deadline bounds them). */
#include <malloc.h>

#include "clock.h"
#include "httpd_private.h"
#include "secret.h"

#define CHAIN_MAX 8U

/* GnuTLS frees the decrypted records, passwords and tokens among them, as they are. Its allocator is a public variable. */
static void free_wiped(void *p) {
    if (p)
        secret_wipe(p, malloc_usable_size(p));
    free(p);
}

static void wipe_freed_records(void) {
    gnutls_free = free_wiped;
}

static void identity_free(struct tls_identity *id) {
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

static int load_chain(struct tls_identity *id, const char *pem, struct err *err) {
    gnutls_datum_t data = {(unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem)};
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

static int load_key(struct tls_identity *id, const char *pem, struct err *err) {
    gnutls_datum_t data = {(unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem)};
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
static void drop_old(struct httpd *httpd) {
    int64_t limit_ms = clock_mono_ms() - 2 * httpd->options.header_timeout_ms - 60000;
    struct tls_identity **at = &httpd->identity->older;
    while (*at && (*at)->retired_ms > limit_ms)
        at = &(*at)->older;
    while (*at) {
        struct tls_identity *old = *at;
        *at = old->older;
        identity_free(old);
    }
}

int httpd_tls_load(struct httpd *httpd, const char *cert_pem, const char *key_pem, struct err *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct tls_identity *id = calloc(1, sizeof(*id));
    if (!id)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_once(&once, wipe_freed_records);
    int r = load_chain(id, cert_pem, err);
    r = r ? r : load_key(id, key_pem, err);
    r = r ? r : check_pair(id, err);
    if (r) {
        identity_free(id);
        return r;
    }
    pthread_mutex_lock(&httpd->lock);
    id->older = httpd->identity;
    if (id->older)
        id->older->retired_ms = clock_mono_ms();
    httpd->identity = id;
    drop_old(httpd);
    pthread_mutex_unlock(&httpd->lock);
    return 0;
}

void httpd_tls_done(struct httpd *httpd) {
    while (httpd->identity) {
        struct tls_identity *id = httpd->identity;
        httpd->identity = id->older;
        identity_free(id);
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

static int retrieve(gnutls_session_t session, const gnutls_datum_t *req_ca, int req_ca_count, const gnutls_pk_algorithm_t *algos,
                    int algos_count, gnutls_pcert_st **chain, unsigned *chain_count, gnutls_privkey_t *key) {
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

gnutls_certificate_retrieve_function2 *const httpd_tls_retrieve = retrieve;
