/* A limit for what libldap does not limit. Layer 2 (ldap).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldap_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static void *watch(void *arg) {
    struct ldap_guard *guard = arg;
    int rc = 0;
    (void)pthread_mutex_lock(&guard->lock);
    while (!guard->is_over && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&guard->ended, &guard->lock, &guard->until);
    if (!guard->is_over) {
        guard->has_fired = true;
        (void)shutdown(guard->fd, SHUT_RDWR); /* whoever waits for the peer is told that it is gone */
    }
    (void)pthread_mutex_unlock(&guard->lock);
    return NULL;
}

static void set_end(struct ldap_guard *guard, long timeout_ms) {
    (void)clock_gettime(CLOCK_MONOTONIC, &guard->until);
    guard->until.tv_sec += timeout_ms / 1000;
    guard->until.tv_nsec += timeout_ms % 1000 * 1000000;
    if (guard->until.tv_nsec >= 1000000000) {
        guard->until.tv_sec++;
        guard->until.tv_nsec -= 1000000000;
    }
}

static void release(struct ldap_guard *guard) {
    (void)pthread_mutex_destroy(&guard->lock);
    (void)pthread_cond_destroy(&guard->ended);
    (void)close(guard->fd);
}

int ldap_guard_begin(struct ldap_guard *guard, int fd, long timeout_ms, struct err *err) {
    pthread_condattr_t attr;
    *guard = (struct ldap_guard){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (guard->fd < 0)
        return err_set(err, ERR_NOMEM, "no descriptor for a connection to a directory");
    set_end(guard, timeout_ms);
    (void)pthread_mutex_init(&guard->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&guard->ended, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (!pthread_create(&guard->thread, NULL, watch, guard))
        return 0;
    release(guard);
    return err_set(err, ERR_NOMEM, "no thread for a connection to a directory");
}

bool ldap_guard_end(struct ldap_guard *guard) {
    (void)pthread_mutex_lock(&guard->lock);
    guard->is_over = true;
    (void)pthread_cond_signal(&guard->ended);
    (void)pthread_mutex_unlock(&guard->lock);
    (void)pthread_join(guard->thread, NULL);
    release(guard);
    return guard->has_fired;
}
