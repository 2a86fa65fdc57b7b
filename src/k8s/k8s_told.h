/* What an API server told, as it lies in the bytes that came: the common ground of both codecs, which fill these structs, and of the rules by which records
 * are made of them. So both give the same record for the same object. Inside src/k8s. Layer 2 (k8s); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nothing here is trusted. Spans are as good as the bytes that were read (or the JSON value that was made of them). */
#pragma once

#include "k8s_codec.h"
#include "str.h"

struct k8s_told_condition {
    struct str_span type, status, reason;
    int64_t heartbeat_s, transition_s;
};

/* All zero: nothing told yet. */
struct k8s_told_node {
    struct str_span name, uid, resource_version, provider_id, system_uuid, kubelet_version;
    struct str_span internal_ip, external_ip;                   /* the first of each */
    struct k8s_told_condition conditions[KUBE_NODE_CONDITIONS]; /* those that are read; without a type: not told */
    int64_t created_s, deleted_s;
    bool is_control_plane, is_cordoned;
    bool is_initial_end; /* annotation of a bookmark */
};

struct k8s_told_list {
    struct str_span resource_version, continue_token;
};

struct k8s_told_status {
    struct str_span reason, message;
    int64_t code, retry_after_s;
};

struct k8s_told_volume {
    struct str_span name, claim_namespace, claim, capacity, handle;
};

/* Note one label, annotation, address or condition of a node, if KaaS reads it. Of what comes twice the first counts, as for Kubernetes' own programs. */
void k8s_told_label(struct k8s_told_node *told, struct str_span key);
void k8s_told_annotation(struct k8s_told_node *told, struct str_span key, struct str_span value);
void k8s_told_address(struct k8s_told_node *told, struct str_span type, struct str_span address);
void k8s_told_condition(struct k8s_told_node *told, const struct k8s_told_condition *condition);

/* Makes the record: names are checked, texts cleaned and cut, a time outside 1970 to 9999 counts as none. *out, which kube_node_done frees, is written on
 * success only. ERR_PROTOCOL (no name, no uid, or one that is none), ERR_NOMEM. */
int k8s_told_make_node(const struct k8s_told_node *told, struct kube_node *out, struct err *err);

/* Makes the record of a volume, as k8s_told_make_node; *out is zero at first, and given back by kube_volumes_done with its list in any case. ERR_PROTOCOL (no name, or one that
 * is none), ERR_NOMEM. */
int k8s_told_make_volume(const struct k8s_told_volume *told, struct kube_volume *out, struct err *err);

/* Takes over a resource version: 1 to K8S_VERSION_BYTES_MAX visible ASCII characters, else ERR_PROTOCOL. `of` is what it belongs to ("list"). */
int k8s_told_make_version(struct str_span version, const char *of, char out[K8S_VERSION_BYTES_MAX + 1], struct err *err);

/* Makes *out, which k8s_list_meta_done frees; written on success only. ERR_PROTOCOL (no resource version), ERR_TOO_LARGE (a token longer than
 * K8S_CONTINUE_BYTES_MAX), ERR_NOMEM. */
int k8s_told_make_list(const struct k8s_told_list *told, struct k8s_list_meta *out, struct err *err);

/* Texts are cleaned and cut, numbers that make no sense count as none. */
void k8s_told_make_status(const struct k8s_told_status *told, struct k8s_status *out);

/* The type of an event by its word. ERR_PROTOCOL. */
int k8s_told_make_type(struct str_span word, enum k8s_event_type *out, struct err *err);

/* Makes what an event about a node tells of it, of any type but K8S_ERROR; out->type is set. Written on success only. Errors of the above. */
int k8s_told_make_event(const struct k8s_told_node *told, struct k8s_event *out, struct err *err);
