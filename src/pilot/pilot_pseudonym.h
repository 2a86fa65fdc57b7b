/* Makes the texts of exchanges anonymous. Layer 4 (pilot); private.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lists say what is kept: names of elements and members, words of the protocols, versions, managed object ids, numbers below 100. All else is replaced by
 * pseudonyms, equal texts by equal ones: an HMAC of the text with a random key that is never written anywhere. For passwords, tickets and tokens the
 * replacement does not even depend on their text. Times become 1970. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

#define PSEUDONYM_KEY_BYTES 32

struct pseudonyms {
    uint8_t key[PSEUDONYM_KEY_BYTES];
    int64_t now_ms; /* wall clock; of the time in an answer to CurrentTime its distance from this is kept */
};

/* Draws a random key and notes the time. */
void pseudonyms_init(struct pseudonyms *p);
/* Wipes the key. */
void pseudonyms_done(struct pseudonyms *p);

/* Appends a text with its words replaced; the signs between them are kept. */
void pseudonym_text(const struct pseudonyms *p, const char *text, struct strbuf *out);

/* Appends a path with its query, its parts replaced; of percent-encoded characters only %3A separates parts. */
void pseudonym_path(const struct pseudonyms *p, const char *path, struct strbuf *out);

/* Appends XML with its texts and attributes replaced; comments, instructions and blanks between elements are left out. ERR_PROTOCOL: it is not well-formed, has
 * a document type or is nested deeper than PSEUDONYM_DEPTH_MAX; ERR_TOO_LARGE by the cap of `out`; ERR_NOMEM. After an error `out` holds a part. */
int pseudonym_xml(const struct pseudonyms *p, const char *text, size_t n, struct strbuf *out, struct err *err);
#define PSEUDONYM_DEPTH_MAX 100

/* The same for JSON, with the limits of json_parse. ERR_JSON, ERR_TOO_LARGE, ERR_NOMEM. */
int pseudonym_json(const struct pseudonyms *p, const char *text, size_t n, struct strbuf *out, struct err *err);
