/* Versions of Kubernetes: which fit together, and how long each is supported. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Support is that of the Kubernetes project, as kube_minors.def has it; who sells a distribution may support it longer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kube_version {
    int major, minor, patch;
};

/* Reads the numbers of a version as programs of Kubernetes tell it (gitVersion): "v1.36.3", "1.31.2-eks-a737599", "v1.37.0-rc.1". NULL is none. False if it is no
 * version; *out is written on success only. */
bool kube_version_parse(const char *text, struct kube_version *out);

/* How a kubelet stands to the API server (kubernetes.io, "Version Skew Policy"): never newer, and at most three minors older, two before 1.25. Patches do not count. */
enum kube_skew { KUBE_SKEW_FITS, KUBE_SKEW_NEWER, KUBE_SKEW_TOO_OLD };
enum kube_skew kube_version_skew(const struct kube_version *kubelet, const struct kube_version *api);

enum kube_support {
    KUBE_SUPPORT_UNKNOWN,     /* no version, or newer than the table */
    KUBE_SUPPORT_FULL,        /* gets fixes */
    KUBE_SUPPORT_MAINTENANCE, /* gets fixes of grave faults; its end is near */
    KUBE_SUPPORT_ENDED,
};

#define KUBE_UPGRADE_BYTES 24

struct kube_supported {
    enum kube_support support;
    const char *end;                  /* last day of support, "2026-10-27"; NULL: not known; static */
    char upgrade[KUBE_UPGRADE_BYTES]; /* "1.36.4": where to go next; "": nowhere that is known */
};

/* Looks a version up, at `now_ms` (wall clock; days are UTC's). Next is the newest patch of its own minor while that is supported, else that of the next minor, if
 * it is out: minors of a control plane are not skipped (kubernetes.io, "Upgrading kubeadm clusters"). Anything may be passed as version, NULL too. */
void kube_version_support(const char *version, int64_t now_ms, struct kube_supported *out);

/* The table, for tests: a row by its place, NULL behind the last. */
struct kube_minor {
    int minor;
    const char *released, *maintenance, *end; /* days */
    int patch;                                /* the newest that is known */
};
const struct kube_minor *kube_version_minor(size_t at);
