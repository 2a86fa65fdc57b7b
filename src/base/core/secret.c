/* Secrets in memory: wiping, constant-time comparison, no core dumps. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "secret.h"

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
