/* A cluster that kaasd makes, or has made, as a record. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "made_cluster.h"

#include <stdlib.h>

void made_cluster_free(struct made_cluster *made) {
    members_done(made_cluster_members, made, sizeof(*made));
    free(made);
}
