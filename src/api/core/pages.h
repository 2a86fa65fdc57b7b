/* The web page: files read into memory at start. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "http_response.h"

struct pages;

/* Content-Security-Policy of every page, to be followed by the origins that may show it in a frame. */
#define PAGE_CSP                                                                                                           \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " \
    "form-action 'none'; frame-ancestors "

struct page {
    const char *name; /* file name without folder */
    const char *type; /* media type */
    const char *etag; /* strong */
    struct http_shared *body;
};

/* Reads every plain file of the folder (flat, at most 64 files of 4 MiB). A NULL or missing folder gives an empty set. ERR_CONFIG, ERR_NOMEM. */
int pages_load(const char *folder, struct pages **out, struct err *err);
void pages_free(struct pages *pages); /* NULL is allowed */

/* SHA-256 over names and contents of all files, whatever their order. */
void pages_digest(const struct pages *pages, uint8_t out[32]);

/* NULL if there is no such file. Borrowed. */
const struct page *pages_find(const struct pages *pages, const char *name);

/* The file whose name is `stem`, a hyphen, a hash of its content and `ending`, as the build of the page makes them. As above. */
const struct page *pages_find_hashed(const struct pages *pages, const char *stem, const char *ending);
