/* A sealed file of any length: a head that everybody can read, and behind it compressed chunks under a key derived from the master key. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Format: "KAASBAK1"; length of the head (4 bytes, network order); head; salt (32); chunks. A chunk: a word (4 bytes: the number of sealed bytes, the
 * highest bit set in the last chunk), the sealed bytes (AES-256-GCM of a gzip member of at most SEALED_FILE_CHUNK_BYTES), tag (16). The key comes from
 * the master key by HKDF over the salt and a hash of the head, so it is of this file alone and another head gives another key. The nonce is the number of
 * the chunk and whether it is the last one, as in the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizar: Online Authenticated-Encryption and its
 * Nonce-Reuse Misuse-Resistance, CRYPTO 2015): chunks that are missing, moved, put in or behind the last one do not open. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cleanup.h"
#include "err.h"
#include "seal.h"
#include "strbuf.h"

#define SEALED_FILE_CHUNK_BYTES (1024U * 1024U) /* before it is compressed */
#define SEALED_FILE_HEAD_BYTES_MAX 4096U

struct sealed_file;

/* Frees it; the FILE stays the caller's. NULL is allowed. */
void sealed_file_free(struct sealed_file *f);
CLEANUP_DEFINE(struct sealed_file, sealed_file_free);

/* -- writing --------------------------------------------------------------------------------------------------------------- */

/* Writes the head; what follows is sealed with a key derived from this master key. `to` outlives *out. ERR_IO (with the system's reason),
 * ERR_NOT_FOUND if the key is not held, ERR_TOO_LARGE. */
int sealed_file_new(FILE *to, const char *head, struct seal *seal, const char *key_id, struct sealed_file **out, struct err *err);

/* Takes n bytes more. ERR_IO with the system's reason, ERR_NOMEM. */
int sealed_file_write(struct sealed_file *f, const void *bytes, size_t n, struct err *err);

/* Writes the last chunk and flushes; without it the file cannot be read to its end. The caller syncs. ERR_IO, ERR_NOMEM. */
int sealed_file_finish(struct sealed_file *f, struct err *err);

/* -- reading --------------------------------------------------------------------------------------------------------------- */

/* Reads the head, which is not authenticated before a chunk was read. `head` is initialised. ERR_INVALID: not a sealed file, or cut off; ERR_IO. */
int sealed_file_read_head(FILE *from, struct strbuf *head, struct err *err);

/* Begins to read what follows the head; `key_id` is the master key that the head names. ERR_NOT_FOUND if that is not held, ERR_INVALID, ERR_IO. */
int sealed_file_open(FILE *from, const char *head, struct seal *seal, const char *key_id, struct sealed_file **out,
                     struct err *err);

/* Puts the bytes of the next chunk in place of what is in `plain` (of strbuf_init_secret, with a cap of at least SEALED_FILE_CHUNK_BYTES); *is_last: it
 * was the last one, and nothing follows. ERR_INVALID: cut off, changed, or another head; ERR_IO. */
int sealed_file_read(struct sealed_file *f, struct strbuf *plain, bool *is_last, struct err *err);
