/* Jobs against a real server: steps in their order, waits, retries, undoing, and who works on a job when replicas die, pause and come back.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store_fixture.h"

#include <stdatomic.h>
#include <stdio.h>

#include "audit_store.h"
#include "job_store.h"
#include "jobs.h"
#include "jobs_private.h"
#include "replica_store.h"
#include "seal.h"
#include "str.h"

#define CLUSTER "aaaaaaaa-aaaa-4aaa-8aaa-000000000001"

/* A replica at work: a store and an engine of its own. */
struct desk {
    struct store *store;
    struct runtime runtime;
    struct worker_pool *workers;
    struct jobs *jobs;
};
static struct desk east, west;
#define EAST "replica-1" /* as store_replica_name says */
#define WEST "replica-2"

/* What the steps of the made-up kinds do, in the order of the table. */
enum { FIRST, SECOND, THIRD, STEPS };
static struct {
    atomic_int outcome[STEPS]; /* 0, JOB_WAIT, ERR_* */
    atomic_int undo_outcome;
    atomic_uint runs[STEPS], undos[STEPS], leaves;
    atomic_bool is_held; /* the first step does not return */
    atomic_bool is_inside;
    char data[100]; /* what the second step knew when it began */
} world;

static int step_run(int step, struct job_call *call, struct err *err) {
    const int rc = atomic_load(&world.outcome[step]);
    atomic_fetch_add(&world.runs[step], 1);
    if (rc == JOB_WAIT)
        return job_wait(call, 60000, "the machine has not told its address");
    if (rc)
        (void)err_set(err, rc, "it says no");
    return rc ? err_remedy(err, "let it say yes") : 0;
}

static int first_run(struct job_call *call, struct err *err) {
    atomic_store(&world.is_inside, true);
    while (atomic_load(&world.is_held))
        (void)sched_yield();
    return step_run(FIRST, call, err);
}

static int second_run(struct job_call *call, struct err *err) {
    const char *known = json_get_string(call->data, "uuid");
    (void)snprintf(world.data, sizeof(world.data), "%s", known ? known : "");
    int rc = known ? 0 : job_decide(call, "uuid", "4711", err);
    return rc ? rc : step_run(SECOND, call, err);
}

static int third_run(struct job_call *call, struct err *err) {
    assert_true(job_is_done(call, "first", NULL));
    assert_true(job_is_done(call, "second", NULL));
    assert_false(job_is_done(call, "third", NULL));
    job_say(call, "the third of %s", json_get_string(call->params, "name"));
    return step_run(THIRD, call, err);
}

static int first_undo(struct job_call *call, struct err *err) {
    (void)call;
    (void)err;
    atomic_fetch_add(&world.undos[FIRST], 1);
    return 0;
}

static int second_undo(struct job_call *call, struct err *err) {
    const int rc = atomic_load(&world.undo_outcome);
    atomic_fetch_add(&world.undos[SECOND], 1);
    assert_string_equal(json_get_string(call->data, "uuid"), "4711");
    assert_int_equal(atomic_load(&world.undos[FIRST]), 0); /* the last first */
    return rc ? err_set(err, rc, "it stays") : 0;
}

/* Not at once. */
static int second_leave(struct job_call *call, struct err *err) {
    (void)err;
    return atomic_fetch_add(&world.leaves, 1) ? 0 : job_wait(call, 1, "the key is still there");
}

static const struct job_step_kind steps[] = {
    {.name = "first", .title = "take the first step", .run = first_run, .undo = first_undo},
    {.name = "second", .title = "take the second step", .run = second_run, .undo = second_undo, .leave = second_leave},
    {.name = "third", .title = "take the third step", .run = third_run},
    {.name = NULL},
};
static const struct job_kind walk = {.name = "walk", .title = "walk", .action = "cluster.change", .steps = steps};

/* -- replicas ----------------------------------------------------------------------------------------------------------------- */

static void replica_begin(struct desk *r, const char *name) {
    const struct worker_pool_options options = {.name = "jobs", .threads = 2, .queue_count = 16};
    struct err err = {0};
    unsigned id = 0;
    int64_t age_ms = 0;
    r->store = fixture_runtime();
    ASSERT_OK(replica_store_register(r->store, name, &id, &age_ms, &err), &err);
    r->runtime = (struct runtime){.store = r->store};
    assert_int_equal(worker_pool_new(&options, &r->workers, NULL), 0);
    assert_int_equal(jobs_new(&(struct jobs_options){.runtime = &r->runtime, .workers = r->workers}, &r->jobs, NULL), 0);
    jobs_add_kind(r->jobs, &walk);
}

static void replica_end(struct desk *r) {
    jobs_stop(r->jobs);
    worker_pool_free(r->workers);
    jobs_free(r->jobs);
    store_free(r->store);
    *r = (struct desk){NULL, {0}, NULL, NULL};
}

static int set_up(void **state) {
    (void)fixture_set_up(state);
    replica_begin(&east, "east");
    replica_begin(&west, "west");
    return 0;
}

static int tear_down(void **state) {
    replica_end(&east);
    replica_end(&west);
    return fixture_tear_down(state);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM jobs");
    fixture_exec("DELETE FROM audit_deeds");
    memset(&world, 0, sizeof(world));
    return 0;
}

/* What the database's clock would have done: whoever holds the job is not heard of for ten seconds. */
static void let_hold_end(void) {
    fixture_exec("UPDATE jobs SET lease_until_ms = 1");
}

static void start(struct desk *r, char id[UUID_TEXT_BYTES]) {
    char principal_id[] = "local:ada", name[] = "ada";
    const struct principal who = {.id = principal_id, .name = name};
    const struct actor actor = {.principal = &who, .request_id = "r-1"};
    json_t *params = json_pack("{s:s}", "name", "prod");
    struct err err = {0};
    const struct job_new wanted = {"walk", "cluster", CLUSTER, "prod", params, &actor};
    ASSERT_OK(jobs_start(r->jobs, &wanted, id, &err), &err);
    json_decref(params);
}

static char *state_of(const char *id) {
    char sql[120];
    (void)snprintf(sql, sizeof(sql), "SELECT state FROM jobs WHERE id = '%s'", id);
    return fixture_text(sql);
}

static bool is_state(const char *id, const char *state) {
    char *now = state_of(id);
    const bool is_it = str_eq(now, state);
    free(now);
    return is_it;
}

/* Ticks until the job is in this state. */
static void tick_until(struct desk *r, const char *id, const char *state) {
    struct err err = {0};
    bool is_under_way = true;
    while (!is_state(id, state)) {
        if (!is_under_way)
            fail_msg("the job %s has ended, and is not %s", id, state);
        is_under_way = is_state(id, "queued") || is_state(id, "running") || is_state(id, "undoing");
        jobs_wake(r->jobs, NULL);
        ASSERT_OK(jobs_tick(r->jobs, &err), &err);
    }
}

static void tick_until_runs(struct desk *r, int step, unsigned runs) {
    struct err err = {0};
    while (atomic_load(&world.runs[step]) < runs) {
        jobs_wake(r->jobs, NULL);
        ASSERT_OK(jobs_tick(r->jobs, &err), &err);
    }
}

static void assert_text(const char *sql, const char *expected) {
    char *text = fixture_text(sql);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

#define STEP_STATES "SELECT GROUP_CONCAT(state ORDER BY no) FROM job_steps"

/* -- one replica --------------------------------------------------------------------------------------------------------------- */

static void test_steps_run_in_their_order(void **state) {
    char id[UUID_TEXT_BYTES];
    (void)state;
    start(&east, id);
    assert_true(is_state(id, "queued"));
    tick_until(&east, id, "done");
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(atomic_load(&world.runs[i]), 1);
    assert_text("SELECT GROUP_CONCAT(text ORDER BY seq SEPARATOR '|') FROM job_lines",
                "take the first step: begins|take the first step: done|take the second step: begins|take the second step: done|"
                "take the third step: begins|take the third step: the third of prod|take the third step: done|done");
    assert_text("SELECT CONCAT(title, '|', created_by_name, '|', request_id, '|', owner) FROM jobs", "walk prod|ada|r-1|" EAST);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM jobs WHERE active_key IS NULL AND ended_at_ms >= started_at_ms AND"
                                    " started_at_ms >= created_at_ms AND created_at_ms > 0"),
                     1);
}

static void test_its_begin_and_end_are_in_the_audit_log(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    unsigned closed = 9;
    const struct operation_left all = {.begun_before_ms = INT64_MAX, .now_ms = FIXTURE_NOW_MS};
    (void)state;
    fixture_exec("DELETE FROM audit");
    start(&east, id);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit_deeds"), 1);
    ASSERT_OK(operation_store_close(east.store, &all, &closed, &err), &err);
    assert_int_equal(closed, 0); /* somebody goes on with it */
    tick_until(&east, id, "done");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit_deeds"), 0);
    assert_text(
        "SELECT GROUP_CONCAT(CONCAT(action, ' ', result, ' ', principal_name, ' ', object_name) ORDER BY at_ms, seq SEPARATOR '|')"
        " FROM audit",
        "cluster.change pending ada prod|cluster.change ok ada prod");
}

#define VC "bbbbbbbb-bbbb-4bbb-8bbb-000000000001"
#define TOLD(what) "SELECT GROUP_CONCAT(" what " ORDER BY made_at_ms, id SEPARATOR '|') FROM vcenter_events"

/* A vCenter that is told of the cluster, on one of its vSphere clusters. */
static void add_place(void) {
    fixture_exec("DELETE FROM vcenters");
    fixture_insert_vcenter(east.store, VC);
    fixture_exec("UPDATE vcenters SET registered_at_ms = 1, events_since_ms = 1");
    fixture_exec("INSERT INTO cluster_places (cluster_id, vcenter_id, moref, name, told, down) VALUES ('" CLUSTER "', '" VC
                 "', 'domain-c7', 'prod', 'ready', 0)");
}

static void remove_place(void) {
    fixture_exec("DELETE FROM cluster_places");
    fixture_exec("DELETE FROM vcenters");
}

/* Also where the job has removed the cluster. */
static void test_its_begin_and_end_are_told_where_the_cluster_is(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    add_place();
    atomic_store(&world.outcome[SECOND], ERR_FORBIDDEN);
    start(&east, id);
    assert_text(TOLD("CONCAT_WS(' ', vcenter_id, moref, kind, name, object_id, job)"),
                VC " domain-c7 job_begun prod " CLUSTER " walk");
    tick_until(&east, id, "failed");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenter_events"), 2);
    assert_text("SELECT reason FROM vcenter_events WHERE kind = 'job_failed'", "take the second step: it says no");
    ASSERT_OK(jobs_cancel(east.jobs, id, NULL, &err), &err);
    tick_until(&east, id, "canceled");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenter_events WHERE kind = 'job_canceled'"), 1);
    fixture_exec("DELETE FROM cluster_places");
    atomic_store(&world.outcome[SECOND], 0);
    memset(world.undos, 0, sizeof(world.undos));
    ASSERT_OK(jobs_retry(east.jobs, id, NULL, &err), &err);
    tick_until(&east, id, "done");
    assert_text("SELECT moref FROM vcenter_events WHERE kind = 'job_done'", "domain-c7");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenter_events"), 4);
    remove_place();
}

static void test_a_vcenter_without_events_is_told_nothing(void **state) {
    char id[UUID_TEXT_BYTES];
    (void)state;
    add_place();
    fixture_exec("UPDATE vcenters SET events_since_ms = 0");
    start(&east, id);
    tick_until(&east, id, "done");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM vcenter_events"), 0);
    remove_place();
}

static void test_an_object_has_one_job_at_a_time(void **state) {
    char id[UUID_TEXT_BYTES], other[UUID_TEXT_BYTES] = "";
    struct err err = {0};
    const struct job_new wanted = {"walk", "cluster", CLUSTER, "prod", NULL, NULL};
    (void)state;
    start(&east, id);
    assert_int_equal(jobs_start(west.jobs, &wanted, other, &err), ERR_EXISTS);
    assert_string_equal(other, id);
    assert_non_null(strstr(err.text, id));
    err_clear(&err);
    atomic_store(&world.outcome[FIRST], ERR_NOT_FOUND);
    tick_until(&east, id, "failed");
    atomic_store(&world.outcome[FIRST], 0);
    start(&east, other); /* one that has failed stands in nobody's way, */
    ASSERT_CODE(jobs_retry(east.jobs, id, NULL, &err), ERR_EXISTS, &err);
    tick_until(&east, other, "done");
    ASSERT_OK(jobs_retry(east.jobs, id, NULL, &err), &err);
    tick_until(&east, id, "done");
}

static void test_unknown_kinds_are_refused(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    const struct job_new wanted = {.kind = "dance"};
    (void)state;
    ASSERT_CODE(jobs_start(east.jobs, &wanted, id, &err), ERR_NOT_FOUND, &err);
}

/* Of a kind that only a later version knows: a replica of that version goes on with it. */
static void test_a_job_that_another_version_knows_is_left_to_it(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    start(&east, id);
    fixture_exec("UPDATE jobs SET kind = 'dance', active_key = 'of its own'");
    jobs_wake(east.jobs, NULL);
    ASSERT_OK(jobs_tick(east.jobs, &err), &err);
    assert_text("SELECT CONCAT(state, generation) FROM jobs", "queued0");
}

static void test_a_job_that_cannot_be_taken_up_stops_none_behind_it(void **state) {
    char broken[UUID_TEXT_BYTES], id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    start(&east, broken);
    fixture_exec("UPDATE jobs SET params = '{', active_key = 'of its own', created_at_ms = 1");
    start(&east, id);
    while (!is_state(id, "done")) {
        jobs_wake(east.jobs, NULL);
        (void)jobs_tick(east.jobs, &err);
        err_clear(&err);
    }
    fixture_exec("DELETE FROM jobs");
}

static void test_a_step_whose_decisions_cannot_be_read_fails(void **state) {
    char id[UUID_TEXT_BYTES];
    (void)state;
    start(&east, id);
    fixture_exec("UPDATE job_steps SET data = '{' WHERE no = 1");
    tick_until(&east, id, "failed");
    assert_int_equal(atomic_load(&world.runs[SECOND]), 0);
    assert_text(STEP_STATES, "done,failed,pending");
}

static void test_a_step_that_waits_holds_nothing(void **state) {
    char id[UUID_TEXT_BYTES];
    (void)state;
    atomic_store(&world.outcome[SECOND], JOB_WAIT);
    start(&east, id);
    tick_until_runs(&east, SECOND, 1);
    while (!fixture_number("SELECT COUNT(*) FROM job_steps WHERE state = 'waiting'")) {}
    assert_text("SELECT reason FROM job_steps WHERE no = 1", "the machine has not told its address");
    assert_true(worker_pool_wait_idle(east.workers, 60000));
    atomic_store(&world.outcome[SECOND], 0);
    jobs_wake(east.jobs, id); /* what it waits for has come */
    tick_until(&east, id, "done");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM job_lines WHERE text LIKE '%address%'"), 1);
}

/* It has looked, and does not wait yet. */
static void test_what_comes_while_a_step_looks_is_not_missed(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    atomic_store(&world.outcome[FIRST], JOB_WAIT);
    atomic_store(&world.is_held, true);
    start(&east, id);
    while (!atomic_load(&world.is_inside))
        ASSERT_OK(jobs_tick(east.jobs, &err), &err);
    jobs_wake(east.jobs, id);
    atomic_store(&world.is_held, false);
    assert_true(worker_pool_wait_idle(east.workers, 60000));
    assert_int_equal(atomic_load(&world.runs[FIRST]), 2);
    atomic_store(&world.outcome[FIRST], 0);
    jobs_wake(east.jobs, id);
    tick_until(&east, id, "done");
}

static void test_a_failure_says_what_to_do_and_goes_on_from_there(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    atomic_store(&world.outcome[SECOND], ERR_FORBIDDEN);
    start(&east, id);
    tick_until(&east, id, "failed");
    assert_text("SELECT CONCAT(reason, '|', remedy) FROM jobs", "take the second step: it says no|let it say yes");
    assert_text(STEP_STATES, "done,failed,pending");
    ASSERT_OK(jobs_retry(east.jobs, id, NULL, &err), &err);
    ASSERT_CODE(jobs_retry(east.jobs, id, NULL, &err), ERR_CONFLICT, &err);
    atomic_store(&world.outcome[SECOND], 0);
    tick_until(&east, id, "done");
    assert_int_equal(atomic_load(&world.runs[FIRST]), 1);
    assert_string_equal(world.data, "4711"); /* what it had decided */
    ASSERT_CODE(jobs_cancel(east.jobs, id, NULL, &err), ERR_CONFLICT, &err);
    ASSERT_CODE(jobs_retry(east.jobs, id, NULL, &err), ERR_CONFLICT, &err);
    ASSERT_CODE(jobs_cancel(east.jobs, CLUSTER, NULL, &err), ERR_NOT_FOUND, &err);
}

static void test_errors_that_pass_are_waited_for(void **state) {
    char id[UUID_TEXT_BYTES];
    (void)state;
    atomic_store(&world.outcome[FIRST], ERR_UNREACHABLE);
    start(&east, id);
    tick_until_runs(&east, FIRST, 1);
    while (!fixture_number("SELECT COUNT(*) FROM job_steps WHERE state = 'waiting' AND reason = 'it says no'")) {}
    assert_true(is_state(id, "running"));
    atomic_store(&world.outcome[FIRST], 0);
    jobs_wake(east.jobs, id);
    tick_until(&east, id, "done");
}

static void test_a_cancel_takes_back_the_last_first(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    atomic_store(&world.outcome[THIRD], JOB_WAIT);
    start(&east, id);
    tick_until_runs(&east, THIRD, 1);
    ASSERT_OK(jobs_cancel(east.jobs, id, NULL, &err), &err);
    ASSERT_CODE(jobs_cancel(east.jobs, id, NULL, &err), ERR_CONFLICT, &err);
    tick_until(&east, id, "canceled");
    assert_int_equal(atomic_load(&world.undos[FIRST]), 1);
    assert_int_equal(atomic_load(&world.undos[SECOND]), 1);
    assert_text(STEP_STATES, "undone,undone,undone");
    atomic_store(&world.outcome[THIRD], 0);
    ASSERT_OK(jobs_retry(east.jobs, id, NULL, &err), &err);
    tick_until(&east, id, "done");
    assert_int_equal(atomic_load(&world.runs[FIRST]), 2);
}

static void test_what_must_not_stay_goes_before_a_step_fails(void **state) {
    char id[UUID_TEXT_BYTES];
    (void)state;
    atomic_store(&world.outcome[SECOND], ERR_UPSTREAM);
    start(&east, id);
    tick_until(&east, id, "failed");
    assert_int_equal(atomic_load(&world.leaves), 2);
    assert_int_equal(atomic_load(&world.runs[SECOND]), 1); /* it is not begun again meanwhile */
    assert_text("SELECT reason FROM job_steps WHERE name = 'second'", "it says no");
    assert_int_equal(
        fixture_number("SELECT COUNT(*) FROM job_lines WHERE text LIKE '%before this step ends: the key is still there'"), 1);
}

static void test_a_failed_job_can_be_taken_back(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    atomic_store(&world.outcome[SECOND], ERR_FORBIDDEN);
    atomic_store(&world.undo_outcome, ERR_FORBIDDEN);
    start(&east, id);
    tick_until(&east, id, "failed");
    ASSERT_OK(jobs_cancel(east.jobs, id, NULL, &err), &err);
    tick_until(&east, id, "failed"); /* that fails, too, */
    assert_text(STEP_STATES, "done,failed,pending");
    atomic_store(&world.undo_outcome, 0);
    ASSERT_OK(jobs_cancel(east.jobs, id, NULL, &err), &err);
    tick_until(&east, id, "canceled"); /* and is tried again */
    assert_text(STEP_STATES, "undone,undone,pending");
}

/* -- several ---------------------------------------------------------------------------------------------------------------------- */

static void assert_refused(int64_t generation) {
    struct err err = {0};
    struct job_due due = {.generation = generation};
    struct job_hold hold;
    int64_t now_ms;
    char *id = fixture_text("SELECT id FROM jobs");
    (void)snprintf(due.id, sizeof(due.id), "%s", id);
    free(id);
    ASSERT_CODE(job_store_take(west.store, &due, JOBS_TTL_MS, &hold, &now_ms, &err), ERR_BUSY, &err);
}

static void test_another_replica_goes_on(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    atomic_store(&world.outcome[SECOND], JOB_WAIT);
    start(&east, id);
    tick_until_runs(&east, SECOND, 1);
    while (!fixture_number("SELECT COUNT(*) FROM job_steps WHERE state = 'waiting'")) {}
    jobs_wake(west.jobs, NULL);
    ASSERT_OK(jobs_tick(west.jobs, &err), &err);
    assert_text("SELECT owner FROM jobs", EAST); /* held, */
    assert_refused(1);                           /* whatever west believes */
    let_hold_end();
    assert_refused(0); /* of a generation that is over */
    atomic_store(&world.outcome[SECOND], 0);
    tick_until(&west, id, "done");
    assert_text("SELECT CONCAT(owner, generation) FROM jobs", WEST "2");
    assert_int_equal(atomic_load(&world.runs[FIRST]), 1);
    assert_string_equal(world.data, "4711");
}

static void test_a_replica_that_wakes_changes_nothing(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    atomic_store(&world.is_held, true);
    start(&east, id);
    while (!atomic_load(&world.is_inside))
        ASSERT_OK(jobs_tick(east.jobs, &err), &err);
    let_hold_end();
    atomic_store(&world.is_inside, false);
    while (!atomic_load(&world.is_inside)) { /* west takes the job, and is inside the step as well */
        jobs_wake(west.jobs, NULL);
        ASSERT_OK(jobs_tick(west.jobs, &err), &err);
    }
    atomic_store(&world.outcome[FIRST], JOB_WAIT); /* what both will hear; only west writes it */
    atomic_store(&world.is_held, false);
    assert_true(worker_pool_wait_idle(east.workers, 60000));
    assert_true(worker_pool_wait_idle(west.workers, 60000));
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM job_lines WHERE text LIKE '%address%'"), 1);
    atomic_store(&world.outcome[FIRST], 0);
    jobs_wake(west.jobs, id);
    tick_until(&west, id, "done");
    assert_text("SELECT CONCAT(owner, generation) FROM jobs", WEST "2");
}

static void test_a_stop_hands_over_at_once(void **state) {
    char id[UUID_TEXT_BYTES];
    (void)state;
    atomic_store(&world.outcome[SECOND], JOB_WAIT);
    start(&east, id);
    tick_until_runs(&east, SECOND, 1);
    replica_end(&east);
    atomic_store(&world.outcome[SECOND], 0);
    tick_until(&west, id, "done");
    assert_text("SELECT owner FROM jobs", WEST);
    replica_begin(&east, "east");
}

static void test_a_replica_finds_its_own_jobs_after_a_restart(void **state) {
    char id[UUID_TEXT_BYTES];
    (void)state;
    atomic_store(&world.outcome[SECOND], JOB_WAIT);
    start(&east, id);
    tick_until_runs(&east, SECOND, 1);
    replica_end(&east);
    fixture_exec("UPDATE jobs SET lease_until_ms = 1 << 60"); /* as after a kill: nothing was given back */
    replica_begin(&east, "east");
    atomic_store(&world.outcome[SECOND], 0);
    tick_until(&east, id, "done");
    assert_text("SELECT CONCAT(owner, generation) FROM jobs", EAST "2");
}

static void test_old_jobs_go(void **state) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    (void)state;
    start(&east, id);
    tick_until(&east, id, "done");
    ASSERT_OK(jobs_prune(east.jobs, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM jobs"), 1);
    fixture_exec("UPDATE jobs SET ended_at_ms = ended_at_ms - 91 * 86400000");
    ASSERT_OK(jobs_prune(east.jobs, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM jobs"), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM job_lines"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_steps_run_in_their_order, empty),
        cmocka_unit_test_setup(test_its_begin_and_end_are_in_the_audit_log, empty),
        cmocka_unit_test_setup(test_its_begin_and_end_are_told_where_the_cluster_is, empty),
        cmocka_unit_test_setup(test_a_vcenter_without_events_is_told_nothing, empty),
        cmocka_unit_test_setup(test_an_object_has_one_job_at_a_time, empty),
        cmocka_unit_test_setup(test_unknown_kinds_are_refused, empty),
        cmocka_unit_test_setup(test_a_job_that_another_version_knows_is_left_to_it, empty),
        cmocka_unit_test_setup(test_a_job_that_cannot_be_taken_up_stops_none_behind_it, empty),
        cmocka_unit_test_setup(test_a_step_whose_decisions_cannot_be_read_fails, empty),
        cmocka_unit_test_setup(test_a_step_that_waits_holds_nothing, empty),
        cmocka_unit_test_setup(test_what_comes_while_a_step_looks_is_not_missed, empty),
        cmocka_unit_test_setup(test_a_failure_says_what_to_do_and_goes_on_from_there, empty),
        cmocka_unit_test_setup(test_errors_that_pass_are_waited_for, empty),
        cmocka_unit_test_setup(test_a_cancel_takes_back_the_last_first, empty),
        cmocka_unit_test_setup(test_what_must_not_stay_goes_before_a_step_fails, empty),
        cmocka_unit_test_setup(test_a_failed_job_can_be_taken_back, empty),
        cmocka_unit_test_setup(test_another_replica_goes_on, empty),
        cmocka_unit_test_setup(test_a_replica_that_wakes_changes_nothing, empty),
        cmocka_unit_test_setup(test_a_stop_hands_over_at_once, empty),
        cmocka_unit_test_setup(test_a_replica_finds_its_own_jobs_after_a_restart, empty),
        cmocka_unit_test_setup(test_old_jobs_go, empty),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
