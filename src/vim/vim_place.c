/* The places of the inventory that a permission may stand on. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define DEPTH_MAX 64

/* One as it was read. */
struct node {
    char *type, *moref, *name;
    char *parent; /* moref; NULL: the root folder, or out of sight */
};

struct tree {
    struct node *nodes; /* by moref, once all are read */
    size_t count, alloc;
};

static void vim_place_tree_done(struct tree *tree) {
    for (size_t i = 0; i < tree->count; i++) {
        free(tree->nodes[i].type);
        free(tree->nodes[i].moref);
        free(tree->nodes[i].name);
        free(tree->nodes[i].parent);
    }
    free(tree->nodes);
    memset(tree, 0, sizeof(*tree));
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
    memset(list, 0, sizeof(*list));
}

/* -- reading ----------------------------------------------------------------------------------------------------------------- */

static int vim_place_add(struct tree *tree, const struct node *node, struct err *err) {
    struct node *more = tree->nodes;
    if (tree->count == tree->alloc) {
        tree->alloc = tree->alloc ? tree->alloc * 2 : 64;
        more = reallocarray(tree->nodes, tree->alloc, sizeof(*more));
        if (!more)
            return err_set(err, ERR_NOMEM, "out of memory");
        tree->nodes = more;
    }
    tree->nodes[tree->count] =
        (struct node){str_dup(node->type), str_dup(node->moref), str_dup(node->name), str_dup(node->parent)};
    more = &tree->nodes[tree->count++];
    if (!more->type || !more->moref || !more->name || (node->parent && !more->parent))
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_unescape_name(more->name);
    return 0;
}

/* What has no name that we may read is no place that one could name. */
static int vim_place_take(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
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
    return vim_place_add(arg,
                         &(struct node){.type = object->obj->type,
                                        .moref = object->obj->__item,
                                        .name = (char *)(uintptr_t)text, /* borrowed */
                                        .parent = ref ? ref->__item : NULL},
                         err);
}

static int vim_place_read(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const types[] = {"Folder", "Datacenter", "ClusterComputeResource", NULL};
    static const char *const paths[] = {"name", "parent", NULL};
    struct vim25__PropertyFilterSpec *spec;
    char view[VIM_VIEW_BYTES];
    int rc;
    vim_place_tree_done(arg); /* it may run again when the session was lost on the way */
    rc = vim_create_view(ctx, types, view, err);
    if (rc)
        return rc;
    spec = vim_in_filter(ctx, "ContainerView", view, ARRAY_COUNT(types) - 1);
    for (size_t i = 0; spec && types[i]; i++)
        vim_in_paths(ctx, &spec->propSet[i], types[i], paths);
    if (spec)
        vim_in_view(ctx, &spec->objectSet[0], NULL);
    rc = spec ? vim_retrieve(ctx, spec, vim_place_take, arg, err) : err_set(err, ERR_NOMEM, "out of memory");
    vim_destroy_view(ctx, view);
    return rc;
}

/* -- paths ------------------------------------------------------------------------------------------------------------------- */

static int vim_place_by_moref(const void *a, const void *b) {
    return strcmp(((const struct node *)a)->moref, ((const struct node *)b)->moref);
}

static const struct node *vim_place_parent(const struct tree *tree, const struct node *node) {
    struct node key = {.moref = node->parent};
    return node->parent ? bsearch(&key, tree->nodes, tree->count, sizeof(key), vim_place_by_moref) : NULL;
}

/* One of those that a datacenter has by itself. */
static bool is_built_in(const struct tree *tree, const struct node *node) {
    const struct node *parent = vim_place_parent(tree, node);
    return parent && str_eq(node->type, "Folder") && str_eq(parent->type, "Datacenter");
}

/* NULL without memory, or where vCenter told of a circle. */
static char *vim_place_path(const struct tree *tree, const struct node *node) {
    char *path = str_dup(node->name);
    for (int depth = 0; path && (node = vim_place_parent(tree, node)); depth++) {
        char *longer = NULL;
        if (depth < DEPTH_MAX && is_built_in(tree, node) && str_eq(node->name, "host"))
            continue;
        if (depth < DEPTH_MAX)
            longer = str_format("%s/%s", node->name, path);
        free(path);
        path = longer;
    }
    return path;
}

static int vim_place_list_make(struct tree *tree, struct vim_place_list *out, struct err *err) {
    if (tree->count)
        qsort(tree->nodes, tree->count, sizeof(*tree->nodes), vim_place_by_moref);
    out->items = calloc(tree->count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < tree->count; i++) {
        struct node *node = &tree->nodes[i];
        char *path;
        if (is_built_in(tree, node))
            continue;
        path = vim_place_path(tree, node);
        if (!path)
            return err_set(err, ERR_PROTOCOL, "vCenter does not tell where %.80s lies", node->moref);
        out->items[out->count++] = (struct vim_place){str_dup(node->type), str_dup(node->moref), path};
        if (!out->items[out->count - 1].type || !out->items[out->count - 1].moref)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

int vim_list_places(struct vim_client *client, struct vim_place_list *out, struct err *err) {
    struct vim_place_list list = {0};
    struct tree tree = {0};
    int rc = vim_client_run_as_us(client, vim_place_read, &tree, err);
    if (!rc)
        rc = vim_place_list_make(&tree, &list, err);
    vim_place_tree_done(&tree);
    if (rc)
        vim_place_list_done(&list);
    else
        *out = list;
    return rc;
}
