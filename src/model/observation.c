/* What a vCenter shows of nodes: memory, words, and the verdict on whose virtual machine it is. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "observation.h"

#include "str.h"
#include "texts.h"

static const char *const match_words[] = {
    [VM_MATCH_NONE] = "none", [VM_MATCH_INSTANCE_UUID] = "instance_uuid", [VM_MATCH_BIOS_UUID] = "bios_uuid",
    [VM_MATCH_NAME] = "name", [VM_MATCH_MISMATCH] = "mismatch",
};
_Static_assert(ARRAY_COUNT(match_words) == VM_MATCH_COUNT, "one word for each match");

static const char *const power_words[] = {
    [VM_POWER_UNKNOWN] = "unknown",
    [VM_POWER_ON] = "on",
    [VM_POWER_OFF] = "off",
    [VM_POWER_SUSPENDED] = "suspended",
};
_Static_assert(ARRAY_COUNT(power_words) == VM_POWER_COUNT, "one word for each power state");

static const char *const vm_words[] = {
    [VM_CONNECTION_UNKNOWN] = "unknown",           [VM_CONNECTION_CONNECTED] = "connected",
    [VM_CONNECTION_DISCONNECTED] = "disconnected", [VM_CONNECTION_ORPHANED] = "orphaned",
    [VM_CONNECTION_INACCESSIBLE] = "inaccessible", [VM_CONNECTION_INVALID] = "invalid",
};
_Static_assert(ARRAY_COUNT(vm_words) == VM_CONNECTION_COUNT, "one word for each connection state");

static const char *const host_words[] = {
    [HOST_CONNECTION_UNKNOWN] = "unknown",
    [HOST_CONNECTION_CONNECTED] = "connected",
    [HOST_CONNECTION_NOT_RESPONDING] = "not_responding",
    [HOST_CONNECTION_DISCONNECTED] = "disconnected",
};
_Static_assert(ARRAY_COUNT(host_words) == HOST_CONNECTION_COUNT, "one word for each connection state");

static const size_t target_texts[] = {
    offsetof(struct node_target, cluster_id),       offsetof(struct node_target, node_id),
    offsetof(struct node_target, node_name),        offsetof(struct node_target, vm_name),
    offsetof(struct node_target, vm_instance_uuid), offsetof(struct node_target, vm_bios_uuid),
    offsetof(struct node_target, vcenter_id),
};

const size_t observation_texts[] = {
    offsetof(struct node_observation, node_id),       offsetof(struct node_observation, vm_moref),
    offsetof(struct node_observation, vm_name),       offsetof(struct node_observation, host_moref),
    offsetof(struct node_observation, host_name),     offsetof(struct node_observation, cluster_moref),
    offsetof(struct node_observation, instance_uuid), offsetof(struct node_observation, bios_uuid),
    offsetof(struct node_observation, vcenter_id),    offsetof(struct node_observation, bound_uuid),
};
const size_t observation_texts_count = ARRAY_COUNT(observation_texts);

const char *vm_match_name(enum vm_match match) {
    return words_get(match_words, ARRAY_COUNT(match_words), match, "none");
}

bool vm_match_parse(const char *word, enum vm_match *out) {
    size_t found;
    if (!words_find(match_words, ARRAY_COUNT(match_words), word, &found))
        return false;
    *out = (enum vm_match)found;
    return true;
}

const char *vm_power_name(enum vm_power power) {
    return words_get(power_words, ARRAY_COUNT(power_words), power, "unknown");
}

bool vm_power_parse(const char *word, enum vm_power *out) {
    size_t found;
    if (!words_find(power_words, ARRAY_COUNT(power_words), word, &found))
        return false;
    *out = (enum vm_power)found;
    return true;
}

const char *vm_connection_name(enum vm_connection connection) {
    return words_get(vm_words, ARRAY_COUNT(vm_words), connection, "unknown");
}

bool vm_connection_parse(const char *word, enum vm_connection *out) {
    size_t found;
    if (!words_find(vm_words, ARRAY_COUNT(vm_words), word, &found))
        return false;
    *out = (enum vm_connection)found;
    return true;
}

const char *host_connection_name(enum host_connection connection) {
    return words_get(host_words, ARRAY_COUNT(host_words), connection, "unknown");
}

bool host_connection_parse(const char *word, enum host_connection *out) {
    size_t found;
    if (!words_find(host_words, ARRAY_COUNT(host_words), word, &found))
        return false;
    *out = (enum host_connection)found;
    return true;
}

void node_target_done(struct node_target *t) {
    if (!t)
        return;
    texts_free(t, target_texts, ARRAY_COUNT(target_texts));
    *t = (struct node_target){0};
}

void node_observation_done(struct node_observation *o) {
    if (!o)
        return;
    texts_free(o, observation_texts, ARRAY_COUNT(observation_texts));
    *o = (struct node_observation){0};
}

int node_observation_copy(const struct node_observation *from, struct node_observation *out, struct err *err) {
    struct node_observation copy = *from;
    if (!texts_dup(&copy, observation_texts, ARRAY_COUNT(observation_texts))) {
        node_observation_done(&copy);
        return err_set(err, ERR_NOMEM, "no memory for an observation");
    }
    *out = copy;
    return 0;
}

bool node_observation_same(const struct node_observation *a, const struct node_observation *b) {
    return str_eq(a->node_id, b->node_id) && a->match == b->match && str_eq(a->vm_moref, b->vm_moref) &&
           str_eq(a->vm_name, b->vm_name) && a->power == b->power && a->connection == b->connection &&
           str_eq(a->host_moref, b->host_moref) && str_eq(a->host_name, b->host_name) &&
           a->host_connection == b->host_connection && str_eq(a->cluster_moref, b->cluster_moref) &&
           str_eq_nocase(a->instance_uuid, b->instance_uuid) && str_eq_nocase(a->bios_uuid, b->bios_uuid);
}

enum vm_match observation_judge(const struct node_identity *known, const struct node_observation *told) {
    const bool is_declared_bios = known->declared_bios_uuid && str_eq_nocase(told->bios_uuid, known->declared_bios_uuid);
    if (told->match == VM_MATCH_NONE)
        return VM_MATCH_NONE;
    if (known->declared_instance_uuid)
        return str_eq_nocase(told->instance_uuid, known->declared_instance_uuid) ? VM_MATCH_INSTANCE_UUID : VM_MATCH_MISMATCH;
    if (is_declared_bios)
        return VM_MATCH_BIOS_UUID;
    if (known->bound_uuid)
        return str_eq_nocase(told->instance_uuid, known->bound_uuid) ? known->bound_by : VM_MATCH_MISMATCH;
    return known->declared_bios_uuid ? VM_MATCH_MISMATCH : VM_MATCH_NAME;
}
