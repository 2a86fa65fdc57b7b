/* The certificate file of a server: which certificate is the server's, which are its issuers, in which order. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>

#include "cleanup.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "x509_chain.h"

CLEANUP_DEFINE(BIO, BIO_free_all);
CLEANUP_DEFINE(EVP_PKEY, EVP_PKEY_free);

#define NO_CERTIFICATE_REMEDY \
    "give a PEM file; one in another form becomes PEM by: openssl x509 -in FILE -out server.pem, or openssl pkcs12 -in FILE -nokeys -out server.pem"

/* What a file holds, and what became of it. */
struct x509_pile {
    X509 *certs[X509_CHAIN_MAX];
    bool is_taken[X509_CHAIN_MAX];
    size_t count;
    size_t order[X509_CHAIN_MAX]; /* of the chain: places in `certs` */
    size_t chained;
};

static void pile_done(struct x509_pile *pile) {
    for (size_t i = 0; i < pile->count; i++)
        X509_free(pile->certs[i]);
}

void x509_chain_done(struct x509_chain *chain) {
    if (!chain)
        return;
    for (size_t i = 0; i < chain->count; i++)
        x509_info_done(&chain->certs[i]);
    free(chain->pem);
    memset(chain, 0, sizeof(*chain));
}

/* -- reading ----------------------------------------------------------------------------------------------------------------- */

static int read_all(const char *pem, struct x509_pile *pile, bool *has_key, struct err *err) {
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(pem, X509_PEM_CERTIFICATES, has_key);
    X509 *cert = NULL;
    if (!bio)
        return err_set(err, ERR_NOMEM, "out of memory");
    while (pile->count < X509_CHAIN_MAX && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        pile->certs[pile->count++] = cert;
    const bool is_end = cert || ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    if (cert && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        X509_free(cert);
        (void)err_set(err, ERR_UNPROCESSABLE, "the file holds more than %d certificates", X509_CHAIN_MAX);
        return err_remedy(err, "give the server's certificate and its issuers only");
    }
    ERR_clear_error();
    if (!is_end) {
        (void)err_set(err, ERR_UNPROCESSABLE, "certificate %zu of the file cannot be read", pile->count + 1);
        return err_remedy(err, "it was cut or changed: copy it anew");
    }
    if (!pile->count) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the text holds no PEM certificate (-----BEGIN CERTIFICATE-----)");
        return err_remedy(err, NO_CERTIFICATE_REMEDY);
    }
    return 0;
}

/* -- ordering ---------------------------------------------------------------------------------------------------------------- */

/* Names alone will not do: the issuer's certificate of before has the same, and another key. */
static bool has_issued(X509 *issuer, X509 *cert) {
    const bool yes =
        X509_check_issued(issuer, cert) == X509_V_OK && X509_check_ca(issuer) && X509_verify(cert, X509_get0_pubkey(issuer)) == 1;
    ERR_clear_error();
    return yes;
}

static bool is_issuer(const struct x509_pile *pile, size_t i) {
    for (size_t j = 0; j < pile->count; j++)
        if (j != i && X509_cmp(pile->certs[i], pile->certs[j]) != 0 && has_issued(pile->certs[i], pile->certs[j]))
            return true;
    return false;
}

/* The first that issued no other in the file. */
static size_t find_leaf(const struct x509_pile *pile) {
    size_t i = 0;
    while (i < pile->count && is_issuer(pile, i))
        i++;
    return i < pile->count ? i : 0;
}

static int find_of_key(const struct x509_pile *pile, const char *key_pem, size_t *out, struct err *err) {
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(key_pem, X509_PEM_KEYS, NULL);
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, x509_no_passphrase, NULL) : NULL;
    size_t i = 0;
    while (key && i < pile->count && X509_check_private_key(pile->certs[i], key) != 1)
        i++;
    ERR_clear_error();
    if (!key) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the text holds no PEM private key that is not encrypted");
        return err_remedy(err, "give the key without a passphrase: openssl pkey -in KEY -out FILE");
    }
    if (i == pile->count) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the private key does not belong to its certificate");
        return err_remedy(err, "give the key that the server's certificate was made for");
    }
    *out = i;
    return 0;
}

/* From the leaf upwards. Of two certificates of one issuer (cross-signed) the first of the file is taken. */
static void climb(struct x509_pile *pile, size_t leaf) {
    size_t next = leaf;
    while (next < pile->count) {
        X509 *at = pile->certs[next];
        pile->order[pile->chained++] = next;
        for (size_t i = 0; i < pile->count; i++) /* and what stands there twice */
            pile->is_taken[i] = pile->is_taken[i] || X509_cmp(pile->certs[i], at) == 0;
        next = 0;
        while (next < pile->count && (pile->is_taken[next] || !has_issued(pile->certs[next], at)))
            next++;
    }
}

static bool has_place(const struct x509_pile *pile, size_t i) {
    bool has = pile->is_taken[i];
    for (size_t j = 0; !has && j < pile->chained; j++)
        has = has_issued(pile->certs[i], pile->certs[pile->order[j]]);
    return has;
}

static int check_foreign(const struct x509_pile *pile, struct err *err) {
    _cleanup_done_(x509_info_done) struct x509_info leaf = {0};
    _cleanup_done_(x509_info_done) struct x509_info other = {0};
    size_t i = 0;
    while (i < pile->count && has_place(pile, i))
        i++;
    if (i == pile->count)
        return 0;
    int rc = x509_describe(pile->certs[pile->order[0]], &leaf, err);
    rc = rc ? rc : x509_describe(pile->certs[i], &other, err);
    if (rc)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE,
                  "the certificate of %.150s in the file did not issue that of %.150s, nor one of its issuers", other.subject,
                  leaf.subject);
    return err_remedy(err, "take it out of the file, or put the issuer in its place that signed the one before");
}

/* -- all of it --------------------------------------------------------------------------------------------------------------- */

static int describe_all(const struct x509_pile *pile, struct x509_chain *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf pem;
    int rc = 0;
    strbuf_init(&pem, X509_CHAIN_BYTES_MAX);
    for (size_t i = 0; !rc && i < pile->chained; i++) {
        rc = x509_describe(pile->certs[pile->order[i]], &out->certs[i], err);
        out->count += !rc;
        if (!rc)
            strbuf_adds(&pem, out->certs[i].pem);
        out->is_reordered = out->is_reordered || (i ? pile->order[i] < pile->order[i - 1] : pile->order[i] != 0);
    }
    if (rc)
        return rc;
    out->pem = strbuf_steal(&pem);
    return out->pem ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int order_all(struct x509_pile *pile, const char *key_pem, struct err *err) {
    size_t leaf = find_leaf(pile);
    int rc = key_pem ? find_of_key(pile, key_pem, &leaf, err) : 0;
    if (rc)
        return rc;
    climb(pile, leaf);
    return check_foreign(pile, err);
}

int x509_chain_read(const char *pem, const char *key_pem, struct x509_chain *out, struct err *err) {
    _cleanup_done_(pile_done) struct x509_pile pile = {.count = 0};
    struct x509_chain chain = {.count = 0};
    int rc = read_all(pem, &pile, &chain.has_key, err);
    rc = rc ? rc : order_all(&pile, key_pem, err);
    rc = rc ? rc : describe_all(&pile, &chain, err);
    if (rc)
        x509_chain_done(&chain);
    else
        *out = chain;
    return rc;
}
