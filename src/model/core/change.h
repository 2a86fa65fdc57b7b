/* Kinds of changes that travel between replicas. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum change_kind {
    CHANGE_CLUSTER,
    CHANGE_VSPHERE_CLUSTER,
    CHANGE_HX_CLUSTER,
    CHANGE_VCENTER,
    CHANGE_GRANT,
    CHANGE_USER,
    CHANGE_SESSION,
    CHANGE_SIGNING_KEY,
    CHANGE_ROLE_MAPPING,
    CHANGE_SERVICE_ACCOUNT,
    CHANGE_LDAP,
    CHANGE_JOB,
    CHANGE_KIND_COUNT
};
/* "cluster", "vsphere_cluster", ..., "job"; static, never NULL. */
const char *change_kind_name(enum change_kind kind);
bool change_kind_parse(const char *word, enum change_kind *out);

/* One row of change_log. */
struct change {
    unsigned replica_id;
    uint64_t seq;
    enum change_kind kind;
    char object_id[129];
    int64_t at_ms; /* wall clock of the replica that wrote it; 0: not read from the feed */
};
