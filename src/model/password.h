/* Which passwords of local users are good enough. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"

#define PASSWORD_CHARS_MIN \
    12 /* length is what counts; there are no rules about kinds of characters (NIST SP 800-63B, section 3.1.1.2) */
#define PASSWORD_BYTES_MAX 500 /* crypt(3) takes 511 */

/* Is this good enough for a password of this user? It is not repeated in the message. ERR_UNPROCESSABLE with what is wanted. */
int password_check(const char *password, const char *user_name, struct err *err);
