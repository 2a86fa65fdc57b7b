/* A node of a Kubernetes cluster: memory and words. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "str.h"

const char *const node_role_words[] = {
    [NODE_CONTROL_PLANE] = "control_plane",
    [NODE_WORKER] = "worker",
    NULL,
};
_Static_assert(ARRAY_COUNT(node_role_words) - 1 == NODE_WORKER + 1, "one word for each role");

/* Texts of an observation that are mostly those of its node; in one block they lie once. */
static const struct {
    size_t seen, node;
} twins[] = {
    {offsetof(struct node_observation, node_id), offsetof(struct node, id)},
    {offsetof(struct node_observation, vcenter_id), offsetof(struct node, vcenter_id)},
    {offsetof(struct node_observation, vm_name), offsetof(struct node, name)},
    {offsetof(struct node_observation, bound_uuid), offsetof(struct node, vm_instance_uuid)},
    {offsetof(struct node_observation, instance_uuid), offsetof(struct node, vm_instance_uuid)},
};

bool node_role_parse(const char *word, enum node_role *out) {
    return words_find(node_role_words, word, out);
}

/* What begins a block; the texts follow. Nothing of it is written after node_pack. */
struct node_block {
    atomic_uint refs;
    struct node_observation seen; /* not there in a block of a node that was not seen */
};

static void unref_block(struct node_block *block) {
    if (atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) == 1)
        free(block);
}

void node_done(struct node *n) {
    if (!n)
        return;
    if (n->block) {
        unref_block(n->block);
    } else {
        node_observation_done(n->seen);
        free(n->seen);
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

int node_copy(const struct node *from, struct node *out, struct err *err) {
    struct node copy;
    int rc = members_copy(node_members, from, &copy, sizeof(copy), "a node", err);
    if (rc)
        return rc;
    copy.seen = NULL;
    copy.block = NULL;
    if (!copy_seen(from, &copy)) {
        node_done(&copy);
        return err_set(err, ERR_NOMEM, "no memory for a node");
    }
    *out = copy;
    return 0;
}

static char **text_at(void *object, size_t offset) {
    void *at = (char *)object + offset;
    return at;
}

/* Takes the texts out of `seen` that the node has as well; a bit for each. */
static unsigned part_twins(struct node *n, struct node_observation *seen) {
    unsigned parted = 0;
    for (size_t i = 0; i < ARRAY_COUNT(twins); i++) {
        char **text = text_at(seen, twins[i].seen);
        if (!*text || !str_eq(*text, *text_at(n, twins[i].node)))
            continue;
        *text = NULL;
        parted |= 1U << i;
    }
    return parted;
}

static void join_twins(struct node *n, unsigned parted) {
    for (size_t i = 0; i < ARRAY_COUNT(twins); i++)
        if (parted >> i & 1)
            *text_at(n->seen, twins[i].seen) = *text_at(n, twins[i].node);
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
    struct node_block *block;
    unsigned parted = 0;
    const size_t head = from->seen ? sizeof(*block) : offsetof(struct node_block, seen);
    size_t bytes = head + members_text_bytes(node_members, &packed);
    char *at;
    if (from->seen) {
        seen = *from->seen;
        parted = part_twins(&packed, &seen);
        bytes += members_text_bytes(observation_members, &seen);
    }
    block = calloc(1, bytes);
    if (!block)
        return err_set(err, ERR_NOMEM, "no memory for a node");
    atomic_init(&block->refs, 1);
    at = members_put_texts(observation_members, &seen, (char *)block + head);
    (void)members_put_texts(node_members, &packed, at);
    packed.block = block;
    if (from->seen) {
        block->seen = seen;
        packed.seen = &block->seen;
        join_twins(&packed, parted);
    }
    *out = packed;
    return 0;
}
