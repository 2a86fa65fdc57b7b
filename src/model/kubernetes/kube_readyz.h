/* What an API server says of its own readiness. Layer 1 (model); pure. SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The body of GET /readyz?verbose, with status 200 or 500 (k8s.io/apiserver pkg/server/healthz): a line for each check, "[+]NAME ok" or
 * "[-]NAME failed: reason withheld", then a sentence. "ok" alone is the short form, without names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "kube_node.h"

#define KUBE_READYZ_BYTES_MAX 65536U /* of a body; a server of 1.36 sends 2 KB */
#define KUBE_READYZ_NAMED_MAX 8      /* failed checks that are kept by name; the rest is counted */
#define KUBE_READYZ_NAME_BYTES 80

/* A plain value. All zero: not asked yet. */
struct kube_readyz {
    bool is_there;
    enum kube_truth etcd; /* both checks of etcd, "etcd" and "etcd-readiness": passed, one failed, not named */
    size_t failed_count;
    char failed[KUBE_READYZ_NAMED_MAX][KUBE_READYZ_NAME_BYTES]; /* in the server's order; printable ASCII, cut */
};

/* Reads `n` bytes of a body, which need no NUL. Lines of other kinds are skipped. ERR_TOO_LARGE, ERR_PROTOCOL (neither a check nor "ok": no API server says that);
 * *out is written on success only. */
int kube_readyz_parse(const char *body, size_t n, struct kube_readyz *out, struct err *err);
