/* Checks bytes of a message: which may be in names, values and targets. Layer 2 (httpd), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Percent-decodes in place (and '+' to blank if `is_form`); new length or -1 for a bad sequence or a %00. */
long http_decode(char *text, bool is_form);
/* True if there is a control character other than the tab. */
bool http_has_control(const char *text, size_t len);
/* True for a token of RFC 9110 5.6.2. */
bool http_is_token(const char *text, size_t len);
/* 0 if `text` is UTF-8 without control characters, else ERR_INVALID naming `what`. */
int http_check_text(const char *text, size_t len, const char *what, struct err *err);
