/* From what an API server told to records: the rules that both codecs share. Layer 2 (k8s); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "k8s_told.h"

#include <string.h>

#define YEAR_10000_S INT64_C(253402300800)
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* -- texts and times -------------------------------------------------------------------------------------------------------- */

/* One character as it may be shown, of the n bytes at `at`, in *piece; gives the bytes that it was. A byte that is none of UTF-8 becomes U+FFFD, as in what
 * the server writes as JSON. */
static size_t k8s_told_character(const char *at, size_t n, struct str_span *piece) {
    uint32_t point = 0;
    const size_t size = str_utf8_next(at, n, &point);
    if (!size)
        *piece = (struct str_span){REPLACEMENT, sizeof(REPLACEMENT) - 1};
    else if (point < ' ' || (point >= 0x7f && point <= 0x9f))
        *piece = (struct str_span){" ", 1};
    else
        *piece = (struct str_span){at, size};
    return size ? size : 1;
}

/* Copies a text as valid UTF-8 without control characters, cut behind a whole character; `out` has max + 1 bytes. */
static size_t k8s_told_clean(struct str_span text, size_t max, char *out) {
    size_t n = 0;
    for (size_t at = 0; at < text.n;) {
        struct str_span piece = {text.at + at, 1};
        at += *piece.at >= ' ' && *piece.at <= '~' ? 1 : k8s_told_character(piece.at, text.n - at, &piece);
        if (n + piece.n > max)
            break;
        for (size_t i = 0; i < piece.n; i++)
            out[n++] = piece.at[i];
    }
    out[n] = '\0';
    return n;
}

/* As k8s_told_clean, into new memory; an empty text is none. False without memory. */
static bool k8s_told_copy(struct str_span text, size_t max, char **out) {
    char clean[KUBE_TEXT_BYTES_MAX + 1];
    if (!k8s_told_clean(text, max < KUBE_TEXT_BYTES_MAX ? max : KUBE_TEXT_BYTES_MAX, clean))
        return true;
    *out = str_dup(clean);
    return *out;
}

static bool k8s_told_is_visible(struct str_span text, size_t max) {
    for (size_t i = 0; i < text.n; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return false;
    return text.n > 0 && text.n <= max;
}

/* A DNS subdomain (RFC 1123) by its characters: what Kubernetes lets a node be called. */
static bool k8s_told_is_name(struct str_span text) {
    for (size_t i = 0; i < text.n; i++) {
        const char c = text.at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'))
            return false;
    }
    return text.n > 0 && text.n <= KUBE_NAME_BYTES_MAX;
}

static int64_t k8s_told_time(int64_t seconds) {
    return seconds > 0 && seconds < YEAR_10000_S ? seconds : 0;
}

/* -- parts of a node -------------------------------------------------------------------------------------------------------- */

void k8s_told_label(struct k8s_told_node *told, struct str_span key) {
    if (str_span_eq(key, "node-role.kubernetes.io/control-plane") || str_span_eq(key, "node-role.kubernetes.io/master"))
        told->is_control_plane = true;
}

void k8s_told_annotation(struct k8s_told_node *told, struct str_span key, struct str_span value) {
    if (str_span_eq(key, "k8s.io/initial-events-end") && str_span_eq(value, "true"))
        told->is_initial_end = true;
}

void k8s_told_address(struct k8s_told_node *told, struct str_span type, struct str_span address) {
    if (!told->internal_ip.n && str_span_eq(type, "InternalIP"))
        told->internal_ip = address;
    else if (!told->external_ip.n && str_span_eq(type, "ExternalIP"))
        told->external_ip = address;
}

void k8s_told_condition(struct k8s_told_node *told, const struct k8s_told_condition *condition) {
    for (unsigned i = 0; i < KUBE_NODE_CONDITIONS; i++)
        if (!told->conditions[i].type.n && str_span_eq(condition->type, kube_node_condition_words[i]))
            told->conditions[i] = *condition;
}

/* -- records ---------------------------------------------------------------------------------------------------------------- */

static void k8s_told_make_condition(const struct k8s_told_condition *told, struct kube_condition *out) {
    out->is_there = told->type.n > 0;
    if (str_span_eq(told->status, "True"))
        out->truth = KUBE_TRUE;
    else if (str_span_eq(told->status, "False"))
        out->truth = KUBE_FALSE;
    out->heartbeat_s = k8s_told_time(told->heartbeat_s);
    out->transition_s = k8s_told_time(told->transition_s);
}

/* False without memory. Of the conditions' texts only what somebody is told is kept: five times two of each node would be most of what a cluster takes. */
static bool k8s_told_fill_node(const struct k8s_told_node *told, struct kube_node *out) {
    const struct k8s_told_condition *ready = &told->conditions[KUBE_NODE_READY];
    const struct str_span address = told->internal_ip.n ? told->internal_ip : told->external_ip;
    for (unsigned i = 0; i < KUBE_NODE_CONDITIONS; i++)
        k8s_told_make_condition(&told->conditions[i], &out->conditions[i]);
    out->created_s = k8s_told_time(told->created_s);
    out->deleted_s = k8s_told_time(told->deleted_s);
    out->is_control_plane = told->is_control_plane;
    out->is_cordoned = told->is_cordoned;
    return k8s_told_copy(told->name, KUBE_NAME_BYTES_MAX, &out->name) &&
           k8s_told_copy(told->uid, KUBE_UID_BYTES_MAX, &out->uid) &&
           k8s_told_copy(told->provider_id, KUBE_TEXT_BYTES_MAX, &out->provider_id) &&
           k8s_told_copy(told->system_uuid, KUBE_TEXT_BYTES_MAX, &out->system_uuid) &&
           k8s_told_copy(told->kubelet_version, KUBE_TEXT_BYTES_MAX, &out->kubelet_version) &&
           k8s_told_copy(address, KUBE_TEXT_BYTES_MAX, &out->address) &&
           (out->conditions[KUBE_NODE_READY].truth == KUBE_TRUE ||
            k8s_told_copy(ready->reason, KUBE_TEXT_BYTES_MAX, &out->reason));
}

int k8s_told_make_node(const struct k8s_told_node *told, struct kube_node *out, struct err *err) {
    _cleanup_done_(kube_node_done) struct kube_node node = {0};
    if (!k8s_told_is_name(told->name))
        return err_set(err, ERR_PROTOCOL,
                       "a node has no name, or one that is not 1 to %u of the characters a-z, 0-9, '-' and '.'",
                       KUBE_NAME_BYTES_MAX);
    if (!k8s_told_is_visible(told->uid, KUBE_UID_BYTES_MAX))
        return err_set(err, ERR_PROTOCOL, "the node %.*s has no uid, or one that is not 1 to %u visible characters",
                       (int)told->name.n, told->name.at, KUBE_UID_BYTES_MAX);
    if (!k8s_told_fill_node(told, &node))
        return err_set(err, ERR_NOMEM, "out of memory");
    *out = node;
    node = (struct kube_node){0};
    return 0;
}

/* "namespace/name", of a claim that has both. */
static bool k8s_told_copy_claim(const struct k8s_told_volume *told, char **out) {
    _cleanup_free_ char *namespace = NULL, *name = NULL;
    if (!k8s_told_copy(told->claim_namespace, KUBE_NAME_BYTES_MAX, &namespace) ||
        !k8s_told_copy(told->claim, KUBE_NAME_BYTES_MAX, &name))
        return false;
    if (!namespace || !name)
        return true;
    *out = str_format("%s/%s", namespace, name);
    return *out;
}

int k8s_told_make_volume(const struct k8s_told_volume *told, struct kube_volume *out, struct err *err) {
    if (!k8s_told_is_name(told->name))
        return err_set(err, ERR_PROTOCOL, "a volume has no name, or one that no object of Kubernetes has");
    const bool is_done = k8s_told_copy(told->name, KUBE_NAME_BYTES_MAX, &out->name) && k8s_told_copy_claim(told, &out->claim) &&
                         k8s_told_copy(told->capacity, KUBE_TEXT_BYTES_MAX, &out->capacity) &&
                         k8s_told_copy(told->handle, KUBE_TEXT_BYTES_MAX, &out->handle);
    return is_done ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int k8s_told_make_version(struct str_span version, const char *of, char out[K8S_VERSION_BYTES_MAX + 1], struct err *err) {
    if (!k8s_told_is_visible(version, K8S_VERSION_BYTES_MAX))
        return err_set(err, ERR_PROTOCOL, "the %s has no resourceVersion, or one that is not 1 to %u visible characters", of,
                       K8S_VERSION_BYTES_MAX);
    memcpy(out, version.at, version.n);
    out[version.n] = '\0';
    return 0;
}

int k8s_told_make_list(const struct k8s_told_list *told, struct k8s_list_meta *out, struct err *err) {
    struct k8s_list_meta meta = {0};
    int rc = k8s_told_make_version(told->resource_version, "list", meta.resource_version, err);
    if (rc)
        return rc;
    if (told->continue_token.n > K8S_CONTINUE_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the token with which the list goes on is longer than %u bytes",
                       K8S_CONTINUE_BYTES_MAX);
    if (told->continue_token.n && !k8s_told_is_visible(told->continue_token, K8S_CONTINUE_BYTES_MAX))
        return err_set(err, ERR_PROTOCOL, "the token with which the list goes on has characters that are not visible");
    if (told->continue_token.n) {
        meta.continue_token = str_format("%.*s", (int)told->continue_token.n, told->continue_token.at);
        if (!meta.continue_token)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = meta;
    return 0;
}

void k8s_told_make_status(const struct k8s_told_status *told, struct k8s_status *out) {
    *out = (struct k8s_status){0};
    if (told->code >= 100 && told->code <= 599)
        out->code = (int)told->code;
    if (told->retry_after_s > 0)
        out->retry_after_s = told->retry_after_s < INT32_MAX ? (unsigned)told->retry_after_s : INT32_MAX;
    (void)k8s_told_clean(told->reason, sizeof(out->reason) - 1, out->reason);
    (void)k8s_told_clean(told->message, sizeof(out->message) - 1, out->message);
}

/* -- events ----------------------------------------------------------------------------------------------------------------- */

int k8s_told_make_type(struct str_span word, enum k8s_event_type *out, struct err *err) {
    static const char *const words[] = {[K8S_ADDED] = "ADDED",
                                        [K8S_MODIFIED] = "MODIFIED",
                                        [K8S_DELETED] = "DELETED",
                                        [K8S_BOOKMARK] = "BOOKMARK",
                                        [K8S_ERROR] = "ERROR"};
    for (unsigned i = 0; i < ARRAY_COUNT(words); i++) {
        if (str_span_eq(word, words[i])) {
            *out = (enum k8s_event_type)i;
            return 0;
        }
    }
    return err_set(err, ERR_PROTOCOL, "an event is none of ADDED, MODIFIED, DELETED, BOOKMARK, ERROR");
}

int k8s_told_make_event(const struct k8s_told_node *told, struct k8s_event *out, struct err *err) {
    struct k8s_event event = {.type = out->type, .is_initial_end = out->type == K8S_BOOKMARK && told->is_initial_end};
    int rc = k8s_told_make_version(told->resource_version, "object of an event", event.resource_version, err);
    if (!rc && event.type != K8S_BOOKMARK)
        rc = k8s_told_make_node(told, &event.node, err);
    if (!rc)
        *out = event;
    return rc;
}
