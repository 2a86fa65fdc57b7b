/* Compression of texts: the gzip format (RFC 1952) over zlib. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "err.h"
#include "strbuf.h"

/* Appends `n` bytes as one gzip member to `out` (initialised; its cap counts). The same bytes give the same member everywhere: it holds no
 * time. `level` 1 (fast) to 9 (small). ERR_NOMEM, ERR_TOO_LARGE. */
int gzip_pack(const void *data, size_t n, int level, struct strbuf *out, struct err *err);

/* Unpacks `n` bytes, which must be exactly one gzip member, and appends the contents to `out`. ERR_INVALID if they are no member, are cut off or have bytes
 * behind the member; ERR_TOO_LARGE by the cap of `out`, which bounds what a small member can expand to; ERR_NOMEM. */
int gzip_unpack(const void *data, size_t n, struct strbuf *out, struct err *err);
