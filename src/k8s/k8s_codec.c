/* What both codecs share but the records: pieces of a watch on their way to events, and memory. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "k8s_codec.h"

void k8s_list_meta_done(struct k8s_list_meta *meta) {
    if (!meta)
        return;
    free(meta->continue_token);
    *meta = (struct k8s_list_meta){0};
}

void k8s_event_done(struct k8s_event *event) {
    if (!event)
        return;
    kube_node_done(&event->node);
    *event = (struct k8s_event){0};
}

void k8s_frames_init(struct k8s_frames *frames) {
    *frames = (struct k8s_frames){0};
    strbuf_init(&frames->rest, K8S_LENGTH_BYTES + K8S_OBJECT_BYTES_MAX + K8S_PIECE_BYTES_MAX);
}

void k8s_frames_done(struct k8s_frames *frames) {
    if (!frames)
        return;
    strbuf_done(&frames->rest);
    frames->at = frames->looked = 0;
}

int k8s_frames_add(struct k8s_frames *frames, const void *bytes, size_t n, struct err *err) {
    strbuf_drop(&frames->rest, frames->at);
    frames->looked -= frames->at < frames->looked ? frames->at : frames->looked;
    frames->at = 0;
    strbuf_add(&frames->rest, bytes, n);
    return strbuf_check(&frames->rest, "what has come of an event", err);
}

bool k8s_frames_are_empty(struct k8s_frames *frames) {
    if (frames->at < frames->rest.len)
        return false;
    k8s_frames_done(frames);
    return true;
}
