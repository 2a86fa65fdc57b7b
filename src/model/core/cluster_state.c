/* The states of a Kubernetes cluster. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_state.h"

#include "cleanup.h"
#include "member.h"

const char *const cluster_state_words[] = {
    [CLUSTER_UNKNOWN] = "unknown",   [CLUSTER_CREATING] = "creating", [CLUSTER_READY] = "ready",
    [CLUSTER_UPDATING] = "updating", [CLUSTER_DEGRADED] = "degraded", [CLUSTER_UNREACHABLE] = "unreachable",
    [CLUSTER_FAILED] = "failed",     [CLUSTER_DELETING] = "deleting", NULL,
};
_Static_assert(ARRAY_COUNT(cluster_state_words) - 1 == CLUSTER_STATE_COUNT, "one word for each state");

const char *cluster_state_name(enum cluster_state state) {
    return words_get(cluster_state_words, state, "unknown");
}

bool cluster_state_parse(const char *word, enum cluster_state *out) {
    return words_find(cluster_state_words, word, out);
}
