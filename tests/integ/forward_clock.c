/* A clock that tests put forward: a library laid under the daemon by LD_PRELOAD (tests/env/clock.py). The daemon itself has no hook for it.
 *
 * All clocks that tell the time or measure it are ahead by the milliseconds that stand in the file KAAS_TEST_CLOCK, a 64-bit number of
 * this machine. A wait on a condition ends when the time that it was to wait for has come by these clocks: it looks every SLICE_MS, and its
 * caller takes that for one of the wake-ups without a cause that POSIX allows. Waits for descriptors and pauses last as long as ever.
 *
 * A thread that makes a call by libcurl sees the time go as it really does until the call has ended, since whoever answers goes by a real
 * clock: a step meanwhile makes no time-out of it. With KAAS_TEST_CLOCK_CALLS calls are put forward, too.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 50
#define NS_PER_S 1000000000L
#define NS_PER_MS 1000000L

typedef int clockwait_fn(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
typedef CURLMcode multi_fn(CURLM *, CURL *);
typedef CURLcode easy_fn(CURL *);

static _Atomic int64_t none;
static _Atomic int64_t *ahead_ms = &none;
static bool hurries_calls;
static _Thread_local bool is_in_call;
static _Thread_local int64_t call_ahead_ms; /* when the call began */
static clockwait_fn *wait_by_clock;
static multi_fn *begin_call, *end_call;
static easy_fn *make_call;

__attribute__((constructor)) static void lay_under(void) {
    const char *path = getenv("KAAS_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *shared = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*ahead_ms), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (shared == MAP_FAILED)
        abort(); /* a test that believes in a clock of its own must not run by another */
    ahead_ms = shared;
    hurries_calls = getenv("KAAS_TEST_CLOCK_CALLS");
    wait_by_clock = (clockwait_fn *)dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    begin_call = (multi_fn *)dlsym(RTLD_NEXT, "curl_multi_add_handle");
    end_call = (multi_fn *)dlsym(RTLD_NEXT, "curl_multi_remove_handle");
    make_call = (easy_fn *)dlsym(RTLD_NEXT, "curl_easy_perform");
}

static void add_ms(struct timespec *at, int64_t ms) {
    at->tv_sec += (time_t)(ms / 1000);
    at->tv_nsec += (long)(ms % 1000) * NS_PER_MS;
    if (at->tv_nsec >= NS_PER_S) {
        at->tv_sec++;
        at->tv_nsec -= NS_PER_S;
    }
}

static int64_t ms_between(const struct timespec *from, const struct timespec *to) {
    return (int64_t)(to->tv_sec - from->tv_sec) * 1000 + (to->tv_nsec - from->tv_nsec) / NS_PER_MS;
}

static int read_real(clockid_t id, struct timespec *out) {
    return (int)syscall(SYS_clock_gettime, id, out);
}

/* Not those that count the work of a process or thread. */
static bool is_put_forward(clockid_t id) {
    return id == CLOCK_REALTIME || id == CLOCK_MONOTONIC || id == CLOCK_REALTIME_COARSE || id == CLOCK_MONOTONIC_COARSE ||
           id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME;
}

static int read_clock(clockid_t id, struct timespec *out) {
    int rc = read_real(id, out);
    if (!rc && is_put_forward(id))
        add_ms(out, is_in_call ? call_ahead_ms : atomic_load(ahead_ms));
    return rc;
}

static void note_call(bool is_begun) {
    call_ahead_ms = atomic_load(ahead_ms);
    is_in_call = is_begun && !hurries_calls;
}

static int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t id, const struct timespec *until) {
    struct timespec now, slice_end;
    int64_t left_ms;
    int rc;
    (void)read_clock(id, &now);
    left_ms = ms_between(&now, until);
    (void)read_real(id, &slice_end);
    add_ms(&slice_end, left_ms < 0 ? 0 : left_ms < SLICE_MS ? left_ms + 1 : SLICE_MS);
    rc = wait_by_clock(cond, mutex, id, &slice_end);
    (void)read_clock(id, &now);
    return rc == ETIMEDOUT && ms_between(&now, until) > 0 ? 0 : rc;
}

/* -- what lies under the daemon: none calls another one, since in a build with ThreadSanitizer such a call would count as the daemon's ------- */

int clock_gettime(clockid_t id, struct timespec *out) {
    return read_clock(id, out);
}

time_t time(time_t *out) {
    struct timespec now = {0};
    (void)read_clock(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now = {0};
    (void)zone; /* obsolete: nobody gives one */
    (void)read_clock(CLOCK_REALTIME, &now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t id, const struct timespec *until) {
    return wait_until(cond, mutex, id, until);
}

/* The condition knows which of the two clocks is meant, but does not tell. Only one of them is at more than this: thirty years.
 * ThreadSanitizer looks this one up by its version (forward_clock.map). */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    return wait_until(cond, mutex, until->tv_sec > 946684800 ? CLOCK_REALTIME : CLOCK_MONOTONIC, until);
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *call) {
    CURLMcode rc;
    note_call(true);
    rc = begin_call(multi, call);
    if (rc)
        note_call(false);
    return rc;
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *call) {
    CURLMcode rc = end_call(multi, call);
    note_call(false);
    return rc;
}

CURLcode curl_easy_perform(CURL *call) {
    CURLcode rc;
    note_call(true);
    rc = make_call(call);
    note_call(false);
    return rc;
}
