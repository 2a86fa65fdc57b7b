/* Where the role of an account is granted: on what the request names, else on what is used. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "registration_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory.h"
#include "names.h"
#include "snapshot.h"
#include "str.h"
#include "vim_authorization.h"
#include "vim_extension.h"

static int registration_place_add(struct registration_work *w, const struct vim_place *place, struct err *err) {
    if (w->objects_count == REGISTRATION_ROLE_ON_MAX) {
        (void)err_set(err, ERR_UNPROCESSABLE,
                      "more than %d vSphere clusters of vCenter %s are used, too many to give a role on each",
                      REGISTRATION_ROLE_ON_MAX, w->vc.name);
        return err_remedy(err, "name a folder or datacenter above them: --on PATH");
    }
    w->objects[w->objects_count++] = place;
    return 0;
}

/* -- what is named ----------------------------------------------------------------------------------------------------------- */

/* But for letters in the other case, or by its name alone: what a role is given on is not guessed. */
static bool registration_place_is_nearly(const char *place, const char *path) {
    const char *name = strrchr(place, '/');
    path += *path == '/';
    return name_same(place, path) || (name && name_same(name + 1, path));
}

static int refuse_path(struct registration_work *w, const char *path, size_t found, struct err *err) {
    _cleanup_strbuf_ struct strbuf top;
    strbuf_init(&top, ERR_REMEDY_BYTES);
    for (size_t i = 0; i < w->places.count && top.len < ERR_REMEDY_BYTES / 4; i++)
        if (!strchr(w->places.items[i].path, '/'))
            strbuf_addf(&top, "%s%.60s", top.len ? ", " : "", w->places.items[i].path);
    if (found)
        (void)err_set(err, ERR_UNPROCESSABLE, "%zu objects of vCenter %s have the inventory path \"%.150s\"", found, w->vc.name,
                      path);
    else
        (void)err_set(err, ERR_UNPROCESSABLE, "%s sees no folder, datacenter or vSphere cluster \"%.150s\" at vCenter %s",
                      w->who.user_name, path, w->vc.name);
    for (size_t i = 0; !found && i < w->places.count; i++)
        if (registration_place_is_nearly(w->places.items[i].path, path))
            return err_remedy(err, "did you mean %s?", w->places.items[i].path);
    return err_remedy(err, "give its path from the top, as DC0/HX-East is one; at the top are: %s", top.len ? top.data : "none");
}

/* The folder `host` of a datacenter may be in it, as it is in what vCenter and our verdicts call an inventory path; and so may vCenter's %2f. */
static int registration_place_find(struct registration_work *w, const char *path, struct err *err) {
    const char *from_top = path + (*path == '/'), *host = strstr(from_top, "/host/");
    _cleanup_free_ char *shorter = host ? str_format("%.*s%s", (int)(host - from_top), from_top, host + strlen("/host")) : NULL;
    const struct vim_place *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < w->places.count; i++)
        if (vsphere_name_is(w->places.items[i].path, from_top) ||
            (shorter && vsphere_name_is(w->places.items[i].path, shorter))) {
            found = &w->places.items[i];
            count++;
        }
    if (count != 1)
        return refuse_path(w, path, count, err);
    for (size_t i = 0; i < w->objects_count; i++)
        if (w->objects[i] == found)
            return 0; /* named twice */
    return registration_place_add(w, found, err);
}

/* -- what is used ------------------------------------------------------------------------------------------------------------ */

static bool registration_place_is_hx(const struct vim_key_list *keys, const char *moref) {
    char named[MOREF_BYTES];
    for (size_t i = 0; i < keys->count; i++)
        if (hx_extension_key_parse(keys->items[i], named) && str_eq(named, moref))
            return true;
    return false;
}

static bool registration_place_has_clusters(const struct inventory_snapshot *snapshot, const char *vcenter_id,
                                            const char *moref) {
    const struct inventory_platform *p = snapshot->platform;
    for (size_t i = 0; i < p->vsphere_count; i++)
        if (str_eq(p->vsphere[i].ref.moref, moref) && str_eq(p->vsphere[i].ref.vcenter_id, vcenter_id))
            return snapshot->by_vsphere[i].count;
    return false;
}

static int refuse_unused(const struct registration_work *w, struct err *err) {
    (void)err_set(
        err, ERR_UNPROCESSABLE,
        "%s sees no vSphere cluster of vCenter %s that HX has registered, and none that carries Kubernetes clusters: it is not "
        "known what to give the role on",
        w->who.user_name, w->vc.name);
    return err_remedy(err, "name where Kubernetes clusters are or will be, --on DC0/Cluster, or all of the vCenter, --on /");
}

/* The vSphere clusters that HX has registered, as vCenter lists them now, and those that carry Kubernetes clusters. Whoever may register an extension may name any
 * object by its key: the role goes on no datacenter or folder by that. */
static int registration_places_find_used(struct registration_work *w, struct err *err) {
    struct inventory *inventory = w->env->options.inventory;
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory ? inventory_get(inventory) : NULL;
    _cleanup_done_(vim_key_list_done) struct vim_key_list keys = {0};
    int rc = snapshot ? vim_list_extension_keys(w->admin, &keys, err)
                      : err_set(err, ERR_UNAVAILABLE, "the inventory has not been read yet");
    for (size_t i = 0; !rc && i < w->places.count; i++) {
        const struct vim_place *place = &w->places.items[i];
        if (str_eq(place->type, "ClusterComputeResource") &&
            (registration_place_is_hx(&keys, place->moref) || registration_place_has_clusters(snapshot, w->vc.id, place->moref)))
            rc = registration_place_add(w, place, err);
    }
    return rc || w->objects_count ? rc : refuse_unused(w, err);
}

int registration_find_objects(struct registration_work *w, struct err *err) {
    const struct register_request *request = w->joining;
    int rc;
    if (!request->role_name || !request->login.user || request->role_everywhere)
        return 0;
    rc = vim_list_places(w->admin, &w->places, err);
    if (!rc && !request->role_on_count)
        return registration_places_find_used(w, err);
    for (size_t i = 0; !rc && i < request->role_on_count; i++)
        rc = registration_place_find(w, request->role_on[i], err);
    return rc;
}
