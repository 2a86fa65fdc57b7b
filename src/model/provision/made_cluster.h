/* A cluster that kaasd makes, or has made, as a record. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "cleanup.h"
#include "member.h"

/* Texts malloc'ed. */
struct made_cluster {
    char *cluster_id;
    char *provider_id;
    char *spec; /* cluster_spec.h, as JSON; with the version and the API address that were chosen */
};
static const struct member made_cluster_members[] = {
    MEMBER_AS(made_cluster, cluster_id, "cluster_id", NULL, .flags = MEMBER_KEY),
    MEMBER(made_cluster, provider_id),
    MEMBER(made_cluster, spec),
    MEMBERS_END,
};
void made_cluster_free(struct made_cluster *made); /* NULL is allowed */
CLEANUP_DEFINE(struct made_cluster, made_cluster_free);
