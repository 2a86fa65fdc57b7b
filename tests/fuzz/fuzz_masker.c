/* Fuzz target: texts of any content that go into a support bundle, and secrets of any form. The first line is a secret, the rest the text.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "masker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char known[] = "hunter2";

static void must(int is_so) {
    if (!is_so)
        abort();
}

/* Nothing grows beyond what a mark in place of the shortest secret makes of it, and what is known is nowhere. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *text = (const char *)data, *end = n ? memchr(text, '\n', n) : NULL;
    const size_t first = end ? (size_t)(end - text) + 1 : 0;
    _cleanup_(masker_free) struct masker *m = NULL;
    _cleanup_strbuf_ struct strbuf out;
    bool is_known = false;
    size_t count = 0;
    must(!masker_new(&m, NULL));
    must(!masker_add(m, known, strlen(known), &is_known, NULL) && is_known);
    (void)masker_add(m, text, first, &is_known, NULL);
    strbuf_init(&out, 8 * n + 8);
    must(!masker_run(m, text + first, n - first, &out, &count, NULL));
    must(out.len <= n + count * strlen(MASKER_WORD));
    must(!memmem(out.data, out.len, known, strlen(known)));
    return 0;
}
