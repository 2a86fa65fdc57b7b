/* What a person may do, as vCenter itself judges it. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 * General errors: vim.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct vim_client;

/* Whose privilege: exactly one of the two. */
struct vim_subject {
    const char *session_key; /* UserSession.key; unknown or expired: everything is false, not an error */
    const char *user_name;   /* UPN or DOMAIN\user */
};

struct vim_privilege_query {
    struct vim_subject subject;
    const char *privilege;       /* "System.Read" */
    const char *const *clusters; /* managed object ids of ClusterComputeResources */
    size_t count;
};

/* For each cluster: does the subject hold the privilege? granted[i] belongs to clusters[i]. Asks in batches of
 * KAAS_VIM_PRIVILEGE_BATCH_COUNT; a cluster that is gone or that we cannot read is false and does not spoil the others.
 * ERR_NOT_FOUND: vCenter does not know the user name. */
int vim_check_privileges(struct vim_client *client, const struct vim_privilege_query *query, bool *granted, struct err *err);

/* The root folder, for people: they know it by its name, too. */
struct vim_root {
    char moref[128], name[256];
};
/* Reads which object the root folder is. ERR_UPSTREAM_DENIED if our session may not even read its name. */
int vim_lookup_root(struct vim_client *client, struct vim_root *out, struct err *err);

struct vim_root_query {
    struct vim_subject subject;
    const char *const *privileges;
    size_t count;
};

/* For each privilege: does the subject hold it on the root folder (where global ones are judged)? granted[i] belongs to privileges[i]. */
int vim_check_root_privileges(struct vim_client *client, const struct vim_root_query *query, bool *granted, struct err *err);
