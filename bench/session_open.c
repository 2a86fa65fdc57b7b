/* What one sign-on costs in the store: CPU of this process, statements and transactions of the database, with 1, 4 and 16 at once.
 *   tests/unit/store/with-mariadb bench/session_open [SIGN-ONS [SESSIONS]]
 * SESSIONS: as many may the principal have (0: any number).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "audit_store.h"
#include "seal.h"
#include "session_store.h"

#define THREADS_MAX 16U

static struct store *store;
static unsigned each, live_max;

static double cpu_us(void) {
    struct rusage use;
    (void)getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static double wall_us(void) {
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static void *sign_on(void *arg) {
    const unsigned base = *(const unsigned *)arg;
    store_thread_begin();
    for (unsigned i = 0; i < each; i++) {
        struct session s = {.created_at_ms = FIXTURE_NOW_MS, .ends_at_ms = FIXTURE_NOW_MS + 1};
        const struct audit_record line = {.at_ms = FIXTURE_NOW_MS,
                                          .event = {.action = "login",
                                                    .principal_id = "vc:one:viewer",
                                                    .principal_name = "viewer",
                                                    .source = "vcenter-session",
                                                    .object_kind = "vcenter",
                                                    .object_id = FIXTURE_VC,
                                                    .address = "192.0.2.1",
                                                    .request_id = "r",
                                                    .result = "ok"}};
        struct err err = {0};
        (void)snprintf(s.sid, sizeof(s.sid), "%036u", base + i);
        (void)snprintf(s.jti, sizeof(s.jti), "%036u", base + i);
        s.who = (struct principal){
            .id = (char[]){"vc:one:viewer"}, .name = (char[]){"viewer"}, .role = ROLE_USER, .source = SOURCE_VC_SESSION};
        if (session_store_open(store, &(struct session_opening){.session = &s, .line = &line, .live_max = live_max}, &err))
            (void)fprintf(stderr, "%s\n", err.text);
    }
    store_thread_end();
    return NULL;
}

static int64_t status(const char *sql) {
    return fixture_number(sql);
}

static void measure(unsigned threads, unsigned base) {
    static const char questions[] =
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'QUESTIONS'";
    static const char commits[] =
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'COM_COMMIT'";
    const double all = (double)each * threads;
    const int64_t asked = status(questions), committed = status(commits);
    const double began_cpu = cpu_us(), began = wall_us();
    pthread_t ids[THREADS_MAX];
    unsigned bases[THREADS_MAX];
    double cpu, wall;
    for (unsigned i = 0; i < threads; i++) {
        bases[i] = base + i * each;
        (void)pthread_create(&ids[i], NULL, sign_on, &bases[i]);
    }
    for (unsigned i = 0; i < threads; i++)
        (void)pthread_join(ids[i], NULL);
    cpu = cpu_us() - began_cpu;
    wall = wall_us() - began;
    (void)printf("%2u at once: %6.1f us of CPU, %5.2f statements, %5.2f transactions, %6.0f us between two, for each sign-on\n",
                 threads, cpu / all, (double)(status(questions) - asked) / all, (double)(status(commits) - committed) / all,
                 wall / all);
}

int main(int argc, char **argv) {
    const unsigned total = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1600;
    const unsigned threads[] = {1, 4, 16};
    live_max = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    const uint8_t key[SEAL_KEY_BYTES] = {1};
    struct store_options options;
    struct seal *seal = NULL;
    unsigned base = 0;
    void *state = NULL;
    struct err err = {0};
    (void)fixture_set_up(&state);
    options = fixture_options("root", NULL);
    options.connections_max = THREADS_MAX;
    if (store_new(&options, &store, &err) || seal_open_key(key, &seal, &err) || audit_store_open_key(store, seal, &err))
        return 1;
    each = total / THREADS_MAX;
    measure(THREADS_MAX, base); /* connections and statements are there afterwards */
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
            base += 100000;
            each = total / threads[i];
            measure(threads[i], base);
        }
    }
    store_free(store);
    seal_free(seal);
    (void)fixture_tear_down(&state);
    return 0;
}
