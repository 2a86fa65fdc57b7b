/* The web page: files read into memory at start. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pages.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "digest.h"
#include "fsutil.h"
#include "str.h"

#define PAGE_BYTES_MAX (4U * 1024U * 1024U)
#define PAGES_MAX 64U

struct pages {
    struct page items[PAGES_MAX];
    size_t count;
};

static const struct {
    const char *ending, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
};

static const char *pages_type_of(const char *name) {
    for (size_t i = 0; i < ARRAY_COUNT(types); i++)
        if (str_ends(name, types[i].ending))
            return types[i].type;
    return NULL;
}

void pages_free(struct pages *pages) {
    if (!pages)
        return;
    for (size_t i = 0; i < pages->count; i++) {
        free((void *)(uintptr_t)pages->items[i].name);
        free((void *)(uintptr_t)pages->items[i].etag);
        http_shared_unref(pages->items[i].body);
    }
    free(pages);
}

static int pages_load_file(struct pages *pages, const char *folder, const char *name, struct err *err) {
    _cleanup_free_ char *path = str_format("%s/%s", folder, name);
    _cleanup_strbuf_ struct strbuf text;
    struct page *page = &pages->items[pages->count];
    int rc;
    strbuf_init(&text, PAGE_BYTES_MAX);
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = fs_read(path, &text, err);
    if (rc)
        return rc;
    page->etag = str_format("\"%016" PRIx64 "\"", digest_u64(text.data, text.len));
    page->name = str_dup(name);
    page->type = pages_type_of(name);
    page->body = http_shared_new(&text);
    pages->count++;
    return page->etag && page->name && page->body ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int load_folder(struct pages *pages, const char *folder, DIR *dir, struct err *err) {
    const struct dirent *entry;
    int rc = 0;
    while (!rc && (entry = readdir(dir))) {
        if (!pages_type_of(entry->d_name) || entry->d_name[0] == '.')
            continue;
        if (pages->count == PAGES_MAX)
            return err_set(err, ERR_CONFIG, "the page folder %s holds more than %u files", folder, PAGES_MAX);
        rc = pages_load_file(pages, folder, entry->d_name, err);
    }
    return rc;
}

int pages_load(const char *folder, struct pages **out, struct err *err) {
    struct pages *pages = calloc(1, sizeof(*pages));
    DIR *dir = folder ? opendir(folder) : NULL;
    int rc = 0;
    if (!pages)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    else if (folder && !dir && errno != ENOENT)
        rc = err_set(err, ERR_CONFIG, "the page folder %s cannot be opened", folder);
    else if (dir)
        rc = load_folder(pages, folder, dir, err);
    if (dir)
        (void)closedir(dir);
    if (rc) {
        pages_free(pages);
        return rc;
    }
    *out = pages;
    return 0;
}

/* Folders are read in any order, so the digests of the files are laid over one another. */
void pages_digest(const struct pages *pages, uint8_t out[32]) {
    uint8_t one[DIGEST_SHA256_BYTES], all[DIGEST_SHA256_BYTES] = {0};
    for (size_t i = 0; i < pages->count; i++) {
        _cleanup_free_ char *text = str_format("%s %s", pages->items[i].name, pages->items[i].etag);
        digest_sha256(text ? text : "", text ? strlen(text) : 0, one);
        for (size_t j = 0; j < sizeof(all); j++)
            all[j] ^= one[j];
    }
    memcpy(out, all, sizeof(all));
}

const struct page *pages_find(const struct pages *pages, const char *name) {
    for (size_t i = 0; i < pages->count; i++)
        if (str_eq(pages->items[i].name, name))
            return &pages->items[i];
    return NULL;
}

const struct page *pages_find_hashed(const struct pages *pages, const char *stem, const char *ending) {
    for (size_t i = 0; i < pages->count; i++)
        if (str_starts(pages->items[i].name, stem) && pages->items[i].name[strlen(stem)] == '-' &&
            str_ends(pages->items[i].name, ending))
            return &pages->items[i];
    return NULL;
}
