/* The master key file as the administrator's tool changes it. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A change is a new file renamed over the old one, with its owner and mode: whoever reads meets either. */
#pragma once

#include "err.h"
#include "seal.h"

/* Which keys the file holds; the last one is the newest. ERR_NOT_FOUND, ERR_CONFIG. */
int master_key_file_read(const char *path, struct seal_ids *out, struct err *err);

/* Adds a new random key behind the others. ERR_CONFLICT when SEAL_KEYS_MAX are in it; ERR_CONFIG, ERR_IO. */
int master_key_file_add(const char *path, char key_id[SEAL_KEY_ID_BYTES], struct err *err);

/* Takes a key out. ERR_NOT_FOUND; ERR_CONFLICT if it is the only one. */
int master_key_file_remove(const char *path, const char *key_id, struct err *err);
