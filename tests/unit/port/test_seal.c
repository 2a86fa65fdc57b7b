/* Unit tests of src/port/seal, digest and passwd.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <crypt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "digest.h"
#include "fsutil.h"
#include "passwd.h"
#include "seal.h"
#include "secret.h"
#include "str.h"

static const uint8_t key_a[SEAL_KEY_BYTES] = {1, 2, 3}, key_b[SEAL_KEY_BYTES] = {3, 2, 1};

static struct seal *open_key(const uint8_t *key) {
    struct seal *seal = NULL;
    assert_int_equal(seal_open_key(key, &seal, NULL), 0);
    return seal;
}

static void test_round_trip(void **state) {
    (void)state;
    struct seal *seal = open_key(key_a);
    struct strbuf sealed, again, plain;
    static const char text[] = "a private key\0with a NUL";
    strbuf_init(&sealed, 1000);
    strbuf_init(&again, 1000);
    strbuf_init_secret(&plain, 1000);
    for (size_t n = 0; n < sizeof(text); n++) {
        strbuf_reset(&sealed);
        strbuf_reset(&plain);
        assert_int_equal(seal_seal(seal, "signing-key:1", text, n, &sealed, NULL), 0);
        assert_int_equal(sealed.len, n + SEAL_OVERHEAD_BYTES);
        assert_int_equal(seal_unseal(seal, "signing-key:1", sealed.data, sealed.len, &plain, NULL), 0);
        assert_int_equal(plain.len, n);
        assert_memory_equal(plain.data, text, n);
    }
    assert_int_equal(seal_seal(seal, "signing-key:1", text, sizeof(text) - 1, &again, NULL), 0);
    assert_int_equal(again.len, sealed.len);
    assert_memory_not_equal(again.data, sealed.data, sealed.len); /* fresh nonce */
    assert_int_equal(sealed.data[0], 1);
    uint8_t id[DIGEST_SHA256_BYTES];
    digest_sha256(key_a, sizeof(key_a), id);
    assert_memory_equal(sealed.data + 1, id, 4);
    strbuf_done(&sealed);
    strbuf_done(&again);
    strbuf_done(&plain);
    seal_free(seal);
}

static void refuse(struct seal *seal, const char *purpose, const char *sealed, size_t n, const char *word) {
    struct strbuf plain;
    struct err err = {0};
    strbuf_init_secret(&plain, 1000);
    assert_int_equal(seal_unseal(seal, purpose, sealed, n, &plain, &err), ERR_CONFIG);
    assert_int_equal(plain.len, 0);
    assert_non_null(strstr(err.text, word));
    strbuf_done(&plain);
}

static void test_refused(void **state) {
    (void)state;
    struct seal *seal = open_key(key_a), *other = open_key(key_b);
    struct strbuf sealed;
    strbuf_init(&sealed, 1000);
    assert_int_equal(seal_seal(seal, "a", "secret", 6, &sealed, NULL), 0);
    refuse(seal, "b", sealed.data, sealed.len, "moved");
    refuse(other, "a", sealed.data, sealed.len, "another master key");
    for (size_t n = 0; n < sealed.len; n++)
        refuse(seal, "a", sealed.data, n, "a stored secret");
    for (size_t i = 0; i < sealed.len; i++) {
        sealed.data[i] ^= 1;
        refuse(seal, "a", sealed.data, sealed.len, "a stored secret");
        sealed.data[i] ^= 1;
    }
    struct strbuf plain;
    struct err err = {0};
    strbuf_init_secret(&plain, 5); /* too small for the result */
    assert_int_equal(seal_unseal(seal, "a", sealed.data, sealed.len, &plain, &err), ERR_TOO_LARGE);
    strbuf_done(&plain);
    strbuf_done(&sealed);
    seal_free(seal);
    seal_free(other);
    seal_free(NULL);
}

/* Old values stay readable after another key took over; a file without the key that seals is not taken. */
static void test_several_keys(void **state) {
    uint8_t both[2 * SEAL_KEY_BYTES], twice[2 * SEAL_KEY_BYTES];
    char folder[] = "/tmp/kaas-seal-XXXXXX", id_a[SEAL_KEY_ID_BYTES], id_b[SEAL_KEY_ID_BYTES];
    struct seal *seal = NULL;
    struct seal_ids ids;
    struct strbuf sealed, plain;
    struct err err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *path = str_format("%s/key", folder);
    memcpy(both, key_a, SEAL_KEY_BYTES);
    memcpy(both + SEAL_KEY_BYTES, key_b, SEAL_KEY_BYTES);
    seal_id_of_key(key_a, id_a);
    seal_id_of_key(key_b, id_b);
    strbuf_init(&sealed, 1000);
    strbuf_init_secret(&plain, 1000);
    assert_int_equal(fs_write_atomic(path, both, sizeof(both), 0600, NULL), 0);
    assert_int_equal(seal_open_file(path, &seal, NULL), 0);
    seal_get_ids(seal, &ids);
    assert_int_equal(ids.count, 2);
    assert_int_equal(ids.sealing, 0);
    assert_string_equal(ids.items[0], id_a);
    assert_string_equal(ids.items[1], id_b);
    assert_int_equal(seal_seal(seal, "a", "secret", 6, &sealed, NULL), 0);
    assert_int_equal(seal_choose(seal, "00000000", NULL), ERR_NOT_FOUND);
    assert_int_equal(seal_choose(seal, id_b, NULL), 0);
    assert_int_equal(seal_unseal(seal, "a", sealed.data, sealed.len, &plain, NULL), 0);
    strbuf_reset(&sealed);
    assert_int_equal(seal_seal(seal, "a", "secret", 6, &sealed, NULL), 0);
    assert_int_equal(fs_write_atomic(path, key_a, sizeof(key_a), 0600, NULL), 0);
    assert_int_equal(seal_reload_file(seal, path, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, id_b));
    assert_int_equal(fs_write_atomic(path, key_b, sizeof(key_b), 0600, NULL), 0);
    assert_int_equal(seal_reload_file(seal, path, NULL), 0);
    seal_get_ids(seal, &ids);
    assert_int_equal(ids.count, 1);
    strbuf_reset(&plain);
    assert_int_equal(seal_unseal(seal, "a", sealed.data, sealed.len, &plain, NULL), 0);
    memcpy(twice, key_b, SEAL_KEY_BYTES);
    memcpy(twice + SEAL_KEY_BYTES, key_b, SEAL_KEY_BYTES);
    assert_int_equal(fs_write_atomic(path, twice, sizeof(twice), 0600, NULL), 0);
    assert_int_equal(seal_reload_file(seal, path, NULL), ERR_CONFIG);
    strbuf_done(&sealed);
    strbuf_done(&plain);
    seal_free(seal);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void test_key_file(void **state) {
    (void)state;
    char folder[] = "/tmp/kaas-seal-XXXXXX";
    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *path = str_format("%s/key", folder);
    struct seal *seal = NULL;
    struct err err = {0};
    assert_int_equal(seal_open_file(path, &seal, &err), ERR_NOT_FOUND);
    assert_int_equal(fs_write_new(path, key_a, sizeof(key_a), 0600, NULL), 0);
    assert_int_equal(seal_open_file(path, &seal, NULL), 0);
    seal_free(seal);
    seal = NULL;
    assert_int_equal(chmod(path, 0640), 0);
    err_clear(&err);
    assert_int_equal(seal_open_file(path, &seal, &err), ERR_CONFIG);
    assert_non_null(strstr(err.remedy, "chmod 0600"));
    assert_int_equal(unlink(path), 0);
    for (size_t n = 0; n < 70; n += 31) {
        uint8_t bytes[70] = {0};
        err_clear(&err);
        assert_int_equal(fs_write_new(path, bytes, n, 0600, NULL), 0);
        assert_int_equal(seal_open_file(path, &seal, &err), ERR_CONFIG);
        assert_non_null(strstr(err.text, "instead of 32"));
        assert_int_equal(unlink(path), 0);
    }
    assert_null(seal);
    assert_int_equal(rmdir(folder), 0);
}

static void assert_digest(const uint8_t *digest, const char *expected) {
    char hex[2 * DIGEST_SHA256_BYTES + 1];
    str_hex(digest, DIGEST_SHA256_BYTES, hex);
    assert_string_equal(hex, expected);
}

static void *digest_in_thread(void *arg) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    for (int i = 0; i < 1000; i++)
        digest_sha256("abc", 3, digest);
    assert_digest(digest, arg);
    return NULL;
}

/* NIST FIPS 180-4 examples; RFC 4231 test cases 2 and 6 for HMAC. */
static void test_digest(void **state) {
    (void)state;
    uint8_t digest[DIGEST_SHA256_BYTES], key[131];
    static char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    pthread_t threads[4];
    digest_sha256("abc", 3, digest);
    assert_digest(digest, abc);
    digest_sha256(NULL, 0, digest);
    assert_digest(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, digest);
    assert_digest(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    digest_hmac_sha256(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", 54, digest);
    assert_digest(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    digest_hmac_sha256(NULL, 0, "", 0, digest);
    assert_digest(digest, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, digest_in_thread, abc), 0);
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
}

static void test_password(void **state) {
    (void)state;
    _cleanup_free_ char *hash = NULL, *again = NULL;
    assert_int_equal(passwd_hash("correct horse", &hash, NULL), 0);
    assert_int_equal(passwd_hash("correct horse", &again, NULL), 0);
    assert_true(str_starts(hash, "$y$"));
    assert_string_not_equal(hash, again);
    assert_true(passwd_verify("correct horse", hash));
    assert_true(passwd_verify("correct horse", again));
    assert_false(passwd_verify("correct hors", hash));
    assert_false(passwd_verify("", hash));
    assert_false(passwd_verify("unknown user", NULL)); /* not even by the dummy's own text */
    assert_false(passwd_verify("x", ""));
    assert_false(passwd_verify("x", "*0"));
    assert_false(passwd_verify("x", "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/")); /* other methods are not taken */
    hash[strlen(hash) - 1] ^= 1;
    assert_false(passwd_verify("correct horse", hash));
}

static void test_password_too_long(void **state) {
    (void)state;
    char text[CRYPT_MAX_PASSPHRASE_SIZE + 1];
    char *hash = NULL;
    memset(text, 'x', sizeof(text));
    text[CRYPT_MAX_PASSPHRASE_SIZE] = '\0';
    assert_int_equal(passwd_hash(text, &hash, NULL), ERR_UNPROCESSABLE);
    assert_null(hash);
    text[CRYPT_MAX_PASSPHRASE_SIZE - 1] = '\0';
    assert_int_equal(passwd_hash(text, &hash, NULL), 0);
    assert_true(passwd_verify(text, hash));
    text[CRYPT_MAX_PASSPHRASE_SIZE - 1] = 'x'; /* longer ones are refused, not cut */
    assert_false(passwd_verify(text, hash));
    free(hash);
}

static int64_t cpu_ns(void) {
    struct timespec at;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at), 0);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static int64_t verify_cost_ns(const char *hash) {
    int64_t start = cpu_ns();
    assert_false(passwd_verify("wrong", hash));
    return cpu_ns() - start;
}

/* No oracle: the answer for an unknown user costs as much as for a known one. The factor only tells work from none. */
static void test_equal_cost(void **state) {
    (void)state;
    _cleanup_free_ char *hash = NULL;
    assert_int_equal(passwd_hash("x", &hash, NULL), 0);
    int64_t known = verify_cost_ns(hash), unknown = verify_cost_ns(NULL), damaged = verify_cost_ns("!");
    assert_true(unknown > known / 4 && damaged > known / 4);
}

static void test_generate(void **state) {
    (void)state;
    _cleanup_secret_ char *a = passwd_generate(), *b = passwd_generate();
    assert_int_equal(strlen(a), 23);
    assert_string_not_equal(a, b);
    assert_int_equal(strspn(a, "0123456789abcdefghjkmnpqrstvwxyz-"), 23);
    assert_true(a[5] == '-' && a[11] == '-' && a[17] == '-');
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_refused),    cmocka_unit_test(test_several_keys),
        cmocka_unit_test(test_key_file),          cmocka_unit_test(test_digest),     cmocka_unit_test(test_password),
        cmocka_unit_test(test_password_too_long), cmocka_unit_test(test_equal_cost), cmocka_unit_test(test_generate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
