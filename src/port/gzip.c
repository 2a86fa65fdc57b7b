/* Compression of texts: the gzip format over zlib. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "gzip.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "secret.h"

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

int gzip_unpack(const void *data, size_t n, struct strbuf *out, struct err *err) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)n};
    Bytef part[16384];
    int rc = Z_OK;
    if (n > UINT_MAX)
        return err_set(err, ERR_TOO_LARGE, "the compressed text is too large");
    if (inflateInit2(&z, WINDOW_GZIP) != Z_OK)
        return err_set(err, ERR_NOMEM, "out of memory");
    while (rc == Z_OK && !out->failed) {
        z.next_out = part;
        z.avail_out = sizeof(part);
        rc = inflate(&z, Z_NO_FLUSH); /* Z_BUF_ERROR: cut off */
        if (rc == Z_OK || rc == Z_STREAM_END)
            strbuf_add(out, part, sizeof(part) - z.avail_out);
    }
    const bool is_whole = rc == Z_STREAM_END && !z.avail_in;
    (void)inflateEnd(&z);
    if (out->is_secret)
        secret_wipe(part, sizeof(part));
    if (out->failed || is_whole)
        return strbuf_check(out, "text that was compressed", err);
    return err_set(err, rc == Z_MEM_ERROR ? ERR_NOMEM : ERR_INVALID, "this is no compressed text, or not all of it");
}
