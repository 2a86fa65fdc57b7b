/* Transactions against a real server: undo, retry, locks, the change log, snapshots.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "change_store.h"
#include "clock.h"
#include "db_stmt.h"
#include "replica_store.h"
#include "store_tx.h"

#define BALANCE "SELECT SUM(id * 1000 + audit_seq) FROM replicas WHERE id IN (901, 902)"

static struct store *store;

static int set_up(void **state) {
    (void)fixture_set_up(state);
    store = fixture_runtime();
    fixture_exec("INSERT INTO replicas (id, name) VALUES (901, 'left'), (902, 'right')");
    return 0;
}

static int tear_down(void **state) {
    store_free(store);
    return fixture_tear_down(state);
}

static int fail_after_write(struct store_tx *tx, void *arg, struct err *err) {
    (void)arg;
    ASSERT_OK(db_run(store_tx_conn(tx), "UPDATE replicas SET audit_seq = 77 WHERE id = 901", DB_ARGS_NONE, NULL, err), err);
    ASSERT_OK(store_tx_note_change(tx, CHANGE_CLUSTER, "never", err), err);
    return err_set(err, ERR_CONFLICT, "changed my mind");
}

static void test_failure_undoes_all(void **state) {
    struct err err = {0};
    int64_t log = fixture_number("SELECT COUNT(*) FROM change_log");
    (void)state;
    ASSERT_CODE(store_tx(store, fail_after_write, NULL, &err), ERR_CONFLICT, &err);
    assert_int_equal(fixture_number("SELECT audit_seq FROM replicas WHERE id = 901"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM change_log"), log);
}

/* Two transactions that lock two rows in opposite order, each after the other has its first: a certain deadlock. */
struct crossing {
    unsigned first, second;
    pthread_barrier_t *met;
    unsigned runs;
};

static int add_one(struct db_conn *conn, unsigned id, struct err *err) {
    return db_run(conn, "UPDATE replicas SET audit_seq = audit_seq + 1 WHERE id = ?", DB_ARGS(db_number(id)), NULL, err);
}

static int cross(struct store_tx *tx, void *arg, struct err *err) {
    struct crossing *crossing = arg;
    int rc = add_one(store_tx_conn(tx), crossing->first, err);
    if (!crossing->runs++) /* only the first time: the loser comes alone again */
        (void)pthread_barrier_wait(crossing->met);
    return rc ? rc : add_one(store_tx_conn(tx), crossing->second, err);
}

static void *run_crossing(void *arg) {
    struct err err = {0};
    store_thread_begin();
    ASSERT_OK(store_tx(store, cross, arg, &err), &err);
    store_thread_end();
    return NULL;
}

static void test_deadlock_is_retried(void **state) {
    pthread_barrier_t met;
    struct crossing one = {.first = 901, .second = 902, .met = &met}, two = {.first = 902, .second = 901, .met = &met};
    pthread_t threads[2];
    (void)state;
    fixture_exec("UPDATE replicas SET audit_seq = 0 WHERE id IN (901, 902)");
    assert_int_equal(pthread_barrier_init(&met, NULL, 2), 0);
    assert_int_equal(pthread_create(&threads[0], NULL, run_crossing, &one), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, run_crossing, &two), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    assert_true(one.runs + two.runs >= 3);
    assert_int_equal(fixture_number("SELECT SUM(audit_seq) FROM replicas WHERE id IN (901, 902)"), 4);
    (void)pthread_barrier_destroy(&met);
}

/* A transaction that keeps a row until it is told to end. */
static atomic_bool is_held, is_to_end;

static int hold(struct store_tx *tx, void *arg, struct err *err) {
    const struct timespec pause = {.tv_nsec = 5000000};
    (void)arg;
    int rc = add_one(store_tx_conn(tx), 901, err);
    is_held = true;
    while (!rc && !is_to_end)
        (void)nanosleep(&pause, NULL);
    return rc;
}

static void *run_holder(void *arg) {
    struct err err = {0};
    (void)arg;
    store_thread_begin();
    ASSERT_OK(store_tx(store, hold, NULL, &err), &err);
    store_thread_end();
    return NULL;
}

static int count_and_add(struct store_tx *tx, void *arg, struct err *err) {
    ++*(unsigned *)arg;
    return add_one(store_tx_conn(tx), 901, err);
}

static void test_lock_timeout_ends(void **state) {
    struct store_options options = fixture_options("fixture_runtime", FIXTURE_PASSWORD);
    struct store *impatient = NULL;
    struct err err = {0};
    unsigned runs = 0;
    pthread_t thread;
    (void)state;
    options.call_timeout_s = 3; /* a lock is waited for a third of it */
    ASSERT_OK(store_new(&options, &impatient, &err), &err);
    is_held = is_to_end = false;
    assert_int_equal(pthread_create(&thread, NULL, run_holder, NULL), 0);
    UNIT_WAIT_FOR(is_held);
    assert_int_equal(store_tx(impatient, count_and_add, &runs, &err), ERR_BUSY);
    assert_non_null(strstr(err.text, "try again"));
    assert_true(runs >= 2); /* retried */
    is_to_end = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    err_clear(&err);
    ASSERT_OK(store_tx(impatient, count_and_add, &runs, &err), &err);
    store_free(impatient);
}

/* As a server does that finds a deadlock each time. */
static int lose_each_time(struct store_tx *tx, void *arg, struct err *err) {
    ++*(unsigned *)arg;
    return db_conn_exec(store_tx_conn(tx), "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'lost again'", err);
}

/* Long before the time of a call is up: who always loses leaves the others alone. */
static void test_retries_are_counted(void **state) {
    struct err err = {0};
    unsigned runs = 0;
    (void)state;
    ASSERT_CODE(store_tx(store, lose_each_time, &runs, &err), ERR_BUSY, &err);
    assert_int_equal(runs, 6);
}

/* As when the lines of the audit log, which come last, meet a deadlock. */
static int lose_at_the_end(struct store_tx *tx, void *arg, struct err *err) {
    unsigned *runs = arg;
    int rc = add_one(store_tx_conn(tx), 901, err);
    struct db_conn *conn = store_tx_last_conn(tx);
    if (rc || ++*runs > 1)
        return rc;
    return db_conn_exec(conn, "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'lost'", err);
}

static void test_a_retry_begins_anew(void **state) {
    struct err err = {0};
    unsigned runs = 0;
    (void)state;
    ASSERT_OK(store_tx(store, lose_at_the_end, &runs, &err), &err);
    assert_int_equal(runs, 2);
}

static int raise_under_lock(struct store_tx *tx, void *arg, struct err *err) {
    int64_t value = 0;
    (void)arg;
    int rc = store_tx_lock(tx, "test", err);
    rc = rc ? rc
            : db_query_row(store_tx_conn(tx), "SELECT audit_seq FROM replicas WHERE id = 902", DB_ARGS_NONE,
                           DB_INTO(DB_TO(value)), "none", err);
    /* read, then write what was read: without the lock additions would be lost */
    return rc ? rc
              : db_run(store_tx_conn(tx), "UPDATE replicas SET audit_seq = ? WHERE id = 902", DB_ARGS(db_number(value + 1)), NULL,
                       err);
}

static void *raise_often(void *arg) {
    struct err err = {0};
    (void)arg;
    store_thread_begin();
    for (int i = 0; i < 25; i++)
        ASSERT_OK(store_tx(store, raise_under_lock, NULL, &err), &err);
    store_thread_end();
    return NULL;
}

static void test_lock_serialises(void **state) {
    pthread_t threads[4];
    (void)state;
    fixture_exec("UPDATE replicas SET audit_seq = 0 WHERE id = 902");
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, raise_often, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(fixture_number("SELECT audit_seq FROM replicas WHERE id = 902"), 100);
}

struct notes {
    enum change_kind kind;
    const char *const *ids;
    size_t count;
};

static int write_notes(struct store_tx *tx, void *arg, struct err *err) {
    const struct notes *notes = arg;
    int rc = 0;
    for (size_t i = 0; i < notes->count && !rc; i++)
        rc = store_tx_note_change(tx, notes->kind, notes->ids[i], err);
    return rc;
}

static void note(enum change_kind kind, const char *const *ids, size_t count) {
    struct notes notes = {kind, ids, count};
    struct err err = {0};
    ASSERT_OK(store_tx(store, write_notes, &notes, &err), &err);
}

static struct change_positions read_positions(void) {
    struct change_positions positions = {0};
    struct err err = {0};
    ASSERT_OK(change_store_load_positions(store, &positions, &err), &err);
    return positions;
}

static void test_changes_are_read_in_order(void **state) {
    static const char *const ids[] = {"b", "a", "b", "c"};
    struct change_positions positions = read_positions();
    struct change_list list = {0};
    struct err err = {0};
    (void)state;
    ASSERT_OK(change_store_load(store, &positions, &list, &err), &err);
    assert_int_equal(list.count, 0);
    change_list_done(&list);
    note(CHANGE_CLUSTER, ids, 4);
    note(CHANGE_GRANT, ids, 1);
    ASSERT_OK(change_store_load(store, &positions, &list, &err), &err);
    assert_int_equal(list.count, 4); /* the repeated note was written once */
    assert_string_equal(list.items[0].object_id, "b");
    assert_string_equal(list.items[1].object_id, "a");
    assert_string_equal(list.items[2].object_id, "c");
    assert_int_equal(list.items[2].kind, CHANGE_CLUSTER);
    assert_int_equal(list.items[3].kind, CHANGE_GRANT);
    for (size_t i = 1; i < list.count; i++)
        assert_int_equal(list.items[i].seq, list.items[i - 1].seq + 1);
    assert_false(list.is_gap || list.is_more);
    change_list_done(&list);
    ASSERT_OK(change_store_load(store, &positions, &list, &err), &err);
    assert_int_equal(list.count, 0);
    change_list_done(&list);
    change_positions_done(&positions);
}

static void test_long_id_is_refused(void **state) {
    char id[140];
    const char *const ids[] = {id};
    struct notes notes = {CHANGE_CLUSTER, ids, 1};
    struct err err = {0};
    (void)state;
    memset(id, 'i', sizeof(id));
    id[128] = '\0';
    ASSERT_OK(store_tx(store, write_notes, &notes, &err), &err);
    id[128] = 'i';
    id[129] = '\0';
    ASSERT_CODE(store_tx(store, write_notes, &notes, &err), ERR_UNPROCESSABLE, &err);
}

static void *note_often(void *arg) {
    static const char *const ids[] = {"x", "y"};
    (void)arg;
    store_thread_begin();
    for (int i = 0; i < 25; i++)
        note(CHANGE_CLUSTER, ids, 2);
    store_thread_end();
    return NULL;
}

/* A reader that polls while others write must see every number once and in order: order of numbers is order of commits. */
static void test_reader_misses_nothing(void **state) {
    struct change_positions positions = read_positions();
    struct err err = {0};
    pthread_t threads[4];
    uint64_t last = 0;
    size_t seen = 0;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, note_often, NULL), 0);
    while (seen < 200) {
        struct change_list list = {0};
        ASSERT_OK(change_store_load(store, &positions, &list, &err), &err);
        assert_false(list.is_gap);
        for (size_t i = 0; i < list.count; i++) {
            assert_true(!last || list.items[i].seq == last + 1);
            last = list.items[i].seq;
        }
        seen += list.count;
        change_list_done(&list);
    }
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(seen, 200);
    change_positions_done(&positions);
}

static void test_gap_after_pruning(void **state) {
    static const char *const ids[] = {"p", "q", "r"};
    struct change_positions positions = read_positions(), fresh;
    struct change_list list = {0};
    struct err err = {0};
    unsigned long deleted = 0;
    (void)state;
    note(CHANGE_CLUSTER, ids, 3);
    ASSERT_OK(change_store_prune(store, 1, 1000, &deleted, &err), &err);
    assert_int_equal(deleted, 0);
    ASSERT_OK(change_store_prune(store, clock_wall_ms() + 60000, 100000, &deleted, &err), &err);
    assert_true(deleted >= 3);
    ASSERT_OK(change_store_load(store, &positions, &list, &err), &err);
    assert_true(list.is_gap);
    assert_int_equal(list.count, 0);
    change_list_done(&list);
    /* the positions went on: what comes now is read without a gap */
    note(CHANGE_CLUSTER, ids, 1);
    ASSERT_OK(change_store_load(store, &positions, &list, &err), &err);
    assert_false(list.is_gap);
    assert_int_equal(list.count, 1);
    change_list_done(&list);
    fresh = read_positions();
    assert_int_equal(fresh.count, positions.count);
    change_positions_done(&fresh);
    change_positions_done(&positions);
}

static void test_unknown_kind_is_passed_over(void **state) {
    struct change_positions positions = read_positions();
    struct change_list list = {0};
    struct err err = {0};
    (void)state;
    fixture_exec(
        "INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms) SELECT 901, 1, 'of_the_future', 'x', 0");
    fixture_exec("INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms) SELECT 901, 2, 'cluster', 'y', 0");
    fixture_exec("UPDATE replicas SET seq = 2 WHERE id = 901");
    ASSERT_OK(change_store_load(store, &positions, &list, &err), &err);
    assert_false(list.is_gap);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].object_id, "y");
    assert_int_equal(list.items[0].replica_id, 901);
    change_list_done(&list);
    change_positions_done(&positions);
}

static int look_twice(struct store_tx *tx, void *arg, struct err *err) {
    int64_t *sums = arg;
    for (int i = 0; i < 2; i++) {
        int rc = db_query_row(store_tx_conn(tx), BALANCE, DB_ARGS_NONE, DB_INTO(DB_TO(sums[i])), "none", err);
        if (rc)
            return rc;
        fixture_exec("UPDATE replicas SET audit_seq = audit_seq + 1 WHERE id = 902");
    }
    return 0;
}

static int write_in_snapshot(struct store_tx *tx, void *arg, struct err *err) {
    (void)arg;
    return add_one(store_tx_conn(tx), 901, err);
}

static void test_snapshot(void **state) {
    int64_t sums[2] = {0, 0};
    struct err err = {0};
    (void)state;
    ASSERT_OK(store_tx_snapshot(store, look_twice, sums, &err), &err);
    assert_int_equal(sums[0], sums[1]);
    assert_int_equal(fixture_number(BALANCE), sums[0] + 2);
    ASSERT_CODE(store_tx_snapshot(store, write_in_snapshot, NULL, &err), ERR_INTERNAL, &err);
    /* the level was for that transaction only: an ordinary one sees what others commit */
    ASSERT_OK(store_tx(store, look_twice, sums, &err), &err);
    assert_int_equal(sums[1], sums[0] + 1);
}

static void test_replicas(void **state) {
    struct store *other = fixture_runtime();
    struct replica_list list = {0};
    struct err err = {0};
    unsigned one = 0, two = 0, again = 0;
    int64_t age_ms = 0;
    (void)state;
    ASSERT_CODE((store_set_replica(other, 4711), replica_store_heartbeat(other, &err)), ERR_NOT_FOUND, &err);
    ASSERT_OK(replica_store_register(other, "kaas-a", &one, &age_ms, &err), &err);
    assert_int_equal(age_ms, -1);
    assert_int_equal(store_get_replica(other), one);
    ASSERT_OK(replica_store_register(other, "kaas-b", &two, &age_ms, &err), &err);
    assert_int_not_equal(one, two);
    ASSERT_OK(replica_store_register(other, "kaas-a", &again, &age_ms, &err), &err);
    assert_int_equal(again, one);
    assert_true(age_ms >= 0);
    ASSERT_OK(replica_store_heartbeat(other, &err), &err);
    ASSERT_OK(replica_store_list(other, &list, &err), &err);
    assert_int_equal(list.items[0].id, 0);
    assert_int_equal(list.items[0].heartbeat_age_ms, -1);
    assert_int_equal(list.items[list.count - 2].id, one);
    assert_string_equal(list.items[list.count - 1].name, "kaas-b");
    replica_list_done(&list);
    store_free(other);
}

static void *register_one(void *arg) {
    struct store *own = fixture_runtime();
    struct err err = {0};
    unsigned id = 0;
    int64_t age_ms = 0;
    store_thread_begin();
    ASSERT_OK(replica_store_register(own, arg, &id, &age_ms, &err), &err);
    store_free(own);
    store_thread_end();
    return NULL;
}

static void test_replicas_register_together(void **state) {
    static char names[6][8] = {"t1", "t2", "t3", "t4", "t5", "t1"};
    pthread_t threads[6];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, register_one, names[i]), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM replicas WHERE name LIKE 't_'"), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_undoes_all),
        cmocka_unit_test(test_deadlock_is_retried),
        cmocka_unit_test(test_lock_timeout_ends),
        cmocka_unit_test(test_retries_are_counted),
        cmocka_unit_test(test_a_retry_begins_anew),
        cmocka_unit_test(test_lock_serialises),
        cmocka_unit_test(test_changes_are_read_in_order),
        cmocka_unit_test(test_long_id_is_refused),
        cmocka_unit_test(test_reader_misses_nothing),
        cmocka_unit_test(test_gap_after_pruning),
        cmocka_unit_test(test_unknown_kind_is_passed_over),
        cmocka_unit_test(test_snapshot),
        cmocka_unit_test(test_replicas),
        cmocka_unit_test(test_replicas_register_together),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
