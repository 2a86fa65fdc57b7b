/* Sealed values against a real server: the table of secrets, and all values as a whole, also those that the last release writes meanwhile.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <stdio.h>

#include "hx_identity_store.h"
#include "hx_publication_store.h"
#include "hx_store.h"
#include "lease_store.h"
#include "seal.h"
#include "seal_store.h"
#include "secret_store.h"
#include "store_tx.h"
#include "str.h"
#include "vcenter_store.h"

#define VC FIXTURE_VC
#define HX "22222222-2222-4222-8222-222222222222"
#define KUBE "33333333-3333-4333-8333-333333333333"
#define OLD_KEY 1 /* the byte that a key consists of */
#define NEW_KEY 2

static struct store *store;
static struct seal *seals[3]; /* by that byte */
static char ids[3][SEAL_KEY_ID_BYTES];

static int set_up(void **state) {
    struct err err = {0};
    (void)fixture_set_up(state);
    store = fixture_runtime();
    for (uint8_t k = OLD_KEY; k <= NEW_KEY; k++) {
        uint8_t key[SEAL_KEY_BYTES];
        memset(key, k, sizeof(key));
        seal_id_of_key(key, ids[k]);
        ASSERT_OK(seal_open_key(key, &seals[k], &err), &err);
    }
    return 0;
}

static int tear_down(void **state) {
    for (size_t k = OLD_KEY; k <= NEW_KEY; k++)
        seal_free(seals[k]);
    store_free(store);
    return fixture_tear_down(state);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM kube_connections");
    fixture_exec("DELETE FROM cluster_pki");
    fixture_exec("DELETE FROM clusters");
    fixture_exec("DELETE FROM vcenters");
    fixture_exec("DELETE FROM hx_clusters");
    fixture_exec("DELETE FROM ldap_sources");
    fixture_exec("DELETE FROM signing_keys");
    fixture_exec("DELETE FROM secrets");
    fixture_exec("DELETE FROM audit_keys");
    return 0;
}

/* -- one secret ------------------------------------------------------------------------------------------------------------ */

static struct secret_place at(const char *purpose) {
    return (struct secret_place){SECRET_OWNER_HX_CONNECTION, HX, purpose};
}

/* `text` is the value itself here; NULL: none. */
static void expect_secret(struct secret_place place, const char *text) {
    struct secret_value value = {0};
    struct err err = {0};
    ASSERT_OK(secret_store_load(store, &place, &value, &err), &err);
    assert_int_equal(value.bytes != NULL, text != NULL);
    if (text) {
        assert_int_equal(value.count, strlen(text));
        assert_memory_equal(value.bytes, text, value.count);
    }
    free(value.bytes);
}

struct putting {
    struct secret_place place;
    char *text;
    int outcome;
};

static int put_in_tx(struct store_tx *tx, void *arg, struct err *err) {
    const struct putting *call = arg;
    const struct secret_value value = {(uint8_t *)call->text, call->text ? strlen(call->text) : 0};
    int rc = secret_tx_put(tx, &call->place, &value, err);
    return rc || !call->outcome ? rc : err_set(err, call->outcome, "as the test wants");
}

static void put(const char *purpose, const char *text, int outcome) {
    struct putting call = {at(purpose), text ? str_dup(text) : NULL, outcome};
    struct err err = {0};
    ASSERT_CODE(store_tx(store, put_in_tx, &call, &err), outcome, &err);
    free(call.text);
}

static void test_a_secret_goes_with_its_transaction(void **state) {
    (void)state;
    expect_secret(at("hx-password"), NULL);
    put("hx-password", "one", 0);
    put("hx-token", "another", 0);
    put("hx-password", "two", 0);
    expect_secret(at("hx-password"), "two");
    put("hx-password", "three", ERR_CONFLICT);
    put("hx-token", NULL, ERR_CONFLICT);
    expect_secret(at("hx-password"), "two");
    put("hx-password", NULL, 0);
    put("hx-password", NULL, 0);
    expect_secret(at("hx-password"), NULL);
    expect_secret(at("hx-token"), "another");
}

static void add(struct secret_place place, const char *text) {
    const struct secret_value value = {(uint8_t *)(uintptr_t)text, strlen(text)};
    struct err err = {0};
    ASSERT_OK(secret_store_add(store, &place, &value, &err), &err);
}

/* Of two who draw one at once both read the same, which goes with its cluster. */
static void test_the_first_secret_stays(void **state) {
    const struct secret_place place = {SECRET_OWNER_KUBE_JOIN, KUBE, "bootstrap-token"};
    struct err err = {0};
    (void)state;
    fixture_exec("INSERT INTO clusters (id, name, state, kubernetes_version, created_at_ms, updated_at_ms, version_no)"
                 " VALUES ('" KUBE "', 'prod', 'ready', '1.36.3', 1, 1, 1)");
    add(place, "one");
    add(place, "two");
    ASSERT_OK(secret_store_purge(store, &err), &err);
    expect_secret(place, "one");
    ASSERT_OK(secret_store_remove(store, &place, &err), &err);
    ASSERT_OK(secret_store_remove(store, &place, &err), &err);
    expect_secret(place, NULL);
    add(place, "three");
    fixture_exec("DELETE FROM clusters");
    ASSERT_OK(secret_store_purge(store, &err), &err);
    expect_secret(place, NULL);
}

/* -- owners ---------------------------------------------------------------------------------------------------------------- */

static void insert_hx_cluster(void) {
    fixture_exec("INSERT INTO hx_clusters (id, vcenter_id, moref, name, extension_key, seen_at_ms, version_no)"
                 " VALUES ('" HX "', '" VC "', 'domain-c1', 'HX', 'com.springpath.sysmgmt.domain-c1', 1, 1)");
}

/* A vCenter with a credential for HX clusters, and a connected HX cluster with password and token. */
static void make_owners(void) {
    struct secret_value value = {(uint8_t *)(uintptr_t) "p", 1};
    char hx[] = HX, vc[] = VC, address[] = "hx.test", user[] = "admin";
    const struct hx_connection connection = {.hx_id = hx, .address = address, .port = 443, .user_name = user, .updated_at_ms = 1};
    const struct hx_credential credential = {.vcenter_id = vc, .user_name = user, .updated_at_ms = 1};
    struct hx_status *status = NULL;
    struct err err = {0};
    fixture_insert_vcenter(store, VC);
    insert_hx_cluster();
    ASSERT_OK(hx_store_put_credential(store, &credential, &value, NULL, &err), &err);
    ASSERT_OK(hx_store_put(store, &connection, &value, NULL, NULL, &err), &err);
    ASSERT_OK(hx_store_load_status(store, HX, &status, &err), &err);
    ASSERT_OK(hx_store_save_status(store, status, &value, NULL, NULL, &err), &err);
    hx_status_free(status);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 3);
}

/* What a replica writes that was paused for longer than its lease. */
static void test_what_a_paused_replica_writes(void **state) {
    char uuid[] = "1:2", name[] = "HX";
    _cleanup_(hx_status_free) struct hx_status *status = NULL;
    _cleanup_(hx_connection_free) struct hx_connection *connection = NULL;
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    struct secret_value value = {(uint8_t *)(uintptr_t) "q", 1};
    struct hx_identity_outcome outcome;
    struct lease_fence fence, next;
    struct err err = {0};
    (void)state;
    make_owners();
    ASSERT_OK(hx_store_load_status(store, HX, &status, &err), &err);
    ASSERT_OK(hx_store_load(store, HX, &connection, &err), &err);
    ASSERT_OK(hx_store_load_credential(store, VC, &credential, &err), &err);
    ASSERT_OK(lease_store_take(store, "hx:" HX, 60000, &fence, &err), &err);
    ASSERT_OK(hx_store_save_status(store, status, NULL, NULL, &fence, &err), &err);
    ASSERT_OK(lease_store_take(store, "hx:" HX, 60000, &next, &err), &err);
    const struct hx_identity told = {.hx_id = HX, .uuid = uuid, .name = name, .fence = &fence};
    struct hx_publication row = {.hx_id = connection->hx_id};
    ASSERT_CODE(hx_store_save_status(store, status, &value, NULL, &fence, &err), ERR_PRECONDITION, &err);
    ASSERT_CODE(hx_store_put(store, connection, &value, NULL, &fence, &err), ERR_PRECONDITION, &err);
    ASSERT_CODE(hx_store_refuse_credential(store, credential, &fence, 1, &err), ERR_PRECONDITION, &err);
    ASSERT_CODE(hx_identity_store_save(store, &told, &outcome, &err), ERR_PRECONDITION, &err);
    ASSERT_CODE(hx_publication_store_save(store, &row, NULL, &fence, &err), ERR_PRECONDITION, &err);
    ASSERT_OK(hx_store_save_status(store, status, NULL, NULL, &next, &err), &err);
    expect_secret(at("hx-password"), "p");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM hx_credentials WHERE refused_at_ms > 0"), 0);
}

static void test_secrets_go_with_their_owner(void **state) {
    struct err err = {0};
    (void)state;
    make_owners();
    ASSERT_OK(hx_store_delete(store, &(struct hx_removal){.hx_id = HX}, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets WHERE owner_kind = 'hx_connection'"), 0);
    ASSERT_OK(hx_store_delete_credential(store, &(struct hx_removal){.hx_id = VC}, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 0);
}

/* The HX cluster that kaasd is connected to stays, with its secrets. */
static void test_secrets_of_a_vcenter_go_with_it(void **state) {
    struct err err = {0};
    (void)state;
    make_owners();
    ASSERT_OK(vcenter_store_delete(store, VC, FIXTURE_NOW_MS, NULL, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets WHERE owner_kind = 'hx_credential'"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets WHERE owner_kind = 'hx_connection'"), 2);
}

/* As the last release does: what hangs on its rows goes by ON DELETE CASCADE. */
static void test_what_the_last_release_deletes_is_purged(void **state) {
    struct err err = {0};
    (void)state;
    make_owners();
    ASSERT_OK(secret_store_purge(store, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 3);
    fixture_exec("DELETE FROM hx_clusters");
    fixture_exec("DELETE FROM vcenters");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 3);
    fixture_exec("INSERT INTO secrets VALUES ('of_next_release', 'x', 'y', 'z')");
    ASSERT_OK(secret_store_purge(store, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 1); /* whose owners this release does not know */
}

/* The purge waits for somebody who is about to set a connection, and leaves what that wrote: an owner that comes meanwhile is no orphan. */
static int connect_and_purge(struct store_tx *tx, void *arg, struct err *err) {
    struct store *other = arg;
    struct err why = {0};
    int rc =
        db_run(store_tx_conn(tx),
               "INSERT INTO hx_connections (hx_cluster_id, address, port, user_name, created_at_ms, updated_at_ms, version_no)"
               " VALUES (?, 'hx.test', 443, 'admin', 1, 1, 1)",
               DB_ARGS(db_text(HX)), NULL, err);
    assert_int_not_equal(secret_store_purge(other, &why), 0);
    return rc;
}

static void test_a_purge_waits_for_owners_that_come(void **state) {
    struct store_options options = fixture_options("root", NULL);
    struct store *other = NULL;
    struct err err = {0};
    (void)state;
    fixture_insert_vcenter(store, VC);
    insert_hx_cluster();
    put("hx-password", "p", 0);
    options.call_timeout_s = 2;
    ASSERT_OK(store_new(&options, &other, &err), &err);
    ASSERT_OK(store_tx(store, connect_and_purge, other, &err), &err);
    ASSERT_OK(secret_store_purge(other, &err), &err);
    expect_secret(at("hx-password"), "p");
    store_free(other);
}

/* -- all values ------------------------------------------------------------------------------------------------------------ */

/* Runs a statement with one value, sealed for `bound`. */
static void write_sealed(unsigned key, const char *bound, const char *plain, const char *sql) {
    _cleanup_strbuf_ struct strbuf sealed;
    struct err err = {0};
    strbuf_init(&sealed, 1000);
    ASSERT_OK(seal_seal(seals[key], bound, plain, strlen(plain), &sealed, &err), &err);
    struct store *root = fixture_root();
    ASSERT_OK(store_run(root, sql, DB_ARGS(db_bytes(sealed.data, sealed.len)), NULL, &err), &err);
    store_free(root);
}

#define VALUES 12
/* One or two of each kind, as 0.3 writes those that it knows. */
static void make_values(unsigned key) {
    fixture_insert_vcenter(store, VC);
    insert_hx_cluster();
    fixture_exec("UPDATE vcenters SET registered_at_ms = 1");
    write_sealed(
        key, "signing-key:k1", "k1",
        "INSERT INTO signing_keys (kid, public_jwk, sealed, state, created_at_ms, not_after_ms) VALUES ('k1', '{}', ?, 'active', 1, 2)");
    write_sealed(
        key, "signing-key:k2", "k2",
        "INSERT INTO signing_keys (kid, public_jwk, sealed, state, created_at_ms, not_after_ms) VALUES ('k2', '{}', ?, 'retired', 1, 2)");
    write_sealed(key, "login-certificate:" VC, "g1",
                 "INSERT INTO vcenter_credentials (vcenter_id, generation, kind, state, sealed, created_at_ms)"
                 " VALUES ('" VC "', 1, 'certificate', 'active', ?, 1)");
    write_sealed(key, "login-account:" VC, "g10",
                 "INSERT INTO vcenter_credentials (vcenter_id, generation, kind, state, sealed, user_name, created_at_ms)"
                 " VALUES ('" VC "', 10, 'account', 'pending', ?, 'svc', 1)");
    fixture_exec("INSERT INTO vcenter_credentials (vcenter_id, generation, kind, state, created_at_ms)"
                 " VALUES ('" VC "', 2, 'certificate', 'retired', 1)");
    write_sealed(
        key, "ldap-bind:corp", "bind",
        "INSERT INTO ldap_sources (name, kind, urls, search_base, bind_kind, bind_dn, is_disabled, sealed, created_at_ms,"
        " updated_at_ms, version_no) VALUES ('corp', 'ad', 'ldaps://x', 'DC=x', 'password', 'cn=kaas', 0, ?, 1, 1, 1)");
    write_sealed(key, "audit-key:chain", "audit", "INSERT INTO audit_keys (id, sealed, created_at_ms) VALUES ('chain', ?, 1)");
    fixture_exec("INSERT INTO hx_connections (hx_cluster_id, address, port, user_name, created_at_ms, updated_at_ms, version_no)"
                 " VALUES ('" HX "', 'hx.test', 443, 'hxadmin', 1, 1, 1)");
    fixture_exec("INSERT INTO hx_credentials (vcenter_id, user_name, refused_at_ms, created_at_ms, updated_at_ms, version_no)"
                 " VALUES ('" VC "', 'heir', 0, 1, 1, 1)");
    write_sealed(key, "hx-password:" HX, "hxp", "INSERT INTO secrets VALUES ('hx_connection', '" HX "', 'hx-password', ?)");
    write_sealed(key, "hx-token:" HX, "hxt", "INSERT INTO secrets VALUES ('hx_connection', '" HX "', 'hx-token', ?)");
    fixture_exec("INSERT INTO clusters (id, name, state, kubernetes_version, created_at_ms, updated_at_ms, version_no)"
                 " VALUES ('" KUBE "', 'prod', 'ready', '1.36.3', 1, 1, 1)");
    fixture_exec("INSERT INTO kube_connections (cluster_id, address, cluster_uid, created_at_ms, updated_at_ms, version_no)"
                 " VALUES ('" KUBE "', 'https://k.test', 'uid', 1, 1, 1)");
    write_sealed(key, "kube-token:" KUBE, "kt", "INSERT INTO secrets VALUES ('kube_connection', '" KUBE "', 'kube-token', ?)");
    fixture_exec(
        "INSERT INTO cluster_pki (cluster_id, ca_pem, etcd_ca_pem, front_proxy_ca_pem, accounts_public_pem, not_after_ms,"
        " created_at_ms, version_no) VALUES ('" KUBE "', 'c', 'e', 'f', 'a', 1, 1, 1)");
    write_sealed(key, "ca-key:" KUBE, "ca", "INSERT INTO secrets VALUES ('cluster_pki', '" KUBE "', 'ca-key', ?)");
    write_sealed(key, "accounts-key:" KUBE, "sa", "INSERT INTO secrets VALUES ('cluster_pki', '" KUBE "', 'accounts-key', ?)");
    write_sealed(key, "hx-credential:" VC, "hxc", "INSERT INTO secrets VALUES ('hx_credential', '" VC "', 'hx-credential', ?)");
}

/* How many values each key has sealed. */
static void expect_counts(uint64_t old, uint64_t new) {
    uint64_t found[3] = {0};
    struct seal_counts counts;
    struct err err = {0};
    ASSERT_OK(seal_store_count(store, &counts, &err), &err);
    for (size_t i = 0; i < counts.count; i++)
        for (size_t k = OLD_KEY; k <= NEW_KEY; k++)
            if (str_eq(counts.items[i].key_id, ids[k]))
                found[k] = counts.items[i].values;
    assert_int_equal(found[OLD_KEY], old);
    assert_int_equal(found[NEW_KEY], new);
}

struct turning {
    const char *meanwhile; /* what somebody else does when the first value was read; NULL: nothing */
    unsigned seen;
    char plains[200];
};

static int turn(void *arg, const struct sealed_row *row, uint8_t **out, size_t *out_bytes, struct err *err) {
    struct turning *call = arg;
    _cleanup_strbuf_ struct strbuf plain, sealed;
    strbuf_init_secret(&plain, 1000);
    strbuf_init(&sealed, 1000);
    if (!call->seen++ && call->meanwhile)
        fixture_exec(call->meanwhile);
    int rc = seal_unseal(seals[OLD_KEY], row->bound, row->sealed, row->sealed_bytes, &plain, err);
    rc = rc ? rc : seal_seal(seals[NEW_KEY], row->bound, plain.data, plain.len, &sealed, err);
    if (rc)
        return rc;
    size_t used = strlen(call->plains);
    (void)snprintf(call->plains + used, sizeof(call->plains) - used, "%s ", plain.data);
    *out_bytes = sealed.len;
    *out = (uint8_t *)strbuf_steal(&sealed);
    return 0;
}

static void turn_all(struct turning *call, unsigned limit) {
    struct seal_batch batch = {.key_id = ids[NEW_KEY], .limit = limit, .reseal = turn, .arg = call};
    struct err err = {0};
    do {
        ASSERT_OK(seal_store_reseal(store, &batch, &err), &err);
        assert_true(batch.rows <= limit);
    } while (batch.rows);
}

static void test_one_loop_seals_all_values_anew(void **state) {
    (void)state;
    for (unsigned limit = 1; limit <= 16; limit += 3) {
        struct turning call = {.seen = 0};
        (void)empty(state);
        make_values(OLD_KEY);
        expect_counts(VALUES, 0);
        turn_all(&call, limit);
        assert_string_equal(call.plains, "audit sa ca hxp hxt hxc kt bind k1 k2 g1 g10 ");
        expect_counts(0, VALUES);
        turn_all(&call, limit);
        assert_int_equal(call.seen, VALUES);
    }
}

/* A value that somebody changes after it was read, as 0.3 or this release does, stays as it was changed, and is found by the next round. */
static void test_a_value_that_changes_meanwhile_is_left(void **state) {
    struct turning first = {.meanwhile = "UPDATE signing_keys SET sealed = CONCAT(sealed, 'changed') WHERE kid = 'k1'"},
                   second = {.meanwhile = "UPDATE secrets SET sealed = CONCAT(sealed, 'changed') WHERE purpose = 'hx-token'"};
    (void)state;
    make_values(OLD_KEY);
    turn_all(&first, 16);
    expect_counts(1, VALUES - 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM signing_keys WHERE sealed LIKE '%changed'"), 1);
    (void)empty(state);
    make_values(OLD_KEY);
    turn_all(&second, 16);
    expect_counts(1, VALUES - 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets WHERE sealed LIKE '%changed'"), 1);
}

/* Rotation began here, then 0.3 was put back: it writes with the old key, takes away and brings; then this release goes on. */
static void test_what_the_last_release_writes_is_seen(void **state) {
    struct turning call = {.seen = 0};
    (void)state;
    make_values(OLD_KEY);
    turn_all(&call, 16);
    fixture_exec("DELETE FROM signing_keys WHERE kid = 'k2'");
    fixture_exec("UPDATE vcenter_credentials SET state = 'retired', sealed = NULL WHERE generation = 1");
    write_sealed(OLD_KEY, "ldap-bind:corp", "changed",
                 "UPDATE ldap_sources SET sealed = ?, version_no = version_no + 1 WHERE name = 'corp'");
    write_sealed(
        OLD_KEY, "signing-key:k3", "k3",
        "INSERT INTO signing_keys (kid, public_jwk, sealed, state, created_at_ms, not_after_ms) VALUES ('k3', '{}', ?, 'next', 1, 2)");
    expect_counts(2, VALUES - 3);
    call = (struct turning){.seen = 0};
    turn_all(&call, 16);
    assert_string_equal(call.plains, "changed k3 ");
    expect_counts(0, VALUES - 1);
}

/* -- a key that is lost ---------------------------------------------------------------------------------------------------- */

static void expect_losses(const char *held, const char *wanted) {
    _cleanup_strbuf_ struct strbuf told;
    struct seal_losses losses = {0};
    struct err err = {0};
    strbuf_init(&told, 1000);
    ASSERT_OK(seal_store_list_losses(store, held, &losses, &err), &err);
    for (size_t i = 0; i < losses.count; i++)
        strbuf_addf(&told, "%d %s %s; ", (int)losses.items[i].owner, losses.items[i].name, losses.items[i].user);
    assert_string_equal(told.data ? told.data : "", wanted);
    seal_losses_done(&losses);
}

static void forget(const char *held, const char *key_id) {
    struct seal_forgetting call = {.held = held, .key_id = key_id};
    struct err err = {0};
    struct store *owner = fixture_owner();
    ASSERT_OK(seal_store_forget(owner, &call, &err), &err);
    store_free(owner);
}

static void test_what_a_lost_key_takes_with_it(void **state) {
    (void)state;
    make_values(OLD_KEY);
    expect_losses(ids[OLD_KEY], "");
    expect_losses(ids[NEW_KEY], "0 k1 ; 0 k2 ; 1 vc ; 2 corp cn=kaas; 3 chain ; 4 vc heir; 5 HX hxadmin; 6 prod ; 7 prod ; ");
    forget(ids[OLD_KEY], ids[OLD_KEY]);
    expect_counts(VALUES, 0);
    forget(ids[NEW_KEY], ids[NEW_KEY]);
    expect_counts(1, 0); /* of the audit log, which is renewed where it is lost */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM secrets"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM hx_credentials"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM hx_connections"), 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM kube_connections"), 1); /* to be connected again in place */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM signing_keys"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenter_credentials WHERE state = 'retired'"), 3);
    assert_int_equal(fixture_number("SELECT registered_at_ms FROM vcenters"), 0);
    assert_int_equal(fixture_number("SELECT version_no FROM ldap_sources WHERE sealed IS NULL"), 2);
}

static void test_what_another_key_sealed_stays(void **state) {
    (void)state;
    make_values(OLD_KEY);
    fixture_exec("DELETE FROM secrets WHERE purpose = 'hx-credential'");
    write_sealed(NEW_KEY, "hx-credential:" VC, "new",
                 "INSERT INTO secrets VALUES ('hx_credential', '" VC "', 'hx-credential', ?)");
    write_sealed(NEW_KEY, "signing-key:k2", "new", "UPDATE signing_keys SET sealed = ? WHERE kid = 'k2'");
    forget(ids[NEW_KEY], ids[NEW_KEY]);
    expect_counts(1, 2);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM hx_credentials"), 1);
}

/* A token is had anew without a person. */
static void test_a_lost_token_is_not_told(void **state) {
    (void)state;
    make_values(NEW_KEY);
    fixture_exec("DELETE FROM secrets WHERE purpose = 'hx-token'");
    write_sealed(OLD_KEY, "hx-token:" HX, "old", "INSERT INTO secrets VALUES ('hx_connection', '" HX "', 'hx-token', ?)");
    expect_losses(ids[NEW_KEY], "");
    forget(ids[NEW_KEY], ids[NEW_KEY]);
    expect_counts(0, VALUES - 1);
}

/* -- from the tables before ------------------------------------------------------------------------------------------------- */

static void migrate(struct store_schema schema) {
    const struct store_migrate_options options = {.schema = schema, .holder = "test"};
    struct store *owner = fixture_owner();
    struct err err = {0};
    unsigned applied = 0;
    ASSERT_OK(store_migrate(owner, &options, &applied, &err), &err);
    store_free(owner);
}

static void test_secrets_of_hx_move(void **state) {
    struct store_schema before = store_schema_builtin();
    (void)state;
    fixture_drop();
    fixture_create();
    while (strcmp(before.files[before.count - 1].name, "0200") >= 0)
        before.count--;
    migrate(before);
    fixture_grant();
    fixture_insert_vcenter(store, VC);
    insert_hx_cluster();
    fixture_exec("INSERT INTO hx_connections (hx_cluster_id, address, port, user_name, created_at_ms, updated_at_ms, version_no)"
                 " VALUES ('" HX "', 'hx.test', 443, 'hxadmin', 1, 1, 1)");
    fixture_exec("INSERT INTO hx_secrets VALUES ('" HX "', 'password', 'p'), ('" HX "', 'token', 't')");
    fixture_exec(
        "INSERT INTO hx_credentials (vcenter_id, user_name, sealed, refused_at_ms, created_at_ms, updated_at_ms, version_no)"
        " VALUES ('" VC "', 'heir', 'c', 0, 1, 1, 1)");
    migrate(store_schema_builtin());
    fixture_grant();
    expect_secret(at("hx-password"), "p");
    expect_secret(at("hx-token"), "t");
    expect_secret((struct secret_place){SECRET_OWNER_HX_CREDENTIAL, VC, "hx-credential"}, "c");
}

#define EACH(test) cmocka_unit_test_setup(test, empty)

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH(test_a_secret_goes_with_its_transaction),
        EACH(test_secrets_go_with_their_owner),
        EACH(test_secrets_of_a_vcenter_go_with_it),
        EACH(test_what_the_last_release_deletes_is_purged),
        EACH(test_a_purge_waits_for_owners_that_come),
        EACH(test_the_first_secret_stays),
        EACH(test_what_a_paused_replica_writes),
        EACH(test_one_loop_seals_all_values_anew),
        EACH(test_a_value_that_changes_meanwhile_is_left),
        EACH(test_what_the_last_release_writes_is_seen),
        EACH(test_what_a_lost_key_takes_with_it),
        EACH(test_what_another_key_sealed_stays),
        EACH(test_a_lost_token_is_not_told),
        cmocka_unit_test(test_secrets_of_hx_move),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
