/* vCenters, credentials, signing keys, leases, audit and the installation against a real server.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "audit_store.h"
#include "change_store.h"
#include "lease_store.h"
#include "store_tx.h"
#include "vcenter_store.h"
#include "replica_store.h"
#include "key_store.h"
#include "str.h"

#define VC FIXTURE_VC
#define NOW_MS FIXTURE_NOW_MS

static struct store *store;
static struct change_positions positions;

static int set_up(void **state) {
    return fixture_begin(state, &store, &positions);
}

static int tear_down(void **state) {
    return fixture_end(state, store, &positions);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM vcenters");
    fixture_exec("DELETE FROM signing_keys");
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    return 0;
}

static struct vcenter make_vcenter(void) {
    return (struct vcenter){.id = str_dup(VC),
                            .address = str_dup("vc.example.com"),
                            .port = 443,
                            .name = str_dup("Main \"vc\""),
                            .tunnel_port = 80,
                            .created_at_ms = NOW_MS};
}

static void test_vcenters(void **state) {
    struct vcenter vc = make_vcenter(), *read = NULL;
    struct vcenter_list list = {0};
    struct err err = {0};
    int64_t version_no = 0;
    (void)state;
    ASSERT_OK(vcenter_store_insert(store, &vc, NULL, &err), &err);
    assert_int_equal(vcenter_store_insert(store, &vc, NULL, &err), ERR_EXISTS);
    assert_non_null(strstr(err.text, VC));
    err_clear(&err);
    ASSERT_OK(vcenter_store_load(store, VC, &read, &err), &err);
    assert_string_equal(read->name, vc.name);
    assert_null(read->ca_pem);
    assert_null(read->extension_key);
    assert_false(read->has_pin);
    assert_int_equal(read->tunnel_port, 80);
    assert_int_equal(read->version_no, 1);
    read->has_pin = true;
    for (size_t i = 0; i < sizeof(read->pin_sha256); i++)
        read->pin_sha256[i] = (uint8_t)(i * 8);
    read->ca_pem = calloc(1, 100001);
    memset(read->ca_pem, 'p', 100000);
    read->extension_key = str_dup("com.cisco.kaas");
    read->version = str_dup("8.0.3");
    read->build = str_dup("24022510");
    read->api_version = str_dup("8.0.3.0");
    read->registered_at_ms = NOW_MS + 1;
    ASSERT_OK(vcenter_store_update(store, read, NULL, &version_no, &err), &err);
    assert_int_equal(version_no, 2);
    ASSERT_CODE(vcenter_store_update(store, read, NULL, &version_no, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(vcenter_store_list(store, &list, &err), &err);
    assert_int_equal(list.count, 1);
    assert_true(list.items[0].has_pin);
    assert_memory_equal(list.items[0].pin_sha256, read->pin_sha256, 32);
    assert_string_equal(list.items[0].ca_pem, read->ca_pem);
    assert_string_equal(list.items[0].api_version, "8.0.3.0");
    assert_int_equal(list.items[0].registered_at_ms, NOW_MS + 1);
    assert_int_equal(list.items[0].created_at_ms, NOW_MS);
    vcenter_list_done(&list);
    vcenter_free(read);
    read = NULL;
    ASSERT_OK(vcenter_store_delete(store, VC, NOW_MS, NULL, &err), &err);
    ASSERT_CODE(vcenter_store_load(store, VC, &read, &err), ERR_NOT_FOUND, &err);
    ASSERT_CODE(vcenter_store_update(store, &vc, NULL, &version_no, &err), ERR_NOT_FOUND, &err);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_VCENTER), 3);
    vcenter_done(&vc);
}

static void check_credential(enum credential_state which, unsigned generation) {
    struct vcenter_credential *c = NULL;
    struct err err = {0};
    ASSERT_OK(credential_store_load(store, VC, which, &c, &err), &err);
    if (!generation) {
        assert_null(c);
        return;
    }
    assert_non_null(c);
    assert_int_equal(c->generation, generation);
    assert_int_equal(c->state, which);
    assert_int_equal(c->kind, CREDENTIAL_CERTIFICATE);
    assert_string_equal(c->cert_pem, "PEM");
    assert_int_equal(c->sealed_bytes, 4);
    assert_memory_equal(c->sealed, "\0k\xFF\n", 4);
    vcenter_credential_free(c);
}

static unsigned add_pending(int code) {
    uint8_t sealed[] = {0, 'k', 255, '\n'};
    char id[] = VC, pem[] = "PEM";
    const struct vcenter_credential c = {
        .vcenter_id = id, .cert_pem = pem, .sealed = sealed, .sealed_bytes = sizeof(sealed), .created_at_ms = NOW_MS};
    struct err err = {0};
    unsigned generation = 0;
    ASSERT_CODE(credential_store_add_pending(store, &c, &generation, &err), code, &err);
    return generation;
}

static void test_credential_rotation(void **state) {
    struct err err = {0};
    (void)state;
    (void)add_pending(ERR_NOT_FOUND);
    fixture_insert_vcenter(store, VC);
    check_credential(CREDENTIAL_ACTIVE, 0);
    assert_int_equal(add_pending(0), 1);
    (void)add_pending(ERR_CONFLICT);
    check_credential(CREDENTIAL_PENDING, 1);
    check_credential(CREDENTIAL_ACTIVE, 0);
    ASSERT_OK(credential_store_promote(store, VC, 1, NULL, &err), &err);
    ASSERT_OK(credential_store_promote(store, VC, 1, NULL, &err), &err);
    check_credential(CREDENTIAL_PENDING, 0);
    check_credential(CREDENTIAL_ACTIVE, 1);
    assert_int_equal(add_pending(0), 2);
    check_credential(CREDENTIAL_ACTIVE, 1); /* both are there until it is known which one vCenter has */
    check_credential(CREDENTIAL_PENDING, 2);
    ASSERT_OK(credential_store_retire(store, VC, 2, &err), &err);
    check_credential(CREDENTIAL_PENDING, 0);
    ASSERT_CODE(credential_store_promote(store, VC, 2, NULL, &err), ERR_CONFLICT, &err);
    assert_int_equal(add_pending(0), 3);
    ASSERT_OK(credential_store_promote(store, VC, 3, NULL, &err), &err);
    check_credential(CREDENTIAL_ACTIVE, 3);
    /* of what is retired no key is left */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenter_credentials WHERE state = 'retired' AND sealed IS NULL"), 2);
    ASSERT_CODE(credential_store_promote(store, VC, 9, NULL, &err), ERR_NOT_FOUND, &err);
    ASSERT_CODE(credential_store_retire(store, VC, 9, &err), ERR_NOT_FOUND, &err);
    ASSERT_OK(vcenter_store_delete(store, VC, NOW_MS, NULL, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenter_credentials"), 0);
}

static atomic_uint added, refused;

static void *add_pending_at_once(void *arg) {
    char id[] = VC;
    const struct vcenter_credential c = {.vcenter_id = id, .created_at_ms = NOW_MS};
    struct err err = {0};
    unsigned generation = 0;
    (void)arg;
    store_thread_begin();
    int rc = credential_store_add_pending(store, &c, &generation, &err);
    added += rc == 0;
    refused += rc == ERR_CONFLICT;
    store_thread_end();
    return NULL;
}

static void test_only_one_pending_credential(void **state) {
    pthread_t threads[5];
    (void)state;
    fixture_insert_vcenter(store, VC);
    added = refused = 0;
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_pending_at_once, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(added, 1);
    assert_int_equal(refused, 4);
}

static struct signing_key make_key(const char *kid, int64_t created_at_ms) {
    struct signing_key k = {.kid = str_dup(kid),
                            .public_jwk = str_dup("{\"kty\":\"EC\"}"),
                            .sealed = malloc(3),
                            .sealed_bytes = 3,
                            .state = SIGNING_KEY_NEXT,
                            .created_at_ms = created_at_ms,
                            .not_after_ms = created_at_ms + 100};
    memcpy(k.sealed, "\0\1\2", 3);
    return k;
}

static void activate(const char *kid, int64_t now_ms, int64_t old_until_ms, int code) {
    struct signing_key_activation activation = {kid, now_ms, old_until_ms};
    struct err err = {0};
    ASSERT_CODE(key_store_activate(store, &activation, &err), code, &err);
}

/* The key that comes. */
static struct signing_key_begun begin_rotation(const char *kid, int64_t signs_from_ms, int64_t active_until_ms) {
    struct signing_key k = make_key(kid, 3000);
    struct signing_key_rotation rotation = {.next = &k, .active_until_ms = active_until_ms};
    struct signing_key_begun begun = {0};
    struct err err = {0};
    k.signs_from_ms = signs_from_ms;
    ASSERT_OK(key_store_begin_rotation(store, &rotation, &begun, &err), &err);
    signing_key_done(&k);
    return begun;
}

static void check_begun(struct signing_key_begun begun, const char *kid, bool is_new) {
    assert_string_equal(begun.kid, kid);
    assert_int_equal(begun.is_new, is_new);
}

/* One key waits at most: a second rotation only brings it forward. */
static void test_rotation_of_signing_keys(void **state) {
    struct signing_key first = make_key("r1", 1000);
    struct err err = {0};
    (void)state;
    ASSERT_OK(key_store_insert_first(store, &first, &err), &err);
    signing_key_done(&first);
    check_begun(begin_rotation("r2", 9000, 0), "r2", true);
    check_begun(begin_rotation("r3", 9500, 0), "r2", false);
    assert_int_equal(fixture_number("SELECT signs_from_ms FROM signing_keys WHERE kid = 'r2'"), 9000);
    assert_int_equal(fixture_number("SELECT not_after_ms FROM signing_keys WHERE kid = 'r1'"), 1100);
    check_begun(begin_rotation("r4", 5000, 1050), "r2", false);
    assert_int_equal(fixture_number("SELECT signs_from_ms FROM signing_keys WHERE kid = 'r2'"), 5000);
    activate("r2", 5001, 9999, 0);
    assert_int_equal(fixture_number("SELECT not_after_ms FROM signing_keys WHERE kid = 'r1' AND state = 'retired'"), 1050);
    assert_int_equal(fixture_number("SELECT signs_from_ms FROM signing_keys WHERE kid = 'r2' AND state = 'active'"), 5001);
}

static void test_signing_keys(void **state) {
    struct signing_key first = make_key("k1", 1000);
    struct signing_key_list list = {0};
    struct err err = {0};
    unsigned deleted = 0;
    (void)state;
    ASSERT_OK(key_store_insert_first(store, &first, &err), &err);
    check_begun(begin_rotation("k2", 2000, 0), "k2", true);
    free(first.kid);
    first.kid = str_dup("k9");
    ASSERT_CODE(key_store_insert_first(store, &first, &err), ERR_EXISTS, &err);
    signing_key_done(&first);
    activate("k2", 2050, 1090, 0);
    activate("k2", 2060, 1000, 0); /* nothing to do */
    activate("k7", 2050, 1090, ERR_NOT_FOUND);
    activate("k1", 2050, 1090, ERR_CONFLICT);
    ASSERT_OK(key_store_list(store, &list, &err), &err);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].kid, "k2");
    assert_int_equal(list.items[0].state, SIGNING_KEY_ACTIVE);
    assert_int_equal(list.items[1].state, SIGNING_KEY_RETIRED);
    assert_string_equal(list.items[0].public_jwk, "{\"kty\":\"EC\"}");
    assert_int_equal(list.items[0].sealed_bytes, 3);
    assert_memory_equal(list.items[0].sealed, "\0\1\2", 3);
    signing_key_list_done(&list);
    ASSERT_OK(key_store_purge(store, 1091, &deleted, &err), &err);
    assert_int_equal(deleted, 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM signing_keys WHERE kid = 'k2'"), 1);
}

static void *insert_first_at_once(void *arg) {
    struct signing_key k = make_key(arg, 1000);
    struct err err = {0};
    store_thread_begin();
    int rc = key_store_insert_first(store, &k, &err);
    added += rc == 0;
    refused += rc == ERR_EXISTS;
    signing_key_done(&k);
    store_thread_end();
    return NULL;
}

static void test_one_first_key(void **state) {
    static char kids[5][4] = {"f1", "f2", "f3", "f4", "f5"};
    pthread_t threads[5];
    (void)state;
    added = refused = 0;
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, insert_first_at_once, kids[i]), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(added, 1);
    assert_int_equal(refused, 4);
}

static void test_leases(void **state) {
    struct lease lease;
    struct err err = {0};
    bool is_mine = false;
    (void)state;
    ASSERT_CODE(lease_store_load(store, "job", &lease, &err), ERR_NOT_FOUND, &err);
    ASSERT_OK(lease_store_acquire(store, "job", "a", 60000, &is_mine, &err), &err);
    assert_true(is_mine);
    ASSERT_OK(lease_store_acquire(store, "job", "b", 60000, &is_mine, &err), &err);
    assert_false(is_mine);
    ASSERT_OK(lease_store_acquire(store, "job", "a", 60000, &is_mine, &err), &err);
    assert_true(is_mine);
    ASSERT_OK(lease_store_renew(store, "job", "a", 1000000, &err), &err);
    ASSERT_CODE(lease_store_renew(store, "job", "b", 1, &err), ERR_CONFLICT, &err);
    ASSERT_OK(lease_store_load(store, "job", &lease, &err), &err);
    assert_string_equal(lease.holder, "a");
    assert_true(lease.left_ms > 900000);
    ASSERT_OK(lease_store_release(store, "job", "b", &err), &err);
    ASSERT_OK(lease_store_acquire(store, "job", "b", 60000, &is_mine, &err), &err);
    assert_false(is_mine);
    ASSERT_OK(lease_store_release(store, "job", "a", &err), &err);
    ASSERT_OK(lease_store_acquire(store, "job", "b", 1, &is_mine, &err), &err);
    assert_true(is_mine);
    for (int i = 0; i < 1000; i++) { /* until the end of b's */
        ASSERT_OK(lease_store_acquire(store, "job", "a", 60000, &is_mine, &err), &err);
        if (is_mine)
            break;
    }
    assert_true(is_mine);
    ASSERT_CODE(lease_store_renew(store, "job", "b", 1, &err), ERR_CONFLICT, &err);
}

static int check_fence(struct store_tx *tx, void *fence, struct err *why) {
    return lease_tx_check(tx, fence, why);
}

/* A replica that was paused and wakes writes nothing. */
static void test_fences(void **state) {
    struct lease_fence first, second, third;
    bool is_mine;
    struct err err = {0};
    (void)state;
    ASSERT_OK(lease_store_take(store, "fenced", 60000, &first, &err), &err);
    ASSERT_OK(store_tx(store, check_fence, &first, &err), &err);
    fixture_exec("UPDATE leases SET expires_at_ms = 1 WHERE name = 'fenced'"); /* nobody else wants it: it is ours still */
    ASSERT_OK(store_tx(store, check_fence, &first, &err), &err);
    ASSERT_OK(lease_store_acquire(store, "fenced", "a program before", 60000, &is_mine, &err), &err);
    assert_true(is_mine);
    ASSERT_CODE(store_tx(store, check_fence, &first, &err), ERR_PRECONDITION, &err);
    ASSERT_CODE(lease_store_take(store, "fenced", 60000, &second, &err), ERR_BUSY, &err);
    lease_store_give_back(store, &first);
    ASSERT_CODE(lease_store_take(store, "fenced", 60000, &second, &err), ERR_BUSY, &err);
    fixture_exec("UPDATE leases SET expires_at_ms = 1 WHERE name = 'fenced'");
    ASSERT_OK(lease_store_take(store, "fenced", 60000, &second, &err), &err);
    assert_true(second.number > first.number);
    ASSERT_CODE(store_tx(store, check_fence, &first, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(store_tx(store, check_fence, &second, &err), &err);
    lease_store_give_back(store, &second);
    ASSERT_CODE(store_tx(store, check_fence, &second, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(lease_store_take(store, "fenced", 60000, &third, &err), &err);
    assert_true(third.number > second.number);
    ASSERT_OK(store_tx(store, check_fence, NULL, &err), &err);
}

static void *acquire_at_once(void *arg) {
    struct err err = {0};
    bool is_mine = false;
    store_thread_begin();
    ASSERT_OK(lease_store_acquire(store, "contested", arg, 60000, &is_mine, &err), &err);
    added += is_mine;
    store_thread_end();
    return NULL;
}

static void test_one_holder(void **state) {
    static char holders[6][3] = {"h1", "h2", "h3", "h4", "h5", "h6"};
    pthread_t threads[6];
    (void)state;
    added = 0;
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, acquire_at_once, holders[i]), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(added, 1);
}

static void test_audit(void **state) {
    struct audit_record records[3] = {
        {NOW_MS,
         {.action = "login",
          .principal_id = "local:a",
          .principal_name = "a",
          .source = "local",
          .address = "::1",
          .result = "ok"}},
        {NOW_MS + 1,
         {.action = "cluster.create",
          .object_kind = "cluster",
          .object_id = "c",
          .object_name = "\xF0\x9F\x9A\x80",
          .result = "ok"}},
        {NOW_MS + 2, {.action = "x"}},
    };
    char reason[700];
    struct err err = {0};
    (void)state;
    memset(reason, 'r', sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    memcpy(reason + 498, "\xF0\x9F\x9A\x80\xC3\xA9", 6); /* characters 499 and 500 */
    records[2].event.reason = reason;
    ASSERT_OK(audit_store_append(store, &records[0], &err), &err);
    ASSERT_OK(audit_store_append_batch(store, records, 3, &err), &err);
    ASSERT_OK(audit_store_append_batch(store, records, 0, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE replica_id = 0"), 4);
    assert_int_equal(fixture_number("SELECT MAX(seq) - MIN(seq) FROM audit"), 3);
    assert_int_equal(
        fixture_number("SELECT COUNT(*) FROM audit WHERE CHAR_LENGTH(reason) = 500 AND reason LIKE '%\xF0\x9F\x9A\x80\xC3\xA9'"),
        1);
    char *name = fixture_text("SELECT object_name FROM audit WHERE action = 'cluster.create'");
    assert_string_equal(name, "\xF0\x9F\x9A\x80");
    free(name);
}

static void test_installation(void **state) {
    char one[UUID_TEXT_BYTES] = "", two[UUID_TEXT_BYTES] = "";
    struct store *other = fixture_runtime();
    struct err err = {0};
    (void)state;
    ASSERT_OK(installation_store_load(store, one, &err), &err);
    ASSERT_OK(installation_store_load(other, two, &err), &err);
    assert_true(uuid_is_valid(one));
    assert_string_equal(one, two);
    store_free(other);
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup(fn, empty)
    const struct CMUnitTest tests[] = {
        EACH(test_vcenters),
        EACH(test_credential_rotation),
        EACH(test_only_one_pending_credential),
        EACH(test_signing_keys),
        EACH(test_rotation_of_signing_keys),
        EACH(test_one_first_key),
        EACH(test_leases),
        EACH(test_fences),
        EACH(test_one_holder),
        EACH(test_audit),
        EACH(test_installation),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
