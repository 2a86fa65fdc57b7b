/* A grant: a principal may see what carries or is an object. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "principal.h"
#include "str.h"
#include "texts.h"
#include "uuid.h"

static const char *const object_words[] = {
    [GRANT_CLUSTER] = "cluster",
    [GRANT_VSPHERE_CLUSTER] = "vsphere_cluster",
    [GRANT_HX_CLUSTER] = "hx_cluster",
};
_Static_assert(ARRAY_COUNT(object_words) == GRANT_HX_CLUSTER + 1, "one word for each kind of object");
_Static_assert(GRANT_OBJECT_ID_BYTES == sizeof(struct object_ref), "uuid, slash and moref with one NUL");

static const size_t texts[] = {
    offsetof(struct grant, id),
    offsetof(struct grant, principal_id),
    offsetof(struct grant, object_id),
    offsetof(struct grant, role),
};

const char *grant_object_name(enum grant_object kind) {
    return words_get(object_words, ARRAY_COUNT(object_words), kind, "unknown");
}

bool grant_object_parse(const char *word, enum grant_object *out) {
    size_t found;
    if (!words_find(object_words, ARRAY_COUNT(object_words), word, &found))
        return false;
    *out = (enum grant_object)found;
    return true;
}

void grant_done(struct grant *g) {
    if (!g)
        return;
    texts_free(g, texts, ARRAY_COUNT(texts));
    *g = (struct grant){0};
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
