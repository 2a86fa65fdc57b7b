/* Objects of the inventory by their names, and where they lie. Layer 2 (vim). SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_object.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define DEPTH_MAX 64

void vim_object_list_done(struct vim_object_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].type);
        free(list->items[i].moref);
        free(list->items[i].name);
        free(list->items[i].parent);
    }
    free(list->items);
    *list = (struct vim_object_list){0};
}

void vim_place_list_done(struct vim_place_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].type);
        free(list->items[i].moref);
        free(list->items[i].path);
    }
    free(list->items);
    *list = (struct vim_place_list){0};
}

/* -- reading ----------------------------------------------------------------------------------------------------------------- */

struct objects_reading {
    const char *const *types;
    struct vim_object_list list;
    size_t alloc;
};

static int vim_object_add(struct objects_reading *r, const struct vim_object *object, struct err *err) {
    if (r->list.count == r->alloc) {
        const size_t alloc = r->alloc ? r->alloc * 2 : 64;
        struct vim_object *more = reallocarray(r->list.items, alloc, sizeof(*more));
        if (!more)
            return err_set(err, ERR_NOMEM, "out of memory");
        r->list.items = more;
        r->alloc = alloc;
    }
    struct vim_object *to = &r->list.items[r->list.count++];
    *to = (struct vim_object){str_dup(object->type), str_dup(object->moref), str_dup(object->name), str_dup(object->parent)};
    if (!to->type || !to->moref || !to->name || (object->parent && !to->parent))
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_unescape_name(to->name);
    return 0;
}

/* What has no name that we may read is nothing that one could name. */
static int vim_object_take(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property name = {"name", SOAP_TYPE_string, VIM_OPTIONAL};
    static const struct vim_property parent = {"parent", SOAP_TYPE_vim25__ManagedObjectReference, VIM_OPTIONAL};
    const void *text = NULL, *above = NULL;
    const struct vim25__ManagedObjectReference *ref;
    int rc = vim_property_get(ctx, object, &name, &text, err);
    if (!rc)
        rc = vim_property_get(ctx, object, &parent, &above, err);
    ref = above;
    if (rc || !text || !object->obj || str_empty(object->obj->type) || str_empty(object->obj->__item))
        return rc;
    return vim_object_add(arg,
                          &(struct vim_object){.type = object->obj->type,
                                               .moref = object->obj->__item,
                                               .name = (char *)(uintptr_t)text, /* borrowed */
                                               .parent = ref ? ref->__item : NULL},
                          err);
}

static int vim_object_read(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const paths[] = {"name", "parent", NULL};
    struct objects_reading *r = arg;
    struct vim25__PropertyFilterSpec *spec;
    char view[VIM_VIEW_BYTES];
    size_t count = 0;
    int rc;
    vim_object_list_done(&r->list); /* it may run again when the session was lost on the way */
    r->alloc = 0;
    while (r->types[count])
        count++;
    rc = vim_create_view(ctx, r->types, view, err);
    if (rc)
        return rc;
    spec = vim_in_filter(ctx, "ContainerView", view, count);
    for (size_t i = 0; spec && i < count; i++)
        vim_in_paths(ctx, &spec->propSet[i], r->types[i], paths);
    if (spec)
        vim_in_view(ctx, &spec->objectSet[0], NULL);
    rc = spec ? vim_retrieve(ctx, spec, vim_object_take, r, err) : err_set(err, ERR_NOMEM, "out of memory");
    vim_destroy_view(ctx, view);
    return rc;
}

static int vim_object_by_moref(const void *a, const void *b) {
    return strcmp(((const struct vim_object *)a)->moref, ((const struct vim_object *)b)->moref);
}

int vim_list_objects(struct vim_client *client, const char *const *types, struct vim_object_list *out, struct err *err) {
    struct objects_reading r = {.types = types};
    int rc = vim_client_run_as_us(client, vim_object_read, &r, err);
    if (rc) {
        vim_object_list_done(&r.list);
        return rc;
    }
    if (r.list.count)
        qsort(r.list.items, r.list.count, sizeof(*r.list.items), vim_object_by_moref);
    *out = r.list;
    return 0;
}

/* -- ways -------------------------------------------------------------------------------------------------------------------- */

const struct vim_object *vim_object_find(const struct vim_object_list *list, const char *moref) {
    const struct vim_object key = {.moref = (char *)(uintptr_t)moref};
    return moref && list->count ? bsearch(&key, list->items, list->count, sizeof(key), vim_object_by_moref) : NULL;
}

const struct vim_object *vim_object_around(const struct vim_object_list *list, const struct vim_object *object,
                                           const char *type) {
    for (int depth = 0; object && depth < DEPTH_MAX; depth++, object = vim_object_find(list, object->parent))
        if (str_eq(object->type, type))
            return object;
    return NULL;
}

/* A folder that a datacenter has by itself. */
static bool is_built_in(const struct vim_object_list *list, const struct vim_object *object) {
    const struct vim_object *parent = vim_object_find(list, object->parent);
    return parent && str_eq(object->type, "Folder") && str_eq(parent->type, "Datacenter");
}

/* Names joined by slashes, the first behind `first`; without the built-in folder of that name (NULL: with all). */
static char *vim_object_join(const struct vim_object_list *list, const struct vim_object *object, const char *first,
                             const char *skipped) {
    char *path = str_dup(object->name);
    for (int depth = 0; path; depth++) {
        object = vim_object_find(list, object->parent);
        if (object && depth < DEPTH_MAX && is_built_in(list, object) && str_eq(object->name, skipped))
            continue;
        char *longer = !object              ? str_format("%s%s", first, path)
                       : depth >= DEPTH_MAX ? NULL
                                            : str_format("%s/%s", object->name, path);
        free(path);
        path = longer;
        if (!object)
            break;
    }
    return path;
}

char *vim_object_path(const struct vim_object_list *list, const struct vim_object *object) {
    return vim_object_join(list, object, "/", NULL);
}

/* -- objects that can have permissions --------------------------------------------------------------------------------------- */

static int vim_place_list_make(struct vim_object_list *list, struct vim_place_list *out, struct err *err) {
    out->items = calloc(list->count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < list->count; i++) {
        struct vim_object *object = &list->items[i];
        if (is_built_in(list, object))
            continue;
        char *path = vim_object_join(list, object, "", "host");
        if (!path)
            return err_set(err, ERR_PROTOCOL, "vCenter does not tell where %.80s lies", object->moref);
        out->items[out->count++] = (struct vim_place){str_dup(object->type), str_dup(object->moref), path};
        if (!out->items[out->count - 1].type || !out->items[out->count - 1].moref)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

int vim_list_places(struct vim_client *client, struct vim_place_list *out, struct err *err) {
    static const char *const types[] = {"Folder", "Datacenter", "ClusterComputeResource", NULL};
    _cleanup_done_(vim_object_list_done) struct vim_object_list list = {0};
    struct vim_place_list places = {0};
    int rc = vim_list_objects(client, types, &list, err);
    rc = rc ? rc : vim_place_list_make(&list, &places, err);
    if (rc)
        vim_place_list_done(&places);
    else
        *out = places;
    return rc;
}
