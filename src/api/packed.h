/* Answers in their compressed form, kept as long as they are likely to be sent again. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Only texts without any secret: compression tells their length to whoever listens, and with it, bit by bit, a secret beside a text that an
 * attacker chooses (BREACH). So tokens, problems and single objects are never compressed; lists and files are. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "http_response.h"

struct packed;

/* An empty store. ERR_NOMEM. */
int packed_new(struct packed **out, struct err *err);
void packed_free(struct packed *packed); /* NULL is allowed */

#define PACKED_BYTES_MIN 1024U         /* smaller texts gain nothing worth a header field */
#define PACKED_INLINE_BYTES_MAX 65536U /* packed by a server thread: about 0.2 ms */

/* Is it worth while for this media type and size? */
bool packed_is_worth(const char *type, size_t bytes);

/* The compressed form of a text, if it is there; one reference for the caller, or NULL. */
struct http_shared *packed_find(struct packed *packed, const struct http_shared *text);

/* Compresses, and keeps the outcome if `is_kept` and it is not too large; one reference for the caller, or NULL (without memory): then the
 * text goes as it is. `is_small` takes three times as long for a quarter less. Takes about 2.5 us per KB. */
struct http_shared *packed_make(struct packed *packed, struct http_shared *text, bool is_kept, bool is_small);
