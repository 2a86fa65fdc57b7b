/* Secrets in memory: wiping, constant-time comparison. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * In a program that uses this, whatever anybody frees is wiped: free() and realloc() are those of secret.c, for all libraries, too. What is below is for memory that is not freed,
 * or not soon enough. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* 1: what is freed is wiped. Not under ThreadSanitizer, whose free hook is called before realloc() has copied: that build is for races alone. */
#define SECRET_FREED_IS_WIPED 1
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef SECRET_FREED_IS_WIPED
#define SECRET_FREED_IS_WIPED 0
#endif
#elif defined(__SANITIZE_THREAD__)
#undef SECRET_FREED_IS_WIPED
#define SECRET_FREED_IS_WIPED 0
#endif

/* Overwrites n bytes; the compiler may not drop it. NULL is allowed with n = 0. */
void secret_wipe(void *p, size_t n);

/* Wipes and frees a NUL-terminated text. NULL is allowed. */
void secret_free(char *s);

/* Compares two byte strings, both lengths first, then in constant time. */
bool secret_eq(const void *a, size_t a_len, const void *b, size_t b_len);

/* Switches core dumps and ptrace by others off for this process. Call before any secret is read. */
void secret_protect_process(void);

static inline void cleanup_secret_free(char **p) {
    secret_free(*p);
}
/* A malloc'ed secret text, wiped and freed at the end of the scope. */
#define _cleanup_secret_ __attribute__((cleanup(cleanup_secret_free)))
