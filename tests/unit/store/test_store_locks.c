/* One order of locks: rows, then the audit chain. Whoever takes both in another order waits for innodb_lock_wait_timeout, since the server does not see the
 * chain; the store tells of it (store_set_lock_listener), which is what the tests look at.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "audit_tx.h"
#include "cluster_store.h"
#include "grant_store.h"
#include "group_commit.h"
#include "session_store.h"
#include "session_tx.h"
#include "store_tx.h"
#include "str.h"
#include "user_store.h"

#define NOW_MS FIXTURE_NOW_MS
#define LIVE_MAX 2U

static struct store *store;
static atomic_uint told;
static char told_problem[64], told_sql[512]; /* of the last one */

static void on_lock(void *arg, const char *problem, const char *sql) {
    (void)arg;
    (void)snprintf(told_problem, sizeof(told_problem), "%s", problem);
    (void)snprintf(told_sql, sizeof(told_sql), "%s", sql);
    atomic_fetch_add(&told, 1);
}

static void assert_nobody_waited(void) {
    if (atomic_load(&told))
        fail_msg("%u times, last: %s: %s", atomic_load(&told), told_problem, told_sql);
}

static struct store *listened(unsigned call_timeout_s) {
    struct store_options options = fixture_options("fixture_runtime", FIXTURE_PASSWORD);
    struct store *made = NULL;
    struct err err = {0};
    options.connections_max = 16;
    options.borrow_timeout_ms = 60000;
    options.call_timeout_s = call_timeout_s; /* a lock is waited for a third of it */
    ASSERT_OK(store_new(&options, &made, &err), &err);
    store_set_lock_listener(made, on_lock, NULL);
    return made;
}

static int set_up(void **state) {
    (void)fixture_set_up(state);
    store = listened(15);
    return 0;
}

static int tear_down(void **state) {
    store_free(store);
    return fixture_tear_down(state);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM sessions");
    fixture_exec("DELETE FROM grants");
    fixture_exec("DELETE FROM users");
    fixture_exec("DELETE FROM clusters");
    atomic_store(&told, 0);
    return 0;
}

static struct audit_record make_line(const char *action) {
    return (struct audit_record){.at_ms = NOW_MS, .event = {.action = action, .result = "ok"}};
}

static void make_sid(unsigned n, char out[UUID_TEXT_BYTES]) {
    char *sid = fixture_uuid(n);
    memcpy(out, sid, UUID_TEXT_BYTES);
    free(sid);
}

/* A session as a sign-on opens it. */
static int open_session(unsigned n, const char *principal_id, struct err *err) {
    struct session s = {
        .who = {.id = str_dup(principal_id), .name = str_dup("somebody"), .role = ROLE_USER, .source = SOURCE_LOCAL},
        .created_at_ms = NOW_MS + n,
        .ends_at_ms = NOW_MS + 3600000};
    const struct audit_record line = make_line("login");
    const struct session_opening opening = {.session = &s, .line = &line, .live_max = LIVE_MAX};
    make_sid(n, s.sid);
    make_sid(n + 50000, s.jti);
    int rc = session_store_open(store, &opening, err);
    session_done(&s);
    return rc;
}

/* -- the wrong order, step by step ---------------------------------------------------------------------------------------------- */

struct opener {
    unsigned n;
    const char *principal_id;
    pthread_t thread;
};

static void *run_opener(void *arg) {
    const struct opener *opener = arg;
    struct err err = {0};
    store_thread_begin();
    ASSERT_OK(open_session(opener->n, opener->principal_id, &err), &err);
    store_thread_end();
    return NULL;
}

static struct opener openers[] = {{31, "local:one", 0}, {32, "local:two", 0}};
static atomic_bool has_row, is_batch_waiting;

/* It has its turn of writing until both sign-ons wait behind it: they are written together then. */
static void gather(void *arg, struct group_lead *lead, struct group_entry *const *entries, size_t count) {
    (void)lead;
    assert_int_equal(count, 1);
    for (size_t i = 0; i < UNIT_COUNT(openers); i++)
        assert_int_equal(pthread_create(&openers[i].thread, NULL, run_opener, &openers[i]), 0);
    UNIT_WAIT_FOR(group_commit_count(arg) == UNIT_COUNT(openers));
    entries[0]->rc = 0;
}

/* The sessions of the second principal, whose room is made last; and then a line, when somebody waits for them. */
static int end_sessions(struct store_tx *tx, void *arg, struct err *err) {
    static const struct audit_record line = {.at_ms = NOW_MS, .event = {.action = "user.disable", .result = "ok"}};
    (void)arg;
    int rc = session_tx_end(tx, "principal_id = ?", DB_ARGS(db_text("local:two")), NOW_MS, err);
    if (rc)
        return rc;
    atomic_store(&has_row, true);
    UNIT_WAIT_FOR(atomic_load(&is_batch_waiting));
    return audit_tx_append(tx, &line, 1, err);
}

static void *run_end_sessions(void *arg) {
    struct err err = {0};
    (void)arg;
    store_thread_begin();
    ASSERT_OK(store_tx(store, end_sessions, NULL, &err), &err);
    store_thread_end();
    return NULL;
}

/* Sign-ons of two people at their cap in one transaction; the sessions of the second end meanwhile, by a transaction that has their rows and comes to
 * its line once the sign-ons wait for them. */
static void test_rows_come_before_the_chain(void **state) {
    struct group_commit *group = store_audit_side(store)->group;
    struct group_entry first = {.rc = -1};
    struct err err = {0};
    pthread_t ender;
    (void)state;
    for (unsigned n = 0; n < LIVE_MAX; n++) {
        ASSERT_OK(open_session(11 + n, "local:one", &err), &err);
        ASSERT_OK(open_session(21 + n, "local:two", &err), &err);
    }
    atomic_store(&has_row, false);
    atomic_store(&is_batch_waiting, false);
    assert_int_equal(pthread_create(&ender, NULL, run_end_sessions, NULL), 0);
    UNIT_WAIT_FOR(atomic_load(&has_row));
    group_commit_run(group, &first, gather, group);
    UNIT_WAIT_FOR(fixture_number("SELECT variable_value FROM information_schema.GLOBAL_STATUS"
                                 " WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'") > 0);
    atomic_store(&is_batch_waiting, true);
    assert_int_equal(pthread_join(ender, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(openers); i++)
        assert_int_equal(pthread_join(openers[i].thread, NULL), 0);
    assert_nobody_waited();
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE principal_id = 'local:one' AND revoked_at_ms = 0"), 2);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE principal_id = 'local:two' AND revoked_at_ms = 0"), 1);
}

/* -- more of one principal than it may have, in one transaction ------------------------------------------------------------------- */

static struct opener crowd[] = {{41, "local:crowd", 0}, {42, "local:crowd", 0}, {43, "local:crowd", 0}, {44, "local:crowd", 0}};

static void gather_crowd(void *arg, struct group_lead *lead, struct group_entry *const *entries, size_t count) {
    (void)lead;
    assert_int_equal(count, 1);
    for (size_t i = 0; i < UNIT_COUNT(crowd); i++) {
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, run_opener, &crowd[i]), 0);
        UNIT_WAIT_FOR(group_commit_count(arg) == i + 1);
    }
    entries[0]->rc = 0;
}

/* Who came last stays, and each that ends has a line, as if they had come one by one. */
static void test_more_at_once_than_there_may_be(void **state) {
    struct group_commit *group = store_audit_side(store)->group;
    struct group_entry first = {.rc = -1};
    struct err err = {0};
    (void)state;
    ASSERT_OK(open_session(40, "local:crowd", &err), &err);
    const int64_t ends = fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'session.end'");
    group_commit_run(group, &first, gather_crowd, group);
    for (size_t i = 0; i < UNIT_COUNT(crowd); i++)
        assert_int_equal(pthread_join(crowd[i].thread, NULL), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE principal_id = 'local:crowd'"), 5);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE revoked_at_ms = 0"), LIVE_MAX);
    assert_int_equal(
        fixture_number("SELECT COUNT(*) FROM sessions WHERE revoked_at_ms = 0 AND (sid LIKE '%0043' OR sid LIKE '%0044')"),
        LIVE_MAX);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'session.end'") - ends, 3);
    assert_nobody_waited();
}

/* -- a line that is written for sign-ons, too ------------------------------------------------------------------------------------- */

static void *append_line(void *arg) {
    const struct audit_record line = make_line("user.disable");
    struct err err = {0};
    (void)arg;
    store_thread_begin();
    ASSERT_OK(audit_store_append(store, &line, &err), &err);
    store_thread_end();
    return NULL;
}

static void *open_taken(void *arg) {
    const struct opener *opener = arg;
    struct err err = {0};
    store_thread_begin();
    ASSERT_CODE(open_session(opener->n, opener->principal_id, &err), ERR_EXISTS, &err);
    store_thread_end();
    return NULL;
}

static struct opener mixed[] = {{0, NULL, 0}, {51, "local:taken", 0}, {52, "local:free", 0}};

/* The thread of the line comes first, and so writes for all three. */
static void gather_mixed(void *arg, struct group_lead *lead, struct group_entry *const *entries, size_t count) {
    void *(*const runs[])(void *arg) = {append_line, open_taken, run_opener};
    (void)lead;
    assert_int_equal(count, 1);
    for (size_t i = 0; i < UNIT_COUNT(mixed); i++) {
        assert_int_equal(pthread_create(&mixed[i].thread, NULL, runs[i], &mixed[i]), 0);
        UNIT_WAIT_FOR(group_commit_count(arg) == i + 1);
    }
    entries[0]->rc = 0;
}

/* One of the sign-ons is refused, and with it what is written together: the line and the other one are written then, once each. */
static void test_one_at_fault_keeps_nobody_from_being_written(void **state) {
    struct group_commit *group = store_audit_side(store)->group;
    struct group_entry first = {.rc = -1};
    struct err err = {0};
    (void)state;
    ASSERT_OK(open_session(51, "local:taken", &err), &err);
    fixture_exec("DELETE FROM audit WHERE action IN ('login', 'user.disable')");
    group_commit_run(group, &first, gather_mixed, group);
    for (size_t i = 0; i < UNIT_COUNT(mixed); i++)
        assert_int_equal(pthread_join(mixed[i].thread, NULL), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions"), 2);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'login'"), 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'user.disable'"), 1);
    assert_nobody_waited();
}

/* -- all that takes rows and writes lines, at the same time ------------------------------------------------------------------------ */

#define ROUNDS 40U
static atomic_uint next_n = 1000;

static void sign_on(unsigned round) {
    struct err err = {0};
    ASSERT_OK(open_session(atomic_fetch_add(&next_n, 1), round % 2 ? "local:" FIXTURE_VC : "local:two", &err), &err);
}

/* Of sessions that ended to make room, too. */
static void sign_out(unsigned round) {
    const struct audit_record line = make_line("logout");
    const unsigned last = atomic_load(&next_n);
    char sid[UUID_TEXT_BYTES];
    struct err err = {0};
    if (last < 1003)
        return;
    make_sid(last - 1 - round % 3, sid);
    int rc = session_store_revoke(store, sid, NOW_MS, &line, &err);
    assert_true(!rc || rc == ERR_NOT_FOUND); /* not written yet, or purged */
}

static void disable(unsigned round) {
    const struct audit_record line = make_line("user.disable");
    const struct user_change change = {.audit = &line, .ends_sessions = true};
    struct user *u = NULL;
    int64_t version_no = 0;
    struct err err = {0};
    ASSERT_OK(user_store_load(store, FIXTURE_VC, &u, &err), &err);
    u->is_disabled = round % 2;
    u->updated_at_ms = NOW_MS;
    ASSERT_OK(user_store_update(store, u, &change, &version_no, &err), &err);
    user_free(u);
}

static void purge(unsigned round) {
    unsigned long deleted = 0;
    struct err err = {0};
    ASSERT_OK(session_store_purge(store, NOW_MS + 1000 + round, 5, &deleted, &err), &err);
}

static void write_cluster_and_grant(unsigned round) {
    const struct audit_record line = make_line("cluster.create");
    const struct cluster_writing with = {.audit = &line};
    struct cluster *c = fixture_cluster(40000 + round, NULL);
    struct grant g = {.id = fixture_uuid(45000 + round),
                      .principal_id = str_dup("local:two"),
                      .object = GRANT_CLUSTER,
                      .role = str_dup("viewer")};
    struct err err = {0};
    g.object_id = str_dup(c->id);
    ASSERT_OK(cluster_store_insert(store, c, &with, &err), &err);
    ASSERT_OK(grant_store_insert(store, &g, NOW_MS, &line, &err), &err);
    ASSERT_OK(grant_store_delete(store, g.id, &line, &err), &err);
    grant_done(&g);
    cluster_free(c);
}

static void write_line(unsigned round) {
    const struct audit_record line = make_line(round % 2 ? "login" : "cluster.change");
    struct err err = {0};
    ASSERT_OK(audit_store_append(store, &line, &err), &err);
}

typedef void work_fn(unsigned round);
struct work {
    work_fn *fn;
    pthread_t thread;
};

static void *run_work(void *arg) {
    const struct work *work = arg;
    store_thread_begin();
    for (unsigned round = 0; round < ROUNDS; round++)
        work->fn(round);
    store_thread_end();
    return NULL;
}

static void test_all_at_the_same_time(void **state) {
    struct work works[] = {{sign_on, 0},   {sign_on, 0},  {sign_on, 0},
                           {sign_on, 0},   {sign_out, 0}, {sign_out, 0},
                           {disable, 0},   {purge, 0},    {write_cluster_and_grant, 0},
                           {write_line, 0}};
    struct user u = {.id = (char *)(uintptr_t)FIXTURE_VC, .name = (char *)(uintptr_t) "who", .role = ROLE_USER};
    struct err err = {0};
    (void)state;
    ASSERT_OK(user_store_insert(store, &u, NULL, &err), &err);
    for (size_t i = 0; i < UNIT_COUNT(works); i++)
        assert_int_equal(pthread_create(&works[i].thread, NULL, run_work, &works[i]), 0);
    for (size_t i = 0; i < UNIT_COUNT(works); i++)
        assert_int_equal(pthread_join(works[i].thread, NULL), 0);
    assert_nobody_waited();
}

/* -- what is told ----------------------------------------------------------------------------------------------------------------- */

static atomic_bool is_to_end;

static int hold_row(struct store_tx *tx, void *arg, struct err *err) {
    int rc = session_tx_end(tx, "principal_id = ?", DB_ARGS(db_text("local:held")), NOW_MS, err);
    (void)arg;
    atomic_store(&has_row, true);
    UNIT_WAIT_FOR(atomic_load(&is_to_end));
    return rc;
}

static void *run_hold_row(void *arg) {
    struct err err = {0};
    (void)arg;
    store_thread_begin();
    ASSERT_OK(store_tx(store, hold_row, NULL, &err), &err);
    store_thread_end();
    return NULL;
}

/* With the statement, and without what somebody has typed. */
static void test_a_wait_in_vain_is_told(void **state) {
    struct store *impatient = listened(3);
    char sid[UUID_TEXT_BYTES];
    pthread_t holder;
    struct err err = {0};
    (void)state;
    ASSERT_OK(open_session(51, "local:held", &err), &err);
    atomic_store(&has_row, false);
    atomic_store(&is_to_end, false);
    assert_int_equal(pthread_create(&holder, NULL, run_hold_row, NULL), 0);
    UNIT_WAIT_FOR(atomic_load(&has_row));
    make_sid(51, sid);
    assert_int_equal(session_store_revoke(impatient, sid, NOW_MS, NULL, &err), ERR_BUSY);
    atomic_store(&is_to_end, true);
    assert_int_equal(pthread_join(holder, NULL), 0);
    assert_true(atomic_load(&told) >= 1);
    assert_string_equal(told_problem, "lock_wait_timeout");
    assert_non_null(strstr(told_sql, "UPDATE sessions SET revoked_at_ms"));
    assert_null(strstr(told_sql, sid));
    store_free(impatient);
}

/* As a server does that finds a deadlock each time. */
static int lose_each_time(struct store_tx *tx, void *arg, struct err *err) {
    (void)arg;
    return db_run(store_tx_conn(tx), "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'lost again'", DB_ARGS_NONE,
                  NULL, err);
}

static void test_a_deadlock_is_told_when_it_is_given_up(void **state) {
    struct err err = {0};
    (void)state;
    ASSERT_CODE(store_tx(store, lose_each_time, NULL, &err), ERR_BUSY, &err);
    assert_int_equal(atomic_load(&told), 1);
    assert_string_equal(told_problem, "deadlock");
    assert_non_null(strstr(told_sql, "SIGNAL"));
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup(fn, empty)
    const struct CMUnitTest tests[] = {
        EACH(test_rows_come_before_the_chain),
        EACH(test_more_at_once_than_there_may_be),
        EACH(test_one_at_fault_keeps_nobody_from_being_written),
        EACH(test_all_at_the_same_time),
        EACH(test_a_wait_in_vain_is_told),
        EACH(test_a_deadlock_is_told_when_it_is_given_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
