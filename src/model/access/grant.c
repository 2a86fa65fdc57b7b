/* Grants and role mappings: memory, words, the form that is stored. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "principal.h"
#include "str.h"
#include "uuid.h"

const char *const grant_object_words[] = {
    [GRANT_CLUSTER] = "cluster",
    [GRANT_VSPHERE_CLUSTER] = "vsphere_cluster",
    [GRANT_HX_CLUSTER] = "hx_cluster",
    NULL,
};
_Static_assert(ARRAY_COUNT(grant_object_words) - 1 == GRANT_HX_CLUSTER + 1, "one word for each kind of object");
_Static_assert(GRANT_OBJECT_ID_BYTES == sizeof(struct object_ref), "uuid, slash and moref with one NUL");

const char *grant_object_name(enum grant_object kind) {
    return words_get(grant_object_words, kind, "unknown");
}

bool grant_object_parse(const char *word, enum grant_object *out) {
    return words_find(grant_object_words, word, out);
}

void grant_done(struct grant *g) {
    members_done(grant_members, g, sizeof(*g));
}

const char *grant_difference(const struct grant *a, const struct grant *b) {
    return members_difference(grant_members, a, b);
}

int grant_vsphere_ref(const char *object_id, struct object_ref *out, struct err *err) {
    const char *slash = strchr(object_id, '/');
    char vcenter_id[UUID_TEXT_BYTES] = "";
    if (slash && slash - object_id == UUID_TEXT_BYTES - 1) {
        memcpy(vcenter_id, object_id, UUID_TEXT_BYTES - 1);
        str_lower(vcenter_id);
    }
    if (uuid_is_valid(vcenter_id) && !name_check_moref(slash + 1, "moref", NULL))
        return object_ref_make(vcenter_id, slash + 1, out, err);
    (void)err_set(err, ERR_UNPROCESSABLE, "object_id \"%.120s\" does not name a vSphere cluster", object_id);
    return err_remedy(err, "write <instance uuid of the vCenter>/<moref>, such as 5ab1.../domain-c8");
}

static int normalize_object(struct grant *g, struct err *err) {
    struct object_ref ref;
    int rc;
    if (g->object != GRANT_VSPHERE_CLUSTER) {
        if (!uuid_is_valid(g->object_id))
            return err_set(err, ERR_UNPROCESSABLE, "object_id \"%.120s\" is not the id of a %s", g->object_id,
                           g->object == GRANT_CLUSTER ? "cluster" : "HX cluster");
        str_lower(g->object_id);
        return 0;
    }
    rc = grant_vsphere_ref(g->object_id, &ref, err);
    if (!rc)
        grant_vsphere_id(&ref, g->object_id); /* as long as before */
    return rc;
}

int grant_normalize(struct grant *g, struct err *err) {
    char *principal_id = NULL;
    int rc = principal_id_read(g->principal_id, &principal_id, err);
    if (rc)
        return rc;
    free(g->principal_id);
    g->principal_id = principal_id;
    if (!g->role)
        g->role = str_dup(GRANT_ROLE_VIEWER);
    if (!g->role || !g->object_id)
        return err_set(err, ERR_NOMEM, "no memory for a grant");
    if (!str_eq(g->role, GRANT_ROLE_VIEWER) && !str_eq(g->role, GRANT_ROLE_ADMIN))
        return err_set(err, ERR_UNPROCESSABLE, "the role \"%.40s\" cannot be granted: it is none of viewer, admin", g->role);
    return normalize_object(g, err);
}

int grant_compare(const struct grant *a, const struct grant *b) {
    int order = principal_compare(a->principal_id, b->principal_id);
    if (order)
        return order;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return strcmp(a->object_id, b->object_id);
}

void grant_vsphere_id(const struct object_ref *ref, char *out) {
    (void)snprintf(out, GRANT_OBJECT_ID_BYTES, "%s/%s", ref->vcenter_id, ref->moref);
}

/* -- role mappings ------------------------------------------------------------------------------------------------- */

#define NOTE_CHARS_MAX 200
#define DOMAIN_SID "sid:S-1-5-21-" /* accounts of a domain or of one machine ([MS-DTYP] 2.4.2.4) */
#define PRIVILEGE_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

const char *const role_mapping_kind_words[] = {
    [ROLE_MAPPING_MEMBER] = "member",
    [ROLE_MAPPING_PRIVILEGE] = "vcenter_privilege",
    NULL,
};
_Static_assert(ARRAY_COUNT(role_mapping_kind_words) - 1 == ROLE_MAPPING_PRIVILEGE + 1, "one word for each kind");

bool role_mapping_kind_parse(const char *word, enum role_mapping_kind *out) {
    return words_find(role_mapping_kind_words, word, out);
}

void role_mapping_done(struct role_mapping *mapping) {
    members_done(role_mapping_members, mapping, sizeof(*mapping));
}

int role_mapping_copy(const struct role_mapping *from, struct role_mapping *out, struct err *err) {
    return members_copy(role_mapping_members, from, out, sizeof(*out), "a role mapping", err);
}

/* Everybody, or nobody in particular, is a member of these, whatever domain they come from. */
static int grant_check_member(const char *id, struct err *err) {
    if (str_starts(id, "sid:") && !str_starts(id, DOMAIN_SID)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "subject_id \"%.100s\" is a well-known or built-in SID, which gives no role", id);
        return err_remedy(err, "name a group or a person of a domain: sid:S-1-5-21-...");
    }
    if (str_starts(id, "sid:") || str_starts(id, "ldap:"))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "subject_id \"%.100s\" cannot have a role mapping", id);
    return err_remedy(
        err, "write sid:S-1-5-21-... or ldap:<source>:<uuid>; local users and service accounts have a role of their own");
}

static int normalize_member(struct role_mapping *m, struct err *err) {
    char *id = NULL;
    int rc = principal_id_read(m->subject_id, &id, err);
    if (rc)
        return rc;
    free(m->subject_id);
    m->subject_id = id;
    if (m->privilege)
        return err_set(err, ERR_UNPROCESSABLE, "privilege belongs to mappings of the kind vcenter_privilege");
    if (m->role != ROLE_ADMIN && m->role != ROLE_USER && m->role != ROLE_PROVISIONER)
        return err_set(err, ERR_UNPROCESSABLE, "role must be admin, user or provisioner");
    return grant_check_member(m->subject_id, err);
}

static int normalize_privilege(const struct role_mapping *m, struct err *err) {
    size_t n = m->privilege ? strlen(m->privilege) : 0;
    if (!m->subject_id || !uuid_is_valid(m->subject_id))
        return err_set(err, ERR_UNPROCESSABLE, "subject_id must be the instance UUID of a vCenter");
    str_lower(m->subject_id);
    if (!n || n > ROLE_MAPPING_PRIVILEGE_BYTES_MAX || strspn(m->privilege, PRIVILEGE_LETTERS) != n)
        return err_set(err, ERR_UNPROCESSABLE,
                       "privilege must be the id of a privilege, such as Authorization.ModifyPermissions");
    if (m->role != ROLE_ADMIN)
        return err_set(err, ERR_UNPROCESSABLE,
                       "a privilege of a vCenter gives the role admin of that vCenter's clusters, and no other");
    return 0;
}

int role_mapping_check_note(const char *note, struct err *err) {
    long chars = note ? str_utf8_chars(note, strlen(note)) : 0;
    if (chars < 0 || chars > NOTE_CHARS_MAX || (note && str_has_control(note)))
        return err_set(err, ERR_UNPROCESSABLE, "note must be a text of at most %d characters in one line", NOTE_CHARS_MAX);
    return 0;
}

int role_mapping_normalize(struct role_mapping *m, struct err *err) {
    int rc = role_mapping_check_note(m->note, err);
    if (rc)
        return rc;
    return m->kind == ROLE_MAPPING_PRIVILEGE ? normalize_privilege(m, err) : normalize_member(m, err);
}

int role_mapping_compare(const struct role_mapping *a, const struct role_mapping *b) {
    int order;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    order = strcmp(a->subject_id, b->subject_id);
    return order ? order : strcmp(a->privilege ? a->privilege : "", b->privilege ? b->privilege : "");
}

bool role_mapping_fits(const struct role_mapping *m, const char *principal_id, const struct group_set *groups) {
    return m->kind == ROLE_MAPPING_MEMBER && (str_eq(m->subject_id, principal_id) || group_set_has(groups, m->subject_id));
}

enum role role_mapping_best(const struct role_mapping *items, size_t count, const char *principal_id,
                            const struct group_set *groups) {
    enum role best = ROLE_NONE;
    for (size_t i = 0; i < count; i++)
        if (items[i].role > best && role_mapping_fits(&items[i], principal_id, groups))
            best = items[i].role;
    return best;
}
