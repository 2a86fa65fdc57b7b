/* Takes secrets out of texts that leave the host: the known secrets of this host in any form, and whatever has the shape of a secret. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts may have any content, since logs hold texts of others. Masking takes linear time, with a bounded look-ahead. A masker that cannot tell whether
 * something is a secret takes it out: a text for people loses little by that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"
#include "err.h"
#include "strbuf.h"

#define MASKER_WORD "<masked>"    /* stands where a secret was */
#define MASKER_SECRET_BYTES_MIN 6 /* a shorter secret would be found in half of all words; it is not looked for by its value */

struct masker;

/* Makes one that knows shapes only. ERR_NOMEM. */
int masker_new(struct masker **out, struct err *err);

/* Wipes and frees. NULL is allowed. */
void masker_free(struct masker *masker);
CLEANUP_DEFINE(struct masker, masker_free);

/* Adds a secret of the host: a value, or all that is in a file. From then on it is found as it is, percent-encoded, as text of JSON, of XML or of a log
 * line, as hexadecimal digits in either case, with colons or without, and as base64 and base64url, also within longer encoded texts. Each line of a text is a
 * secret; of long lines and of binary secrets each piece is. Blanks at both ends do not count. Lines and binary secrets that are too short are left out;
 * *out_is_known is false if nothing was added. ERR_NOMEM; ERR_TOO_LARGE beyond some ten thousand forms. */
int masker_add(struct masker *masker, const void *secret, size_t n, bool *out_is_known, struct err *err);

/* Appends `n` bytes of text to `out` (its cap counts), each secret in it replaced by MASKER_WORD, and adds the number of replacements to *count. Texts with
 * the shape of a secret are replaced, too: private keys in PEM, JSON Web Tokens, clone tickets, generated passwords, values of keys like password, token,
 * cookie or ticket, credentials of HTTP and in URLs, 32 hexadecimal digits and more, 40 characters of base64 and more. ERR_TOO_LARGE, ERR_NOMEM. */
int masker_run(const struct masker *masker, const char *text, size_t n, struct strbuf *out, size_t *count, struct err *err);
