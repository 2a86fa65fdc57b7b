/* A Kubernetes cluster: memory, words, comparison, rules. The same of its nodes and of what is seen of them. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kube_facts.h"
#include "names.h"
#include "str.h"
#include "uuid.h"

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

const char *const cluster_state_sources[] = {"declared", "reported", "asked", "observed", NULL};
const char *const cluster_placement_sources[] = {"declared", "observed", NULL};

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
    cluster_kube_done(c->kube);
    free(c->kube);
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

static bool cluster_copy_kube(const struct cluster *from, struct cluster *out) {
    if (!from->kube)
        return true;
    out->kube = calloc(1, sizeof(*out->kube));
    return out->kube && !cluster_kube_copy(from->kube, out->kube, NULL);
}

int cluster_copy(const struct cluster *from, struct cluster *out, struct err *err) {
    struct cluster copy;
    int rc = members_copy(cluster_members, from, &copy, sizeof(copy), "a cluster", err);
    if (rc)
        return rc;
    copy.placement = (struct object_set){0};
    copy.labels = NULL;
    copy.nodes = NULL;
    copy.kube = NULL;
    copy.labels_count = copy.nodes_count = 0;
    if (object_set_copy(&from->placement, &copy.placement, NULL) || !copy_labels(from, &copy) || !copy_nodes(from, &copy) ||
        !cluster_copy_kube(from, &copy)) {
        cluster_done(&copy);
        return err_set(err, ERR_NOMEM, "no memory for a cluster");
    }
    *out = copy;
    return 0;
}

static int cluster_compare_labels(const void *a, const void *b) {
    return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

static int cluster_compare_nodes(const void *a, const void *b) {
    return strcmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

void cluster_sort(struct cluster *c) {
    if (c->labels_count)
        qsort(c->labels, c->labels_count, sizeof(*c->labels), cluster_compare_labels);
    if (c->nodes_count)
        qsort(c->nodes, c->nodes_count, sizeof(*c->nodes), cluster_compare_nodes);
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

/* NULL: nothing is known. */
static bool same_facts(const struct member *members, const void *a, const void *b) {
    if (!a || !b)
        return a == b;
    return !members_difference(members, a, b);
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
    for (size_t i = 0; i < a->nodes_count; i++) {
        if (!same_facts(observation_members, a->nodes[i].seen, b->nodes[i].seen))
            return "nodes.seen";
        if (!same_facts(node_kube_members, a->nodes[i].kube, b->nodes[i].kube))
            return "nodes.kubernetes";
    }
    return same_facts(cluster_kube_members, a->kube, b->kube) ? NULL : "kubernetes";
}

/* -- rules ----------------------------------------------------------------------------------------------------------------- */

static int check_placement(const struct cluster *c, struct err *err) {
    int rc = 0;
    if (c->placement.count > KAAS_PLACEMENTS_PER_CLUSTER_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "vsphere_clusters has %zu items; up to %d are allowed", c->placement.count,
                       KAAS_PLACEMENTS_PER_CLUSTER_MAX);
    for (size_t i = 0; i < c->placement.count && !rc; i++) {
        rc = name_check_uuid(c->placement.items[i].vcenter_id, "vcenter_id", err);
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

/* -- a node of a Kubernetes cluster: memory and words -------------------------------------------------------------- */

const char *const node_role_words[] = {
    [NODE_CONTROL_PLANE] = "control_plane",
    [NODE_WORKER] = "worker",
    NULL,
};
_Static_assert(ARRAY_COUNT(node_role_words) - 1 == NODE_WORKER + 1, "one word for each role");

/* Texts of what is seen or told of a node that are mostly its own; in one block they lie once. */
struct twin {
    size_t beside, node;
};
static const struct twin seen_twins[] = {
    {offsetof(struct node_observation, node_id), offsetof(struct node, id)},
    {offsetof(struct node_observation, vcenter_id), offsetof(struct node, vcenter_id)},
    {offsetof(struct node_observation, vm_name), offsetof(struct node, name)},
    {offsetof(struct node_observation, bound_uuid), offsetof(struct node, vm_instance_uuid)},
    {offsetof(struct node_observation, instance_uuid), offsetof(struct node, vm_instance_uuid)},
};
static const struct twin kube_twins[] = {
    {offsetof(struct node_kube, node_id), offsetof(struct node, id)},
    {offsetof(struct node_kube, version), offsetof(struct node, kubernetes_version)},
    {offsetof(struct node_kube, address), offsetof(struct node, address)},
};

bool node_role_parse(const char *word, enum node_role *out) {
    return words_find(node_role_words, word, out);
}

/* Nothing of a block is written after node_pack. */
struct node_block {
    atomic_uint refs;
    int64_t rest[]; /* what is seen and what Kubernetes tells, each where it is there; then the texts */
};

void node_done(struct node *n) {
    if (!n)
        return;
    if (n->block) {
        if (atomic_fetch_sub_explicit(&n->block->refs, 1, memory_order_acq_rel) == 1)
            free(n->block);
    } else {
        node_observation_done(n->seen);
        free(n->seen);
        node_kube_done(n->kube);
        free(n->kube);
        members_done(node_members, n, sizeof(*n));
    }
    *n = (struct node){0};
}

static bool copy_seen(const struct node *from, struct node *out) {
    if (!from->seen)
        return true;
    out->seen = calloc(1, sizeof(*out->seen));
    return out->seen && !node_observation_copy(from->seen, out->seen, NULL);
}

static bool node_copy_kube(const struct node *from, struct node *out) {
    if (!from->kube)
        return true;
    out->kube = calloc(1, sizeof(*out->kube));
    return out->kube && !node_kube_copy(from->kube, out->kube, NULL);
}

int node_copy(const struct node *from, struct node *out, struct err *err) {
    struct node copy;
    int rc = members_copy(node_members, from, &copy, sizeof(copy), "a node", err);
    if (rc)
        return rc;
    copy.seen = NULL;
    copy.kube = NULL;
    copy.block = NULL;
    if (!copy_seen(from, &copy) || !node_copy_kube(from, &copy)) {
        node_done(&copy);
        return err_set(err, ERR_NOMEM, "no memory for a node");
    }
    *out = copy;
    return 0;
}

static char **cluster_text_at(void *object, size_t offset) {
    void *at = (char *)object + offset;
    return at;
}

/* Takes the texts out of `beside` that the node has as well; a bit for each. */
static unsigned part_twins(struct node *n, void *beside, const struct twin *twins, size_t count) {
    unsigned parted = 0;
    for (size_t i = 0; i < count; i++) {
        char **text = cluster_text_at(beside, twins[i].beside);
        if (!*text || !str_eq(*text, *cluster_text_at(n, twins[i].node)))
            continue;
        *text = NULL;
        parted |= 1U << i;
    }
    return parted;
}

static void join_twins(struct node *n, void *beside, const struct twin *twins, size_t count, unsigned parted) {
    for (size_t i = 0; i < count; i++)
        if (parted >> i & 1)
            *cluster_text_at(beside, twins[i].beside) = *cluster_text_at(n, twins[i].node);
}

void node_share(const struct node *from, struct node *out) {
    struct node shared = *from;
    struct node_block *block = shared.block;
    (void)atomic_fetch_add_explicit(&block->refs, 1, memory_order_relaxed);
    *out = shared;
}

int node_pack(const struct node *from, struct node *out, struct err *err) {
    struct node packed = *from;
    struct node_observation seen = {0};
    struct node_kube kube = {0};
    struct node_block *block;
    unsigned seen_parted = 0, kube_parted = 0;
    size_t head = offsetof(struct node_block, rest);
    if (from->seen) {
        seen = *from->seen;
        seen_parted = part_twins(&packed, &seen, seen_twins, ARRAY_COUNT(seen_twins));
        head += sizeof(seen);
    }
    if (from->kube) {
        kube = *from->kube;
        kube_parted = part_twins(&packed, &kube, kube_twins, ARRAY_COUNT(kube_twins));
        head += sizeof(kube);
    }
    block = calloc(1, head + members_text_bytes(observation_members, &seen) + members_text_bytes(node_kube_members, &kube) +
                          members_text_bytes(node_members, &packed));
    if (!block)
        return err_set(err, ERR_NOMEM, "no memory for a node");
    atomic_init(&block->refs, 1);
    char *at = members_put_texts(observation_members, &seen, (char *)block + head);
    at = members_put_texts(node_kube_members, &kube, at);
    (void)members_put_texts(node_members, &packed, at);
    packed.block = block;
    char *place = (char *)block->rest;
    if (from->seen) {
        packed.seen = memcpy(place, &seen, sizeof(seen));
        join_twins(&packed, packed.seen, seen_twins, ARRAY_COUNT(seen_twins), seen_parted);
        place += sizeof(seen);
    }
    if (from->kube) {
        packed.kube = memcpy(place, &kube, sizeof(kube));
        join_twins(&packed, packed.kube, kube_twins, ARRAY_COUNT(kube_twins), kube_parted);
    }
    *out = packed;
    return 0;
}

/* -- what a vCenter shows of nodes: memory, words, and the verdict on whose virtual machine it is ------------------ */

const char *const vm_match_words[] = {
    [VM_MATCH_NONE] = "none", [VM_MATCH_INSTANCE_UUID] = "instance_uuid", [VM_MATCH_BIOS_UUID] = "bios_uuid",
    [VM_MATCH_NAME] = "name", [VM_MATCH_MISMATCH] = "mismatch",           NULL,
};
_Static_assert(ARRAY_COUNT(vm_match_words) - 1 == VM_MATCH_COUNT, "one word for each match");

const char *const vm_power_words[] = {
    [VM_POWER_UNKNOWN] = "unknown", [VM_POWER_ON] = "on", [VM_POWER_OFF] = "off", [VM_POWER_SUSPENDED] = "suspended", NULL,
};
_Static_assert(ARRAY_COUNT(vm_power_words) - 1 == VM_POWER_COUNT, "one word for each power state");

const char *const vm_connection_words[] = {
    [VM_CONNECTION_UNKNOWN] = "unknown",
    [VM_CONNECTION_CONNECTED] = "connected",
    [VM_CONNECTION_DISCONNECTED] = "disconnected",
    [VM_CONNECTION_ORPHANED] = "orphaned",
    [VM_CONNECTION_INACCESSIBLE] = "inaccessible",
    [VM_CONNECTION_INVALID] = "invalid",
    NULL,
};
_Static_assert(ARRAY_COUNT(vm_connection_words) - 1 == VM_CONNECTION_COUNT, "one word for each connection state");

const char *const host_connection_words[] = {
    [HOST_CONNECTION_UNKNOWN] = "unknown",
    [HOST_CONNECTION_CONNECTED] = "connected",
    [HOST_CONNECTION_NOT_RESPONDING] = "not_responding",
    [HOST_CONNECTION_DISCONNECTED] = "disconnected",
    NULL,
};
_Static_assert(ARRAY_COUNT(host_connection_words) - 1 == HOST_CONNECTION_COUNT, "one word for each connection state");

static const struct member target_members[] = {
    MEMBER(node_target, cluster_id),    MEMBER(node_target, node_id),          MEMBER(node_target, node_name),
    MEMBER(node_target, vm_name),       MEMBER(node_target, vm_instance_uuid), MEMBER(node_target, vm_bios_uuid),
    MEMBER(node_target, provider_uuid), MEMBER(node_target, system_uuid),      MEMBER(node_target, vcenter_id),
    MEMBER(node_target, seen_moref),    MEMBER(node_target, seen_name),        MEMBERS_END,
};

const char *vm_match_name(enum vm_match match) {
    return words_get(vm_match_words, match, "none");
}

bool vm_match_parse(const char *word, enum vm_match *out) {
    return words_find(vm_match_words, word, out);
}

const char *vm_power_name(enum vm_power power) {
    return words_get(vm_power_words, power, "unknown");
}

const char *vm_connection_name(enum vm_connection connection) {
    return words_get(vm_connection_words, connection, "unknown");
}

const char *host_connection_name(enum host_connection connection) {
    return words_get(host_connection_words, connection, "unknown");
}

void node_target_done(struct node_target *t) {
    members_done(target_members, t, sizeof(*t));
}

void node_observation_done(struct node_observation *o) {
    members_done(observation_members, o, sizeof(*o));
}

int node_observation_copy(const struct node_observation *from, struct node_observation *out, struct err *err) {
    return members_copy(observation_members, from, out, sizeof(*out), "an observation", err);
}

bool node_observation_same(const struct node_observation *a, const struct node_observation *b) {
    return members_same(observation_members, a, b);
}

/* Does Kubernetes tell the UUID of this machine? */
static bool is_told_machine(const struct node_identity *known, const char *bios_uuid) {
    return uuid_is_same_machine(bios_uuid, known->provider_uuid) || uuid_is_same_machine(bios_uuid, known->system_uuid);
}

/* A machine whose UUID is another than Kubernetes tells. A text that is no UUID tells nothing: kubelet falls back to other ids where it cannot read one. */
static bool is_other_than_told(const struct node_identity *known, const char *bios_uuid) {
    return uuid_is_valid(bios_uuid) && (uuid_is_valid(known->provider_uuid) || uuid_is_valid(known->system_uuid)) &&
           !is_told_machine(known, bios_uuid);
}

enum vm_match observation_judge(const struct node_identity *known, const struct node_observation *told) {
    if (told->match == VM_MATCH_NONE)
        return VM_MATCH_NONE;
    if (known->declared_instance_uuid)
        return str_eq_nocase(told->instance_uuid, known->declared_instance_uuid) ? VM_MATCH_INSTANCE_UUID : VM_MATCH_MISMATCH;
    if (uuid_is_same_machine(told->bios_uuid, known->declared_bios_uuid) || is_told_machine(known, told->bios_uuid))
        return VM_MATCH_BIOS_UUID;
    if (known->bound_uuid)
        return str_eq_nocase(told->instance_uuid, known->bound_uuid) ? known->bound_by : VM_MATCH_MISMATCH;
    return known->declared_bios_uuid || is_other_than_told(known, told->bios_uuid) ? VM_MATCH_MISMATCH : VM_MATCH_NAME;
}
