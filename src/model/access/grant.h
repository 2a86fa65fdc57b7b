/* Who may do what: grants, by which a principal sees an object and what is on it, and role mappings. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "member.h"
#include "object_ref.h"
#include "principal.h"

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

/* Brings a grant that somebody wrote into the form that is stored: ids in their one spelling, the role checked (NULL: "viewer"). The
 * object need not exist. ERR_UNPROCESSABLE naming the member, ERR_NOMEM. */
int grant_normalize(struct grant *g, struct err *err);

/* The vSphere cluster that an object id "<vcenter>/<moref>" names. ERR_UNPROCESSABLE. */
int grant_vsphere_ref(const char *object_id, struct object_ref *out, struct err *err);

/* Order of lists of grants: principal (principal_compare), kind of object (in the order of the enum), object id. <0, 0, >0. */
int grant_compare(const struct grant *a, const struct grant *b);

#define GRANT_OBJECT_ID_BYTES (37 + MOREF_BYTES)
/* Writes the object id of a vSphere cluster, "<vcenter>/<moref>"; `out` needs GRANT_OBJECT_ID_BYTES. */
void grant_vsphere_id(const struct object_ref *ref, char *out);

/* -- a role mapping: gives a role to the members of a group, to one person, or to those who have a privilege -------- */

#define ROLE_MAPPINGS_MAX 1000U
#define ROLE_MAPPING_PRIVILEGE_BYTES_MAX 100U

enum role_mapping_kind {
    ROLE_MAPPING_MEMBER,    /* the id of a group, or of a person */
    ROLE_MAPPING_PRIVILEGE, /* a privilege that a vCenter's own people have on its root folder */
};
extern const char *const role_mapping_kind_words[]; /* "member", "vcenter_privilege" */
bool role_mapping_kind_parse(const char *word, enum role_mapping_kind *out);

struct role_mapping {
    char *id;
    enum role_mapping_kind kind;
    char *subject_id; /* ROLE_MAPPING_MEMBER: "sid:S-1-5-21-...", "ldap:<source>:<uuid>"; ROLE_MAPPING_PRIVILEGE: instance UUID */
    char *privilege;  /* ROLE_MAPPING_PRIVILEGE: "Authorization.ModifyPermissions"; else NULL */
    enum role role;   /* with a privilege: admin, of that vCenter's clusters alone */
    char *note;       /* what somebody wrote beside it; NULL: nothing */
    int64_t created_at_ms, updated_at_ms;
    int64_t version_no;
};
static const struct member role_mapping_members[] = {
    MEMBER(role_mapping, id, .flags = MEMBER_KEY),
    MEMBER(role_mapping, kind, .words = role_mapping_kind_words, .flags = MEMBER_STRICT | MEMBER_FIXED),
    MEMBER(role_mapping, subject_id, .flags = MEMBER_FIXED),
    MEMBER(role_mapping, privilege, .flags = MEMBER_EMPTY | MEMBER_FIXED),
    MEMBER(role_mapping, role, .words = role_words, .flags = MEMBER_STRICT),
    MEMBER(role_mapping, note),
    MEMBER_AS(role_mapping, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(role_mapping, updated_at_ms, "updated_at_ms", "updated_at"),
    MEMBER_AS(role_mapping, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void role_mapping_done(struct role_mapping *mapping); /* NULL is allowed */
/* Deep copy into an uninitialised struct. ERR_NOMEM. */
int role_mapping_copy(const struct role_mapping *from, struct role_mapping *out, struct err *err);

/* ERR_UNPROCESSABLE for a note that is too long or has more than a line; NULL is allowed. */
int role_mapping_check_note(const char *note, struct err *err);

/* Brings a mapping that somebody wrote into the form that is stored, and checks it: groups that everybody is a member of (well-known and
 * built-in SIDs) map nothing, local users and service accounts have their roles elsewhere. ERR_UNPROCESSABLE naming the member, ERR_NOMEM. */
int role_mapping_normalize(struct role_mapping *mapping, struct err *err);

/* Order of lists: kind, subject, privilege. <0, 0, >0. */
int role_mapping_compare(const struct role_mapping *a, const struct role_mapping *b);

/* True if the mapping is of the kind ROLE_MAPPING_MEMBER and names this principal or one of these groups. */
bool role_mapping_fits(const struct role_mapping *mapping, const char *principal_id, const struct group_set *groups);

/* The highest role of the mappings that fit (role_mapping_fits), or ROLE_NONE. */
enum role role_mapping_best(const struct role_mapping *items, size_t count, const char *principal_id,
                            const struct group_set *groups);
