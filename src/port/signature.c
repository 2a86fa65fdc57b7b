/* Detached signatures by Ed25519 over OpenSSL. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "signature.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "cleanup.h"
#include "str.h"
#include "x509.h"

struct signature_keys {
    EVP_PKEY *items[SIGNATURE_KEYS_MAX];
    size_t count;
};

CLEANUP_DEFINE(BIO, BIO_free_all);
CLEANUP_DEFINE(EVP_PKEY, EVP_PKEY_free);
CLEANUP_DEFINE(EVP_MD_CTX, EVP_MD_CTX_free);
CLEANUP_DEFINE(struct signature_keys, signature_keys_free);

void signature_keys_free(struct signature_keys *keys) {
    if (!keys)
        return;
    for (size_t i = 0; i < keys->count; i++)
        EVP_PKEY_free(keys->items[i]);
    free(keys);
}

static int signature_no_key(struct err *err, const char *what) {
    (void)err_set(err, ERR_CONFIG, "%s", what);
    return err_remedy(err,
                      "give the public key of the publisher: \"BEGIN PUBLIC KEY\", Ed25519; of several, one behind the other");
}

/* Adds the key of a PEM block. */
static int signature_add_key(struct signature_keys *keys, const unsigned char *der, long n, struct err *err) {
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = d2i_PUBKEY(NULL, &der, n);
    if (!key)
        return signature_no_key(err, "there is a public key that cannot be read");
    if (EVP_PKEY_get_id(key) != EVP_PKEY_ED25519)
        return signature_no_key(err, "there is a public key of another kind than Ed25519");
    if (keys->count == SIGNATURE_KEYS_MAX)
        return signature_no_key(err, "there are more than 8 public keys");
    keys->items[keys->count++] = STEAL(key);
    return 0;
}

int signature_keys_read(const char *pem, struct signature_keys **out, struct err *err) {
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(pem, X509_PEM_KEYS, NULL);
    _cleanup_(signature_keys_free) struct signature_keys *keys = calloc(1, sizeof(*keys));
    char *name = NULL, *header = NULL;
    unsigned char *der = NULL;
    long n = 0;
    int rc = 0;
    if (!bio || !keys)
        return err_set(err, ERR_NOMEM, "out of memory");
    while (!rc && PEM_read_bio(bio, &name, &header, &der, &n) == 1) {
        if (str_eq(name, PEM_STRING_PUBLIC))
            rc = signature_add_key(keys, der, n, err);
        OPENSSL_free(name);
        OPENSSL_free(header);
        OPENSSL_clear_free(der, (size_t)n); /* it may be a private key */
    }
    ERR_clear_error();
    if (!rc && !keys->count)
        rc = signature_no_key(err, "there is no public key in PEM");
    if (!rc)
        *out = STEAL(keys);
    return rc;
}

bool signature_is_good(const struct signature_keys *keys, const void *bytes, size_t n, const void *signature,
                       size_t signature_bytes) {
    bool is_good = false;
    for (size_t i = 0; i < keys->count && !is_good && signature_bytes == SIGNATURE_BYTES; i++) {
        _cleanup_(EVP_MD_CTX_free) EVP_MD_CTX *context = EVP_MD_CTX_new();
        is_good = context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, keys->items[i]) == 1 &&
                  EVP_DigestVerify(context, signature, signature_bytes, bytes, n) == 1;
    }
    ERR_clear_error();
    return is_good;
}
