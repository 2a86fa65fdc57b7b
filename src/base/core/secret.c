/* Secrets in memory: wiping, also of whatever is freed, constant-time comparison, no core dumps. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void secret_wipe(void *p, size_t n) {
    if (n)
        explicit_bzero(p, n);
}

void secret_free(char *s) {
    if (!s)
        return;
    secret_wipe(s, strlen(s));
    free(s);
}

bool secret_eq(const void *a, size_t a_len, const void *b, size_t b_len) {
    const unsigned char *left = a, *right = b;
    uint64_t different = 0, l, r;
    size_t i = 0;
    if (a_len != b_len)
        return false;
    for (; i + sizeof(l) <= a_len; i += sizeof(l)) {
        memcpy(&l, left + i, sizeof(l));
        memcpy(&r, right + i, sizeof(r));
        different |= l ^ r;
        __asm__ volatile("" : "+r"(different)); /* what it holds is unknown to the compiler: no way out of the loop */
    }
    for (; i < a_len; i++) {
        different |= (uint64_t)(left[i] ^ right[i]);
        __asm__ volatile("" : "+r"(different));
    }
    return different == 0;
}

void secret_protect_process(void) {
    const struct rlimit none = {0, 0};
    /* Either alone is enough; both, since a sandbox may forbid one of them. */
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* -- what is freed is wiped, whoever frees it ------------------------------------------------------------------------ */

/* Libraries copy what they are given, and most free the copies as they are: libcurl's HTTP/2 (nghttp2) fields of a header, printf(3) its buffers, OpenSSL and GnuTLS records. Few
 * take an allocator of ours; but all call the program's free() and realloc(), which go before those of the C library (The GNU C Library, 3.2.5 "Replacing malloc"; it
 * exports its own free() under a second name, too). The heap of a sanitizer has a hook instead (the allocator interface of the sanitizers). */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_FREE_HOOK
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_FREE_HOOK
#endif

#if defined(HAS_FREE_HOOK)

size_t __sanitizer_get_allocated_size(const volatile void *p);
void __sanitizer_free_hook(const volatile void *p);

void __sanitizer_free_hook(const volatile void *p) {
    if (p)
        secret_wipe((void *)(uintptr_t)p, __sanitizer_get_allocated_size(p));
}

#elif SECRET_FREED_IS_WIPED

extern void __libc_free(void *p);

void free(void *p) {
    secret_wipe(p, malloc_usable_size(p));
    __libc_free(p);
}

/* Always moves: the library's own would leave a copy behind when it does. */
void *realloc(void *p, size_t n) {
    const size_t had = malloc_usable_size(p);
    if (p && !n) {
        free(p);
        return NULL;
    }
    void *moved = malloc(n);
    if (!moved)
        return NULL;
    if (had)
        memcpy(moved, p, had < n ? had : n);
    free(p);
    return moved;
}

#endif
