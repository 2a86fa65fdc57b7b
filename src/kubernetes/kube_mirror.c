/* The nodes of one Kubernetes cluster in memory. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_mirror.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"

void kube_mirror_init(struct kube_mirror *m, void (*changed)(void *arg), void *arg) {
    *m = (struct kube_mirror){.changed = changed, .arg = arg};
    (void)pthread_mutex_init(&m->lock, NULL);
}

void kube_mirror_clear(struct kube_mirror *m) {
    LOCKED(&m->lock);
    for (size_t i = 0; i < m->count; i++)
        kube_node_done(&m->items[i].node);
    m->count = 0;
    m->is_complete = false;
}

void kube_mirror_done(struct kube_mirror *m) {
    kube_mirror_clear(m);
    free(m->items);
    (void)pthread_mutex_destroy(&m->lock);
}

void kube_mirror_begin(struct kube_mirror *m) {
    LOCKED(&m->lock);
    m->has_ended = false;
    m->is_asked_for = true;
}

bool kube_mirror_is_complete(struct kube_mirror *m) {
    LOCKED(&m->lock);
    return m->is_complete;
}

bool kube_mirror_is_doubtful(struct kube_mirror *m) {
    LOCKED(&m->lock);
    return m->is_doubtful;
}

void kube_mirror_set_doubtful(struct kube_mirror *m, bool is_doubtful) {
    LOCKED(&m->lock);
    m->is_doubtful = is_doubtful;
}

bool kube_mirror_has_ended(struct kube_mirror *m, struct err *why) {
    LOCKED(&m->lock);
    if (m->has_ended && why)
        *why = m->why;
    return m->has_ended;
}

/* -- what the watch tells ---------------------------------------------------------------------------------------------------- */

/* Needs the lock. The index of the node with this name, or where it belongs. */
static size_t mirror_place(const struct kube_mirror *m, const char *name, bool *is_there) {
    size_t low = 0, high = m->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (strcmp(m->items[middle].node.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *is_there = low < m->count && str_eq(m->items[low].node.name, name);
    return low;
}

/* Kubelets repeat every few minutes what they said before: such a heartbeat alone is no news. */
static bool mirror_is_news(const struct kube_node *a, const struct kube_node *b) {
    if (!str_eq(a->uid, b->uid) || !str_eq(a->provider_id, b->provider_id) || !str_eq(a->system_uuid, b->system_uuid) ||
        !str_eq(a->kubelet_version, b->kubelet_version) || !str_eq(a->address, b->address) || !str_eq(a->reason, b->reason) ||
        a->is_control_plane != b->is_control_plane || a->is_cordoned != b->is_cordoned || a->deleted_s != b->deleted_s)
        return true;
    for (int i = 0; i < KUBE_NODE_CONDITIONS; i++) {
        const struct kube_condition *x = &a->conditions[i], *y = &b->conditions[i];
        if (x->truth != y->truth || x->transition_s != y->transition_s)
            return true;
    }
    return false;
}

/* A list tells as many as may be, beside those that it does not tell any more. */
#define MIRROR_NODES_MAX (2 * K8S_NODES_MAX)

/* Needs the lock. */
static int mirror_insert(struct kube_mirror *m, size_t at, struct kube_node *node, struct err *err) {
    if (m->count == MIRROR_NODES_MAX)
        return err_set(err, ERR_TOO_LARGE, "Kubernetes tells of ever more nodes: %u are enough", MIRROR_NODES_MAX);
    if (m->count == m->room) {
        const size_t room = m->room ? m->room * 2 : 16;
        struct kube_mirrored *items = reallocarray(m->items, room, sizeof(*items));
        if (!items)
            return err_set(err, ERR_NOMEM, "out of memory");
        m->items = items;
        m->room = room;
    }
    memmove(&m->items[at + 1], &m->items[at], (m->count++ - at) * sizeof(m->items[0]));
    m->items[at] = (struct kube_mirrored){.node = *node, .is_told = true};
    *node = (struct kube_node){0};
    return 0;
}

/* Needs the lock. */
static void mirror_remove(struct kube_mirror *m, size_t at) {
    kube_node_done(&m->items[at].node);
    memmove(&m->items[at], &m->items[at + 1], (--m->count - at) * sizeof(m->items[0]));
}

/* Needs the lock. Somebody answers anew: but for the first one after kube_mirror_begin nobody has asked who. */
static void mirror_doubt(struct kube_mirror *m) {
    m->is_doubtful = m->is_doubtful || !m->is_asked_for;
    m->is_asked_for = false;
}

static void mirror_on_begin(void *arg) {
    struct kube_mirror *m = arg;
    LOCKED(&m->lock);
    for (size_t i = 0; i < m->count; i++)
        m->items[i].is_told = false;
    mirror_doubt(m);
}

static void mirror_on_resume(void *arg) {
    struct kube_mirror *m = arg;
    LOCKED(&m->lock);
    mirror_doubt(m);
}

static int mirror_take(struct kube_mirror *m, struct kube_node *node, bool *is_news, struct err *err) {
    bool is_there;
    LOCKED(&m->lock);
    const size_t at = mirror_place(m, node->name, &is_there);
    *is_news = m->is_complete && (!is_there || mirror_is_news(&m->items[at].node, node));
    m->version += *is_news;
    if (!is_there)
        return mirror_insert(m, at, node, err);
    kube_node_done(&m->items[at].node);
    m->items[at] = (struct kube_mirrored){.node = *node, .is_told = true};
    *node = (struct kube_node){0};
    return 0;
}

static int mirror_on_node(void *arg, struct kube_node *node, struct err *err) {
    struct kube_mirror *m = arg;
    bool is_news = false;
    int rc = mirror_take(m, node, &is_news, err);
    if (!rc && is_news)
        m->changed(m->arg);
    return rc;
}

/* A node of the same name with another uid was made in its place meanwhile. */
static void mirror_on_gone(void *arg, const struct kube_node *node) {
    struct kube_mirror *m = arg;
    bool is_there;
    (void)pthread_mutex_lock(&m->lock);
    const size_t at = mirror_place(m, node->name, &is_there);
    is_there = is_there && str_eq(m->items[at].node.uid, node->uid);
    if (is_there)
        mirror_remove(m, at);
    m->version += is_there;
    (void)pthread_mutex_unlock(&m->lock);
    if (is_there)
        m->changed(m->arg);
}

static void mirror_on_complete(void *arg) {
    struct kube_mirror *m = arg;
    (void)pthread_mutex_lock(&m->lock);
    for (size_t i = m->count; i-- > 0;)
        if (!m->items[i].is_told)
            mirror_remove(m, i);
    m->is_complete = true;
    m->version++;
    (void)pthread_mutex_unlock(&m->lock);
    m->changed(m->arg);
}

static void mirror_on_end(void *arg, const struct err *err) {
    struct kube_mirror *m = arg;
    (void)pthread_mutex_lock(&m->lock);
    m->has_ended = true;
    m->why = *err;
    (void)pthread_mutex_unlock(&m->lock);
    m->changed(m->arg);
}

struct k8s_watch_user kube_mirror_user(struct kube_mirror *m) {
    return (struct k8s_watch_user){.arg = m,
                                   .begin = mirror_on_begin,
                                   .node = mirror_on_node,
                                   .gone = mirror_on_gone,
                                   .complete = mirror_on_complete,
                                   .resume = mirror_on_resume,
                                   .end = mirror_on_end};
}

/* -- reading ------------------------------------------------------------------------------------------------------------------ */

void kube_nodes_free(struct kube_node *nodes, size_t count) {
    for (size_t i = 0; nodes && i < count; i++)
        kube_node_done(&nodes[i]);
    free(nodes);
}

int kube_mirror_copy(struct kube_mirror *m, struct kube_node **nodes, size_t *count, uint64_t *version, struct err *err) {
    LOCKED(&m->lock);
    *version = m->version;
    int rc = m->is_complete ? 0 : err_set(err, ERR_NOT_FOUND, "the nodes of this cluster are not all known yet");
    *count = 0;
    *nodes = rc ? NULL : calloc(m->count + 1, sizeof(**nodes));
    for (size_t i = 0; *nodes && i < m->count && !rc; i++)
        if (!(rc = kube_node_copy(&m->items[i].node, &(*nodes)[i], err)))
            ++*count;
    if (rc || !*nodes) {
        kube_nodes_free(*nodes, *count);
        return rc ? rc : err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}
