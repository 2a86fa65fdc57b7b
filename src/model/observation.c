/* What a vCenter shows of nodes: memory, words, and the verdict on whose virtual machine it is. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "observation.h"

#include "str.h"

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
    MEMBER(node_target, cluster_id),       MEMBER(node_target, node_id),
    MEMBER(node_target, node_name),        MEMBER(node_target, vm_name),
    MEMBER(node_target, vm_instance_uuid), MEMBER(node_target, vm_bios_uuid),
    MEMBER(node_target, vcenter_id),       MEMBERS_END,
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
