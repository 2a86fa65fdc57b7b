/* A bundle's folder. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bundles.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsutil.h"
#include "str.h"

#define BYTES_MAX (8U * 1024U * 1024U) /* of all files */

struct bundle_reader {
    const char *folder;
    size_t bytes; /* read so far */
    struct bundle_sums sums;
};

/* A file of the bundle, "manifests/kube-router.yaml", whose digest is compared if there are sums. */
static int file_read(struct bundle_reader *r, const char *name, struct strbuf *text, struct err *err) {
    _cleanup_free_ char *path = str_format("%s/%s", r->folder, name);
    struct err why = {0};
    strbuf_init(text, BUNDLE_FILE_BYTES_MAX);
    int rc = path ? fs_read(path, text, &why) : err_set(&why, ERR_NOMEM, "out of memory");
    if (rc == ERR_NOT_FOUND)
        (void)err_remedy(&why, "a bundle has bundle.yaml, manifests and SHA256SUMS: " DOC_PAGE("admin/network.md"));
    if (rc == ERR_TOO_LARGE)
        (void)err_remedy(&why, "make several files of it");
    if (rc)
        return err_move(err, rc, &why);
    r->bytes += text->len;
    if (r->bytes > BYTES_MAX) {
        (void)err_set(err, ERR_TOO_LARGE, "%s: the files are larger than %u bytes together", r->folder, BYTES_MAX);
        return err_remedy(err, "make two bundles of it");
    }
    return 0;
}

static int file_meet(struct bundle_reader *r, const char *name, struct strbuf *text, struct err *err) {
    int rc = file_read(r, name, text, err);
    return rc ? rc : bundle_sums_meet(&r->sums, name, text->data, text->len, err);
}

static int manifest_add(struct bundle_reader *r, const char *entry, const struct bundle_values *values, struct bundle *bundle,
                        struct err *err) {
    _cleanup_strbuf_ struct strbuf text = {0};
    char name[BUNDLE_FILE_NAME_BYTES];
    if (snprintf(name, sizeof(name), "manifests/%s", entry) >= (int)sizeof(name) || !str_ends(name, ".yaml")) {
        (void)err_set(err, ERR_UNPROCESSABLE, "manifests/%.60s: its name does not end with .yaml, or is too long", entry);
        return err_remedy(err, "name it NAME.yaml, or move it out of the folder manifests");
    }
    int rc = file_meet(r, name, &text, err);
    return rc ? rc : bundle_add_manifest(bundle, name, text.data, text.len, values, err);
}

static int is_shown(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int manifests_add(struct bundle_reader *r, const struct bundle_values *values, struct bundle *bundle, struct err *err) {
    _cleanup_free_ char *folder = str_format("%s/manifests", r->folder);
    struct dirent **entries = NULL;
    int rc = 0, n = folder ? scandir(folder, &entries, is_shown, by_name) : -1;
    if (n < 0 && errno != ENOMEM) {
        (void)err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s/manifests: %s", r->folder, strerrordesc_np(errno));
        return err_remedy(err, "a bundle has bundle.yaml, manifests and SHA256SUMS: " DOC_PAGE("admin/network.md"));
    }
    if (n < 0)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (n == 0 || n > (int)BUNDLE_FILES_MAX)
        rc = err_set(err, n ? ERR_TOO_LARGE : ERR_UNPROCESSABLE, "%s/manifests: there are %d files in it", r->folder, n);
    if (rc)
        (void)err_remedy(err, "put 1 to %u files in it", BUNDLE_FILES_MAX);
    for (int i = 0; i < n; i++) {
        rc = rc ? rc : manifest_add(r, entries[i]->d_name, values, bundle, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static int sums_read(struct bundle_reader *r, struct err *err) {
    _cleanup_strbuf_ struct strbuf text = {0};
    int rc = file_read(r, "SHA256SUMS", &text, err);
    return rc ? rc : bundle_sums_read(&r->sums, text.data, text.len, err);
}

static int head_read(struct bundle_reader *r, struct bundle *bundle, struct err *err) {
    _cleanup_strbuf_ struct strbuf text = {0};
    int rc = file_meet(r, "bundle.yaml", &text, err);
    return rc ? rc : bundle_read_head(bundle, text.data, text.len, err);
}

int kube_bundle_read(const char *folder, const struct bundle_values *values, struct bundle *out, struct err *err) {
    _cleanup_done_(bundle_done) struct bundle bundle = {0};
    _cleanup_free_ struct bundle_reader *r = calloc(1, sizeof(*r));
    struct err why = {0};
    if (!r)
        return err_set(err, ERR_NOMEM, "out of memory");
    r->folder = folder;
    int rc = sums_read(r, &why);
    rc = rc ? rc : head_read(r, &bundle, &why);
    rc = rc ? rc : manifests_add(r, values, &bundle, &why);
    rc = rc ? rc : bundle_sums_check(&r->sums, &why);
    if (!rc) {
        *out = bundle;
        bundle = (struct bundle){0};
        return 0;
    }
    const char *name = strrchr(folder, '/');
    (void)err_set(err, rc, "bundle %.60s: %s", name ? name + 1 : folder, why.text);
    return err_remedy(err, "%s", why.remedy);
}
