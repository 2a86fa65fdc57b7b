/* The release file: which version is the newest, as its publisher signed it. Layer 4 (updates).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * release.json is a closed object (docs/admin/upgrade.md); release.json.sig beside it is the signature over its exact bytes, which is checked before they are
 * parsed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "json.h"
#include "signature.h"

#define RELEASE_LINES_MAX 20U       /* notes, and steps */
#define RELEASE_LINE_CHARS_MAX 300U /* of each */
#define RELEASE_PRODUCT "harmony-kaas"

struct release {
    json_t *file;                           /* the object; the texts are its own */
    const char *version;                    /* "0.5.0", "1.0.0-rc.1" */
    const char *upgrade_from;               /* the oldest version that can be upgraded in one step; NULL: any */
    const char *notes_url;                  /* NULL: none */
    const json_t *notes, *steps;            /* arrays of lines; NULL: none */
    int64_t released_at_ms, valid_until_ms; /* wall clock */
};

/* Parses the text of a release file, without checking signature or times. *out (uninitialised) is given back by release_done. ERR_UNPROCESSABLE names the
 * member, ERR_JSON, ERR_TOO_LARGE for depth, ERR_NOMEM. */
int release_decode(const char *text, size_t n, struct release *out, struct err *err);
void release_done(struct release *release); /* zeroed is allowed */

struct release_bytes {
    const char *content, *signature; /* "" for none */
    size_t content_bytes, signature_bytes;
};

/* Checks the signature, then decodes. ERR_FORBIDDEN with a remedy: none of the keys signed exactly these bytes. Else as release_decode. */
int release_open(const struct signature_keys *keys, const struct release_bytes *bytes, struct release *out, struct err *err);

/* Checks that a signed file is not of the future, is still valid, and is not older than the one accepted before (NULL: none). ERR_CONFLICT with a remedy. */
int release_check_age(const struct release *release, const struct release *accepted, int64_t now_ms, struct err *err);

/* True for one to four numbers with dots, then perhaps a hyphen and words with dots (semver.org, but for the count of numbers). */
bool release_version_is_valid(const char *version);
/* <0, 0, >0 as `a` is older than, the same as or newer than `b`. Missing numbers count as 0; a version with words is older than the same without. Both must be
 * valid. */
int release_version_cmp(const char *a, const char *b);
