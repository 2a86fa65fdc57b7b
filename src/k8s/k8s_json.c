/* Lists and events of an API server as JSON: for servers, and for proxies before them, that do not speak protobuf. Layer 2 (k8s); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "k8s_told.h"

/* JSON that is none is a fault of who answered, not of who asked. */
static int k8s_json_parse(const char *text, size_t n, json_t **out, struct err *err) {
    struct err why = {0};
    int rc = json_parse_nul(text, n, out, &why);
    return rc == ERR_JSON ? err_set(err, ERR_PROTOCOL, "%s", why.text) : err_move(err, rc, &why);
}

/* -- members; null counts as missing, as it does for Kubernetes ------------------------------------------------------------- */

/* Reads members of objects; after the first of a wrong kind the rest is passed over. */
struct k8s_json_reader {
    int rc;
    struct err *err;
};

/* The member, or NULL: there is none. */
static const json_t *k8s_json_member(struct k8s_json_reader *in, const json_t *object, const char *name, json_type kind) {
    const json_t *value = json_object_get(object, name);
    const bool is_so = json_is_boolean(value) ? kind == JSON_TRUE : value && json_typeof(value) == kind;
    if (!value || json_is_null(value) || in->rc)
        return NULL;
    if (!is_so)
        in->rc = err_set(in->err, ERR_PROTOCOL, "the member %s is of a wrong kind", name);
    return is_so ? value : NULL;
}

/* The i-th of a list of objects. */
static const json_t *k8s_json_item(struct k8s_json_reader *in, const json_t *list, size_t i) {
    const json_t *item = json_array_get(list, i);
    if (!json_is_object(item) && !in->rc)
        in->rc = err_set(in->err, ERR_PROTOCOL, "a list has an item that is no object");
    return item;
}

static struct str_span k8s_json_span(const json_t *text) {
    return (struct str_span){json_string_value(text), json_string_length(text)};
}

static struct str_span k8s_json_text(struct k8s_json_reader *in, const json_t *object, const char *name) {
    return k8s_json_span(k8s_json_member(in, object, name, JSON_STRING));
}

static int64_t k8s_json_number(struct k8s_json_reader *in, const json_t *object, const char *name) {
    return (int64_t)json_integer_value(k8s_json_member(in, object, name, JSON_INTEGER));
}

static bool k8s_json_flag(struct k8s_json_reader *in, const json_t *object, const char *name) {
    return json_is_true(k8s_json_member(in, object, name, JSON_TRUE));
}

/* Seconds since 1970; 0: none, or none that we can read, as the time of a year of five digits. */
static int64_t k8s_json_time(struct k8s_json_reader *in, const json_t *object, const char *name) {
    const char *text = json_string_value(k8s_json_member(in, object, name, JSON_STRING));
    int64_t wall_ms = 0;
    return text && clock_parse(text, &wall_ms) ? wall_ms / 1000 : 0;
}

static bool k8s_json_is_kind(struct k8s_json_reader *in, const json_t *object, const char *kind) {
    return str_span_eq(k8s_json_text(in, object, "kind"), kind) && str_span_eq(k8s_json_text(in, object, "apiVersion"), "v1");
}

/* -- nodes ------------------------------------------------------------------------------------------------------------------ */

static void k8s_json_read_labels(struct k8s_json_reader *in, const json_t *metadata, struct k8s_told_node *told) {
    const json_t *labels = k8s_json_member(in, metadata, "labels", JSON_OBJECT);
    const json_t *annotations = k8s_json_member(in, metadata, "annotations", JSON_OBJECT);
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)labels, key, value)
        k8s_told_label(told, (struct str_span){key, strlen(key)});
    json_object_foreach ((json_t *)(uintptr_t)annotations, key, value)
        k8s_told_annotation(told, (struct str_span){key, strlen(key)}, k8s_json_span(value));
}

static void k8s_json_read_conditions(struct k8s_json_reader *in, const json_t *conditions, struct k8s_told_node *told) {
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *one = k8s_json_item(in, conditions, i);
        const struct k8s_told_condition condition = {
            .type = k8s_json_text(in, one, "type"),
            .status = k8s_json_text(in, one, "status"),
            .reason = k8s_json_text(in, one, "reason"),
            .heartbeat_s = k8s_json_time(in, one, "lastHeartbeatTime"),
            .transition_s = k8s_json_time(in, one, "lastTransitionTime"),
        };
        k8s_told_condition(told, &condition);
    }
}

static void k8s_json_read_addresses(struct k8s_json_reader *in, const json_t *addresses, struct k8s_told_node *told) {
    for (size_t i = 0; i < json_array_size(addresses); i++) {
        const json_t *one = k8s_json_item(in, addresses, i);
        k8s_told_address(told, k8s_json_text(in, one, "type"), k8s_json_text(in, one, "address"));
    }
}

/* *told must be zero. */
static int k8s_json_read_node(const json_t *node, struct k8s_told_node *told, struct err *err) {
    struct k8s_json_reader in = {.err = err};
    const json_t *metadata = k8s_json_member(&in, node, "metadata", JSON_OBJECT);
    const json_t *spec = k8s_json_member(&in, node, "spec", JSON_OBJECT);
    const json_t *status = k8s_json_member(&in, node, "status", JSON_OBJECT);
    const json_t *node_info = k8s_json_member(&in, status, "nodeInfo", JSON_OBJECT);
    told->name = k8s_json_text(&in, metadata, "name");
    told->uid = k8s_json_text(&in, metadata, "uid");
    told->resource_version = k8s_json_text(&in, metadata, "resourceVersion");
    told->created_s = k8s_json_time(&in, metadata, "creationTimestamp");
    told->deleted_s = k8s_json_time(&in, metadata, "deletionTimestamp");
    k8s_json_read_labels(&in, metadata, told);
    told->provider_id = k8s_json_text(&in, spec, "providerID");
    told->is_cordoned = k8s_json_flag(&in, spec, "unschedulable");
    k8s_json_read_conditions(&in, k8s_json_member(&in, status, "conditions", JSON_ARRAY), told);
    k8s_json_read_addresses(&in, k8s_json_member(&in, status, "addresses", JSON_ARRAY), told);
    told->system_uuid = k8s_json_text(&in, node_info, "systemUUID");
    told->kubelet_version = k8s_json_text(&in, node_info, "kubeletVersion");
    return in.rc;
}

/* -- a list ----------------------------------------------------------------------------------------------------------------- */

static int k8s_json_take_node(const json_t *item, int (*on_node)(void *arg, struct kube_node *node, struct err *err), void *arg,
                              struct err *err) {
    _cleanup_done_(kube_node_done) struct kube_node node = {0};
    struct k8s_told_node told = {0};
    int rc = k8s_json_read_node(item, &told, err);
    if (!rc)
        rc = k8s_told_make_node(&told, &node, err);
    return rc ? rc : on_node(arg, &node, err);
}

static int k8s_json_read_nodes(const void *bytes, size_t n, int (*on_node)(void *arg, struct kube_node *node, struct err *err),
                               void *arg, struct k8s_list_meta *meta, struct err *err) {
    struct k8s_json_reader in = {.err = err};
    _cleanup_json_ json_t *list = NULL;
    const json_t *items, *metadata;
    struct k8s_told_list told;
    int rc;
    if (n > K8S_PAGE_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the list is larger than %u bytes", K8S_PAGE_BYTES_MAX);
    rc = k8s_json_parse(bytes, n, &list, err);
    if (rc)
        return rc;
    if (!k8s_json_is_kind(&in, list, "NodeList"))
        return in.rc ? in.rc : err_set(err, ERR_PROTOCOL, "an object is no NodeList of v1");
    items = k8s_json_member(&in, list, "items", JSON_ARRAY);
    metadata = k8s_json_member(&in, list, "metadata", JSON_OBJECT);
    told.resource_version = k8s_json_text(&in, metadata, "resourceVersion");
    told.continue_token = k8s_json_text(&in, metadata, "continue");
    if (in.rc)
        return in.rc;
    if (json_array_size(items) > K8S_PAGE_NODES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the list has more than %u nodes", K8S_PAGE_NODES_MAX);
    for (size_t i = 0; !rc && i < json_array_size(items); i++) {
        const json_t *item = k8s_json_item(&in, items, i);
        rc = in.rc ? in.rc : k8s_json_take_node(item, on_node, arg, err);
    }
    return rc ? rc : k8s_told_make_list(&told, meta, err);
}

/* -- volumes ---------------------------------------------------------------------------------------------------------------- */

static int k8s_json_take_volume(const json_t *item, struct kube_volume *out, struct err *err) {
    struct k8s_json_reader in = {.err = err};
    const json_t *spec = k8s_json_member(&in, item, "spec", JSON_OBJECT);
    const json_t *claim = k8s_json_member(&in, spec, "claimRef", JSON_OBJECT);
    const struct k8s_told_volume told = {
        .name = k8s_json_text(&in, k8s_json_member(&in, item, "metadata", JSON_OBJECT), "name"),
        .claim_namespace = k8s_json_text(&in, claim, "namespace"),
        .claim = k8s_json_text(&in, claim, "name"),
        .capacity = k8s_json_text(&in, k8s_json_member(&in, spec, "capacity", JSON_OBJECT), "storage"),
        .handle = k8s_json_text(&in, k8s_json_member(&in, spec, "csi", JSON_OBJECT), "volumeHandle"),
    };
    return in.rc ? in.rc : k8s_told_make_volume(&told, out, err);
}

static int k8s_json_take_volumes(const json_t *list, struct kube_volumes *out, struct err *err) {
    struct k8s_json_reader in = {.err = err};
    const json_t *items = k8s_json_member(&in, list, "items", JSON_ARRAY);
    const struct str_span more = k8s_json_text(&in, k8s_json_member(&in, list, "metadata", JSON_OBJECT), "continue");
    const size_t count = json_array_size(items) < KUBE_VOLUMES_MAX ? json_array_size(items) : KUBE_VOLUMES_MAX;
    if (in.rc)
        return in.rc;
    out->is_cut = more.n || count < json_array_size(items);
    out->items = calloc(count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (int rc; out->count < count;) {
        const json_t *item = k8s_json_item(&in, items, out->count);
        rc = in.rc ? in.rc : k8s_json_take_volume(item, &out->items[out->count++], err);
        if (rc)
            return rc;
    }
    return 0;
}

int k8s_volumes_read(const void *bytes, size_t n, struct kube_volumes *out, struct err *err) {
    _cleanup_done_(kube_volumes_done) struct kube_volumes volumes = {.count = 0};
    struct k8s_json_reader in = {.err = err};
    _cleanup_json_ json_t *list = NULL;
    if (n > K8S_PAGE_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the list is larger than %u bytes", K8S_PAGE_BYTES_MAX);
    int rc = k8s_json_parse(bytes, n, &list, err);
    if (rc)
        return rc;
    if (!k8s_json_is_kind(&in, list, "PersistentVolumeList"))
        return in.rc ? in.rc : err_set(err, ERR_PROTOCOL, "an object is no PersistentVolumeList of v1");
    rc = k8s_json_take_volumes(list, &volumes, err);
    if (rc)
        return rc;
    *out = volumes;
    volumes = (struct kube_volumes){.count = 0};
    return 0;
}

/* -- a watch ---------------------------------------------------------------------------------------------------------------- */

/* A line for each event; empty ones are passed over. */
static int k8s_json_next_frame(struct k8s_frames *frames, const void **event, size_t *n, struct err *err) {
    const char *text = frames->rest.data;
    do {
        const char *feed;
        size_t end;
        *n = 0;
        if (k8s_frames_are_empty(frames))
            return 0;
        feed = memchr(text + frames->looked, '\n', frames->rest.len - frames->looked);
        end = feed ? (size_t)(feed - text) : frames->rest.len;
        if (end - frames->at > K8S_OBJECT_BYTES_MAX)
            return err_set(err, ERR_TOO_LARGE, "an event is larger than %u bytes", K8S_OBJECT_BYTES_MAX);
        frames->looked = feed ? end + 1 : end;
        if (!feed)
            return 0;
        *event = text + frames->at;
        *n = end - frames->at;
        frames->at = frames->looked;
    } while (*n == 0 || (*n == 1 && *(const char *)*event == '\r'));
    return 0;
}

static void k8s_json_take_status(const json_t *status, struct k8s_status *out) {
    struct k8s_json_reader in = {0};
    const bool is_status = k8s_json_is_kind(&in, status, "Status");
    const struct k8s_told_status told = {
        .reason = k8s_json_text(&in, status, "reason"),
        .message = k8s_json_text(&in, status, "message"),
        .code = k8s_json_number(&in, status, "code"),
        .retry_after_s = k8s_json_number(&in, k8s_json_member(&in, status, "details", JSON_OBJECT), "retryAfterSeconds"),
    };
    *out = (struct k8s_status){0};
    if (is_status && !in.rc)
        k8s_told_make_status(&told, out);
}

static void k8s_json_read_status(const void *bytes, size_t n, struct k8s_status *out) {
    _cleanup_json_ json_t *status = NULL;
    *out = (struct k8s_status){0};
    if (n <= K8S_OBJECT_BYTES_MAX && !k8s_json_parse(bytes, n, &status, NULL))
        k8s_json_take_status(status, out);
}

static int k8s_json_read_event(const void *bytes, size_t n, struct k8s_event *out, struct err *err) {
    struct k8s_json_reader in = {.err = err};
    _cleanup_json_ json_t *told = NULL;
    struct k8s_told_node node = {0};
    struct k8s_event event = {0};
    const json_t *object;
    int rc;
    if (n > K8S_OBJECT_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "an event is larger than %u bytes", K8S_OBJECT_BYTES_MAX);
    rc = k8s_json_parse(bytes, n, &told, err);
    if (!rc)
        rc = k8s_told_make_type(k8s_json_text(&in, told, "type"), &event.type, err);
    if (rc)
        return rc;
    object = k8s_json_member(&in, told, "object", JSON_OBJECT);
    if (event.type == K8S_ERROR) {
        k8s_json_take_status(object, &event.status);
        *out = event;
        return 0;
    }
    if (!k8s_json_is_kind(&in, object, "Node"))
        return in.rc ? in.rc : err_set(err, ERR_PROTOCOL, "an object is no Node of v1");
    rc = k8s_json_read_node(object, &node, err);
    if (!rc)
        rc = k8s_told_make_event(&node, &event, err);
    if (!rc)
        *out = event;
    return rc;
}

const struct k8s_codec k8s_codec_json = {
    .list_type = "application/json",
    .watch_type = "application/json;stream=watch",
    .read_nodes = k8s_json_read_nodes,
    .next_frame = k8s_json_next_frame,
    .read_event = k8s_json_read_event,
    .read_status = k8s_json_read_status,
};
