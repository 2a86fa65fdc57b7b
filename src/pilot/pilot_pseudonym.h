/* Texts of exchanges without what tells whose they are. Layer 4 (pilot); private.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is kept stands in lists: names of elements and members, words of the protocols, versions, managed object ids, numbers below 100. All else is replaced,
 * each thing by the same pseudonym wherever it stands: an HMAC of it with a random key that is never written anywhere. Passwords, tickets and tokens are not
 * even replaced by something of theirs. Times become 1970. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

#define PSEUDONYM_KEY_BYTES 32

struct pseudonyms {
    uint8_t key[PSEUDONYM_KEY_BYTES];
    int64_t now_ms; /* wall clock: the time that CurrentTime tells is kept as its distance from it */
};

/* With a key that nobody knows. */
void pseudonyms_init(struct pseudonyms *p);
/* Wipes the key. */
void pseudonyms_done(struct pseudonyms *p);

/* Appends the text: its words replaced, signs between them kept. */
void pseudonym_text(const struct pseudonyms *p, const char *text, struct strbuf *out);

/* Appends a path with its query, in which only %3A is looked through. */
void pseudonym_path(const struct pseudonyms *p, const char *path, struct strbuf *out);

/* Appends a text of XML with its texts and attributes replaced; comments, instructions and blanks between elements go. ERR_PROTOCOL: it is not well-formed, has a document
 * type or is nested deeper than PSEUDONYM_DEPTH_MAX; ERR_TOO_LARGE by the cap of `out`; ERR_NOMEM. `out` holds a part then. */
int pseudonym_xml(const struct pseudonyms *p, const char *text, size_t n, struct strbuf *out, struct err *err);
#define PSEUDONYM_DEPTH_MAX 100

/* The same of JSON; the caps are those of json_parse. ERR_JSON, ERR_TOO_LARGE, ERR_NOMEM. */
int pseudonym_json(const struct pseudonyms *p, const char *text, size_t n, struct strbuf *out, struct err *err);
