/* Password hashing by yescrypt of libxcrypt. Layer 0 (port). Slow on purpose: call from a worker pool only.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"

/* Hashes with a fresh salt; *out is a self-describing text, freed by the caller. ERR_UNPROCESSABLE
 * (longer than the 511 bytes that crypt(3) takes), ERR_INTERNAL, ERR_NOMEM. */
int passwd_hash(const char *password, char **out, struct err *err);

/* True if the password fits. With a NULL hash (unknown user) the same work is done and the answer is false, so that time
 * does not tell whether the user exists. */
bool passwd_verify(const char *password, const char *hash);

/* A random password of about 100 bits that people can type. Freed by secret_free. NULL without memory. */
char *passwd_generate(void);
