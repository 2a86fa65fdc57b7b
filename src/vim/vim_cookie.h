/* The session cookie: reading it from an answer, sending it, telling it from a session key. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#define VIM_COOKIE_NAME "vmware_soap_session"
#define VIM_COOKIE_BYTES_MAX 256

/* The raw value (quotes kept, as servers expect it back) of our cookie in a header line "Set-Cookie: ...", or NULL when the line is
 * anything else, is malformed or deletes the cookie. Caller frees by secret_free. */
char *vim_cookie_of_header(const char *line, size_t n);

/* The line "Cookie: vmware_soap_session=VALUE"; freed by secret_free. NULL without memory. */
char *vim_cookie_header(const char *value);
