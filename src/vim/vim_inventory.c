/* The vSphere clusters of a vCenter. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One call reads the clusters and, by a traversal that goes up through `parent` again and again, just those folders and datacenters
 * that lie above them; thousands of virtual machine folders are never looked at. */
#include "vim_inventory.h"

#include <string.h>

#include "limits.h"
#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define ANCESTORS_COUNT_MAX 64

void vim_cluster_list_done(struct vim_cluster_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].moref);
        free(list->items[i].name);
        free(list->items[i].datacenter);
    }
    free(list->items);
    memset(list, 0, sizeof(*list));
}

/* ---- what was read: a forest of clusters, folders, datacenters ---- */

enum node_kind { NODE_CLUSTER, NODE_FOLDER, NODE_DATACENTER };

struct node {
    enum node_kind kind;
    char *id, *name, *parent;
};

struct forest {
    struct node *nodes;
    size_t count, alloc;
    size_t clusters;
};

static void vim_inventory_node_done(struct node *node) {
    free(node->id);
    free(node->name);
    free(node->parent);
    memset(node, 0, sizeof(*node));
}

static void forest_done(struct forest *forest) {
    for (size_t i = 0; i < forest->count; i++)
        vim_inventory_node_done(&forest->nodes[i]);
    free(forest->nodes);
    memset(forest, 0, sizeof(*forest));
}

static bool vim_inventory_kind_of(const char *type, enum node_kind *out) {
    static const char *const types[] = {
        [NODE_CLUSTER] = "ClusterComputeResource", [NODE_FOLDER] = "Folder", [NODE_DATACENTER] = "Datacenter"};
    for (size_t i = 0; i < ARRAY_COUNT(types); i++)
        if (str_eq(types[i], type)) {
            *out = (enum node_kind)i;
            return true;
        }
    return false;
}

/* A new node at the end, still to be filled; NULL without memory. */
static struct node *vim_inventory_grow(struct forest *forest) {
    if (forest->count == forest->alloc) {
        size_t alloc = forest->alloc ? forest->alloc * 2 : 64;
        struct node *nodes = reallocarray(forest->nodes, alloc, sizeof(*nodes));
        if (!nodes)
            return NULL;
        forest->nodes = nodes;
        forest->alloc = alloc;
    }
    memset(&forest->nodes[forest->count], 0, sizeof(*forest->nodes));
    return &forest->nodes[forest->count++];
}

/* Reads one object into its node. What may not be read is left NULL. */
static int fill_node(struct vim_context *ctx, const struct vim25__ObjectContent *object, struct node *node, struct err *err) {
    static const struct vim_property name_property = {"name", SOAP_TYPE_string, VIM_OPTIONAL};
    static const struct vim_property parent_property = {"parent", SOAP_TYPE_vim25__ManagedObjectReference, VIM_OPTIONAL};
    const void *name = NULL, *parent_value = NULL;
    const struct vim25__ManagedObjectReference *parent;
    int ret = vim_property_get(ctx, object, &name_property, &name, err);
    if (!ret)
        ret = vim_property_get(ctx, object, &parent_property, &parent_value, err);
    if (ret)
        return ret;
    parent = parent_value;
    node->id = str_dup(object->obj->__item);
    node->name = str_dup(name);
    node->parent = parent ? str_dup(parent->__item) : NULL;
    if (!node->id || (name && !node->name) || (parent && parent->__item && !node->parent))
        return err_set(err, ERR_NOMEM, "out of memory");
    if (node->name)
        vim_unescape_name(node->name);
    return 0;
}

static int take_object(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct forest *forest = arg;
    enum node_kind kind;
    struct node *node;
    int ret;
    if (!object->obj || str_empty(object->obj->__item) || !vim_inventory_kind_of(object->obj->type, &kind))
        return 0;
    node = vim_inventory_grow(forest);
    if (!node)
        return err_set(err, ERR_NOMEM, "out of memory");
    node->kind = kind;
    ret = fill_node(ctx, object, node, err);
    if (!ret && kind == NODE_CLUSTER && !node->name) { /* not ours to see */
        vim_inventory_node_done(node);
        forest->count--;
    }
    return ret;
}

/* ---- from forest to list ---- */

static int vim_inventory_compare_nodes(const void *a, const void *b) {
    return strcmp(((const struct node *)a)->id, ((const struct node *)b)->id);
}

static const struct node *vim_inventory_find_node(const struct forest *forest, char *id) {
    struct node key = {.id = id};
    return id && forest->count ? bsearch(&key, forest->nodes, forest->count, sizeof(key), vim_inventory_compare_nodes) : NULL;
}

static const char *vim_inventory_datacenter_of(const struct forest *forest, const struct node *cluster) {
    const struct node *node = vim_inventory_find_node(forest, cluster->parent);
    for (int i = 0; node && node->kind != NODE_DATACENTER && i < ANCESTORS_COUNT_MAX; i++)
        node = vim_inventory_find_node(forest, node->parent);
    return node && node->kind == NODE_DATACENTER ? node->name : NULL;
}

static int vim_inventory_add_cluster(const struct forest *forest, struct node *node, struct vim_cluster_list *list,
                                     struct err *err) {
    struct vim_cluster *cluster = &list->items[list->count];
    const char *datacenter = vim_inventory_datacenter_of(forest, node);
    cluster->datacenter = str_dup(datacenter);
    if (datacenter && !cluster->datacenter)
        return err_set(err, ERR_NOMEM, "out of memory");
    cluster->moref = str_dup(node->id);
    cluster->name = STEAL(node->name);
    list->count++;
    return cluster->moref ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int list_clusters(struct forest *forest, struct vim_cluster_list *out, struct err *err) {
    struct vim_cluster_list list = {0};
    int ret = 0;
    if (forest->count) {
        qsort(forest->nodes, forest->count, sizeof(*forest->nodes), vim_inventory_compare_nodes);
        list.items = calloc(forest->count, sizeof(*list.items));
        if (!list.items)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; !ret && i < forest->count; i++)
        if (forest->nodes[i].kind == NODE_CLUSTER &&
            !(list.count && str_eq(list.items[list.count - 1].moref, forest->nodes[i].id)))
            ret = vim_inventory_add_cluster(forest, &forest->nodes[i], &list, err);
    if (ret)
        vim_cluster_list_done(&list);
    else
        *out = list;
    return ret;
}

/* ---- requests ---- */

static struct vim25__PropertyFilterSpec *put_filter(struct vim_context *ctx, const char *type, const char *id) {
    static const char *const both[] = {"name", "parent", NULL}, *const parent[] = {"parent", NULL},
                             *const name[] = {"name", NULL};
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, type, id, 3);
    if (!spec)
        return NULL;
    vim_in_paths(ctx, &spec->propSet[0], "ClusterComputeResource", both);
    vim_in_paths(ctx, &spec->propSet[1], "Folder", parent);
    vim_in_paths(ctx, &spec->propSet[2], "Datacenter", name);
    return spec;
}

static int retrieve_view(struct vim_context *ctx, const char *view, struct forest *forest, struct err *err) {
    struct vim25__PropertyFilterSpec *spec = put_filter(ctx, "ContainerView", view);
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_in_view(ctx, &spec->objectSet[0], vim_in_way_up(ctx));
    return vim_retrieve(ctx, spec, take_object, forest, err);
}

static int op_clusters(struct vim_context *ctx, void *arg, struct err *err) {
    struct forest *forest = arg;
    static const char *const types[] = {"ClusterComputeResource", NULL};
    char view[VIM_VIEW_BYTES];
    int ret;
    forest_done(forest);
    ret = vim_create_view(ctx, types, view, err);
    if (ret)
        return ret;
    ret = retrieve_view(ctx, view, forest, err);
    vim_destroy_view(ctx, view);
    return ret;
}

int vim_read_clusters(struct vim_client *client, struct vim_cluster_list *out, struct err *err) {
    struct forest forest = {0};
    int ret = vim_client_run_as_us(client, op_clusters, &forest, err);
    if (!ret)
        ret = list_clusters(&forest, out, err);
    forest_done(&forest);
    return ret;
}
