/* Where the role of an account is granted: the objects that the request names. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "registration_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "vim_authorization.h"

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
    return err_remedy(err, "give its path from the top, as DC0/HX-East is one; at the top are: %s", top.len ? top.data : "none");
}

/* The folder `host` of a datacenter may be in it, as it is in what vCenter and our verdicts call an inventory path. */
static int registration_place_find(struct registration_work *w, const char *path, struct err *err) {
    const char *from_top = path + (*path == '/'), *host = strstr(from_top, "/host/");
    _cleanup_free_ char *shorter = host ? str_format("%.*s%s", (int)(host - from_top), from_top, host + strlen("/host")) : NULL;
    const struct vim_place *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < w->places.count; i++)
        if (str_eq(w->places.items[i].path, from_top) || str_eq(w->places.items[i].path, shorter)) {
            found = &w->places.items[i];
            count++;
        }
    if (count != 1)
        return refuse_path(w, path, count, err);
    for (size_t i = 0; i < w->objects_count; i++)
        if (w->objects[i] == found)
            return 0; /* named twice */
    w->objects[w->objects_count++] = found;
    return 0;
}

int registration_find_objects(struct registration_work *w, struct err *err) {
    int rc = w->joining->role_on_count ? vim_list_places(w->admin, &w->places, err) : 0;
    for (size_t i = 0; !rc && i < w->joining->role_on_count; i++)
        rc = registration_place_find(w, w->joining->role_on[i], err);
    return rc;
}
