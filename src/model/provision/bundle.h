/* Bundles: Kubernetes manifests that a cluster gets once it is made, read from texts. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * In texts of a manifest stand names for what the cluster has: ${kaas.service_network}. docs/admin/network.md has the form of a bundle. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "json.h"

#define BUNDLE_FILES_MAX 64U
#define BUNDLE_FILE_NAME_BYTES 128
#define BUNDLE_FILE_BYTES_MAX (2U * 1024U * 1024U)
#define BUNDLE_OBJECTS_MAX 1000U
#define BUNDLE_DEPTH_MAX 64U    /* of lists and maps in each other */
#define BUNDLE_NODES_MAX 50000U /* keys and values of one object; the largest known definitions have some 20,000 */

/* What a cluster has, for manifests. Texts are borrowed; NULL, or a count of 0: it has none, and a manifest that names it is refused. */
struct bundle_values {
    const char *pod_network, *service_network; /* "10.244.0.0/16" */
    const char *const *service_addresses;      /* "10.9.0.200-10.9.0.220" */
    size_t service_addresses_count;
};

struct bundle_object {
    char *place; /* "manifests/kube-router.yaml:12": the file, and the line where its document begins */
    json_t *json;
};

struct bundle {
    char *name, *version;
    struct bundle_object *objects; /* in the order of their texts */
    size_t count;
};
void bundle_done(struct bundle *bundle); /* a zeroed struct is allowed */

/* Reads bundle.yaml, {kind: Bundle, name, version}, into name and version. ERR_UNPROCESSABLE or ERR_TOO_LARGE with a remedy, ERR_NOMEM. */
int bundle_read_head(struct bundle *bundle, const char *text, size_t n, struct err *err);

/* Appends the objects of one manifest; `name` is that of its file, for messages. Each has apiVersion, kind, metadata.name and perhaps metadata.namespace of characters
 * that may stand in a path as they are, and none is there twice. On an error some may have been added. ERR_UNPROCESSABLE or ERR_TOO_LARGE with file, line and remedy;
 * ERR_NOMEM. */
int bundle_add_manifest(struct bundle *bundle, const char *name, const char *text, size_t n, const struct bundle_values *values,
                        struct err *err);

/* A line of SHA256SUMS, as sha256sum(1) prints it. */
struct bundle_sum {
    char name[BUNDLE_FILE_NAME_BYTES];
    uint8_t sha256[32];
    bool is_met; /* the file was there, and is the same */
};
struct bundle_sums {
    struct bundle_sum items[BUNDLE_FILES_MAX + 1];
    size_t count;
};
/* ERR_UNPROCESSABLE or ERR_TOO_LARGE with a remedy. */
int bundle_sums_read(struct bundle_sums *sums, const char *text, size_t n, struct err *err);
/* Compares a file that has these bytes. ERR_UNPROCESSABLE with a remedy: it is not in the list, or another one. */
int bundle_sums_meet(struct bundle_sums *sums, const char *name, const void *bytes, size_t n, struct err *err);
/* ERR_UNPROCESSABLE naming a file that is in the list and was not met. */
int bundle_sums_check(const struct bundle_sums *sums, struct err *err);
