/* The release file: which version is the newest, as its publisher signed it. Layer 4 (updates).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * release.json is a closed object (docs/admin/upgrade.md); release.json.sig beside it is the signature over its exact bytes, which is looked at before any of
 * them is understood. */
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
    const char *upgrade_from;               /* the oldest version that is upgraded in one step; NULL: each */
    const char *notes_url;                  /* NULL: none */
    const json_t *notes, *steps;            /* arrays of lines; NULL: none */
    int64_t released_at_ms, valid_until_ms; /* wall clock */
};

/* Reads what is signed, without looking at signature or times. *out (uninitialised) is given back by release_done. ERR_UNPROCESSABLE names the member, ERR_JSON,
 * ERR_TOO_LARGE for depth, ERR_NOMEM. */
int release_decode(const char *text, size_t n, struct release *out, struct err *err);
void release_done(struct release *release); /* zeroed is allowed */

struct release_bytes {
    const char *content, *signature; /* "" for none */
    size_t content_bytes, signature_bytes;
};

/* Looks at the signature, then decodes. ERR_FORBIDDEN with a remedy: no key signed exactly this. Else as release_decode. */
int release_open(const struct signature_keys *keys, const struct release_bytes *bytes, struct release *out, struct err *err);

/* Is a signed file of the present, and no older than the one that was accepted before (NULL: none)? ERR_CONFLICT with a remedy. */
int release_check_age(const struct release *release, const struct release *accepted, int64_t now_ms, struct err *err);

/* Numbers with dots, then perhaps a hyphen and words with dots (semver.org, with any count of numbers up to four). */
bool release_version_is_valid(const char *version);
/* Below, at or above 0 as a is older, the same or newer. What is missing counts as 0; a version with words is older than the same without. Both must be valid. */
int release_version_cmp(const char *a, const char *b);
