/* Reading what a Kubernetes API server sends: lists, pages and watch events, in protobuf or JSON. Inside src/k8s. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: k8s.io/apimachinery meta/v1 (ListMeta, WatchEvent, Status), runtime (Unknown: the envelope behind the four bytes "k8s\0"), and the framing of
 * watches: in protobuf a big-endian length of 4 bytes, then the WatchEvent itself, in which the object has the envelope; in JSON a line for each event.
 * The bytes may come from anybody at that address and are not trusted: lengths, counts and nesting are bounded, names are checked, texts cleaned. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "kube_node.h"
#include "kube_volume.h"
#include "strbuf.h"

#define K8S_ENVELOPE "k8s"  /* with its NUL: what an object in protobuf begins with */
#define K8S_LENGTH_BYTES 4U /* before each event in protobuf */

#define K8S_PAGE_BYTES_MAX (16U * 1024U * 1024U) /* the body of a list: 250 nodes of 64 KiB */
#define K8S_PAGE_NODES_MAX 5000U                 /* in one list; Kubernetes supports no more in a cluster */
/* one event; etcd holds 1.5 MiB an object, JSON of it is larger than protobuf */
#define K8S_OBJECT_BYTES_MAX (3U * 1024U * 1024U)
#define K8S_PIECE_BYTES_MAX (64U * 1024U) /* of a watch's body at a time; libcurl hands on a quarter of it */
#define K8S_VERSION_BYTES_MAX 63U         /* a resourceVersion */
#define K8S_CONTINUE_BYTES_MAX 4096U      /* a continue token */
#define K8S_STATUS_TEXT_BYTES_MAX 300U    /* of the server's text */

/* What a list says of itself (ListMeta). */
struct k8s_list_meta {
    char resource_version[K8S_VERSION_BYTES_MAX + 1];
    char *continue_token; /* malloc'ed; NULL: the last page */
};
void k8s_list_meta_done(struct k8s_list_meta *meta);

/* What the server says of a failure (meta/v1 Status). All empty where the body was no Status. */
struct k8s_status {
    int code;                                    /* HTTP status that it names; 0: none */
    char reason[64];                             /* "Expired", "Forbidden", ... */
    char message[K8S_STATUS_TEXT_BYTES_MAX + 1]; /* printable UTF-8, cut */
    unsigned retry_after_s;                      /* details.retryAfterSeconds; 0: none */
};

enum k8s_event_type { K8S_ADDED, K8S_MODIFIED, K8S_DELETED, K8S_BOOKMARK, K8S_ERROR };

/* One event of a watch of nodes. */
struct k8s_event {
    enum k8s_event_type type;
    char resource_version[K8S_VERSION_BYTES_MAX + 1]; /* of the object; not of K8S_ERROR */
    /* K8S_BOOKMARK with annotation k8s.io/initial-events-end: "true": all that was there has been told (WatchList) */
    bool is_initial_end;
    struct kube_node node;    /* K8S_ADDED, K8S_MODIFIED, K8S_DELETED */
    struct k8s_status status; /* K8S_ERROR */
};
void k8s_event_done(struct k8s_event *event);

/* Pieces of a watch's body on their way to whole events: k8s_frames_add, then next_frame of the codec until it gives none. While nothing is on its way it
 * holds no memory. */
struct k8s_frames {
    struct strbuf rest; /* what has come and was not yet taken, behind `at` bytes that were */
    size_t at;
    size_t looked; /* JSON: no end of a line before it; so that each byte is looked at once */
};
/* Allocates nothing. k8s_frames_done frees; NULL is allowed. */
void k8s_frames_init(struct k8s_frames *frames);
void k8s_frames_done(struct k8s_frames *frames);
/* Takes a piece of at most K8S_PIECE_BYTES_MAX over. ERR_TOO_LARGE (events were left in it), ERR_NOMEM: then it is of no use any more. */
int k8s_frames_add(struct k8s_frames *frames, const void *bytes, size_t n, struct err *err);
/* For codecs: true when all was taken; gives the memory back. */
bool k8s_frames_are_empty(struct k8s_frames *frames);

/* Two ways to say the same; both give equal structs for the same objects. Errors of all name neither the server nor the call. */
struct k8s_codec {
    const char *list_type;  /* media type for Accept of a list: "application/vnd.kubernetes.protobuf" */
    const char *watch_type; /* of a watch: "application/vnd.kubernetes.protobuf;stream=watch" */
    /* Reads a page of nodes: `on_node` is called for each and may take the texts (then sets the node to zero); an error of it ends the reading.
     * *meta is written on success only; k8s_list_meta_done frees. ERR_PROTOCOL: not a NodeList, truncated, a node without name or uid, a list without
     * resource version. ERR_TOO_LARGE (K8S_PAGE_BYTES_MAX, K8S_PAGE_NODES_MAX, K8S_CONTINUE_BYTES_MAX, values of JSON), ERR_NOMEM. */
    int (*read_nodes)(const void *bytes, size_t n, int (*on_node)(void *arg, struct kube_node *node, struct err *err), void *arg,
                      struct k8s_list_meta *meta, struct err *err);
    /* Takes the next whole event out of what `frames` holds: *event points into it until the next call for it, *n is its length, 0: not yet whole.
     * ERR_TOO_LARGE above K8S_OBJECT_BYTES_MAX, as soon as that can be told; ERR_PROTOCOL. */
    int (*next_frame)(struct k8s_frames *frames, const void **event, size_t *n, struct err *err);
    /* Reads one event; *out is written on success only, k8s_event_done frees. ERR_PROTOCOL: an unknown type, not about a Node, no resource version;
     * ERR_TOO_LARGE, ERR_NOMEM. Of K8S_ERROR an object that is no Status leaves out->status empty. */
    int (*read_event)(const void *bytes, size_t n, struct k8s_event *out, struct err *err);
    /* Reads a Status. Never fails: what is no Status leaves *out empty. */
    void (*read_status)(const void *bytes, size_t n, struct k8s_status *out);
};
extern const struct k8s_codec k8s_codec_protobuf, k8s_codec_json;

/* Reads a Status, in whichever form it came: an API server answers in the form that was asked for, what stands before it often in JSON. Never fails, as
 * read_status. */
void k8s_status_read(const void *bytes, size_t n, struct k8s_status *out);

/* Reads a list of volumes in JSON, the first KUBE_VOLUMES_MAX of it; one that says that it goes on is cut. *out is given back by kube_volumes_done, and written on success
 * only. ERR_PROTOCOL: not a PersistentVolumeList, a volume without a name; ERR_TOO_LARGE, ERR_NOMEM. */
int k8s_volumes_read(const void *bytes, size_t n, struct kube_volumes *out, struct err *err);
