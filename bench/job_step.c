/* What a step of a job costs: the engine of jobs, whose steps do nothing, beside the statements that it makes, bare.
 *   tests/unit/store/with-mariadb bench/job_step [ROUNDS [JOBS]]
 * Both do the same to jobs with as many steps, one job after the other in turns: a claim, and for each step two transactions, its begin and its end, with a line each. Bare is one
 * thread and one connection of the same library; statements are prepared and bound once. Prints a line for each round: microseconds of this process's CPU and statements at the
 * database, of a step by the engine and bare. The bare one does not end its jobs: that is one further transaction of the engine's for each job.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <mysql.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "audit_store.h"
#include "db_stmt.h"
#include "jobs.h"
#include "replica_store.h"
#include "seal.h"

#define STEPS 25
#define ID_BYTES 37

/* Of the engine's job. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t came;
    bool has_come;
} end = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static MYSQL *watcher; /* asks how many statements there were */

static double cpu_us(void) {
    struct rusage use;
    (void)getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void check(int failed, MYSQL *mysql, const char *what) {
    if (!failed)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mysql_error(mysql));
    exit(1);
}

static MYSQL *connect_bare(void) {
    const struct store_options options = fixture_options("root", NULL);
    MYSQL *mysql = mysql_init(NULL);
    check(!mysql_real_connect(mysql, NULL, options.user, NULL, options.database, 0, options.unix_socket, 0), mysql, "connect");
    return mysql;
}

/* Those of this question left out. */
static int64_t statements(void) {
    static int64_t own;
    check(mysql_query(watcher, "SHOW GLOBAL STATUS LIKE 'Questions'"), watcher, "Questions");
    MYSQL_RES *rows = mysql_store_result(watcher);
    const int64_t count = strtoll(mysql_fetch_row(rows)[1], NULL, 10) - ++own;
    mysql_free_result(rows);
    return count;
}

/* Of all steps so far. */
struct figures {
    double us;
    int64_t statements;
};

/* -- the engine -------------------------------------------------------------------------------------------------------------- */

static int do_nothing(struct job_call *call, struct err *err) {
    (void)call;
    (void)err;
    return 0;
}

static const struct job_step_kind steps[] = {{.name = "one", .title = "do one thing", .run = do_nothing}, {.name = NULL}};

static int plan(void *arg, const json_t *params, struct job_plan *into, struct err *err) {
    int rc = 0;
    (void)arg;
    (void)params;
    (void)err;
    for (int i = 0; i < STEPS && rc >= 0; i++)
        rc = job_plan_add(into, "one", NULL, NULL, i - 1);
    return rc < 0 ? rc : 0;
}

static const struct job_kind kind = {
    .name = "measure", .title = "measure", .action = "cluster.change", .steps = steps, .plan = plan};

static void on_end(void *arg, const struct job *job) {
    (void)arg;
    (void)job;
    (void)pthread_mutex_lock(&end.lock);
    end.has_come = true;
    (void)pthread_cond_signal(&end.came);
    (void)pthread_mutex_unlock(&end.lock);
}

/* A job that is queued. */
static void start(struct jobs *jobs, char id[UUID_TEXT_BYTES]) {
    const struct job_new wanted = {.kind = "measure", .object_kind = "cluster", .object_id = FIXTURE_VC, .object_name = "prod"};
    struct err err = {0};
    ASSERT_OK(jobs_start(jobs, &wanted, id, &err), &err);
}

static void by_engine(struct jobs *jobs, struct figures *sum) {
    char id[UUID_TEXT_BYTES];
    struct err err = {0};
    start(jobs, id);
    const int64_t asked = statements();
    const double began = cpu_us();
    (void)pthread_mutex_lock(&end.lock);
    end.has_come = false;
    (void)pthread_mutex_unlock(&end.lock);
    ASSERT_OK(jobs_tick(jobs, &err), &err); /* takes it; from then on workers hand it to each other */
    (void)pthread_mutex_lock(&end.lock);
    while (!end.has_come)
        (void)pthread_cond_wait(&end.came, &end.lock);
    (void)pthread_mutex_unlock(&end.lock);
    sum->us += cpu_us() - began;
    sum->statements += statements() - asked;
}

/* -- bare -------------------------------------------------------------------------------------------------------------------- */

/* What is bound; the job's id, the number of the step, and the rest as long as the engine's. */
static struct {
    char id[ID_BYTES];
    int64_t step, number, replica, seq;
    char owner[16], state[8], line[24], kind[4], mark[ID_BYTES];
} row = {.owner = "replica-1", .state = "done", .line = "do one thing: done", .kind = "job", .replica = 1, .number = 10000};

enum { TAKE, NOW, HOLD, STEP, LINE, RAISE, CHANGE, BARE_COUNT };
static const struct {
    const char *sql;
    const char *
        args; /* each a member of row: i id, s step, n number, r replica, q seq, o owner, S state, l line, k kind, m mark, 0 NULL */
} bare[BARE_COUNT] = {
    [TAKE] = {"UPDATE jobs SET owner = ?, generation = generation + 1, lease_until_ms = " DB_NOW_MS " + ?,"
              " started_at_ms = IF(started_at_ms = 0, " DB_NOW_MS
              ", started_at_ms), state = IF(state = 'queued', 'running', state)"
              " WHERE id = ? AND generation = 0 AND state IN ('queued', 'running', 'undoing')"
              " AND (owner = ? OR lease_until_ms <= " DB_NOW_MS ")",
              "onio"},
    [NOW] = {"SELECT " DB_NOW_MS, ""},
    [HOLD] = {"UPDATE jobs SET lease_until_ms = " DB_NOW_MS " + ?, lines_count = lines_count + 1 WHERE id = ? AND generation = 1",
              "ni"},
    [STEP] = {"UPDATE job_steps SET state = ?, started_at_ms = ?, ended_at_ms = ?, tries = ?, percent = ?, reason = LEFT(?, 600),"
              " remedy = LEFT(?, 300), data = ? WHERE job_id = ? AND no = ?",
              "Snnnn000is"},
    [LINE] = {"INSERT INTO job_lines (job_id, seq, at_ms, step_no, text) SELECT id, lines_count, ?, ?, LEFT(?, 600) FROM jobs"
              " WHERE id = ? AND lines_count <= ?",
              "nslin"},
    [RAISE] = {"UPDATE replicas SET seq = LAST_INSERT_ID(seq + 1) WHERE id = ?", "r"},
    [CHANGE] = {"INSERT INTO change_log (replica_id, seq, kind, object_id, created_at_ms, tx_id) VALUES (?, ?, ?, ?, ?, ?)",
                "rqkinm"},
};

static MYSQL *mysql;
static MYSQL_STMT *prepared[BARE_COUNT];

static void bare_check(int failed, const char *what) {
    check(failed, mysql, what);
}

static void bare_bind(MYSQL_BIND *bind, char what) {
    const struct {
        char what;
        void *at;
        bool is_number;
    } members[] = {{'i', row.id, false},   {'s', &row.step, true},  {'n', &row.number, true}, {'r', &row.replica, true},
                   {'q', &row.seq, true},  {'o', row.owner, false}, {'S', row.state, false},  {'l', row.line, false},
                   {'k', row.kind, false}, {'m', row.mark, false}};
    bind->buffer_type = MYSQL_TYPE_NULL;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (members[i].what != what)
            continue;
        bind->buffer_type = members[i].is_number ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_STRING;
        bind->buffer = members[i].at;
        bind->buffer_length = members[i].is_number ? sizeof(int64_t) : strlen(members[i].at);
    }
}

static void bare_open(void) {
    uuid_new(row.id); /* texts are bound with their length */
    uuid_new(row.mark);
    mysql = connect_bare();
    for (int i = 0; i < BARE_COUNT; i++) {
        MYSQL_BIND binds[10] = {0};
        prepared[i] = mysql_stmt_init(mysql);
        bare_check(mysql_stmt_prepare(prepared[i], bare[i].sql, strlen(bare[i].sql)), bare[i].sql);
        for (size_t arg = 0; bare[i].args[arg]; arg++)
            bare_bind(&binds[arg], bare[i].args[arg]);
        bare_check(*bare[i].args && mysql_stmt_bind_param(prepared[i], binds), bare[i].sql);
    }
}

static void bare_close(void) {
    for (int i = 0; i < BARE_COUNT; i++)
        bare_check(mysql_stmt_close(prepared[i]), "close");
    mysql_close(mysql);
}

static void bare_run(int which) {
    bare_check(mysql_stmt_execute(prepared[which]), bare[which].sql);
}

static void bare_commit(void) {
    bare_run(RAISE);
    row.seq = (int64_t)mysql_stmt_insert_id(prepared[RAISE]);
    uuid_new(row.mark);
    bare_run(CHANGE);
    bare_check(mysql_query(mysql, "COMMIT"), "COMMIT");
}

static void bare_begin(void) {
    bare_check(mysql_query(mysql, "START TRANSACTION"), "START TRANSACTION");
}

static void bare_take(void) {
    int64_t now_ms = 0;
    MYSQL_BIND into = {.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = &now_ms};
    bare_begin();
    bare_run(TAKE);
    bare_check(mysql_stmt_affected_rows(prepared[TAKE]) != 1, "nothing was taken");
    bare_run(NOW);
    bare_check(mysql_stmt_bind_result(prepared[NOW], &into) || mysql_stmt_fetch(prepared[NOW]) ||
                   mysql_stmt_free_result(prepared[NOW]),
               "now");
    bare_commit();
}

static void bare_write(void) {
    bare_begin();
    bare_run(HOLD);
    bare_check(mysql_stmt_affected_rows(prepared[HOLD]) != 1, "not held");
    bare_run(STEP);
    bare_run(LINE);
    bare_commit();
}

static void by_statements(struct jobs *jobs, struct figures *sum) {
    char id[UUID_TEXT_BYTES];
    start(jobs, id);
    memcpy(row.id, id, sizeof(row.id));
    const int64_t asked = statements();
    const double began = cpu_us();
    bare_take();
    for (row.step = 0; row.step < STEPS; row.step++) {
        bare_write();
        bare_write();
    }
    sum->us += cpu_us() - began;
    sum->statements += statements() - asked;
    check(mysql_query(watcher, "DELETE FROM jobs"), watcher, "DELETE");
    (void)statements();
}

/* -- both -------------------------------------------------------------------------------------------------------------------- */

static void one_round(struct jobs *jobs, unsigned count) {
    struct figures engine = {0}, alone = {0};
    const double all = (double)count * STEPS;
    for (unsigned i = 0; i < count; i++) {
        by_engine(jobs, &engine);
        by_statements(jobs, &alone);
    }
    (void)printf("%.2f %.3f %.2f %.3f\n", engine.us / all, (double)engine.statements / all, alone.us / all,
                 (double)alone.statements / all);
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    const unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
    const unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
    const struct worker_pool_options options = {
        .name = "jobs", .threads = 4, .queue_count = 64, .thread_begin = store_thread_begin, .thread_end = store_thread_end};
    const uint8_t key[SEAL_KEY_BYTES] = {1};
    struct runtime runtime = {NULL};
    struct worker_pool *workers = NULL;
    struct jobs *jobs = NULL;
    struct seal *seal = NULL;
    unsigned replica = 0;
    int64_t age_ms = 0;
    void *state = NULL;
    struct err err = {0};
    (void)fixture_set_up(&state);
    runtime.store = fixture_runtime();
    ASSERT_OK(seal_open_key(key, &seal, &err), &err);
    ASSERT_OK(audit_store_open_key(runtime.store, seal, &err), &err);
    ASSERT_OK(replica_store_register(runtime.store, "bench", &replica, &age_ms, &err), &err);
    ASSERT_OK(worker_pool_new(&options, &workers, &err), &err);
    ASSERT_OK(jobs_new(&(struct jobs_options){.runtime = &runtime, .workers = workers, .on_end = on_end}, &jobs, &err), &err);
    jobs_add_kind(jobs, &kind);
    row.replica = replica;
    watcher = connect_bare();
    bare_open();
    by_engine(jobs, &(struct figures){0}); /* connections and statements are there afterwards */
    for (unsigned i = 0; i < rounds; i++)
        one_round(jobs, count);
    bare_close();
    mysql_close(watcher);
    jobs_stop(jobs);
    worker_pool_free(workers);
    jobs_free(jobs);
    store_free(runtime.store);
    seal_free(seal);
    (void)fixture_tear_down(&state);
    return 0;
}
