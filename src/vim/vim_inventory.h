/* The vSphere clusters of a vCenter. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 * General errors: vim.h. */
#pragma once

#include <stddef.h>

#include "err.h"

struct vim_client;

/* A ClusterComputeResource. Texts malloc'ed. */
struct vim_cluster {
    char *moref;      /* "domain-c7"; never NULL */
    char *name;       /* '%2F', '%5C' and '%25' of vCenter's form turned back; never NULL */
    char *datacenter; /* name of the datacenter; NULL if we may not see it */
};

struct vim_cluster_list {
    struct vim_cluster *items;
    size_t count;
};
void vim_cluster_list_done(struct vim_cluster_list *list); /* NULL is allowed */

/* All clusters that our session may see, in no particular order. ERR_TOO_LARGE over KAAS_VIM_OBJECTS_COUNT_MAX. */
int vim_read_clusters(struct vim_client *client, struct vim_cluster_list *out, struct err *err);
