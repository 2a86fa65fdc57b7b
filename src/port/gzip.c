/* Compression of texts: the gzip format over zlib. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "gzip.h"

#include <limits.h>
#include <stdint.h>
#include <zlib.h>

#define WINDOW_GZIP (15 + 16) /* zlib.h: the greatest window, with a gzip header instead of zlib's own */
#define MEMORY_LEVEL 8

static int gzip_deflate(z_stream *z, struct strbuf *out, struct err *err) {
    Bytef part[16384];
    int rc = Z_OK;
    while (rc == Z_OK && !out->failed) {
        z->next_out = part;
        z->avail_out = sizeof(part);
        rc = deflate(z, Z_FINISH);
        if (rc == Z_OK || rc == Z_STREAM_END)
            strbuf_add(out, part, sizeof(part) - z->avail_out);
    }
    if (out->failed || rc == Z_STREAM_END)
        return strbuf_check(out, "compressed text", err);
    return err_set(err, ERR_INTERNAL, "zlib: error %d", rc);
}

int gzip_pack(const void *data, size_t n, int level, struct strbuf *out, struct err *err) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)n};
    if (n > UINT_MAX)
        return err_set(err, ERR_TOO_LARGE, "the text is too large to be compressed");
    if (deflateInit2(&z, level, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = gzip_deflate(&z, out, err);
    (void)deflateEnd(&z);
    return rc;
}
