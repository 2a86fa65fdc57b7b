/* Fuzz target: what an API server of Kubernetes sends, by both codecs of src/k8s. The first byte chooses: '0' a list in protobuf, '1' in JSON, '2' a watch in
 * protobuf, '3' in JSON (the second byte tells in pieces of how many bytes it comes), '4' a Status, '5' the text of /readyz, '6' a version, '7' a list of volumes. Whatever is accepted keeps
 * what the headers promise.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "k8s_codec.h"
#include "kube_readyz.h"
#include "kube_version.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool condition) {
    if (!condition)
        abort();
}

/* Clean, within its limit, and not empty. */
static void check_text(const char *text, size_t max) {
    const size_t n = text ? strlen(text) : 0;
    must(!text || (n && n <= max && !str_has_control(text) && str_utf8_chars(text, n) > 0));
}

static void check_visible(const char *text, size_t max) {
    check_text(text, max);
    for (; *text; text++)
        must(*text > ' ' && *text <= '~');
}

static void check_time(int64_t seconds) {
    must(seconds >= 0 && seconds < INT64_C(253402300800));
}

static void check_node(const struct kube_node *node) {
    must(node->name && node->uid);
    check_visible(node->name, KUBE_NAME_BYTES_MAX);
    check_visible(node->uid, KUBE_UID_BYTES_MAX);
    check_text(node->provider_id, KUBE_TEXT_BYTES_MAX);
    check_text(node->system_uuid, KUBE_TEXT_BYTES_MAX);
    check_text(node->kubelet_version, KUBE_TEXT_BYTES_MAX);
    check_text(node->address, KUBE_TEXT_BYTES_MAX);
    check_text(node->reason, KUBE_TEXT_BYTES_MAX);
    check_time(node->created_s);
    check_time(node->deleted_s);
    for (unsigned i = 0; i < KUBE_NODE_CONDITIONS; i++) {
        check_time(node->conditions[i].heartbeat_s);
        check_time(node->conditions[i].transition_s);
        must(node->conditions[i].is_there || node->conditions[i].truth == KUBE_UNKNOWN);
    }
}

static void check_status(const struct k8s_status *status) {
    must(!status->code || (status->code >= 100 && status->code <= 599));
    must(status->retry_after_s <= INT32_MAX);
    must(strlen(status->reason) < sizeof(status->reason) && !str_has_control(status->reason));
    must(strlen(status->message) < sizeof(status->message) && !str_has_control(status->message));
    must(str_utf8_chars(status->message, strlen(status->message)) >= 0);
}

static void check_error(int rc, const struct err *err) {
    must((rc == ERR_PROTOCOL || rc == ERR_TOO_LARGE) && err->code == rc && err->text[0]);
}

/* Takes each second one over. */
static int on_node(void *arg, struct kube_node *node, struct err *err) {
    unsigned *count = arg;
    (void)err;
    check_node(node);
    if (++*count % 2)
        kube_node_done(node);
    return 0;
}

static void try_list(const struct k8s_codec *codec, const uint8_t *data, size_t n) {
    struct k8s_list_meta meta = {0};
    struct err err = {0};
    unsigned count = 0;
    int rc = codec->read_nodes(data, n, on_node, &count, &meta, &err);
    if (rc) {
        check_error(rc, &err);
        must(!meta.continue_token);
        return;
    }
    check_visible(meta.resource_version, K8S_VERSION_BYTES_MAX);
    must(meta.resource_version[0]);
    if (meta.continue_token)
        check_visible(meta.continue_token, K8S_CONTINUE_BYTES_MAX);
    k8s_list_meta_done(&meta);
}

static void try_event(const struct k8s_codec *codec, const void *bytes, size_t n) {
    struct k8s_event event;
    struct err err = {0};
    int rc = codec->read_event(bytes, n, &event, &err);
    if (rc) {
        check_error(rc, &err);
        return;
    }
    if (event.type == K8S_ADDED || event.type == K8S_MODIFIED || event.type == K8S_DELETED)
        check_node(&event.node);
    if (event.type != K8S_ERROR)
        check_visible(event.resource_version, K8S_VERSION_BYTES_MAX);
    must(!event.is_initial_end || event.type == K8S_BOOKMARK);
    check_status(&event.status);
    k8s_event_done(&event);
}

/* False: no more of it can be read. */
static bool try_frames(const struct k8s_codec *codec, struct k8s_frames *frames) {
    const void *event = NULL;
    struct err err = {0};
    size_t n = 0;
    for (;;) {
        int rc = codec->next_frame(frames, &event, &n, &err);
        if (rc) {
            check_error(rc, &err);
            return false;
        }
        if (!n)
            return true;
        must(n <= K8S_OBJECT_BYTES_MAX && frames->at <= frames->rest.len);
        try_event(codec, event, n);
    }
}

static void try_watch(const struct k8s_codec *codec, const uint8_t *data, size_t n) {
    const size_t piece_n = n ? (size_t)data[0] + 1 : 1;
    struct k8s_frames frames;
    bool goes_on = true;
    k8s_frames_init(&frames);
    for (size_t at = 1; goes_on && at < n; at += piece_n) {
        must(!k8s_frames_add(&frames, data + at, n - at < piece_n ? n - at : piece_n, NULL));
        goes_on = try_frames(codec, &frames);
    }
    k8s_frames_done(&frames);
}

static void try_status(const uint8_t *data, size_t n) {
    struct k8s_status status;
    k8s_status_read(data, n, &status);
    check_status(&status);
}

static void try_readyz(const uint8_t *data, size_t n) {
    struct kube_readyz z = {0};
    struct err err = {0};
    int rc = kube_readyz_parse((const char *)data, n, &z, &err);
    if (rc) {
        check_error(rc, &err);
        must(!z.is_there);
        return;
    }
    must(z.is_there && (z.etcd != KUBE_FALSE || z.failed_count));
    for (size_t i = 0; i < KUBE_READYZ_NAMED_MAX; i++) {
        must(memchr(z.failed[i], '\0', KUBE_READYZ_NAME_BYTES) && (i < z.failed_count || !z.failed[i][0]));
        for (const char *c = z.failed[i]; *c; c++)
            must(*c > ' ' && *c <= '~');
    }
}

static void try_version(const uint8_t *data, size_t n) {
    char *text = strndup((const char *)data, n);
    struct kube_version v;
    struct kube_supported s;
    must(text);
    if (kube_version_parse(text, &v))
        must(v.major >= 0 && v.minor >= 0 && v.patch >= 0);
    kube_version_support(text, INT64_C(1796032800000), &s); /* a day of 2026 */
    must(strlen(s.upgrade) < sizeof(s.upgrade));
    free(text);
}

static void try_volumes(const uint8_t *data, size_t n) {
    struct kube_volumes volumes = {.count = 0};
    struct err err = {0};
    int rc = k8s_volumes_read(data, n, &volumes, &err);
    if (rc) {
        check_error(rc, &err);
        return;
    }
    must(volumes.count <= KUBE_VOLUMES_MAX);
    for (size_t i = 0; i < volumes.count; i++) {
        must(volumes.items[i].name);
        check_visible(volumes.items[i].name, KUBE_NAME_BYTES_MAX);
        check_text(volumes.items[i].claim, 2 * KUBE_NAME_BYTES_MAX + 1);
        check_text(volumes.items[i].capacity, KUBE_TEXT_BYTES_MAX);
        check_text(volumes.items[i].handle, KUBE_TEXT_BYTES_MAX);
    }
    kube_volumes_done(&volumes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (!n)
        return 0;
    switch ((uint8_t)(data[0] - '0') % 8) {
    case 0: try_list(&k8s_codec_protobuf, data + 1, n - 1); break;
    case 1: try_list(&k8s_codec_json, data + 1, n - 1); break;
    case 2: try_watch(&k8s_codec_protobuf, data + 1, n - 1); break;
    case 3: try_watch(&k8s_codec_json, data + 1, n - 1); break;
    case 4: try_status(data + 1, n - 1); break;
    case 5: try_readyz(data + 1, n - 1); break;
    case 6: try_version(data + 1, n - 1); break;
    default: try_volumes(data + 1, n - 1); break;
    }
    return 0;
}
