/* What a watch knows of one vCenter, as the database wants it. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "watch_objects.h"

#define FOLDERS_DEPTH_MAX 64

/* twalk_r(3): inner nodes come three times, leaves once; in order of keys these are the ones. */
static bool is_its_turn(VISIT which) {
    return which == postorder || which == leaf;
}

/* -- clusters ------------------------------------------------------------------------------------------------------------------ */

struct cluster_walk {
    const struct watch_mirror *m;
    struct vim_cluster_list list;
    size_t alloc;
    bool has_failed;
};

/* Up through the folders; NULL if the way is not visible to us. */
static const char *datacenter_of(const struct watch_mirror *m, const struct watch_cluster *c) {
    const char *at = c->parent;
    for (int depth = 0; at && depth < FOLDERS_DEPTH_MAX; depth++) {
        const struct watch_datacenter *d = watch_objects_find(&m->datacenters, at);
        const struct watch_folder *f;
        if (d)
            return d->name;
        f = watch_objects_find(&m->folders, at);
        at = f ? f->parent : NULL;
    }
    return NULL;
}

static bool grow(struct cluster_walk *w) {
    size_t alloc = w->alloc ? w->alloc * 2 : 32;
    struct vim_cluster *items;
    if (w->list.count < w->alloc)
        return true;
    items = reallocarray(w->list.items, alloc, sizeof(*items));
    if (!items)
        return false;
    w->list.items = items;
    w->alloc = alloc;
    return true;
}

static bool add_cluster(struct cluster_walk *w, const struct watch_cluster *c) {
    const char *datacenter = datacenter_of(w->m, c);
    struct vim_cluster *to;
    if (!grow(w))
        return false;
    to = &w->list.items[w->list.count++];
    to->moref = str_dup(c->moref);
    to->name = str_dup(c->name);
    to->datacenter = str_dup(datacenter);
    return to->moref && to->name && (to->datacenter || !datacenter);
}

static void visit_cluster(const void *node, VISIT which, void *arg) {
    const struct watch_cluster *const *c = node;
    struct cluster_walk *w = arg;
    if (!is_its_turn(which) || w->has_failed || (*c)->is_plain || !(*c)->name)
        return;
    w->has_failed = !add_cluster(w, *c);
}

int watch_mirror_get_clusters(const struct watch_mirror *m, struct vim_cluster_list *out, struct err *err) {
    struct cluster_walk w = {.m = m};
    twalk_r(m->clusters, visit_cluster, &w);
    if (w.has_failed) {
        vim_cluster_list_done(&w.list);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = w.list;
    return 0;
}

int watch_mirror_get_keys(const struct watch_mirror *m, struct vim_key_list *out, struct err *err) {
    return watch_keys_copy(&m->keys, out, err);
}

/* -- nodes --------------------------------------------------------------------------------------------------------------------- */

void watch_nodes_done(struct watch_nodes *nodes) {
    if (!nodes)
        return;
    for (size_t i = 0; i < nodes->count; i++)
        node_observation_done(&nodes->items[i]);
    free(nodes->items);
    memset(nodes, 0, sizeof(*nodes));
}

static void visit_vm(const void *node, VISIT which, void *arg) {
    const struct node_vm *const *vm = node;
    if (is_its_turn(which))
        node_matcher_look(arg, *vm);
}

/* A copy in which the texts are borrowed. */
static struct node_observation describe(const struct watch_mirror *m, const struct node_target *target,
                                        const struct node_found *found) {
    const struct node_vm *vm = found->vm;
    const struct watch_host *host = watch_objects_find(&m->hosts, vm->host_moref);
    const struct watch_cluster *cluster = host ? watch_objects_find(&m->clusters, host->parent) : NULL;
    return (struct node_observation){
        .node_id = target->node_id,
        .match = found->match,
        .vm_moref = vm->moref,
        .vm_name = vm->name,
        .power = vm->power,
        .connection = vm->connection,
        .host_moref = vm->host_moref,
        .host_name = host ? host->name : NULL,
        .host_connection = host ? host->connection : HOST_CONNECTION_UNKNOWN,
        .cluster_moref = cluster && !cluster->is_plain ? cluster->moref : NULL,
        .instance_uuid = vm->instance_uuid,
        .bios_uuid = vm->bios_uuid,
    };
}

static int add_node(struct watch_nodes *nodes, const struct node_observation *seen, struct err *err) {
    int rc = node_observation_copy(seen, &nodes->items[nodes->count], err);
    nodes->count += !rc;
    return rc;
}

int watch_mirror_get_nodes(const struct watch_mirror *m, struct node_matcher *matcher, const struct node_target *targets,
                           size_t count, struct watch_nodes *out, struct err *err) {
    struct watch_nodes nodes = {.items = calloc(count + 1, sizeof(struct node_observation))};
    int rc = nodes.items ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    node_matcher_reset(matcher);
    if (count)
        twalk_r(m->vms, visit_vm, matcher);
    for (size_t i = 0; !rc && i < count; i++) {
        struct node_found found = node_matcher_get(matcher, i);
        struct node_observation seen;
        nodes.ambiguous += found.is_ambiguous;
        if (!found.vm)
            continue;
        seen = describe(m, &targets[i], &found);
        rc = add_node(&nodes, &seen, err);
    }
    if (rc) {
        watch_nodes_done(&nodes);
        return rc;
    }
    *out = nodes;
    return 0;
}

bool watch_mirror_has_no_vm(const struct watch_mirror *m) {
    return !m->vms;
}
