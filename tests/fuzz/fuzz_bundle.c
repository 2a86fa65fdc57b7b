/* Fuzz target: bundle_add_manifest, bundle_read_head and bundle_sums_read. The first byte says which ('h' head, 's' sums, else a manifest), the rest is the text. What is
 * taken keeps what the header promises; what is refused says so with a remedy.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bundle.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool condition) {
    if (!condition)
        abort();
}

static void check_error(int rc, const struct err *err) {
    must((rc == ERR_UNPROCESSABLE || rc == ERR_TOO_LARGE) && err->code == rc && err->remedy[0]);
    must(str_utf8_chars(err->text, strlen(err->text)) > 0);
}

static void must_be_path(const char *text) {
    must(text && *text && !strpbrk(text, "%?#& \n\"\\") && !str_eq(text, "..") && !str_eq(text, "."));
}

static void check_object(const struct bundle_object *object) {
    const json_t *metadata = json_object_get(object->json, "metadata");
    const char *name = json_get_string(metadata, "name"), *namespace = json_get_string(metadata, "namespace");
    must_be_path(json_get_string(object->json, "apiVersion"));
    must_be_path(json_get_string(object->json, "kind"));
    must_be_path(name);
    must(!strchr(name, '/') && str_starts(object->place, "m.yaml:"));
    if (namespace)
        must_be_path(namespace);
}

static void try_manifest(struct bundle *bundle, const char *text, size_t n) {
    static const char *const addresses[] = {"10.9.0.200-10.9.0.210"};
    const struct bundle_values values = {
        .pod_network = "10.244.0.0/16", .service_addresses = addresses, .service_addresses_count = 1};
    struct err err = {0};
    int rc = bundle_add_manifest(bundle, "m.yaml", text, n, &values, &err);
    if (rc)
        check_error(rc, &err);
    must(bundle->count <= BUNDLE_OBJECTS_MAX);
    for (size_t i = 0; i < bundle->count; i++)
        check_object(&bundle->objects[i]);
}

static void try_head(struct bundle *bundle, const char *text, size_t n) {
    struct err err = {0};
    int rc = bundle_read_head(bundle, text, n, &err);
    if (rc)
        check_error(rc, &err);
    else
        must(*bundle->name && *bundle->version);
}

static void try_sums(const char *text, size_t n) {
    static struct bundle_sums sums;
    struct err err = {0};
    int rc = bundle_sums_read(&sums, text, n, &err);
    if (rc)
        check_error(rc, &err);
    for (size_t i = 0; i < sums.count && !rc; i++) {
        must(sums.items[i].name[0] && !str_has_control(sums.items[i].name) && !sums.items[i].is_met);
        err_clear(&err);
        (void)bundle_sums_meet(&sums, sums.items[i].name, "a", 1, &err);
        must(sums.items[i].is_met ? !err.code : err.code == ERR_UNPROCESSABLE);
    }
    err_clear(&err);
    if (!rc && bundle_sums_check(&sums, &err))
        check_error(err.code, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    _cleanup_done_(bundle_done) struct bundle bundle = {0};
    if (n && data[0] == 'h')
        try_head(&bundle, (const char *)data + 1, n - 1);
    else if (n && data[0] == 's')
        try_sums((const char *)data + 1, n - 1);
    else if (n)
        try_manifest(&bundle, (const char *)data + 1, n - 1);
    return 0;
}
