/* The nodes of one Kubernetes cluster in memory, as its watch tells them. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "k8s_watch.h"
#include "kube_node.h"

struct kube_mirror {
    pthread_mutex_t lock; /* guards everything but `changed` and `arg`; never held during work or a wait */
    struct kube_mirrored {
        struct kube_node node;
        bool is_told; /* in the list under way */
    } * items;        /* by name */
    size_t count, room;
    uint64_t version;  /* rises with everything that lists may show; above 0 once all nodes were told */
    bool is_complete;  /* all nodes were told since the watch began; from then on it stays so until kube_mirror_clear */
    bool is_asked_for; /* the next transfer: it is known whose nodes it tells */
    bool is_doubtful;  /* another list has begun, or the changes go on, maybe of another cluster behind the same address */
    bool has_ended;    /* the watch is over, for `why` */
    struct err why;
    void (*changed)(
        void *
            arg); /* what lists may show has changed, or the watch has ended; called in the thread of the streams, does not block */
    void *arg;
};

/* Makes an empty one. kube_mirror_done gives it back. */
void kube_mirror_init(struct kube_mirror *mirror, void (*changed)(void *arg), void *arg);
void kube_mirror_done(struct kube_mirror *mirror);

/* The user of the watch that fills it. */
struct k8s_watch_user kube_mirror_user(struct kube_mirror *mirror);
/* Before the watch is started (again): it has not ended any more. The caller has made sure that it is this cluster that answers. */
void kube_mirror_begin(struct kube_mirror *mirror);
/* True once all nodes were told. */
bool kube_mirror_is_complete(struct kube_mirror *mirror);
/* Whether that is in doubt again, since a list has begun, or the watch has gone on, by itself. */
bool kube_mirror_is_doubtful(struct kube_mirror *mirror);
/* Says whether it is; before a question that settles it: false, so that what begins meanwhile is doubted. */
void kube_mirror_set_doubtful(struct kube_mirror *mirror, bool is_doubtful);
/* Forgets everything. */
void kube_mirror_clear(struct kube_mirror *mirror);
/* True if the watch is over; *why (may be NULL) tells why. */
bool kube_mirror_has_ended(struct kube_mirror *mirror, struct err *why);

/* Copies of all nodes, an array of *count, as of *version; freed by kube_nodes_free. ERR_NOT_FOUND: they are not all known yet; ERR_NOMEM. */
int kube_mirror_copy(struct kube_mirror *mirror, struct kube_node **nodes, size_t *count, uint64_t *version, struct err *err);
void kube_nodes_free(struct kube_node *nodes, size_t count); /* NULL is allowed */
