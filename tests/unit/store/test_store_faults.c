/* The database dies, hangs, turns read-only or shows a strange certificate: nothing half-written, nobody waits for ever, all comes back.
 * Starts, kills and stops the server of KAAS_TEST_DB_FOLDER. SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "change_store.h"
#include "clock.h"
#include "db_stmt.h"
#include "fsutil.h"
#include "lease_store.h"
#include "store_tx.h"
#include "str.h"
#include "uuid.h"
#include "x509.h"

static struct store *store;

static int set_up(void **state) {
    (void)fixture_set_up(state);
    fixture_exec("INSERT INTO replicas (id, name) VALUES (901, 'fault')");
    store = fixture_runtime();
    return 0;
}

static int tear_down(void **state) {
    store_free(store);
    return fixture_tear_down(state);
}

static bool is_answering(void) {
    return store_ping(store, NULL) == 0;
}

static int write_all(struct store_tx *tx, struct err *err) {
    int rc = db_run(store_tx_conn(tx), "UPDATE replicas SET audit_seq = audit_seq + 1 WHERE id = 901", DB_ARGS_NONE, NULL, err);
    return rc ? rc : store_tx_note_change(tx, CHANGE_CLUSTER, "c", err);
}

static int write_and_kill(struct store_tx *tx, void *arg, struct err *err) {
    unsigned *runs = arg;
    int rc = write_all(tx, err);
    if (!(*runs)++)
        fixture_control("kill", NULL);
    return rc;
}

static int write_plain(struct store_tx *tx, void *arg, struct err *err) {
    (void)arg;
    return write_all(tx, err);
}

static void test_killed_in_a_transaction(void **state) {
    struct err err = {0};
    unsigned runs = 0;
    (void)state;
    int64_t seq = fixture_number("SELECT SUM(seq) FROM replicas"), before_ms = clock_wall_ms();
    ASSERT_CODE(store_tx(store, write_and_kill, &runs, &err), ERR_DATABASE, &err);
    assert_int_equal(store_ping(store, &err), ERR_DATABASE);
    err_clear(&err);
    assert_true(store_away_since_ms(store) >= before_ms);
    fixture_control("start", NULL);
    UNIT_WAIT_FOR(is_answering());
    assert_int_equal(store_away_since_ms(store), 0);
    /* nothing half-written: neither the row, nor the sequence, nor the log */
    assert_int_equal(fixture_number("SELECT audit_seq FROM replicas WHERE id = 901"), 0);
    assert_int_equal(fixture_number("SELECT SUM(seq) FROM replicas"), seq);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM change_log"), seq);
    ASSERT_OK(store_tx(store, write_plain, NULL, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM change_log"), seq + 1);
}

/* Writers that go on through a crash. What they were told is saved must be there afterwards, and nothing they were told failed. */
static atomic_uint saved, failed, unknown;
static atomic_bool is_to_end;

static void *write_through(void *arg) {
    (void)arg;
    store_thread_begin();
    while (!is_to_end) {
        const struct timespec pause = {.tv_nsec = 2000000};
        struct err err = {0};
        int rc = store_tx(store, write_plain, NULL, &err);
        saved += rc == 0;
        failed += rc != 0 && !strstr(err.text, "may or may not");
        unknown += rc != 0 && strstr(err.text, "may or may not");
        (void)nanosleep(&pause, NULL);
    }
    store_thread_end();
    return NULL;
}

static void test_writers_through_a_crash(void **state) {
    pthread_t threads[4];
    unsigned before = 0;
    (void)state;
    fixture_exec("UPDATE replicas SET audit_seq = 0 WHERE id = 901");
    int64_t log = fixture_number("SELECT COUNT(*) FROM change_log");
    saved = failed = unknown = 0;
    is_to_end = false;
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_through, NULL), 0);
    for (int round = 0; round < 2; round++) {
        before = saved;
        UNIT_WAIT_FOR(saved > before + 20);
        fixture_control("kill", NULL);
        before = failed;
        UNIT_WAIT_FOR(failed > before + 4);
        fixture_control("start", NULL);
    }
    before = saved;
    UNIT_WAIT_FOR(saved > before + 20);
    is_to_end = true;
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    int64_t written = fixture_number("SELECT audit_seq FROM replicas WHERE id = 901");
    assert_in_range((uintmax_t)written, saved, saved + unknown);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM change_log") - log, written);
    assert_int_equal(fixture_number("SELECT MAX(seq) FROM change_log WHERE replica_id = 0"),
                     fixture_number("SELECT seq FROM replicas WHERE id = 0"));
}

static void test_frozen_server(void **state) {
    struct store_options options = fixture_options("fixture_runtime", FIXTURE_PASSWORD);
    struct store *impatient = NULL;
    struct err err = {0};
    bool is_mine = false;
    (void)state;
    options.call_timeout_s = 1;
    options.connect_timeout_s = 1;
    ASSERT_OK(store_new(&options, &impatient, &err), &err);
    UNIT_WAIT_FOR(store_ping(impatient, NULL) == 0);
    int64_t log = fixture_number("SELECT COUNT(*) FROM change_log");
    fixture_control("freeze", NULL);
    /* an open connection, then new ones: both end by time-out, and those who come meanwhile do not wait */
    ASSERT_CODE(store_tx(impatient, write_plain, NULL, &err), ERR_DATABASE, &err);
    for (int i = 0; i < 3; i++)
        ASSERT_CODE(store_ping(impatient, &err), ERR_DATABASE, &err);
    ASSERT_CODE(lease_store_acquire(impatient, "x", "y", 1, &is_mine, &err), ERR_DATABASE, &err);
    assert_true(store_away_since_ms(impatient) > 0);
    fixture_control("thaw", NULL);
    UNIT_WAIT_FOR(store_ping(impatient, NULL) == 0);
    assert_int_equal(store_away_since_ms(impatient), 0);
    /* what the server found waiting when it woke up was never committed */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM change_log"), log);
    store_free(impatient);
}

/* What the threads of a test share. */
static pthread_barrier_t all_ready;
static atomic_uint tried, refused;

static void *ping_together(void *arg) {
    struct err err = {0};
    store_thread_begin();
    (void)pthread_barrier_wait(&all_ready);
    (void)store_ping(arg, &err);
    tried += err.retry_after_s == 0;
    refused += err.retry_after_s != 0;
    store_thread_end();
    return NULL;
}

/* While the server hangs, one thread tries and waits; the others are refused at once. */
static void test_only_one_thread_waits(void **state) {
    struct store_options options = fixture_options("fixture_runtime", FIXTURE_PASSWORD);
    struct store *patient = NULL;
    struct err err = {0};
    pthread_t threads[6];
    (void)state;
    options.call_timeout_s = 3;
    options.connect_timeout_s = 5;
    options.connections_max = 6;
    tried = refused = 0;
    clock_fake(clock_mono_ms(), clock_wall_ms());
    ASSERT_OK(store_new(&options, &patient, &err), &err);
    assert_int_equal(pthread_barrier_init(&all_ready, NULL, UNIT_COUNT(threads)), 0);
    fixture_control("freeze", NULL);
    ASSERT_CODE(store_ping(patient, &err), ERR_DATABASE, &err);
    clock_advance_ms(300); /* past the first pause; it stands still then, so that who comes late is in the second one */
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ping_together, patient), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(store_ping(patient, &err), ERR_DATABASE);
    assert_int_not_equal(err.retry_after_s, 0); /* late, and refused as well */
    fixture_control("thaw", NULL);
    clock_unfake();
    assert_int_equal(tried, 1);
    assert_int_equal(refused, UNIT_COUNT(threads) - 1);
    UNIT_WAIT_FOR(store_ping(patient, NULL) == 0);
    (void)pthread_barrier_destroy(&all_ready);
    store_free(patient);
}

static void test_read_only_server(void **state) {
    struct change_positions positions = {0};
    struct err err = {0};
    (void)state;
    fixture_exec("SET GLOBAL read_only = 1");
    assert_int_equal(store_tx(store, write_plain, NULL, &err), ERR_DATABASE);
    assert_non_null(strstr(err.text, "read-only"));
    assert_true(err.remedy[0]);
    err_clear(&err);
    ASSERT_OK(change_store_load_positions(store, &positions, &err), &err);
    change_positions_done(&positions);
    assert_int_equal(store_away_since_ms(store), 0);
    fixture_exec("SET GLOBAL read_only = 0");
    ASSERT_OK(store_tx(store, write_plain, NULL, &err), &err);
}

static void test_read_only_account(void **state) {
    struct store_options options = fixture_options("fixture_reader", FIXTURE_PASSWORD);
    struct store *reader = NULL;
    struct err err = {0};
    static char grant[160];
    (void)state;
    fixture_exec("CREATE OR REPLACE USER fixture_reader@localhost IDENTIFIED BY 'it''s a \"secret\\\\ p\xC3\xA4ssword'");
    (void)snprintf(grant, sizeof(grant), "GRANT SELECT ON %s.* TO fixture_reader@localhost", fixture_database());
    fixture_exec(grant);
    ASSERT_OK(store_new(&options, &reader, &err), &err);
    ASSERT_OK(store_check_schema(reader, store_schema_builtin(), &err), &err);
    assert_int_equal(store_tx(reader, write_plain, NULL, &err), ERR_DATABASE);
    assert_non_null(strstr(err.text, "lacks a right"));
    store_free(reader);
}

/* Ports and names of tests/env/places.py, so that its programs and this one keep off each other's ports. */
#define PORT_FIRST 20000 /* below those that the kernel hands out by itself: ip(7), ip_local_port_range */
#define PORT_COUNT 12000
#define PORT_TRIES 1000

/* A socket bound to the address; -1: it is taken. */
static int bind_to(const struct sockaddr *address, socklen_t size) {
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (bind(fd, address, size) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* The name in the kernel that says whose port it is; its socket, or -1: it is another's. */
static int claim_port(unsigned port) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "kaas-test-port-%u", port);
    return bind_to((const struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
}

/* Whether nobody listens there. */
static bool is_port_free(unsigned port) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int fd = bind_to((const struct sockaddr *)&address, sizeof(address));
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

/* A port that stays free until the server takes it, and while it restarts: the claim ends with this program. */
static unsigned free_port(void) {
    static int claim = -1;
    for (int i = 0; i < PORT_TRIES; i++) {
        unsigned port = PORT_FIRST + random_u32() % PORT_COUNT;
        claim = claim_port(port);
        if (claim >= 0 && is_port_free(port))
            return port;
        if (claim >= 0)
            (void)close(claim);
    }
    fail_msg("%d ports from %d are taken", PORT_TRIES, PORT_FIRST);
    return 0;
}

/* Writes a certificate for localhost into the server's folder: NAME.pem and NAME.key. */
static void make_certificate(const char *name) {
    static const char *const san[] = {"DNS:localhost", NULL};
    const struct x509_request request = {
        .common_name = "localhost", .san = san, .valid_days = 2, .key_bits = 2048, .is_server = 1};
    char *cert = NULL, *key = NULL, path[512];
    struct err err = {0};
    ASSERT_OK(x509_make_self_signed(&request, &cert, &key, &err), &err);
    (void)snprintf(path, sizeof(path), "%s/%s.pem", getenv("KAAS_TEST_DB_FOLDER"), name);
    ASSERT_OK(fs_write_atomic(path, cert, strlen(cert), 0644, &err), &err);
    (void)snprintf(path, sizeof(path), "%s/%s.key", getenv("KAAS_TEST_DB_FOLDER"), name);
    ASSERT_OK(fs_write_atomic(path, key, strlen(key), 0644, &err), &err);
    free(cert);
    free(key);
}

static int ping_by_tls(unsigned port, const char *ca_name, const char *host, struct err *err) {
    struct store_options options = fixture_options("fixture_tls", FIXTURE_PASSWORD);
    struct store *remote = NULL;
    char ca_file[512];
    (void)snprintf(ca_file, sizeof(ca_file), "%s/%s.pem", getenv("KAAS_TEST_DB_FOLDER"), ca_name);
    options.unix_socket = NULL;
    options.host = host;
    options.port = port;
    options.ca_file = ca_file;
    ASSERT_OK(store_new(&options, &remote, err), err);
    int rc = store_ping(remote, err);
    store_free(remote);
    return rc;
}

static void test_network_needs_trusted_tls(void **state) {
    char port_option[32], cert_option[600], key_option[600];
    const char *plain[] = {"--skip-networking=0", "--bind-address=127.0.0.1", port_option, NULL};
    const char *tls[] = {"--skip-networking=0", "--bind-address=127.0.0.1", port_option, cert_option, key_option, NULL};
    unsigned port = free_port();
    struct err err = {0};
    static char grant[160];
    (void)state;
    (void)snprintf(port_option, sizeof(port_option), "--port=%u", port);
    (void)snprintf(cert_option, sizeof(cert_option), "--ssl-cert=%s/server.pem", getenv("KAAS_TEST_DB_FOLDER"));
    (void)snprintf(key_option, sizeof(key_option), "--ssl-key=%s/server.key", getenv("KAAS_TEST_DB_FOLDER"));
    make_certificate("server");
    make_certificate("other");
    fixture_exec("CREATE OR REPLACE USER fixture_tls@'%' IDENTIFIED BY 'it''s a \"secret\\\\ p\xC3\xA4ssword'");
    (void)snprintf(grant, sizeof(grant), "GRANT SELECT ON %s.* TO fixture_tls@'%%'", fixture_database());
    fixture_exec(grant);
    fixture_control("stop", NULL);
    fixture_control("start", tls);
    ASSERT_OK(ping_by_tls(port, "server", "localhost", &err), &err);
    assert_int_equal(ping_by_tls(port, "other", "localhost", &err), ERR_DATABASE);
    assert_non_null(strstr(err.text, "TLS"));
    assert_non_null(strstr(err.remedy, "database.tls_ca_file"));
    err_clear(&err);
    /* the right chain under another name */
    assert_int_equal(ping_by_tls(port, "server", "127.0.0.1", &err), ERR_DATABASE);
    assert_non_null(strstr(err.text, "TLS"));
    err_clear(&err);
    /* a server without TLS gets no password */
    fixture_control("stop", NULL);
    fixture_control("start", plain);
    assert_int_equal(ping_by_tls(port, "server", "localhost", &err), ERR_DATABASE);
    assert_non_null(strstr(err.text, "TLS"));
    fixture_control("stop", NULL);
    fixture_control("start", NULL);
    UNIT_WAIT_FOR(is_answering());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_in_a_transaction),
        cmocka_unit_test(test_writers_through_a_crash),
        cmocka_unit_test(test_frozen_server),
        cmocka_unit_test(test_only_one_thread_waits),
        cmocka_unit_test(test_read_only_server),
        cmocka_unit_test(test_read_only_account),
        cmocka_unit_test(test_network_needs_trusted_tls),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
