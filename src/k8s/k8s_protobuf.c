/* Lists and events of an API server as protobuf, read by nanopb with our subset of the messages (kubernetes.proto). Layer 2 (k8s); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "protobuf.h"

#include <kubernetes.pb.h>
#include <string.h>

#include "k8s_told.h"

/* Takes an object out of its envelope. ERR_PROTOCOL: it is none, or not of that kind of v1. */
static int k8s_protobuf_open(struct str_span body, const char *kind, struct str_span *raw, struct err *err) {
    kubernetes_Unknown envelope = {0};
    int rc;
    if (body.n < sizeof(K8S_ENVELOPE) || memcmp(body.at, K8S_ENVELOPE, sizeof(K8S_ENVELOPE)) != 0)
        return err_set(err, ERR_PROTOCOL, "it is no protobuf of Kubernetes");
    body.at += sizeof(K8S_ENVELOPE);
    body.n -= sizeof(K8S_ENVELOPE);
    rc = protobuf_read(body, &kubernetes_Unknown_msg, "the envelope of an object", &envelope, err);
    if (rc)
        return rc;
    if (!str_span_eq(envelope.type_meta.kind, kind) || !str_span_eq(envelope.type_meta.api_version, "v1"))
        return err_set(err, ERR_PROTOCOL, "an object is no %s of v1", kind);
    if (envelope.content_encoding.n)
        return err_set(err, ERR_PROTOCOL, "the %s is encoded in a way that was not asked for", kind);
    *raw = envelope.raw;
    return 0;
}

/* -- nodes ------------------------------------------------------------------------------------------------------------------ */

static int k8s_protobuf_take_label(void *arg, struct str_span item, struct err *err) {
    kubernetes_Entry entry = {0};
    int rc = protobuf_read(item, &kubernetes_Entry_msg, "a label", &entry, err);
    if (!rc)
        k8s_told_label(arg, entry.key);
    return rc;
}

static int k8s_protobuf_take_annotation(void *arg, struct str_span item, struct err *err) {
    kubernetes_Entry entry = {0};
    int rc = protobuf_read(item, &kubernetes_Entry_msg, "an annotation", &entry, err);
    if (!rc)
        k8s_told_annotation(arg, entry.key, entry.value);
    return rc;
}

static int k8s_protobuf_take_address(void *arg, struct str_span item, struct err *err) {
    kubernetes_NodeAddress address = {0};
    int rc = protobuf_read(item, &kubernetes_NodeAddress_msg, "an address of a node", &address, err);
    if (!rc)
        k8s_told_address(arg, address.type, address.address);
    return rc;
}

static int k8s_protobuf_take_condition(void *arg, struct str_span item, struct err *err) {
    kubernetes_NodeCondition condition = {0};
    int rc = protobuf_read(item, &kubernetes_NodeCondition_msg, "a condition of a node", &condition, err);
    if (!rc)
        k8s_told_condition(arg, &(const struct k8s_told_condition){.type = condition.type,
                                                                   .status = condition.status,
                                                                   .reason = condition.reason,
                                                                   .heartbeat_s = condition.last_heartbeat_time.seconds,
                                                                   .transition_s = condition.last_transition_time.seconds});
    return rc;
}

/* *told must be zero. Annotations are of interest in bookmarks alone. */
static int k8s_protobuf_read_node(struct str_span bytes, bool with_annotations, struct k8s_told_node *told, struct err *err) {
    kubernetes_Node node = {
        .metadata.labels = {k8s_protobuf_take_label, told},
        .metadata.annotations = {with_annotations ? k8s_protobuf_take_annotation : NULL, told},
        .status.conditions = {k8s_protobuf_take_condition, told},
        .status.addresses = {k8s_protobuf_take_address, told},
    };
    int rc = protobuf_read(bytes, &kubernetes_Node_msg, "a node", &node, err);
    if (rc)
        return rc;
    told->name = node.metadata.name;
    told->uid = node.metadata.uid;
    told->resource_version = node.metadata.resource_version;
    told->created_s = node.metadata.creation_timestamp.seconds;
    told->deleted_s = node.metadata.deletion_timestamp.seconds;
    told->provider_id = node.spec.provider_id;
    told->is_cordoned = node.spec.unschedulable;
    told->system_uuid = node.status.node_info.system_uuid;
    told->kubelet_version = node.status.node_info.kubelet_version;
    return 0;
}

/* -- a list ----------------------------------------------------------------------------------------------------------------- */

struct k8s_protobuf_list {
    int (*on_node)(void *arg, struct kube_node *node, struct err *err);
    void *arg;
    size_t count;
};

static int k8s_protobuf_take_node(void *arg, struct str_span item, struct err *err) {
    _cleanup_done_(kube_node_done) struct kube_node node = {0};
    struct k8s_protobuf_list *list = arg;
    struct k8s_told_node told = {0};
    int rc;
    if (list->count++ >= K8S_PAGE_NODES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the list has more than %u nodes", K8S_PAGE_NODES_MAX);
    rc = k8s_protobuf_read_node(item, false, &told, err);
    if (!rc)
        rc = k8s_told_make_node(&told, &node, err);
    return rc ? rc : list->on_node(list->arg, &node, err);
}

static int k8s_protobuf_read_nodes(const void *bytes, size_t n,
                                   int (*on_node)(void *arg, struct kube_node *node, struct err *err), void *arg,
                                   struct k8s_list_meta *meta, struct err *err) {
    struct k8s_protobuf_list list = {.on_node = on_node, .arg = arg};
    kubernetes_NodeList told = {.items = {k8s_protobuf_take_node, &list}};
    struct str_span raw = {0};
    int rc;
    if (n > K8S_PAGE_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the list is larger than %u bytes", K8S_PAGE_BYTES_MAX);
    rc = k8s_protobuf_open((struct str_span){bytes, n}, "NodeList", &raw, err);
    if (!rc)
        rc = protobuf_read(raw, &kubernetes_NodeList_msg, "the list", &told, err);
    if (rc)
        return rc;
    return k8s_told_make_list(&(const struct k8s_told_list){told.metadata.resource_version, told.metadata.continue_token}, meta,
                              err);
}

/* -- a watch ---------------------------------------------------------------------------------------------------------------- */

static int k8s_protobuf_next_frame(struct k8s_frames *frames, const void **event, size_t *n, struct err *err) {
    const uint8_t *at = (const uint8_t *)frames->rest.data + frames->at;
    const size_t left = frames->rest.len - frames->at;
    size_t length;
    *n = 0;
    if (k8s_frames_are_empty(frames) || left < K8S_LENGTH_BYTES)
        return 0;
    length = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    if (!length)
        return err_set(err, ERR_PROTOCOL, "an event has no bytes");
    if (length > K8S_OBJECT_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "an event of %zu bytes is larger than %u", length, K8S_OBJECT_BYTES_MAX);
    if (left - K8S_LENGTH_BYTES < length)
        return 0;
    *event = at + K8S_LENGTH_BYTES;
    *n = length;
    frames->at += K8S_LENGTH_BYTES + length;
    return 0;
}

static void k8s_protobuf_read_status(const void *bytes, size_t n, struct k8s_status *out) {
    kubernetes_Status status = {0};
    struct str_span raw = {0};
    *out = (struct k8s_status){0};
    if (n > K8S_OBJECT_BYTES_MAX || k8s_protobuf_open((struct str_span){bytes, n}, "Status", &raw, NULL) ||
        protobuf_read(raw, &kubernetes_Status_msg, "a Status", &status, NULL))
        return;
    k8s_told_make_status(&(const struct k8s_told_status){.reason = status.reason,
                                                         .message = status.message,
                                                         .code = status.code,
                                                         .retry_after_s = status.details.retry_after_seconds},
                         out);
}

static int k8s_protobuf_read_event(const void *bytes, size_t n, struct k8s_event *out, struct err *err) {
    kubernetes_WatchEvent told = {0};
    struct k8s_told_node node = {0};
    struct k8s_event event = {0};
    struct str_span raw = {0};
    int rc;
    if (n > K8S_OBJECT_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "an event is larger than %u bytes", K8S_OBJECT_BYTES_MAX);
    rc = protobuf_read((struct str_span){bytes, n}, &kubernetes_WatchEvent_msg, "an event", &told, err);
    if (!rc)
        rc = k8s_told_make_type(told.type, &event.type, err);
    if (rc)
        return rc;
    if (event.type == K8S_ERROR) {
        k8s_protobuf_read_status(told.object.raw.at, told.object.raw.n, &event.status);
        *out = event;
        return 0;
    }
    rc = k8s_protobuf_open(told.object.raw, "Node", &raw, err);
    if (!rc)
        rc = k8s_protobuf_read_node(raw, event.type == K8S_BOOKMARK, &node, err);
    if (!rc)
        rc = k8s_told_make_event(&node, &event, err);
    if (!rc)
        *out = event;
    return rc;
}

const struct k8s_codec k8s_codec_protobuf = {
    .list_type = "application/vnd.kubernetes.protobuf",
    .watch_type = "application/vnd.kubernetes.protobuf;stream=watch",
    .read_nodes = k8s_protobuf_read_nodes,
    .next_frame = k8s_protobuf_next_frame,
    .read_event = k8s_protobuf_read_event,
    .read_status = k8s_protobuf_read_status,
};
