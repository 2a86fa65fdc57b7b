/* Sealing of secrets at rest with the master key. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nonces are random: with 96 bits the risk of a repeat stays below 2^-32 up to 2^32 sealed values per key (NIST SP 800-38D 8.3). */
#include "seal.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cleanup.h"
#include "digest.h"
#include "fsutil.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"

#define FORMAT_VERSION 1
#define KEY_ID_BYTES 4
#define NONCE_BYTES 12
#define TAG_BYTES 16
#define HEAD_BYTES (1 + KEY_ID_BYTES + NONCE_BYTES)
_Static_assert(HEAD_BYTES + TAG_BYTES == SEAL_OVERHEAD_BYTES, "the header tells the overhead");

struct key {
    uint8_t bytes[SEAL_KEY_BYTES];
    uint8_t id[KEY_ID_BYTES];
};

/* Lives alone in pages of its own, which are neither swapped nor dumped. */
struct seal {
    pthread_rwlock_t lock; /* guards the rest */
    size_t count, sealing;
    struct key keys[SEAL_KEYS_MAX];
};

CLEANUP_DEFINE(EVP_CIPHER_CTX, EVP_CIPHER_CTX_free);
CLEANUP_DEFINE(EVP_KDF, EVP_KDF_free);
CLEANUP_DEFINE(EVP_KDF_CTX, EVP_KDF_CTX_free);

static void seal_set_key(struct key *key, const uint8_t *bytes) {
    uint8_t id[DIGEST_SHA256_BYTES];
    memcpy(key->bytes, bytes, SEAL_KEY_BYTES);
    digest_sha256(bytes, SEAL_KEY_BYTES, id);
    memcpy(key->id, id, KEY_ID_BYTES);
}

void seal_id_of_key(const uint8_t key[SEAL_KEY_BYTES], char out[SEAL_KEY_ID_BYTES]) {
    uint8_t id[DIGEST_SHA256_BYTES];
    digest_sha256(key, SEAL_KEY_BYTES, id);
    str_hex(id, KEY_ID_BYTES, out);
}

static int seal_new(struct seal **out, struct err *err) {
    struct seal *seal = mmap(NULL, sizeof(*seal), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (seal == MAP_FAILED)
        return err_set(err, ERR_NOMEM, "out of memory");
    /* best effort: the limit on locked memory may be 0 in containers */
    (void)mlock(seal, sizeof(*seal));
    (void)madvise(seal, sizeof(*seal), MADV_DONTDUMP);
    (void)pthread_rwlock_init(&seal->lock, NULL);
    *out = seal;
    return 0;
}

int seal_open_key(const uint8_t key[SEAL_KEY_BYTES], struct seal **out, struct err *err) {
    int rc = seal_new(out, err);
    if (rc)
        return rc;
    seal_set_key(&(*out)->keys[0], key);
    (*out)->count = 1;
    return 0;
}

static size_t find_id(const struct seal *seal, const uint8_t id[KEY_ID_BYTES]) {
    size_t i = 0;
    while (i < seal->count && memcmp(seal->keys[i].id, id, KEY_ID_BYTES) != 0)
        i++;
    return i;
}

static int seal_take_keys(struct seal *seal, const char *path, const struct strbuf *bytes, struct err *err) {
    if (!bytes->len || bytes->len % SEAL_KEY_BYTES || bytes->len > SEAL_KEYS_MAX * SEAL_KEY_BYTES) {
        (void)err_set(err, ERR_CONFIG, "master key file %s has %zu bytes instead of %d for each of 1 to %d keys", path,
                      bytes->len, SEAL_KEY_BYTES, SEAL_KEYS_MAX);
        return err_remedy(err, "put a copy of it in its place; a new key cannot open what the old one sealed");
    }
    while (seal->count < bytes->len / SEAL_KEY_BYTES) {
        struct key *key = &seal->keys[seal->count];
        seal_set_key(key, (const uint8_t *)bytes->data + seal->count * SEAL_KEY_BYTES);
        if (find_id(seal, key->id) < seal->count)
            return err_set(err, ERR_CONFIG, "master key file %s holds a key twice", path);
        seal->count++;
    }
    return 0;
}

int seal_open_file(const char *path, struct seal **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf bytes;
    struct seal *seal = NULL;
    int rc;
    strbuf_init_secret(&bytes, 4096);
    rc = fs_read_secret(path, &bytes, err);
    if (rc)
        return rc == ERR_TOO_LARGE ? ERR_CONFIG : rc;
    rc = seal_new(&seal, err);
    if (!rc)
        rc = seal_take_keys(seal, path, &bytes, err);
    if (rc)
        seal_free(seal);
    else
        *out = seal;
    return rc;
}

/* Under the lock of `seal`; `fresh` is nobody else's yet. */
static int replace_keys(struct seal *seal, const struct seal *fresh, const char *path, struct err *err) {
    size_t sealing = find_id(fresh, seal->keys[seal->sealing].id);
    char id[SEAL_KEY_ID_BYTES];
    if (sealing == fresh->count) {
        str_hex(seal->keys[seal->sealing].id, KEY_ID_BYTES, id);
        (void)err_set(err, ERR_CONFIG, "master key file %s lacks key %s, which seals", path, id);
        return err_remedy(err, "put the key file of the other replicas, or a copy of it, in its place");
    }
    secret_wipe(seal->keys, sizeof(seal->keys));
    memcpy(seal->keys, fresh->keys, sizeof(seal->keys));
    seal->count = fresh->count;
    seal->sealing = sealing;
    return 0;
}

int seal_reload_file(struct seal *seal, const char *path, struct err *err) {
    struct seal *fresh = NULL;
    int rc = seal_open_file(path, &fresh, err);
    if (rc)
        return rc;
    (void)pthread_rwlock_wrlock(&seal->lock);
    rc = replace_keys(seal, fresh, path, err);
    (void)pthread_rwlock_unlock(&seal->lock);
    seal_free(fresh);
    return rc;
}

void seal_get_ids(struct seal *seal, struct seal_ids *out) {
    memset(out, 0, sizeof(*out));
    (void)pthread_rwlock_rdlock(&seal->lock);
    out->count = seal->count;
    out->sealing = seal->sealing;
    for (size_t i = 0; i < seal->count; i++)
        str_hex(seal->keys[i].id, KEY_ID_BYTES, out->items[i]);
    (void)pthread_rwlock_unlock(&seal->lock);
}

int seal_choose(struct seal *seal, const char *key_id, struct err *err) {
    char id[SEAL_KEY_ID_BYTES];
    bool is_held = false;
    (void)pthread_rwlock_wrlock(&seal->lock);
    for (size_t i = 0; i < seal->count; i++) {
        str_hex(seal->keys[i].id, KEY_ID_BYTES, id);
        if (!str_eq(id, key_id))
            continue;
        seal->sealing = i;
        is_held = true;
    }
    (void)pthread_rwlock_unlock(&seal->lock);
    return is_held ? 0 : err_set(err, ERR_NOT_FOUND, "the master key file does not hold key %.8s", key_id);
}

void seal_free(struct seal *seal) {
    if (!seal)
        return;
    (void)pthread_rwlock_destroy(&seal->lock);
    secret_wipe(seal, sizeof(*seal));
    (void)munmap(seal, sizeof(*seal));
}

static EVP_CIPHER_CTX *seal_start(const struct key *key, const char *purpose, const uint8_t *head, int is_sealing) {
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n;
    /* the purpose is authenticated, but not stored */
    if (ctx && EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key->bytes, head + 1 + KEY_ID_BYTES, is_sealing) == 1 &&
        EVP_CipherUpdate(ctx, NULL, &n, head, 1 + KEY_ID_BYTES) == 1 &&
        EVP_CipherUpdate(ctx, NULL, &n, (const uint8_t *)purpose, (int)strlen(purpose)) == 1)
        return ctx;
    EVP_CIPHER_CTX_free(ctx);
    return NULL;
}

static int seal_with(const struct key *key, const char *purpose, const struct strbuf *plain, struct strbuf *out,
                     struct err *err) {
    uint8_t head[HEAD_BYTES] = {FORMAT_VERSION}, tag[TAG_BYTES];
    int done = 0;
    memcpy(head + 1, key->id, KEY_ID_BYTES);
    random_bytes(head + 1 + KEY_ID_BYTES, NONCE_BYTES);
    _cleanup_free_ uint8_t *sealed = malloc(plain->len + 1);
    _cleanup_(EVP_CIPHER_CTX_free) EVP_CIPHER_CTX *ctx = seal_start(key, purpose, head, 1);
    if (!sealed || !ctx)
        return err_set(err, ERR_NOMEM, "out of memory");
    if ((plain->len && EVP_CipherUpdate(ctx, sealed, &done, (const uint8_t *)plain->data, (int)plain->len) != 1) ||
        EVP_CipherFinal_ex(ctx, sealed + done, &done) != 1 || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, tag) != 1)
        return err_set(err, ERR_INTERNAL, "a secret could not be sealed");
    strbuf_add(out, head, sizeof(head));
    strbuf_add(out, sealed, plain->len);
    strbuf_add(out, tag, sizeof(tag));
    return 0;
}

int seal_seal(struct seal *seal, const char *purpose, const void *plain, size_t n, struct strbuf *out, struct err *err) {
    const struct strbuf text = {.data = (char *)(uintptr_t)plain, .len = n};
    struct key key;
    int rc;
    if (n > INT32_MAX)
        return err_set(err, ERR_INTERNAL, "a secret is too large to be sealed");
    strbuf_reserve(out, n + SEAL_OVERHEAD_BYTES);
    if (out->failed)
        return strbuf_check(out, "sealed value", err);
    /* a copy, to be wiped: no lock is held during the work */
    (void)pthread_rwlock_rdlock(&seal->lock);
    key = seal->keys[seal->sealing];
    (void)pthread_rwlock_unlock(&seal->lock);
    rc = seal_with(&key, purpose, &text, out, err);
    secret_wipe(&key, sizeof(key));
    return rc;
}

static int seal_find_key(struct seal *seal, const uint8_t *sealed, size_t n, struct key *out, struct err *err) {
    char id[SEAL_KEY_ID_BYTES];
    size_t i;
    bool is_held;
    if (n < SEAL_OVERHEAD_BYTES || n > INT32_MAX || sealed[0] != FORMAT_VERSION)
        return err_set(err, ERR_CONFIG, "a stored secret has an unknown form");
    (void)pthread_rwlock_rdlock(&seal->lock);
    i = find_id(seal, sealed + 1);
    is_held = i < seal->count;
    if (is_held)
        *out = seal->keys[i];
    (void)pthread_rwlock_unlock(&seal->lock);
    if (is_held)
        return 0;
    str_hex(sealed + 1, KEY_ID_BYTES, id);
    (void)err_set(err, ERR_CONFIG, "a stored secret was sealed with another master key: %s, which the key file does not hold",
                  id);
    return err_remedy(err, "use the master key file that belongs to this database");
}

static int unseal_with(const struct key *key, const char *purpose, const struct strbuf *sealed, struct strbuf *out,
                       struct err *err) {
    const uint8_t *head = (const uint8_t *)sealed->data;
    size_t plain_bytes = sealed->len - SEAL_OVERHEAD_BYTES;
    uint8_t tag[TAG_BYTES];
    int done = 0, rc = 0;
    uint8_t *plain = malloc(plain_bytes + 1);
    _cleanup_(EVP_CIPHER_CTX_free) EVP_CIPHER_CTX *ctx = seal_start(key, purpose, head, 0);
    memcpy(tag, head + sealed->len - TAG_BYTES, TAG_BYTES);
    if (!plain || !ctx)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    else if ((plain_bytes && EVP_CipherUpdate(ctx, plain, &done, head + HEAD_BYTES, (int)plain_bytes) != 1) ||
             EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) != 1 ||
             EVP_CipherFinal_ex(ctx, plain + done, &done) != 1)
        rc = err_set(err, ERR_CONFIG, "a stored secret was changed, or moved from another place");
    else
        strbuf_add(out, plain, plain_bytes);
    if (plain)
        secret_wipe(plain, plain_bytes);
    free(plain);
    return rc;
}

int seal_unseal(struct seal *seal, const char *purpose, const void *sealed, size_t n, struct strbuf *out, struct err *err) {
    const struct strbuf text = {.data = (char *)(uintptr_t)sealed, .len = n};
    struct key key = {0};
    int rc = seal_find_key(seal, sealed, n, &key, err);
    if (rc)
        return rc;
    strbuf_reserve(out, n - SEAL_OVERHEAD_BYTES);
    rc = out->failed ? strbuf_check(out, "unsealed value", err) : unseal_with(&key, purpose, &text, out, err);
    secret_wipe(&key, sizeof(key));
    return rc;
}

static int derive_with(const struct key *key, const struct seal_derivation *from, uint8_t *out, struct err *err) {
    _cleanup_(EVP_KDF_free) EVP_KDF *kdf = EVP_KDF_fetch(NULL, OSSL_KDF_NAME_HKDF, NULL);
    _cleanup_(EVP_KDF_CTX_free) EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    char hash[] = "SHA256";
    const OSSL_PARAM settings[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)key->bytes, SEAL_KEY_BYTES),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)from->salt, from->salt_bytes),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)from->info, from->info_bytes),
        OSSL_PARAM_construct_end(),
    };
    return ctx && EVP_KDF_derive(ctx, out, SEAL_KEY_BYTES, settings) == 1
               ? 0
               : err_set(err, ERR_INTERNAL, "a key could not be derived from the master key");
}

int seal_derive(struct seal *seal, const struct seal_derivation *from, uint8_t out[SEAL_KEY_BYTES], struct err *err) {
    struct key key = {0};
    uint8_t id[KEY_ID_BYTES];
    size_t i;
    int rc;
    if (!str_unhex(from->key_id, id, sizeof(id)))
        return err_set(err, ERR_NOT_FOUND, "\"%.16s\" is no id of a master key", from->key_id);
    (void)pthread_rwlock_rdlock(&seal->lock);
    i = find_id(seal, id);
    const bool is_held = i < seal->count;
    if (is_held)
        key = seal->keys[i];
    (void)pthread_rwlock_unlock(&seal->lock);
    rc = is_held ? derive_with(&key, from, out, err)
                 : err_set(err, ERR_NOT_FOUND, "the master key file does not hold key %.8s", from->key_id);
    secret_wipe(&key, sizeof(key));
    return rc;
}
