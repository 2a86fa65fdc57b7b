/* JSON to cluster records: create bodies, merge patches, reports. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_call.h"
#include "cluster_store.h"
#include "kube_facts.h"
#include "limits.h"
#include "query.h"
#include "str.h"
#include "uuid.h"

#define WHERE_BYTES 64

/* A name in the body that is not there is a wrong value, not a missing resource. */
static int as_value_error(const char *where, const struct err *why, struct err *err) {
    (void)err_set(err, why->code == ERR_NOT_FOUND ? ERR_UNPROCESSABLE : why->code, "%s: %s", where, why->text);
    return err_remedy(err, "%s", why->remedy);
}

static int input_resolve(json_t *item, const char *where, const struct inventory_platform *platform,
                         const struct vsphere_cluster **out, struct err *err) {
    const bool is_by_path = json_object_get(item, "path") || json_object_get(item, "vcenter");
    const char *place = is_by_path ? "path" : "moref";
    const struct json_member *members = is_by_path ? JSON_MEMBERS(JSON_TAKES(STRING, "vcenter"), JSON_NEEDS(STRING, "path"))
                                                   : JSON_MEMBERS(JSON_NEEDS(STRING, "vcenter_id"), JSON_NEEDS(STRING, "moref"));
    int rc = json_check(item, members, where, err);
    const char *vcenter = json_get_string(item, is_by_path ? "vcenter" : "vcenter_id");
    const struct vcenter *vc = NULL;
    struct err why = {0};
    if (rc)
        return rc;
    rc = vcenter ? inventory_resolve_vcenter(platform, vcenter, &vc, &why) : 0; /* without: of any */
    if (!rc)
        rc = inventory_resolve_vsphere(platform, vc, json_get_string(item, place), out, &why);
    return rc ? as_value_error(where, &why, err) : 0;
}

/* Replaces the placement by an array of VsphereClusterRef. ERR_UNPROCESSABLE naming the item, ERR_AMBIGUOUS. */
static int cluster_lists_placement(json_t *array, const struct inventory_platform *platform, struct cluster *c, struct err *err) {
    struct object_set placed = {0};
    char where[WHERE_BYTES];
    int rc = 0;
    size_t count = json_array_size(array);
    if (!count || count > KAAS_PLACEMENTS_PER_CLUSTER_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"vsphere_clusters\" must have 1 to %d items",
                       KAAS_PLACEMENTS_PER_CLUSTER_MAX);
    for (size_t i = 0; !rc && i < count; i++) {
        const struct vsphere_cluster *on = NULL;
        (void)snprintf(where, sizeof(where), "vsphere_clusters[%zu]", i);
        rc = input_resolve(json_array_get(array, i), where, platform, &on, err);
        if (!rc)
            rc = object_set_add(&placed, &on->ref, err);
    }
    if (rc) {
        object_set_done(&placed);
        return rc;
    }
    object_set_done(&c->placement);
    c->placement = placed;
    return 0;
}

static void remove_label(struct cluster *c, size_t i) {
    free(c->labels[i].key);
    free(c->labels[i].value);
    memmove(&c->labels[i], &c->labels[i + 1], (c->labels_count - i - 1) * sizeof(*c->labels));
    c->labels_count--;
}

static int input_compare_labels(const void *a, const void *b) {
    return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

static int input_add_label(struct cluster *c, const char *key, const char *value, struct err *err) {
    struct label *labels = reallocarray(c->labels, c->labels_count + 1, sizeof(*labels));
    struct label added = {.key = str_dup(key), .value = str_dup(value)};
    if (labels)
        c->labels = labels;
    if (!labels || !added.key || !added.value) {
        free(added.key);
        free(added.value);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    c->labels[c->labels_count++] = added;
    return 0;
}

static int merge_label(struct cluster *c, const char *key, const json_t *value, struct err *err) {
    for (size_t i = 0; i < c->labels_count; i++)
        if (str_eq(c->labels[i].key, key)) {
            remove_label(c, i);
            break;
        }
    if (json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return err_set(err, ERR_UNPROCESSABLE, "the label \"%.80s\" must be a string", key);
    if (c->labels_count >= KAAS_LABELS_COUNT_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "there are more than %d labels", KAAS_LABELS_COUNT_MAX);
    return input_add_label(c, key, json_string_value(value), err);
}

/* Merges labels (RFC 7396): null removes one, a JSON null instead of the object removes all. ERR_UNPROCESSABLE. */
static int cluster_lists_labels(json_t *object, struct cluster *c, struct err *err) {
    const char *key;
    json_t *value;
    int rc = 0;
    while (json_is_null(object) && c->labels_count)
        remove_label(c, c->labels_count - 1);
    if (json_is_null(object))
        return 0;
    json_object_foreach (object, key, value) {
        rc = merge_label(c, key, value, err);
        if (rc)
            return rc;
    }
    if (c->labels_count > 1)
        qsort(c->labels, c->labels_count, sizeof(*c->labels), input_compare_labels);
    return 0;
}

#define NODE_BODY(by) \
    { .members = node_members, .writer = by, .is_new = true, .more = JSON_MEMBERS(JSON_NEEDS(STRING, "role")) }
static const struct member_body declared_node = NODE_BODY(BY_ADMIN), reported_node = NODE_BODY(BY_REPORT);

static const struct node *cluster_input_find_node(const struct cluster *c, const char *name) {
    for (size_t i = 0; i < c->nodes_count; i++)
        if (str_eq(c->nodes[i].name, name))
            return &c->nodes[i];
    return NULL;
}

/* What a node keeps of the one of the same name: in a report all that it does not name, else its id and what was reported. */
static int keep_node(const struct node *before, bool is_report, struct node *out, struct err *err) {
    char fresh[UUID_TEXT_BYTES];
    int rc;
    uuid_new(fresh);
    if (!before)
        return str_replace(&out->id, fresh, err);
    rc = node_copy(before, out, err);
    for (const struct member *m = node_members; m->name && !rc && !is_report; m++)
        if (m->writers & BY_ADMIN)
            rc = str_replace(member_text_at(m, out), NULL, err);
    return rc;
}

static int read_node(json_t *item, const char *where, const struct cluster *before, bool is_report, struct node *out,
                     struct err *err) {
    enum node_role role = NODE_WORKER;
    int rc = member_json_check(item, is_report ? &reported_node : &declared_node, where, err);
    if (rc)
        return rc;
    if (!node_role_parse(json_get_string(item, "role"), &role)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the member \"%s.role\" is \"%.40s\"", where, json_get_string(item, "role"));
        return err_remedy(err, "use control_plane or worker");
    }
    if (!is_report && json_get_string(item, "vm_instance_uuid") && !json_get_string(item, "vcenter_id"))
        return err_set(err, ERR_UNPROCESSABLE, "the member \"%s.vm_instance_uuid\" needs \"vcenter_id\" beside it", where);
    rc = keep_node(cluster_input_find_node(before, json_get_string(item, "name")), is_report, out, err);
    if (rc)
        return rc;
    out->role = role;
    return member_json_read(item, node_members, is_report ? BY_REPORT : BY_ADMIN, out, err);
}

static int input_compare_nodes(const void *a, const void *b) {
    return strcmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static void free_nodes(struct node *nodes, size_t count) {
    for (size_t i = 0; i < count; i++)
        node_done(&nodes[i]);
    free(nodes);
}

/* Nodes that the connection to Kubernetes has made stay when a list leaves them out: they are in it as they are. Adds them behind the first *count. */
static int keep_made(const struct cluster *before, struct node *nodes, size_t *count, struct err *err) {
    const size_t given = *count;
    int rc = 0;
    for (size_t i = 0; i < before->nodes_count && !rc; i++) {
        const struct node *node = &before->nodes[i];
        bool is_given = false;
        for (size_t k = 0; k < given && !is_given; k++)
            is_given = str_eq(nodes[k].name, node->name);
        if (is_given || !node->kube || !node->kube->is_made)
            continue;
        rc = node_copy(node, &nodes[*count], err);
        *count += !rc;
    }
    return rc;
}

/* Replaces the nodes by those of a body, if it has the member; by none with JSON null. A node that was there by its
 * name keeps its id, and in a report what the item leaves out. ERR_UNPROCESSABLE. */
static int take_nodes(const json_t *body, bool is_report, struct cluster *c, unsigned *parts, struct err *err) {
    const json_t *array = json_object_get(body, "nodes");
    size_t count = json_array_size(array), made = 0; /* 0 for JSON null */
    struct node *nodes;
    char where[WHERE_BYTES];
    int rc = 0;
    if (!array)
        return 0;
    *parts |= CLUSTER_PART_NODES;
    if (count > KAAS_NODES_PER_CLUSTER_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"nodes\" has more than %d items", KAAS_NODES_PER_CLUSTER_MAX);
    nodes = calloc(count + c->nodes_count + 1, sizeof(*nodes));
    if (!nodes)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (; !rc && made < count; made++) {
        (void)snprintf(where, sizeof(where), "nodes[%zu]", made);
        rc = read_node(json_array_get(array, made), where, c, is_report, &nodes[made], err);
    }
    if (!rc)
        rc = keep_made(c, nodes, &made, err);
    if (rc) {
        free_nodes(nodes, made);
        return rc;
    }
    if (made > 1)
        qsort(nodes, made, sizeof(*nodes), input_compare_nodes);
    free_nodes(c->nodes, c->nodes_count);
    c->nodes = nodes;
    c->nodes_count = made;
    return 0;
}

/* -- bodies ------------------------------------------------------------------------------------------------------------- */

/* What is made by hand, beside the members that the table of the record lets an administrator or a report give. */
const struct member_body h_clusters_create_body = {
    .members = cluster_members,
    .writer = BY_ADMIN,
    .is_new = true,
    .more =
        JSON_MEMBERS(JSON_NEEDS(ARRAY, "vsphere_clusters"), JSON_NEEDS(OBJECT, "control_plane"), JSON_NEEDS(OBJECT, "workers"),
                     JSON_TAKES(STRING, "state"), JSON_TAKES(OBJECT, "labels"), JSON_TAKES(ARRAY, "nodes"))};
const struct member_body h_clusters_patch_body = {
    .members = cluster_members,
    .writer = BY_ADMIN,
    .more =
        JSON_MEMBERS(JSON_TAKES(ARRAY, "vsphere_clusters"), JSON_TAKES(OBJECT, "control_plane"), JSON_TAKES(OBJECT, "workers"),
                     JSON_TAKES(STRING, "state"), JSON_TAKES_NULL(OBJECT, "labels"), JSON_TAKES_NULL(ARRAY, "nodes"))};
const struct member_body h_clusters_status_body = {
    .members = cluster_members,
    .writer = BY_REPORT,
    .more = JSON_MEMBERS(JSON_NEEDS(STRING, "state"), JSON_TAKES_NULL(STRING, "reason"), JSON_TAKES(BOOLEAN, "by_hand"),
                         JSON_TAKES(OBJECT, "control_plane"), JSON_TAKES(OBJECT, "workers"), JSON_TAKES(ARRAY, "nodes"))};

static int cluster_input_read_state(json_t *body, enum cluster_state *out, struct err *err) {
    const char *word = json_get_string(body, "state");
    if (cluster_state_parse(word, out))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "the member \"state\" is \"%.40s\"", word);
    return err_remedy(err, "use one of unknown, creating, ready, updating, degraded, unreachable, failed, deleting");
}

static int input_take_count(json_t *object, const char *where, const char *name, int *to, struct err *err) {
    json_t *value = json_object_get(object, name);
    if (!value)
        return 0;
    if (json_is_null(value)) {
        *to = -1;
        return 0;
    }
    if (json_integer_value(value) < 0 || json_integer_value(value) > 100000)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"%s.%s\" must be a number from 0 to 100000", where, name);
    *to = (int)json_integer_value(value);
    return 0;
}

static int take_replicas(json_t *body, const char *name, bool is_patch, int *ready, int *desired, struct err *err) {
    const struct json_member *members =
        JSON_MEMBERS(JSON_TAKES_NULL(INTEGER, "ready"), {"desired", JSON_KIND_INTEGER, !is_patch, false});
    json_t *object = json_object_get(body, name);
    int rc;
    if (!object)
        return 0;
    rc = json_check(object, members, name, err);
    if (!rc && is_patch && !json_object_size(object))
        rc = err_set(err, ERR_UNPROCESSABLE, "the member \"%s\" is empty", name);
    if (!rc)
        rc = input_take_count(object, name, "ready", ready, err);
    return rc ? rc : input_take_count(object, name, "desired", desired, err);
}

static int input_take_counts(json_t *body, bool is_patch, struct cluster *c, struct err *err) {
    int rc = take_replicas(body, "control_plane", is_patch, &c->control_plane_ready, &c->control_plane_desired, err);
    return rc ? rc : take_replicas(body, "workers", is_patch, &c->workers_ready, &c->workers_desired, err);
}

static int note_source(const char *source, const struct cluster_writer *by, struct cluster *c, struct err *err) {
    int rc = str_replace(&c->state_source, source, err);
    c->state_since_ms = by->at_ms;
    return rc ? rc : str_replace(&c->state_by, by->name, err);
}

/* It counts until the next report, which has its own call. */
static int take_declared(json_t *body, const struct cluster_writer *by, struct cluster *c, struct err *err) {
    int rc = cluster_input_read_state(body, &c->state, err);
    return rc ? rc : note_source("declared", by, c, err);
}

static int take_scalars(json_t *body, bool is_patch, const struct cluster_writer *by, struct cluster *c, struct err *err) {
    int rc = member_json_read(body, cluster_members, BY_ADMIN, c, err);
    if (!rc && json_get_string(body, "state"))
        rc = take_declared(body, by, c, err);
    return rc ? rc : input_take_counts(body, is_patch, c, err);
}

static int take_lists(json_t *body, const struct inventory_platform *platform, struct cluster *c, unsigned *parts,
                      struct err *err) {
    int rc = 0;
    if (json_object_get(body, "vsphere_clusters")) {
        *parts |= CLUSTER_PART_PLACEMENT;
        rc = cluster_lists_placement(json_object_get(body, "vsphere_clusters"), platform, c, err);
    }
    if (!rc && json_object_get(body, "labels")) {
        *parts |= CLUSTER_PART_LABELS;
        rc = cluster_lists_labels(json_object_get(body, "labels"), c, err);
    }
    return rc ? rc : take_nodes(body, false, c, parts, err);
}

/* In a patch a null removes a label; a new record has none to remove. */
static int check_new_labels(json_t *labels, struct err *err) {
    const char *key;
    json_t *value;
    json_object_foreach (labels, key, value)
        if (!json_is_string(value))
            return err_set(err, ERR_UNPROCESSABLE, "the label \"%.80s\" must be a string", key);
    return 0;
}

int cluster_input_create(json_t *body, const struct inventory_platform *platform, const struct cluster_writer *by,
                         struct cluster **out, struct err *err) {
    _cleanup_(cluster_free) struct cluster *c = calloc(1, sizeof(*c));
    unsigned parts = 0;
    int rc;
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory");
    c->control_plane_ready = -1;
    c->workers_ready = -1;
    c->state_source = str_dup("declared");
    c->placement_source = str_dup("declared");
    if (!c->state_source || !c->placement_source)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = check_new_labels(json_object_get(body, "labels"), err);
    if (!rc)
        rc = take_scalars(body, false, by, c, err);
    if (!rc)
        rc = take_lists(body, platform, c, &parts, err);
    if (rc)
        return rc;
    *out = STEAL(c);
    return 0;
}

int cluster_input_patch(json_t *body, const struct inventory_platform *platform, const struct cluster_writer *by,
                        struct cluster *record, unsigned *parts, struct err *err) {
    int rc = take_scalars(body, true, by, record, err);
    return rc ? rc : take_lists(body, platform, record, parts, err);
}

/* The state columns say the same, for programs of the version before. */
static int cluster_input_take_report(json_t *body, const struct cluster_writer *by, struct cluster *c, struct err *err) {
    enum cluster_state state;
    int rc = cluster_input_read_state(body, &state, err);
    if (!rc && (!cluster_is_reported(c) || c->reported_state != state))
        rc = note_source("reported", by, c, err);
    if (!rc)
        rc = str_replace(&c->reported_reason, json_get_string(body, "reason"), err);
    if (!rc)
        rc = str_replace(&c->reported_by, by->principal_id, err);
    if (rc)
        return rc;
    c->state = c->reported_state = state;
    c->reported_at_ms = by->at_ms;
    return 0;
}

int cluster_input_status(json_t *body, const struct cluster_writer *by, struct cluster *record, unsigned *parts,
                         struct err *err) {
    const bool is_by_hand = json_is_true(json_object_get(body, "by_hand"));
    int rc = is_by_hand ? take_declared(body, by, record, err) : cluster_input_take_report(body, by, record, err);
    if (!rc)
        rc = str_replace(&record->state_reason, json_get_string(body, "reason"), err);
    if (!rc)
        rc = input_take_counts(body, true, record, err);
    if (!rc)
        rc = member_json_read(body, cluster_members, BY_REPORT, record, err);
    return rc ? rc : take_nodes(body, true, record, parts, err);
}
