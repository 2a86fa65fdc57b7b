/* A grant: a principal may see what carries or is an object. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "member.h"
#include "object_ref.h"

enum grant_object { GRANT_CLUSTER, GRANT_VSPHERE_CLUSTER, GRANT_HX_CLUSTER };
extern const char *const grant_object_words[];
const char *grant_object_name(enum grant_object kind); /* "cluster", "vsphere_cluster", "hx_cluster" */
bool grant_object_parse(const char *word, enum grant_object *out);

struct grant {
    char *id;
    char *principal_id; /* who: a person, a program or a group */
    enum grant_object object;
    char *object_id; /* cluster uuid, "<vcenter>/<moref>" or HX cluster uuid */
    char *role;      /* "viewer", "admin" */
    int64_t created_at_ms;
};
static const struct member grant_members[] = {
    MEMBER(grant, id, .flags = MEMBER_KEY),
    MEMBER(grant, principal_id),
    MEMBER(grant, role),
    MEMBER_AS(grant, object, "object_kind", "object_kind", .words = grant_object_words, .flags = MEMBER_STRICT),
    MEMBER(grant, object_id),
    MEMBER_PART_OF("object_name"),
    MEMBER_AS(grant, created_at_ms, "created_at_ms", "created_at"),
    MEMBERS_END,
};
void grant_done(struct grant *g); /* NULL is allowed */
/* The name of the first member in which they differ; NULL: none. Static. */
const char *grant_difference(const struct grant *a, const struct grant *b);

#define GRANT_ROLE_VIEWER "viewer"
#define GRANT_ROLE_ADMIN "admin" /* sees as a viewer does, and manages the grants on the object */

/* Brings a grant that somebody wrote into the form that is stored: ids in their one spelling, the role checked (NULL: "viewer"). What it
 * is granted on need not exist. ERR_UNPROCESSABLE naming the member, ERR_NOMEM. */
int grant_normalize(struct grant *g, struct err *err);

/* The vSphere cluster that an object id "<vcenter>/<moref>" names. ERR_UNPROCESSABLE. */
int grant_vsphere_ref(const char *object_id, struct object_ref *out, struct err *err);

/* Order of lists of grants: principal, kind of object (in the order of the enum), object id. <0, 0, >0. */
int grant_compare(const struct grant *a, const struct grant *b);

#define GRANT_OBJECT_ID_BYTES (37 + MOREF_BYTES)
/* Writes the object id of a vSphere cluster, "<vcenter>/<moref>"; `out` needs GRANT_OBJECT_ID_BYTES. */
void grant_vsphere_id(const struct object_ref *ref, char *out);
