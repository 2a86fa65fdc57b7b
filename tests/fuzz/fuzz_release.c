/* Fuzz target: release_decode, the release file, and the comparison of versions. SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "release_file.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool is_so) {
    if (!is_so)
        abort();
}

static void check_lines(const json_t *lines) {
    must(json_array_size(lines) <= RELEASE_LINES_MAX);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const char *line = json_string_value(json_array_get(lines, i));
        must(line && *line && !str_has_control(line) && str_utf8_chars(line, strlen(line)) <= (long)RELEASE_LINE_CHARS_MAX);
    }
}

static void check_versions(const char *a, const char *b) {
    must(release_version_is_valid(a));
    must(!release_version_cmp(a, a));
    if (b)
        must(release_version_is_valid(b) && (release_version_cmp(a, b) > 0) == (release_version_cmp(b, a) < 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct release release;
    struct err err = {0};
    if (release_decode((const char *)data, n, &release, &err)) {
        must(err.code && err.text[0]);
        return 0;
    }
    check_versions(release.version, release.upgrade_from);
    check_lines(release.notes);
    check_lines(release.steps);
    must(release.valid_until_ms > release.released_at_ms);
    must(!release.notes_url || !strncasecmp(release.notes_url, "https://", 8));
    release_done(&release);
    return 0;
}
