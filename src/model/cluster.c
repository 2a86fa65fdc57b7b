/* A Kubernetes cluster: memory and words. Its nodes are in node.c, its rules in cluster_check.c. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

#include "texts.h"

static const char *const state_words[] = {
    [CLUSTER_UNKNOWN] = "unknown",   [CLUSTER_CREATING] = "creating", [CLUSTER_READY] = "ready",
    [CLUSTER_UPDATING] = "updating", [CLUSTER_DEGRADED] = "degraded", [CLUSTER_UNREACHABLE] = "unreachable",
    [CLUSTER_FAILED] = "failed",     [CLUSTER_DELETING] = "deleting",
};
_Static_assert(ARRAY_COUNT(state_words) == CLUSTER_STATE_COUNT, "one word for each state");

static const size_t label_texts[] = {offsetof(struct label, key), offsetof(struct label, value)};

static const size_t cluster_texts[] = {
    offsetof(struct cluster, id),
    offsetof(struct cluster, name),
    offsetof(struct cluster, description),
    offsetof(struct cluster, state_reason),
    offsetof(struct cluster, state_source),
    offsetof(struct cluster, kubernetes_version),
    offsetof(struct cluster, api_endpoint),
    offsetof(struct cluster, dashboard_url),
    offsetof(struct cluster, placement_source),
    offsetof(struct cluster, reported_reason),
    offsetof(struct cluster, reported_by),
};

const char *cluster_state_name(enum cluster_state state) {
    return words_get(state_words, ARRAY_COUNT(state_words), state, "unknown");
}

bool cluster_state_parse(const char *word, enum cluster_state *out) {
    size_t found;
    if (!words_find(state_words, ARRAY_COUNT(state_words), word, &found))
        return false;
    *out = (enum cluster_state)found;
    return true;
}

void cluster_done(struct cluster *c) {
    if (!c)
        return;
    texts_free(c, cluster_texts, ARRAY_COUNT(cluster_texts));
    object_set_done(&c->placement);
    for (size_t i = 0; i < c->labels_count; i++)
        texts_free(&c->labels[i], label_texts, ARRAY_COUNT(label_texts));
    for (size_t i = 0; i < c->nodes_count; i++)
        node_done(&c->nodes[i]);
    free(c->labels);
    free(c->nodes);
    *c = (struct cluster){0};
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
        out->labels[i] = from->labels[i];
        out->labels_count = i + 1;
        if (!texts_dup(&out->labels[i], label_texts, ARRAY_COUNT(label_texts)))
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
    struct cluster copy = *from;
    bool is_complete;
    copy.placement = (struct object_set){0};
    copy.labels = NULL;
    copy.nodes = NULL;
    copy.labels_count = copy.nodes_count = 0;
    is_complete = texts_dup(&copy, cluster_texts, ARRAY_COUNT(cluster_texts));
    if (!is_complete || object_set_copy(&from->placement, &copy.placement, NULL) || !copy_labels(from, &copy) ||
        !copy_nodes(from, &copy)) {
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
