/* Bundles: read from their folders, and applied to a cluster. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   NAME/bundle.yaml         kind: Bundle, name, version
 *   NAME/manifests/....yaml  objects, in the order of the files' names
 *   NAME/SHA256SUMS          of bundle.yaml and each manifest
 *
 * Facts: Kubernetes, "Server-Side Apply", "API Concepts" (field validation, metadata of objects alone), "The Kubernetes API" (discovery). */
#pragma once

#include "bundle.h"
#include "err.h"
#include "k8s.h"

#define BUNDLE_MANAGER "kaas" /* whose fields the objects' are */

/* Reads a bundle from its folder; the digests are compared, and the values put in. Caller bundle_done's *out. ERR_NOT_FOUND, ERR_IO; ERR_UNPROCESSABLE or ERR_TOO_LARGE
 * with file, line and remedy; ERR_NOMEM. */
int kube_bundle_read(const char *folder, const struct bundle_values *values, struct bundle *out, struct err *err);

/* Who is told of each object: "created Namespace metallb-system", or "applied ..." of one that was there. */
typedef void (*kube_bundle_say_fn)(void *arg, const char *text);

/* Applies all objects: namespaces first, then definitions of kinds, then the rest, which waits for a minute at most until the API server knows their kinds. What is there
 * already is brought into form, so it may be done again at any time; fields of others are not taken away from them. The client is one of an administrator
 * (cluster-admin). Blocks. `say` may be NULL. ERR_CONFLICT names the manager and the fields that are his; ERR_UNPROCESSABLE: what the API server does not take; both with
 * the place in the bundle. Errors of k8s_call; ERR_NOMEM. */
int kube_bundle_apply(struct k8s_client *client, const struct bundle *bundle, kube_bundle_say_fn say, void *arg, struct err *err);
