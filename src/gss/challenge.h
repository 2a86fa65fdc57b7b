/* What a server that wants to know who somebody is says in WWW-Authenticate. Layer 2 (gss); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comes from outside, before the server has proved anything. RFC 9110 section 11.6.1, RFC 4559 section 4.1. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "negotiate.h"

#define CHALLENGE_TOKEN_CHARS_MAX ((NEGOTIATE_TOKEN_BYTES_MAX + 2U) / 3U * 4U)

/* What all its header lines say together. Zeroed before the first. */
struct challenge {
    bool is_there;  /* there is a challenge of any scheme */
    bool negotiate; /* one of the scheme Negotiate */
    bool is_twice;  /* several of these have a token */
    bool is_bad;    /* what stands there is no token, or a longer one than any */
    char *token;    /* base64 as it came; malloc'ed; NULL: none */
};
void challenge_done(struct challenge *challenge); /* NULL is allowed */

/* Takes one header line, "Name: value" without line end; others than WWW-Authenticate change nothing. */
void challenge_read(struct challenge *challenge, const char *line, size_t n);
