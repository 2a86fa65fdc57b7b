/* All nodes of a Kubernetes cluster, and each change of one as it happens. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where the server has WatchList (KEP-3157; 1.32 and newer), list and changes come in one stream; else the list is read in pages of 250, then watched. Protobuf where the
 * server takes it, else JSON. What is no error does not end it: the server's end of a watch, a proxy that cuts it, silence, an expired version (410), which begins a
 * new list. What ends it is told, and k8s_watch_start goes on where it ended, so that nothing is missed. */
#pragma once

#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "http_stream.h"
#include "k8s.h"
#include "kube_node.h"

#define K8S_NODES_MAX 10000U    /* twice what Kubernetes supports in a cluster (Considerations for large clusters) */
#define K8S_WATCH_IDLE_MS 90000 /* servers tell their version about once a minute (bookmarks) */
#define K8S_WATCH_SHORT_MS \
    5000 /* a transfer that ends within this has failed, whatever it says: the next comes when the user says so */

/* Who is told. All but what k8s_watch_start itself tells (its errors, `resume`) comes in the thread of the streams, where nothing may be waited for, and where the watch is neither started, stopped nor freed. */
struct k8s_watch_user {
    void *arg;
    /* A list begins: a node that is not told until `complete` is not there any more. */
    void (*begin)(void *arg);
    /* A node is there, or is as told from now on; it may be taken (set to zero). An error, as ERR_NOMEM, ends the watch. */
    int (*node)(void *arg, struct kube_node *node, struct err *err);
    /* The node of this name and uid is gone. */
    void (*gone)(void *arg, const struct kube_node *node);
    /* All nodes were told. */
    void (*complete)(void *arg);
    /* Changes are asked for from where the last transfer ended, before the first of them is told. Versions are numbers that another cluster understands as well, if one has come
     * to stand behind the same address meanwhile: who minds asks for its identity. */
    void (*resume)(void *arg);
    /* The watch is over, because of `err`: those of k8s_call; ERR_TOO_LARGE (an object, a page, more nodes than K8S_NODES_MAX), ERR_PROTOCOL. Not called for a stop. */
    void (*end)(void *arg, const struct err *err);
};

struct k8s_watch;

/* Makes a watch that rests. `streams` outlives it. ERR_CONFIG, ERR_NOMEM. */
int k8s_watch_new(struct http_streams *streams, const struct k8s_endpoint *endpoint, const struct k8s_watch_user *user,
                  struct k8s_watch **out, struct err *err);

/* Begins, or goes on, with this token (NULL: none). Only for a watch that rests: new, ended or stopped. ERR_CONFIG (a token that no header holds), ERR_NOMEM. */
int k8s_watch_start(struct k8s_watch *watch, const char *token, struct err *err);

/* Rests: when it returns no call comes any more. */
void k8s_watch_stop(struct k8s_watch *watch);

/* Stops and frees. NULL is allowed. */
void k8s_watch_free(struct k8s_watch *watch);
CLEANUP_DEFINE(struct k8s_watch, k8s_watch_free);
