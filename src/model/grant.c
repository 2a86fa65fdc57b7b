/* A grant: a principal may see what carries or is an object. Layer 1 (model); pure.
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
    int order = strcmp(a->principal_id, b->principal_id);
    if (order)
        return order;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return strcmp(a->object_id, b->object_id);
}

void grant_vsphere_id(const struct object_ref *ref, char *out) {
    (void)snprintf(out, GRANT_OBJECT_ID_BYTES, "%s/%s", ref->vcenter_id, ref->moref);
}
