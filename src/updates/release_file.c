/* Decoding and judging the release file. Layer 4 (updates).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "release_file.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "limits.h"
#include "names.h"
#include "str.h"

#define FUTURE_MS CLOCK_DAY_MS /* clocks differ, and time zones are mistaken */

/* -- versions ----------------------------------------------------------------------------------------------------------------- */

#define DIGITS "0123456789"
#define WORD_LETTERS DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define NUMBERS_MAX 4U
#define NUMBER_DIGITS_MAX 9U
#define VERSION_BYTES_MAX 63U

bool release_version_is_valid(const char *version) {
    const char *at = version;
    if (strlen(version) > VERSION_BYTES_MAX)
        return false;
    for (size_t numbers = 1;; numbers++) {
        const size_t n = strspn(at, DIGITS);
        if (!n || n > NUMBER_DIGITS_MAX || numbers > NUMBERS_MAX)
            return false;
        at += n;
        if (*at != '.')
            break;
        at++;
    }
    for (char sign = '-'; *at == sign; sign = '.') {
        const size_t n = strspn(at + 1, WORD_LETTERS);
        if (!n)
            return false;
        at += n + 1;
    }
    return !*at;
}

/* 0 where there is none; steps over it and the dot behind it. */
static unsigned long version_number(const char **at) {
    const size_t n = strspn(*at, DIGITS);
    const unsigned long number = n ? strtoul(*at, NULL, 10) : 0;
    *at += n;
    *at += n && **at == '.';
    return number;
}

/* Numbers by their value and before letters (semver.org section 11). */
static int version_word_cmp(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    const bool is_a_number = strspn(a, DIGITS) >= a_bytes, is_b_number = strspn(b, DIGITS) >= b_bytes;
    if (is_a_number != is_b_number)
        return is_a_number ? -1 : 1;
    for (; is_a_number && a_bytes > 1 && *a == '0'; a_bytes--)
        a++;
    for (; is_b_number && b_bytes > 1 && *b == '0'; b_bytes--)
        b++;
    if (is_a_number && a_bytes != b_bytes)
        return a_bytes < b_bytes ? -1 : 1;
    const int order = strncmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

int release_version_cmp(const char *a, const char *b) {
    for (size_t i = 0; i < NUMBERS_MAX; i++) {
        const unsigned long x = version_number(&a), y = version_number(&b);
        if (x != y)
            return x < y ? -1 : 1;
    }
    if (!*a != !*b)
        return *a ? -1 : 1;
    while (*a && *b) { /* each at the sign before a word */
        const size_t a_bytes = strspn(++a, WORD_LETTERS), b_bytes = strspn(++b, WORD_LETTERS);
        const int order = version_word_cmp(a, a_bytes, b, b_bytes);
        if (order)
            return order;
        a += a_bytes;
        b += b_bytes;
    }
    return (*a != 0) - (*b != 0);
}

/* -- the file ------------------------------------------------------------------------------------------------------------------ */

static const struct json_member release_members[] = {
    JSON_NEEDS(STRING, "product"),     JSON_NEEDS(STRING, "version"),      JSON_NEEDS(STRING, "released_at"),
    JSON_NEEDS(STRING, "valid_until"), JSON_TAKES(STRING, "upgrade_from"), JSON_TAKES(STRING, "notes_url"),
    JSON_TAKES(ARRAY, "notes"),        JSON_TAKES(ARRAY, "steps"),         {NULL, JSON_KIND_ANY, false, false},
};

static int release_take_version(const json_t *file, const char *name, const char **out, struct err *err) {
    const char *version = json_get_string(file, name);
    if (version && !release_version_is_valid(version))
        return err_set(err, ERR_UNPROCESSABLE, "%s is no version, such as 1.2.3 or 1.2.3-rc.1", name);
    *out = version;
    return 0;
}

static int release_take_time(const json_t *file, const char *name, int64_t *out, struct err *err) {
    return clock_parse(json_get_string(file, name), out)
               ? 0
               : err_set(err, ERR_UNPROCESSABLE, "%s is no time of RFC 3339, such as 2026-01-31T12:00:00Z", name);
}

static int release_take_lines(const json_t *file, const char *name, const json_t **out, struct err *err) {
    const json_t *lines = json_object_get(file, name);
    if (json_array_size(lines) > RELEASE_LINES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "%s has more than %u lines", name, RELEASE_LINES_MAX);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const char *line = json_string_value(json_array_get(lines, i));
        if (!line)
            return err_set(err, ERR_UNPROCESSABLE, "%s has something else than texts", name);
        int rc = name_check_line(line, RELEASE_LINE_CHARS_MAX, name, err);
        if (rc)
            return rc;
    }
    *out = lines;
    return 0;
}

static int release_take_members(struct release *r, struct err *err) {
    int rc = json_check(r->file, release_members, "", err);
    if (rc)
        return rc;
    if (!str_eq(json_get_string(r->file, "product"), RELEASE_PRODUCT))
        return err_set(err, ERR_UNPROCESSABLE, "product is not " RELEASE_PRODUCT ": this is the release file of something else");
    r->notes_url = json_get_string(r->file, "notes_url");
    if ((rc = release_take_version(r->file, "version", &r->version, err)) ||
        (rc = release_take_version(r->file, "upgrade_from", &r->upgrade_from, err)) ||
        (rc = release_take_time(r->file, "released_at", &r->released_at_ms, err)) ||
        (rc = release_take_time(r->file, "valid_until", &r->valid_until_ms, err)) ||
        (rc = release_take_lines(r->file, "notes", &r->notes, err)) ||
        (rc = release_take_lines(r->file, "steps", &r->steps, err)))
        return rc;
    if (r->valid_until_ms <= r->released_at_ms)
        return err_set(err, ERR_UNPROCESSABLE, "valid_until is not behind released_at");
    return r->notes_url ? name_check_https_url(r->notes_url, "notes_url", err) : 0;
}

int release_decode(const char *text, size_t n, struct release *out, struct err *err) {
    struct release release = {0};
    int rc = json_parse(text, n, &release.file, err);
    if (!rc)
        rc = release_take_members(&release, err);
    if (rc)
        release_done(&release);
    else
        *out = release;
    return rc;
}

void release_done(struct release *release) {
    json_decref(release->file);
    *release = (struct release){0};
}

/* -- whether it is to be believed ---------------------------------------------------------------------------------------------- */

int release_open(const struct signature_keys *keys, const struct release_bytes *bytes, struct release *out, struct err *err) {
    if (signature_is_good(keys, bytes->content, bytes->content_bytes, bytes->signature, bytes->signature_bytes))
        return release_decode(bytes->content, bytes->content_bytes, out, err);
    (void)err_set(err, ERR_FORBIDDEN, "the release file is not signed by a key of updates.key_file");
    return err_remedy(
        err, "install nothing that it names before its publisher has explained it; a new key of the publisher is added to "
             "updates.key_file");
}

int release_check_age(const struct release *release, const struct release *accepted, int64_t now_ms, struct err *err) {
    char at[CLOCK_RFC3339_BYTES], before[CLOCK_RFC3339_BYTES];
    if (release->released_at_ms > now_ms + FUTURE_MS) {
        clock_format(release->released_at_ms, at);
        (void)err_set(err, ERR_CONFLICT, "the release file is of %.16sZ, which is to come", at);
        return err_remedy(err, "see that the clock of this host is right");
    }
    if (release->valid_until_ms <= now_ms) {
        clock_format(release->valid_until_ms, at);
        (void)err_set(err, ERR_CONFLICT, "the release file is old: it was valid until %.16sZ", at);
        return err_remedy(err, "somebody may keep newer ones from this host: see what the publisher says, by another way");
    }
    if (!accepted || release->released_at_ms >= accepted->released_at_ms)
        return 0;
    clock_format(release->released_at_ms, at);
    clock_format(accepted->released_at_ms, before);
    (void)err_set(err, ERR_CONFLICT, "the release file is of %.16sZ, older than that of %.16sZ which was there before", at,
                  before);
    return err_remedy(err, "somebody may have put an old one back: see what the publisher says, by another way");
}
