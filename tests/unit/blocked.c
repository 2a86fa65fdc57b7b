/* Knowing that another thread waits. SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocked.h"

#include <pthread.h>

static _Thread_local struct blocked *own;

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until);

void blocked_begin(struct blocked *mine) {
    own = mine;
}

void blocked_end(struct blocked *mine) {
    own = NULL;
    atomic_store(&mine->is_over, true);
}

static int note(int rc) {
    if (own)
        atomic_store(&own->waits, false);
    return rc;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock) {
    if (!own)
        return __real_pthread_mutex_lock(lock);
    if (!pthread_mutex_trylock(lock))
        return 0;
    atomic_store(&own->waits, true);
    return note(__real_pthread_mutex_lock(lock));
}

/* Whoever wakes it needs the lock, and so comes after the wait has begun. */
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock) {
    if (own)
        atomic_store(&own->waits, true);
    return note(__real_pthread_cond_wait(condition, lock));
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until) {
    if (own)
        atomic_store(&own->waits, true);
    return note(__real_pthread_cond_timedwait(condition, lock, until));
}
