/* SHA-256 and HMAC over OpenSSL. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A context per thread and an algorithm fetched once make a short hash nearly twice as fast as SHA256(), which looks the
 * algorithm up at each call; it stands in the path of every request. HMAC() looks up two. */
#include "digest.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t context_key, mac_key; /* only to free the contexts when their thread ends */
static EVP_MD *sha256;
static EVP_MAC *hmac;
static _Thread_local EVP_MD_CTX *context;
static _Thread_local EVP_MAC_CTX *mac_context;

static _Noreturn void digest_give_up(void) {
    /* nothing can be authenticated without a hash */
    (void)fputs("<2>event=digest_failed text=\"OpenSSL cannot compute SHA-256\"\n", stderr);
    abort();
}

static void free_context(void *p) {
    EVP_MD_CTX_free(p);
}

static void free_mac_context(void *p) {
    EVP_MAC_CTX_free(p);
}

static void digest_prepare(void) {
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (!sha256 || !hmac || pthread_key_create(&context_key, free_context) || pthread_key_create(&mac_key, free_mac_context))
        digest_give_up();
}

static EVP_MD_CTX *own_context(void) {
    if (context)
        return context;
    (void)pthread_once(&once, digest_prepare);
    context = EVP_MD_CTX_new();
    if (!context || pthread_setspecific(context_key, context))
        digest_give_up();
    return context;
}

void digest_sha256(const void *bytes, size_t n, uint8_t out[DIGEST_SHA256_BYTES]) {
    EVP_MD_CTX *ctx = own_context();
    if (EVP_DigestInit_ex2(ctx, sha256, NULL) != 1 || EVP_DigestUpdate(ctx, bytes, n) != 1 ||
        EVP_DigestFinal_ex(ctx, out, NULL) != 1)
        digest_give_up();
}

static EVP_MAC_CTX *own_mac_context(void) {
    char algorithm[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, algorithm, 0),
                                 OSSL_PARAM_construct_end()};
    if (mac_context)
        return mac_context;
    (void)pthread_once(&once, digest_prepare);
    mac_context = EVP_MAC_CTX_new(hmac);
    if (!mac_context || pthread_setspecific(mac_key, mac_context) || EVP_MAC_CTX_set_params(mac_context, params) != 1)
        digest_give_up();
    return mac_context;
}

uint64_t digest_u64(const void *bytes, size_t n) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    uint64_t number;
    digest_sha256(bytes, n, digest);
    memcpy(&number, digest, sizeof(number));
    return number;
}

void digest_hmac_sha256(const void *key, size_t key_len, const void *bytes, size_t n, uint8_t out[DIGEST_SHA256_BYTES]) {
    static const uint8_t no_key[1];
    EVP_MAC_CTX *ctx = own_mac_context();
    size_t len = 0;
    /* a NULL key would be "the key of the call before" */
    if (EVP_MAC_init(ctx, key_len ? key : no_key, key_len, NULL) != 1 || EVP_MAC_update(ctx, bytes, n) != 1 ||
        EVP_MAC_final(ctx, out, &len, DIGEST_SHA256_BYTES) != 1 || len != DIGEST_SHA256_BYTES)
        digest_give_up();
}
