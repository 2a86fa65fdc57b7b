/* A support bundle: texts about this host, without secrets, in one file for whoever helps. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each text goes through the masker before it is kept, and is not on disk before. The caller chooses the parts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "masker.h"
#include "strbuf.h"

#define SUPPORT_BUNDLE_PARTS_MAX 32U
#define SUPPORT_BUNDLE_PART_BYTES_MAX (8U * 1024U * 1024U)
#define SUPPORT_BUNDLE_BYTES_MAX (128U * 1024U * 1024U) /* of all, unpacked */

#define SUPPORT_BUNDLE_REASON_BYTES 200

/* One file of it. */
struct support_part {
    const char *name; /* borrowed */
    struct strbuf text;
    size_t masked;                             /* number of places that were masked */
    char failure[SUPPORT_BUNDLE_REASON_BYTES]; /* the first failure of its texts; "": none */
};

struct support_bundle {
    const struct masker *masker; /* borrowed */
    struct support_part parts[SUPPORT_BUNDLE_PARTS_MAX];
    size_t count;
};
void support_bundle_done(struct support_bundle *bundle); /* NULL and a zeroed struct are allowed */

/* Appends a text to the file `name` under a heading ("$ kaasctl health"); the first text of a name makes the file. `failure` says why the text is missing or
 * incomplete; NULL: it is not. ERR_NOMEM; ERR_TOO_LARGE beyond a limit: then the bundle is as before. */
struct support_text {
    const char *name, *heading;
    const char *text;
    size_t n;
    const char *failure;
};
int support_bundle_add(struct support_bundle *bundle, const struct support_text *text, struct err *err);

/* Runs a program, without input, terminal and our environment, and appends its standard output and standard error. It is killed when it takes longer than its
 * limit. A failure of the program is noted in the bundle. Of more than SUPPORT_BUNDLE_PART_BYTES_MAX bytes the beginning is kept, or with is_end_kept the
 * end, in whole lines. Errors of support_bundle_add. */
struct support_program {
    const char *name;        /* of the file */
    const char *heading;     /* NULL: the arguments */
    const char *const *argv; /* ended by NULL; the first one is looked for in the usual folders */
    unsigned limit_s;
    bool is_end_kept;
};
int support_bundle_run(struct support_bundle *bundle, const struct support_program *program, struct err *err);

/* Writes all files, in the folder `folder`, to a new .tar.gz (ustar, POSIX.1-2017 pax) with mode 0600. *bytes is its size. ERR_EXISTS, ERR_IO, ERR_NOMEM,
 * ERR_TOO_LARGE. */
int support_bundle_write(const struct support_bundle *bundle, const char *folder, const char *path, size_t *bytes,
                         struct err *err);
