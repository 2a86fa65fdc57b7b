/* The states of a Kubernetes cluster, whoever tells them. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

enum cluster_state {
    CLUSTER_UNKNOWN = 0,
    CLUSTER_CREATING,
    CLUSTER_READY,
    CLUSTER_UPDATING,
    CLUSTER_DEGRADED,
    CLUSTER_UNREACHABLE,
    CLUSTER_FAILED,
    CLUSTER_DELETING,
    CLUSTER_STATE_COUNT
};
extern const char *const cluster_state_words[];
const char *cluster_state_name(enum cluster_state state); /* "unknown", "creating", ... as in docs/openapi.yaml; static */
bool cluster_state_parse(const char *word, enum cluster_state *out);
