/* Keys of clusters against a real database: made once, whoever asks, and sealed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store_fixture.h"

#include <pthread.h>

#include "cluster_pki.h"
#include "cluster_store.h"
#include "pki_store.h"
#include "seal.h"
#include "secret_store.h"
#include "str.h"
#include "x509.h"

#define KUBE "33333333-3333-4333-8333-333333333333"
#define DAY_MS INT64_C(86400000)

static struct store *store;
static struct seal *seal, *other_seal;

static int set_up(void **state) {
    const uint8_t key[SEAL_KEY_BYTES] = {1}, other[SEAL_KEY_BYTES] = {2};
    struct err err = {0};
    (void)fixture_set_up(state);
    store = fixture_runtime();
    ASSERT_OK(seal_open_key(key, &seal, &err), &err);
    ASSERT_OK(seal_open_key(other, &other_seal, &err), &err);
    return 0;
}

static int tear_down(void **state) {
    seal_free(seal);
    seal_free(other_seal);
    store_free(store);
    return fixture_tear_down(state);
}

static int one_cluster(void **state) {
    (void)state;
    fixture_exec("DELETE FROM cluster_pki");
    fixture_exec("DELETE FROM secrets");
    fixture_exec("DELETE FROM clusters");
    fixture_exec("INSERT INTO clusters (id, name, state, kubernetes_version, created_at_ms, updated_at_ms, version_no)"
                 " VALUES ('" KUBE "', 'prod', 'ready', '1.36.3', 1, 1, 1)");
    return 0;
}

static struct cluster_pki *make(void) {
    struct cluster_pki *pki = NULL;
    struct err err = {0};
    ASSERT_OK(cluster_pki_make(store, seal, KUBE, &pki, &err), &err);
    return pki;
}

static void expect_same(const struct cluster_pki *a, const struct cluster_pki *b) {
    assert_string_equal(a->ca.cert_pem, b->ca.cert_pem);
    assert_string_equal(a->ca.key_pem, b->ca.key_pem);
    assert_string_equal(a->etcd_ca.cert_pem, b->etcd_ca.cert_pem);
    assert_string_equal(a->etcd_ca.key_pem, b->etcd_ca.key_pem);
    assert_string_equal(a->front_proxy_ca.cert_pem, b->front_proxy_ca.cert_pem);
    assert_string_equal(a->front_proxy_ca.key_pem, b->front_proxy_ca.key_pem);
    assert_string_equal(a->accounts_key_pem, b->accounts_key_pem);
    assert_string_equal(a->accounts_public_pem, b->accounts_public_pem);
    assert_string_equal(a->ca_hash, b->ca_hash);
    assert_int_equal(a->not_after_ms, b->not_after_ms);
}

static void test_made_once(void **state) {
    struct err err = {0};
    (void)state;
    _cleanup_(cluster_pki_free) struct cluster_pki *first = make(), *second = make(), *loaded = NULL;
    ASSERT_OK(cluster_pki_load(store, seal, KUBE, &loaded, &err), &err);
    expect_same(first, second);
    expect_same(first, loaded);
    assert_int_equal(x509_check_key(loaded->ca.cert_pem, loaded->ca.key_pem, NULL), 0);
    assert_int_equal(x509_check_key(loaded->etcd_ca.cert_pem, loaded->etcd_ca.key_pem, NULL), 0);
    assert_int_equal(x509_check_key(loaded->front_proxy_ca.cert_pem, loaded->front_proxy_ca.key_pem, NULL), 0);
    assert_true(str_starts(loaded->ca_hash, "sha256:"));
    assert_int_equal(strlen(loaded->ca_hash), 7 + 64);
    assert_int_equal(fixture_number("SELECT not_after_ms FROM cluster_pki"), loaded->not_after_ms);
    assert_true(loaded->not_after_ms > (int64_t)time(NULL) * 1000 + 3649 * DAY_MS);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets WHERE owner_kind = 'cluster_pki'"), PKI_KEY_COUNT);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets WHERE sealed LIKE '%PRIVATE KEY%'"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM cluster_pki WHERE CONCAT(ca_pem, etcd_ca_pem, front_proxy_ca_pem,"
                                    " accounts_public_pem) LIKE '%PRIVATE KEY%'"),
                     0);
}

static void *make_beside(void *arg) {
    struct err err = {0};
    struct cluster_pki **out = arg;
    store_thread_begin();
    if (cluster_pki_make(store, seal, KUBE, out, &err))
        (void)fprintf(stderr, "%s\n", err.text);
    store_thread_end();
    return NULL;
}

static void test_made_at_the_same_time(void **state) {
    struct cluster_pki *made[4] = {NULL};
    pthread_t threads[4];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(made); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_beside, &made[i]), 0);
    for (size_t i = 0; i < UNIT_COUNT(made); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(made); i++) {
        assert_non_null(made[i]);
        expect_same(made[0], made[i]);
    }
    for (size_t i = 0; i < UNIT_COUNT(made); i++)
        cluster_pki_free(made[i]);
}

/* What is there stays as it is, also when the second one that made keys has not seen them. */
static void test_the_second_is_refused(void **state) {
    struct err err = {0};
    struct pki_record *record = NULL;
    struct secret_value keys[PKI_KEY_COUNT] = {0};
    (void)state;
    _cleanup_(cluster_pki_free) struct cluster_pki *first = make(), *after = NULL;
    ASSERT_OK(pki_store_load(store, KUBE, &record, &err), &err);
    record->version_no = 0;
    ASSERT_CODE(pki_store_put(store, record, keys, &err), ERR_EXISTS, &err);
    pki_record_free(record);
    after = make();
    expect_same(first, after);
}

static void test_without_a_cluster(void **state) {
    struct cluster_pki *pki = NULL;
    struct err err = {0};
    (void)state;
    ASSERT_CODE(cluster_pki_load(store, seal, KUBE, &pki, &err), ERR_NOT_FOUND, &err);
    fixture_exec("DELETE FROM clusters");
    ASSERT_CODE(cluster_pki_make(store, seal, KUBE, &pki, &err), ERR_CONFLICT, &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 0);
    assert_null(pki);
}

static void test_lost_keys(void **state) {
    struct cluster_pki *pki = NULL;
    struct err err = {0};
    (void)state;
    cluster_pki_free(make());
    ASSERT_CODE(cluster_pki_load(store, other_seal, KUBE, &pki, &err), ERR_CONFIG, &err);
    fixture_exec("DELETE FROM secrets WHERE purpose = 'accounts-key'");
    assert_int_equal(cluster_pki_make(store, seal, KUBE, &pki, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "are lost"));
    assert_non_null(strstr(err.remedy, "new cluster"));
    assert_null(pki);
}

static void test_removed(void **state) {
    struct cluster_pki *pki = NULL;
    struct err err = {0};
    (void)state;
    cluster_pki_free(make());
    ASSERT_CODE(cluster_store_delete(store, KUBE, 1, NULL, &err), ERR_CONFLICT, &err);
    ASSERT_OK(cluster_pki_load(store, seal, KUBE, &pki, &err), &err);
    cluster_pki_free(pki);
    ASSERT_OK(cluster_pki_remove(store, KUBE, &err), &err);
    ASSERT_OK(cluster_pki_remove(store, KUBE, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 0);
    ASSERT_CODE(cluster_pki_load(store, seal, KUBE, &pki, &err), ERR_NOT_FOUND, &err);
}

static void test_issue(void **state) {
    struct pki_pair pair;
    struct x509_info info = {0};
    struct err err = {0};
    int64_t not_after_ms = 0;
    (void)state;
    _cleanup_(cluster_pki_free) struct cluster_pki *pki = make();
    ASSERT_OK(cluster_pki_issue_client(pki, "ada", "kubeadm:cluster-admins", 3600, &pair, &not_after_ms, &err), &err);
    assert_int_equal(x509_parse_pem(pair.cert_pem, &info, NULL), 0);
    assert_string_equal(info.subject, "CN=ada,O=kubeadm:cluster-admins");
    assert_string_equal(info.issuer, "CN=kubernetes");
    assert_int_equal(info.not_after_ms, not_after_ms);
    x509_info_done(&info);
    pki_pair_done(&pair);
    ASSERT_OK(cluster_pki_issue_client(pki, "ada", NULL, 3600, &pair, NULL, &err), &err);
    assert_int_equal(x509_parse_pem(pair.cert_pem, &info, NULL), 0);
    assert_string_equal(info.subject, "CN=ada");
    x509_info_done(&info);
    pki_pair_done(&pair);
    ASSERT_OK(cluster_pki_issue_etcd_client(pki, "kaas", 3600, &pair, &err), &err);
    assert_int_equal(x509_parse_pem(pair.cert_pem, &info, NULL), 0);
    assert_string_equal(info.issuer, "CN=etcd-ca");
    x509_info_done(&info);
    pki_pair_done(&pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_made_once, one_cluster),
        cmocka_unit_test_setup(test_made_at_the_same_time, one_cluster),
        cmocka_unit_test_setup(test_the_second_is_refused, one_cluster),
        cmocka_unit_test_setup(test_without_a_cluster, one_cluster),
        cmocka_unit_test_setup(test_lost_keys, one_cluster),
        cmocka_unit_test_setup(test_removed, one_cluster),
        cmocka_unit_test_setup(test_issue, one_cluster),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
