/* The source of the release file: an https server or a folder, and the keys that may sign it. Layer 4 (updates).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "daemon_config.h"
#include "err.h"
#include "signature.h"
#include "strbuf.h"

struct release_source;

/* Makes the source that the options updates.* name, reading their files. *out is NULL if neither updates.url nor updates.folder is set. ERR_CONFIG with a
 * remedy, ERR_IO, ERR_NOMEM. */
int release_source_new(const struct config *config, struct release_source **out, struct err *err);
void release_source_free(struct release_source *source); /* NULL is allowed */

/* The keys whose signatures are good. Borrowed. */
const struct signature_keys *release_source_keys(const struct release_source *source);
/* Time from one read of the source to the next; `is_bad`: the last one failed. */
int64_t release_source_period_ms(const struct release_source *source, bool is_bad);

/* Reads file and signature without checking them. Both buffers are initialised by the caller. No redirect is followed. Blocks up to twice
 * updates.call_timeout. ERR_TOO_LARGE, ERR_NOT_FOUND, ERR_UPSTREAM (another status), ERR_CANCELED, errors of http_client_run and fs_read. */
int release_source_read(struct release_source *source, struct strbuf *content, struct strbuf *signature, struct err *err);
/* Makes a read of another thread, and each later one, end at once. */
void release_source_cancel(struct release_source *source);
