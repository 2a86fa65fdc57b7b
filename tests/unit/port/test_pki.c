/* Unit tests of src/port/pki: certificates are judged by OpenSSL's own verification.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cleanup.h"
#include "clock.h"
#include "pki.h"
#include "secret.h"
#include "str.h"
#include "x509.h"
#include "x509_parts.h"

#define DAY_S INT64_C(86400)
#define TEST_SLACK_S 10 /* between making and looking */

/* openssl ecparam -name prime256v1 -genkey; openssl req -x509 -subj /CN=known; the hash is that of "openssl pkey -pubin -outform der" */
#define KNOWN                                                            \
    "-----BEGIN CERTIFICATE-----\n"                                      \
    "MIIBdzCCAR2gAwIBAgIUAQ8CoZqNzb0n7RQ9OEJ1k3CXG7AwCgYIKoZIzj0EAwIw\n" \
    "EDEOMAwGA1UEAwwFa25vd24wIBcNMjYxMTMwMjE1NDQ1WhgPMjEyNjExMDYyMTU0\n" \
    "NDVaMBAxDjAMBgNVBAMMBWtub3duMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n" \
    "rRht3+PgcC6xcXo6lH5/YFL9PqM2VO4hgG7B7uGOaR5Jngf1wPjtSz7NG6F6IVzC\n" \
    "e8tqcYkV6+apjiMTLE8zlqNTMFEwHQYDVR0OBBYEFKGyP/RoKk8FYRLM3NFxFydn\n" \
    "09KlMB8GA1UdIwQYMBaAFKGyP/RoKk8FYRLM3NFxFydn09KlMA8GA1UdEwEB/wQF\n" \
    "MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAJR/HqnisUQF+QlB4KiEPbxpGmp5/847\n" \
    "ivsw8SZad2C4AiB1vX6+fEHiZbuHpkDMnxznzBby3QstJ4XDLyvkzav5wA==\n"     \
    "-----END CERTIFICATE-----\n"
#define KNOWN_HASH "55be778a9accfd2108bccf9713c686516e68086d15af37702bc5cf85e07a1b04"

static X509 *read_cert(const char *pem) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    assert_non_null(cert);
    return cert;
}

static EVP_PKEY *read_key(const char *pem) {
    _cleanup_(BIO_free_all) BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    assert_non_null(key);
    return key;
}

/* What OpenSSL says of `cert` for a purpose, with `ca` as all that is trusted; at this wall clock. */
static int verify(X509 *ca, X509 *cert, int purpose, int64_t at_s) {
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *look = X509_STORE_CTX_new();
    assert_int_equal(X509_STORE_add_cert(store, ca), 1);
    assert_int_equal(X509_STORE_CTX_init(look, store, cert, NULL), 1);
    X509_STORE_CTX_set_purpose(look, purpose);
    X509_STORE_CTX_set_time(look, 0, at_s);
    X509_STORE_CTX_set_flags(look, X509_V_FLAG_X509_STRICT);
    (void)X509_verify_cert(look);
    const int verdict = X509_STORE_CTX_get_error(look);
    X509_STORE_CTX_free(look);
    X509_STORE_free(store);
    return verdict;
}

static void test_ca(void **state) {
    (void)state;
    struct pki_pair pair;
    struct x509_info info = {0};
    const int64_t now_s = clock_wall_s();
    assert_int_equal(pki_make_ca("kubernetes", &pair, NULL), 0);
    assert_int_equal(x509_check_key(pair.cert_pem, pair.key_pem, NULL), 0);
    assert_true(str_starts(pair.key_pem, "-----BEGIN PRIVATE KEY-----\n"));
    assert_int_equal(x509_parse_pem(pair.cert_pem, &info, NULL), 0);
    assert_string_equal(info.subject, "CN=kubernetes");
    assert_string_equal(info.issuer, "CN=kubernetes");
    assert_in_range(info.not_before_ms / 1000, now_s - X509_CLOCK_SLACK_S, now_s - X509_CLOCK_SLACK_S + TEST_SLACK_S);
    assert_in_range(info.not_after_ms / 1000, now_s + 3650 * DAY_S, now_s + 3650 * DAY_S + TEST_SLACK_S);
    _cleanup_(X509_free) X509 *cert = read_cert(pair.cert_pem);
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = read_key(pair.key_pem);
    assert_int_equal(X509_check_ca(cert), 1);
    assert_int_equal(X509_get_pathlen(cert), 0);
    assert_true(X509_get_key_usage(cert) & KU_KEY_CERT_SIGN);
    assert_int_equal(EVP_PKEY_get_base_id(key), EVP_PKEY_EC);
    assert_int_equal(EVP_PKEY_get_bits(key), 256);
    assert_int_equal(verify(cert, cert, X509_PURPOSE_ANY, now_s), X509_V_OK);
    x509_info_done(&info);
    pki_pair_done(&pair);
    assert_null(pair.key_pem);
}

static void test_issue(void **state) {
    (void)state;
    struct pki_pair ca, other, pair;
    struct x509_info info = {0};
    int64_t not_after_ms = 0;
    const int64_t now_s = clock_wall_s();
    assert_int_equal(pki_make_ca("kubernetes", &ca, NULL), 0);
    assert_int_equal(pki_make_ca("kubernetes", &other, NULL), 0);
    _cleanup_(X509_free) X509 *ca_cert = read_cert(ca.cert_pem), *other_cert = read_cert(other.cert_pem);

    const char *const groups[] = {"kubeadm:cluster-admins", "a, O=b", NULL}, *const san[] = {"DNS:cp.example", "IP:10.9.0.21",
                                                                                             NULL};
    const struct pki_request client = {
        .common_name = "ada@corp.example.test", .organizations = groups, .is_client = true, .ttl_s = 3600};
    assert_int_equal(pki_issue(&ca, &client, &pair, &not_after_ms, NULL), 0);
    assert_int_equal(x509_check_key(pair.cert_pem, pair.key_pem, NULL), 0);
    assert_int_equal(x509_parse_pem(pair.cert_pem, &info, NULL), 0);
    assert_string_equal(info.subject, "CN=ada@corp.example.test,O=a\\, O=b,O=kubeadm:cluster-admins");
    assert_string_equal(info.issuer, "CN=kubernetes");
    assert_int_equal(info.not_after_ms, not_after_ms);
    assert_in_range(not_after_ms / 1000, now_s + 3600, now_s + 3600 + TEST_SLACK_S);
    X509 *cert = read_cert(pair.cert_pem);
    assert_int_equal(X509_check_ca(cert), 0);
    assert_int_equal(verify(ca_cert, cert, X509_PURPOSE_SSL_CLIENT, now_s), X509_V_OK);
    assert_int_equal(verify(ca_cert, cert, X509_PURPOSE_SSL_CLIENT, now_s - X509_CLOCK_SLACK_S + TEST_SLACK_S), X509_V_OK);
    assert_int_equal(verify(ca_cert, cert, X509_PURPOSE_SSL_CLIENT, now_s + 3600 + TEST_SLACK_S), X509_V_ERR_CERT_HAS_EXPIRED);
    assert_int_not_equal(verify(ca_cert, cert, X509_PURPOSE_SSL_SERVER, now_s), X509_V_OK);
    assert_int_not_equal(verify(other_cert, cert, X509_PURPOSE_SSL_CLIENT, now_s), X509_V_OK); /* the same name, another key */
    X509_free(cert);
    x509_info_done(&info);
    pki_pair_done(&pair);

    const struct pki_request server = {
        .common_name = "cp", .san = san, .is_server = true, .is_client = true, .ttl_s = 5000 * DAY_S};
    assert_int_equal(pki_issue(&ca, &server, &pair, &not_after_ms, NULL), 0);
    cert = read_cert(pair.cert_pem);
    assert_int_equal(verify(ca_cert, cert, X509_PURPOSE_SSL_SERVER, now_s), X509_V_OK);
    assert_int_equal(verify(ca_cert, cert, X509_PURPOSE_SSL_CLIENT, now_s), X509_V_OK);
    assert_int_equal(X509_check_host(cert, "cp.example", 0, 0, NULL), 1);
    assert_int_equal(X509_check_ip_asc(cert, "10.9.0.21", 0), 1);
    assert_int_equal(X509_check_ip_asc(cert, "10.9.0.22", 0), 0);
    assert_int_equal(x509_parse_pem(ca.cert_pem, &info, NULL), 0);
    assert_int_equal(not_after_ms, info.not_after_ms); /* no longer than the CA */
    x509_info_done(&info);
    X509_free(cert);
    pki_pair_done(&pair);
    pki_pair_done(&ca);
    pki_pair_done(&other);
}

static void refuses(const struct pki_pair *ca, const struct pki_request *request, const char *text) {
    struct pki_pair pair;
    struct err err = {0};
    assert_int_equal(pki_issue(ca, request, &pair, NULL, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, text));
}

static void test_bad(void **state) {
    (void)state;
    struct pki_pair ca, other, leaf;
    char *long_name = calloc(1, 66);
    memset(long_name, 'a', 65);
    assert_int_equal(pki_make_ca("kubernetes", &ca, NULL), 0);
    assert_int_equal(pki_make_ca("etcd-ca", &other, NULL), 0);
    const struct pki_request good = {.common_name = "ada", .is_client = true, .ttl_s = 60};
    assert_int_equal(pki_issue(&ca, &good, &leaf, NULL, NULL), 0);
    const struct pki_pair mixed = {ca.cert_pem, other.key_pem}, no_cert = {ca.key_pem, ca.key_pem},
                          no_key = {ca.cert_pem, ca.cert_pem};
    const char *const bad_san[] = {"IP:300.1.1.1", NULL}, *const empty_group[] = {"", NULL};
    refuses(&mixed, &good, "certificate authority");
    refuses(&no_cert, &good, "certificate authority");
    refuses(&no_key, &good, "certificate authority");
    refuses(&leaf, &good, "certificate authority");
    refuses(&ca, &(struct pki_request){.common_name = long_name, .is_client = true, .ttl_s = 60}, "no certificate holds");
    refuses(&ca, &(struct pki_request){.common_name = "", .is_client = true, .ttl_s = 60}, "no certificate holds");
    refuses(&ca, &(struct pki_request){.common_name = "a\xff", .is_client = true, .ttl_s = 60}, "no certificate holds");
    refuses(&ca, &(struct pki_request){.common_name = "a", .organizations = empty_group, .is_client = true, .ttl_s = 60},
            "no certificate holds");
    refuses(&ca, &(struct pki_request){.common_name = "a", .san = bad_san, .is_client = true, .ttl_s = 60},
            "no certificate holds");
    refuses(&ca, &(struct pki_request){.common_name = "a", .is_client = true, .ttl_s = 0}, "has ended");
    clock_fake(0, (clock_wall_s() + 3651 * DAY_S) * 1000);
    refuses(&ca, &good, "has ended");
    clock_unfake();
    free(long_name);
    pki_pair_done(&leaf);
    pki_pair_done(&ca);
    pki_pair_done(&other);
    pki_pair_done(NULL);
}

static void test_rsa(void **state) {
    (void)state;
    _cleanup_secret_ char *key_pem = NULL;
    _cleanup_free_ char *public_pem = NULL;
    assert_int_equal(pki_make_rsa(&key_pem, &public_pem, NULL), 0);
    _cleanup_(EVP_PKEY_free) EVP_PKEY *key = read_key(key_pem);
    _cleanup_(BIO_free_all) BIO *bio = BIO_new_mem_buf(public_pem, -1);
    _cleanup_(EVP_PKEY_free) EVP_PKEY *public = PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    assert_int_equal(EVP_PKEY_get_base_id(key), EVP_PKEY_RSA);
    assert_int_equal(EVP_PKEY_get_bits(key), 2048);
    assert_int_equal(EVP_PKEY_eq(key, public), 1);
    assert_null(strstr(public_pem, "PRIVATE"));
}

static void test_hash(void **state) {
    (void)state;
    uint8_t wanted[DIGEST_SHA256_BYTES], hash[DIGEST_SHA256_BYTES];
    struct err err = {0};
    assert_true(str_unhex(KNOWN_HASH, wanted, sizeof(wanted)));
    assert_int_equal(pki_hash_key(KNOWN, hash, NULL), 0);
    assert_memory_equal(hash, wanted, sizeof(wanted));
    assert_int_equal(pki_hash_key("no certificate", hash, &err), ERR_UNPROCESSABLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ca),  cmocka_unit_test(test_issue), cmocka_unit_test(test_bad),
        cmocka_unit_test(test_rsa), cmocka_unit_test(test_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
