/* A sealed file of any length, in chunks. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "sealed_file.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "gzip.h"
#include "secret.h"
#include "uuid.h"

#define MAGIC "KAASBAK1"
#define MAGIC_BYTES (sizeof(MAGIC) - 1)
#define SALT_BYTES 32
#define NONCE_BYTES 12
#define TAG_BYTES 16
#define IS_LAST (UINT32_C(1) << 31)
#define SEALED_BYTES_MAX \
    (SEALED_FILE_CHUNK_BYTES + 4096U) /* what does not get smaller gets 5 bytes in 16 KB larger, and a gzip head */
#define LEVEL 6

struct sealed_file {
    FILE *file;
    EVP_CIPHER_CTX *ctx;
    uint64_t chunk; /* number of the next one */
    bool is_over;
    uint8_t key[SEAL_KEY_BYTES];
    struct strbuf plain; /* of the writer: what is to be sealed next */
    struct strbuf packed;
    uint8_t sealed[SEALED_BYTES_MAX + TAG_BYTES];
};

void sealed_file_free(struct sealed_file *f) {
    if (!f)
        return;
    EVP_CIPHER_CTX_free(f->ctx);
    strbuf_done(&f->plain);
    strbuf_done(&f->packed);
    secret_wipe(f->key, sizeof(f->key));
    free(f);
}

static int sealed_file_make(FILE *file, const char *head, const uint8_t *salt, struct seal *seal, const char *key_id,
                            struct sealed_file **out, struct err *err) {
    _cleanup_(sealed_file_free) struct sealed_file *f = calloc(1, sizeof(*f));
    uint8_t info[MAGIC_BYTES + DIGEST_SHA256_BYTES];
    int rc;
    if (!f || !(f->ctx = EVP_CIPHER_CTX_new()))
        return err_set(err, ERR_NOMEM, "out of memory");
    f->file = file;
    strbuf_init_secret(&f->plain, SEALED_FILE_CHUNK_BYTES);
    strbuf_init_secret(&f->packed, SEALED_BYTES_MAX);
    memcpy(info, MAGIC, MAGIC_BYTES);
    digest_sha256(head, strlen(head), info + MAGIC_BYTES);
    rc = seal_derive(seal,
                     &(struct seal_derivation){
                         .key_id = key_id, .salt = salt, .salt_bytes = SALT_BYTES, .info = info, .info_bytes = sizeof(info)},
                     f->key, err);
    if (!rc)
        *out = STEAL(f);
    return rc;
}

/* Starts the cipher for the next chunk; its word is authenticated. */
static bool sealed_file_start(struct sealed_file *f, const uint32_t *word, bool is_last, int is_sealing) {
    uint8_t nonce[NONCE_BYTES] = {0};
    int n;
    for (size_t i = 0; i < sizeof(f->chunk); i++)
        nonce[NONCE_BYTES - 2 - i] = (uint8_t)(f->chunk >> (8 * i));
    nonce[NONCE_BYTES - 1] = is_last;
    f->chunk++;
    return EVP_CipherInit_ex(f->ctx, EVP_aes_256_gcm(), NULL, f->key, nonce, is_sealing) == 1 &&
           EVP_CipherUpdate(f->ctx, NULL, &n, (const uint8_t *)word, sizeof(*word)) == 1;
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

static int sealed_file_put(FILE *to, const void *bytes, size_t n, struct err *err) {
    return fwrite(bytes, 1, n, to) == n ? 0 : err_set(err, ERR_IO, "%m");
}

int sealed_file_new(FILE *to, const char *head, struct seal *seal, const char *key_id, struct sealed_file **out,
                    struct err *err) {
    const size_t n = strlen(head);
    const uint32_t word = htonl((uint32_t)n);
    uint8_t salt[SALT_BYTES];
    int rc;
    if (!n || n > SEALED_FILE_HEAD_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the head of a sealed file is empty or larger than %u bytes",
                       SEALED_FILE_HEAD_BYTES_MAX);
    random_bytes(salt, sizeof(salt));
    rc = sealed_file_put(to, MAGIC, MAGIC_BYTES, err);
    rc = rc ? rc : sealed_file_put(to, &word, sizeof(word), err);
    rc = rc ? rc : sealed_file_put(to, head, n, err);
    rc = rc ? rc : sealed_file_put(to, salt, sizeof(salt), err);
    return rc ? rc : sealed_file_make(to, head, salt, seal, key_id, out, err);
}

static int sealed_file_put_chunk(struct sealed_file *f, bool is_last, struct err *err) {
    int done = 0, rc;
    strbuf_reset(&f->packed);
    rc = gzip_pack(f->plain.data, f->plain.len, LEVEL, &f->packed, err);
    if (rc)
        return rc;
    const uint32_t word = htonl((uint32_t)f->packed.len | (is_last ? IS_LAST : 0));
    if (!sealed_file_start(f, &word, is_last, 1) ||
        EVP_CipherUpdate(f->ctx, f->sealed, &done, (const uint8_t *)f->packed.data, (int)f->packed.len) != 1 ||
        EVP_CipherFinal_ex(f->ctx, f->sealed + done, &done) != 1 ||
        EVP_CIPHER_CTX_ctrl(f->ctx, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, f->sealed + f->packed.len) != 1)
        return err_set(err, ERR_INTERNAL, "a chunk could not be sealed");
    rc = sealed_file_put(f->file, &word, sizeof(word), err);
    rc = rc ? rc : sealed_file_put(f->file, f->sealed, f->packed.len + TAG_BYTES, err);
    strbuf_reset(&f->plain);
    return rc;
}

int sealed_file_write(struct sealed_file *f, const void *bytes, size_t n, struct err *err) {
    const char *at = bytes;
    while (n) {
        const size_t room = SEALED_FILE_CHUNK_BYTES - f->plain.len, part = n < room ? n : room;
        int rc = room ? 0 : sealed_file_put_chunk(f, false, err);
        if (rc)
            return rc;
        strbuf_add(&f->plain, at, part);
        rc = strbuf_check(&f->plain, "chunk", err);
        if (rc)
            return rc;
        at += part;
        n -= part;
    }
    return 0;
}

int sealed_file_finish(struct sealed_file *f, struct err *err) {
    int rc = sealed_file_put_chunk(f, true, err);
    return rc || !fflush(f->file) ? rc : err_set(err, ERR_IO, "%m");
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

#define CUT_OFF "the file ends before its end: it was not written to the end, or was cut off"

static int sealed_file_get(FILE *from, void *bytes, size_t n, struct err *err) {
    if (fread(bytes, 1, n, from) == n)
        return 0;
    return ferror(from) ? err_set(err, ERR_IO, "the file cannot be read: %m") : err_set(err, ERR_INVALID, CUT_OFF);
}

int sealed_file_read_head(FILE *from, struct strbuf *head, struct err *err) {
    char text[SEALED_FILE_HEAD_BYTES_MAX], magic[MAGIC_BYTES] = "";
    uint32_t word = 0;
    const size_t got = fread(magic, 1, sizeof(magic), from);
    if (ferror(from))
        return err_set(err, ERR_IO, "the file cannot be read: %m");
    if (got < sizeof(magic) || memcmp(magic, MAGIC, MAGIC_BYTES) != 0)
        return err_set(err, ERR_INVALID, "this is no backup of kaasd, or of a format that this program does not know");
    int rc = sealed_file_get(from, &word, sizeof(word), err);
    word = ntohl(word);
    if (!rc && (!word || word > sizeof(text)))
        rc = err_set(err, ERR_INVALID, "the head of the file is damaged");
    rc = rc ? rc : sealed_file_get(from, text, word, err);
    if (rc)
        return rc;
    if (memchr(text, 0, word))
        return err_set(err, ERR_INVALID, "the head of the file is damaged");
    strbuf_add(head, text, word);
    return strbuf_check(head, "head of the file", err);
}

int sealed_file_open(FILE *from, const char *head, struct seal *seal, const char *key_id, struct sealed_file **out,
                     struct err *err) {
    uint8_t salt[SALT_BYTES];
    int rc = sealed_file_get(from, salt, sizeof(salt), err);
    return rc ? rc : sealed_file_make(from, head, salt, seal, key_id, out, err);
}

int sealed_file_read(struct sealed_file *f, struct strbuf *plain, bool *is_last, struct err *err) {
    uint32_t word = 0;
    int done = 0, rc = f->is_over ? err_set(err, ERR_INVALID, CUT_OFF) : sealed_file_get(f->file, &word, sizeof(word), err);
    if (rc)
        return rc;
    const uint32_t n = ntohl(word) & ~IS_LAST;
    const bool is_end = (ntohl(word) & IS_LAST) != 0;
    if (!n || n > SEALED_BYTES_MAX)
        return err_set(err, ERR_INVALID, "the file is damaged at its chunk %llu", (unsigned long long)f->chunk);
    rc = sealed_file_get(f->file, f->sealed, n + TAG_BYTES, err);
    if (rc)
        return rc;
    strbuf_reset(&f->packed);
    strbuf_reserve(&f->packed, n);
    if (f->packed.failed)
        return strbuf_check(&f->packed, "chunk", err);
    if (!sealed_file_start(f, &word, is_end, 0) ||
        EVP_CipherUpdate(f->ctx, (uint8_t *)f->packed.data, &done, f->sealed, (int)n) != 1 ||
        EVP_CIPHER_CTX_ctrl(f->ctx, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, f->sealed + n) != 1 ||
        EVP_CipherFinal_ex(f->ctx, (uint8_t *)f->packed.data + done, &done) != 1)
        return err_set(err, ERR_INVALID, "the file was changed or is damaged, at its chunk %llu",
                       (unsigned long long)f->chunk - 1);
    strbuf_reset(plain);
    rc = gzip_unpack(f->packed.data, n, plain, err);
    if (!rc && is_end && getc(f->file) != EOF)
        rc = err_set(err, ERR_INVALID, "the file was changed: something follows behind its end");
    if (rc)
        return rc;
    f->is_over = *is_last = is_end;
    return 0;
}
