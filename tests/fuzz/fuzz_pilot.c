/* Fuzz target: what a recording of the pilot makes of bodies and paths. The first byte chooses. What comes out is of the same kind, and the same each time.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pilot_pseudonym.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define OUT_BYTES_MAX (64U * 1024 * 1024)

typedef int rewrite_fn(const struct pseudonyms *p, const char *text, size_t n, struct strbuf *out, struct err *err);

static void rewrite(const struct pseudonyms *p, rewrite_fn *fn, const char *text, size_t n) {
    _cleanup_strbuf_ struct strbuf once, again, other;
    struct err err = {0};
    strbuf_init(&once, OUT_BYTES_MAX);
    strbuf_init(&again, OUT_BYTES_MAX);
    strbuf_init(&other, OUT_BYTES_MAX);
    int rc = fn(p, text, n, &once, &err);
    if (rc ? !err.code : err.code != 0)
        abort();
    if (rc)
        return;
    if (fn(p, text, n, &again, NULL) || again.len != once.len || memcmp(again.data, once.data, once.len) != 0)
        abort();
    if (fn(p, once.data, once.len, &other, NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const struct pseudonyms p = {.key = {1, 2, 3}, .now_ms = 1700000000000};
    const char *text = (const char *)data + 1;
    if (!n || n > 65536)
        return 0;
    if (*data == '<') {
        rewrite(&p, pseudonym_xml, text - 1, n);
    } else if (*data == 'P') {
        char *path = strndup(text, n - 1);
        struct strbuf out;
        strbuf_init(&out, OUT_BYTES_MAX);
        pseudonym_path(&p, path, &out);
        strbuf_reset(&out);
        pseudonym_text(&p, path, &out);
        if (out.failed)
            abort();
        strbuf_done(&out);
        free(path);
    } else {
        rewrite(&p, pseudonym_json, text - 1, n);
    }
    return 0;
}
