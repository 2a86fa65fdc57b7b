/* Scope-bound clean-up, ownership transfer, and other small macros. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP_CONCAT_(a, b) a##b

/* Makes `cleanup_FUNC(type **)` that calls `FUNC(*p)`; FUNC must accept NULL. Use at file scope, then
 * declare locals as `_cleanup_(FUNC) type *p = NULL;`. */
#define CLEANUP_DEFINE(type, func)                \
    static inline void cleanup_##func(type **p) { \
        func(*p);                                 \
    }                                             \
    _Static_assert(1, "")

#define _cleanup_(func) __attribute__((cleanup(cleanup_##func)))

static inline void cleanup_free(void *p) {
    free(*(void **)p);
}
/* A malloc'ed pointer of any type, freed at the end of the scope. */
#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))

/* For a local struct: calls `done(&variable)` at the end of the scope; `done` must accept a struct that holds nothing. */
#define _cleanup_done_(done) __attribute__((cleanup(done)))

static inline void cleanup_close(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
}
/* A file descriptor, closed at the end of the scope unless negative. */
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))

static inline pthread_mutex_t *cleanup_lock(pthread_mutex_t *mutex) {
    (void)pthread_mutex_lock(mutex);
    return mutex;
}
static inline void cleanup_unlock(pthread_mutex_t **mutex) {
    (void)pthread_mutex_unlock(*mutex);
}
/* Holds a mutex from here to the end of the scope; a value that is returned is computed before. */
#define LOCKED(mutex) pthread_mutex_t *locked_ __attribute__((cleanup(cleanup_unlock), unused)) = cleanup_lock(mutex)

/* Yields the pointer and sets the variable to NULL: ownership moves on. */
#define STEAL(p)                         \
    __extension__({                      \
        __typeof__(p) *steal_ = &(p);    \
        __typeof__(p) stolen_ = *steal_; \
        *steal_ = NULL;                  \
        stolen_;                         \
    })

/* Each variable gets what the other held. */
#define SWAP(a, b)                    \
    do {                              \
        __typeof__(a) swapped_ = (a); \
        (a) = (b);                    \
        (b) = swapped_;               \
    } while (0)

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Yields the first index `at` of a sorted array of `count` items for which the expression `is_before`, which uses `at`, is false;
 * `count` if it is true for all. */
#define LOWER_BOUND(count, at, is_before)                \
    __extension__({                                      \
        size_t low_ = 0, high_ = (count);                \
        while (low_ < high_) {                           \
            const size_t at = low_ + (high_ - low_) / 2; \
            if (is_before)                               \
                low_ = at + 1;                           \
            else                                         \
                high_ = at;                              \
        }                                                \
        low_;                                            \
    })
