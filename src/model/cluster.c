/* A Kubernetes cluster: memory, words, comparison, rules. Its nodes are in node.c. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "str.h"
#include "uuid.h"

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

const char *const cluster_state_words[] = {
    [CLUSTER_UNKNOWN] = "unknown",   [CLUSTER_CREATING] = "creating", [CLUSTER_READY] = "ready",
    [CLUSTER_UPDATING] = "updating", [CLUSTER_DEGRADED] = "degraded", [CLUSTER_UNREACHABLE] = "unreachable",
    [CLUSTER_FAILED] = "failed",     [CLUSTER_DELETING] = "deleting", NULL,
};
_Static_assert(ARRAY_COUNT(cluster_state_words) - 1 == CLUSTER_STATE_COUNT, "one word for each state");
const char *const cluster_state_sources[] = {"declared", "reported", "observed", NULL};
const char *const cluster_placement_sources[] = {"declared", "observed", NULL};

const char *cluster_state_name(enum cluster_state state) {
    return words_get(cluster_state_words, state, "unknown");
}

bool cluster_state_parse(const char *word, enum cluster_state *out) {
    return words_find(cluster_state_words, word, out);
}

void cluster_done(struct cluster *c) {
    if (!c)
        return;
    object_set_done(&c->placement);
    for (size_t i = 0; i < c->labels_count; i++) {
        free(c->labels[i].key);
        free(c->labels[i].value);
    }
    for (size_t i = 0; i < c->nodes_count; i++)
        node_done(&c->nodes[i]);
    free(c->labels);
    free(c->nodes);
    members_done(cluster_members, c, sizeof(*c));
}

void cluster_free(struct cluster *c) {
    cluster_done(c);
    free(c);
}

static bool copy_labels(const struct cluster *from, struct cluster *out) {
    if (!from->labels_count)
        return true;
    out->labels = calloc(from->labels_count, sizeof(*out->labels));
    if (!out->labels)
        return false;
    for (size_t i = 0; i < from->labels_count; i++) {
        out->labels[i] = (struct label){.key = str_dup(from->labels[i].key), .value = str_dup(from->labels[i].value)};
        out->labels_count = i + 1;
        if (!out->labels[i].key || !out->labels[i].value)
            return false;
    }
    return true;
}

static bool copy_nodes(const struct cluster *from, struct cluster *out) {
    if (!from->nodes_count)
        return true;
    out->nodes = calloc(from->nodes_count, sizeof(*out->nodes));
    if (!out->nodes)
        return false;
    for (size_t i = 0; i < from->nodes_count; i++) {
        const struct node *n = &from->nodes[i];
        if (n->block)
            node_share(n, &out->nodes[i]);
        else if (node_copy(n, &out->nodes[i], NULL))
            return false;
        out->nodes_count = i + 1;
    }
    return true;
}

int cluster_copy(const struct cluster *from, struct cluster *out, struct err *err) {
    struct cluster copy;
    int rc = members_copy(cluster_members, from, &copy, sizeof(copy), "a cluster", err);
    if (rc)
        return rc;
    copy.placement = (struct object_set){0};
    copy.labels = NULL;
    copy.nodes = NULL;
    copy.labels_count = copy.nodes_count = 0;
    if (object_set_copy(&from->placement, &copy.placement, NULL) || !copy_labels(from, &copy) || !copy_nodes(from, &copy)) {
        cluster_done(&copy);
        return err_set(err, ERR_NOMEM, "no memory for a cluster");
    }
    *out = copy;
    return 0;
}

static int compare_labels(const void *a, const void *b) {
    return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

static int compare_nodes(const void *a, const void *b) {
    return strcmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

void cluster_sort(struct cluster *c) {
    if (c->labels_count)
        qsort(c->labels, c->labels_count, sizeof(*c->labels), compare_labels);
    if (c->nodes_count)
        qsort(c->nodes, c->nodes_count, sizeof(*c->nodes), compare_nodes);
}

/* -- do two records say the same? ------------------------------------------------------------------------------------------- */

bool cluster_is_reported(const struct cluster *c) {
    return c->reported_at_ms && str_eq(c->state_source, "reported");
}

bool node_same_identity(const struct node *a, const struct node *b) {
    return str_eq_nocase(a->vcenter_id, b->vcenter_id) && str_eq_nocase(a->vm_instance_uuid, b->vm_instance_uuid) &&
           str_eq_nocase(a->vm_bios_uuid, b->vm_bios_uuid) && str_eq(a->vm_name, b->vm_name);
}

static bool same_placement(const struct object_set *a, const struct object_set *b) {
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (!object_ref_eq(&a->items[i], &b->items[i]))
            return false;
    return a->count == b->count;
}

static bool same_labels(const struct cluster *a, const struct cluster *b) {
    for (size_t i = 0; a->labels_count == b->labels_count && i < a->labels_count; i++)
        if (!str_eq(a->labels[i].key, b->labels[i].key) || !str_eq(a->labels[i].value, b->labels[i].value))
            return false;
    return a->labels_count == b->labels_count;
}

static bool same_nodes(const struct cluster *a, const struct cluster *b) {
    for (size_t i = 0; a->nodes_count == b->nodes_count && i < a->nodes_count; i++)
        if (!members_same(node_members, &a->nodes[i], &b->nodes[i]))
            return false;
    return a->nodes_count == b->nodes_count;
}

bool cluster_same(const struct cluster *a, const struct cluster *b) {
    return members_same(cluster_members, a, b) && same_placement(&a->placement, &b->placement) && same_labels(a, b) &&
           same_nodes(a, b);
}

static bool same_seen(const struct node_observation *a, const struct node_observation *b) {
    if (!a || !b)
        return a == b;
    return !members_difference(observation_members, a, b);
}

const char *cluster_difference(const struct cluster *a, const struct cluster *b) {
    const char *member = members_difference(cluster_members, a, b);
    if (member)
        return member;
    if (!same_placement(&a->placement, &b->placement))
        return "placement";
    if (!same_labels(a, b))
        return "labels";
    if (!same_nodes(a, b))
        return "nodes";
    for (size_t i = 0; i < a->nodes_count; i++)
        if (!same_seen(a->nodes[i].seen, b->nodes[i].seen))
            return "nodes.seen";
    return NULL;
}

/* -- rules ----------------------------------------------------------------------------------------------------------------- */

static int check_uuid(const char *id, const char *what, struct err *err) {
    if (uuid_is_valid(id))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "%s \"%.80s\" is not a UUID", what, id ? id : "");
}

static int check_placement(const struct cluster *c, struct err *err) {
    int rc = 0;
    if (c->placement.count > KAAS_PLACEMENTS_PER_CLUSTER_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "vsphere_clusters has %zu items; up to %d are allowed", c->placement.count,
                       KAAS_PLACEMENTS_PER_CLUSTER_MAX);
    for (size_t i = 0; i < c->placement.count && !rc; i++) {
        rc = check_uuid(c->placement.items[i].vcenter_id, "vcenter_id", err);
        if (!rc)
            rc = name_check_moref(c->placement.items[i].moref, "moref", err);
    }
    return rc;
}

/* As in docs/openapi.yaml: letters and digits at both ends, between them also "._/-". */
static bool is_label_key(const char *key) {
    size_t len = key ? strlen(key) : 0;
    return len >= 1 && len <= KAAS_LABEL_KEY_BYTES_MAX && strspn(key, ALNUM "._/-") == len && strspn(key, ALNUM) &&
           key[len - 1] && strchr(ALNUM, key[len - 1]);
}

static int check_label(const struct label *label, struct err *err) {
    char what[KAAS_LABEL_KEY_BYTES_MAX + 16];
    if (!is_label_key(label->key)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "label \"%.80s\" is not a valid key", label->key ? label->key : "");
        (void)err_remedy(err, "use 1 to %d letters and digits, and '.', '_', '/', '-' between them", KAAS_LABEL_KEY_BYTES_MAX);
        return ERR_UNPROCESSABLE;
    }
    if (!label->value)
        return err_set(err, ERR_UNPROCESSABLE, "label \"%s\" has no value", label->key);
    (void)snprintf(what, sizeof(what), "label \"%s\"", label->key);
    return name_check_text(label->value, KAAS_LABEL_VALUE_CHARS_MAX, what, err);
}

static int check_labels(const struct cluster *c, struct err *err) {
    int rc = 0;
    if (c->labels_count > KAAS_LABELS_COUNT_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "labels has %zu members; up to %d are allowed", c->labels_count,
                       KAAS_LABELS_COUNT_MAX);
    for (size_t i = 0; i < c->labels_count && !rc; i++) {
        rc = check_label(&c->labels[i], err);
        if (rc || !i)
            continue;
        assert(strcmp(c->labels[i - 1].key, c->labels[i].key) <= 0); /* cluster_sort was called */
        if (str_eq(c->labels[i - 1].key, c->labels[i].key))
            rc = err_set(err, ERR_UNPROCESSABLE, "label \"%s\" is given twice", c->labels[i].key);
    }
    return rc;
}

static int check_nodes(const struct cluster *c, struct err *err) {
    int rc = 0;
    if (c->nodes_count > KAAS_NODES_PER_CLUSTER_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "nodes has %zu items; up to %d are allowed", c->nodes_count,
                       KAAS_NODES_PER_CLUSTER_MAX);
    for (size_t i = 0; i < c->nodes_count && !rc; i++) {
        rc = members_check(node_members, &c->nodes[i], "nodes[].", err);
        if (rc || !i)
            continue;
        assert(strcmp(c->nodes[i - 1].name, c->nodes[i].name) <= 0); /* cluster_sort was called */
        if (str_eq(c->nodes[i - 1].name, c->nodes[i].name))
            rc = err_set(err, ERR_UNPROCESSABLE, "node \"%s\" is given twice", c->nodes[i].name);
    }
    return rc;
}

int cluster_check(const struct cluster *c, struct err *err) {
    int rc = members_check(cluster_members, c, "", err);
    if (!rc)
        rc = check_placement(c, err);
    if (!rc)
        rc = check_labels(c, err);
    return rc ? rc : check_nodes(c, err);
}
