/* How kaasd reaches the API server of a Kubernetes cluster: words and memory. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_connection.h"

#include <stdlib.h>

const char *const kube_connection_state_words[] = {
    [REMOTE_NEW] = "unknown", [REMOTE_OK] = "ok", [REMOTE_FAILING] = "failing", [REMOTE_REFUSED] = "refused", NULL};

const char *kube_connection_state_name(enum remote_state state) {
    return words_get(kube_connection_state_words, state, "unknown");
}

void kube_connection_done(struct kube_connection *connection) {
    members_done(kube_connection_members, connection, sizeof(*connection));
}

void kube_connection_free(struct kube_connection *connection) {
    kube_connection_done(connection);
    free(connection);
}

void kube_connection_list_done(struct kube_connection_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        kube_connection_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct kube_connection_list){0};
}

void kube_status_done(struct kube_status *status) {
    members_done(kube_status_members, status, sizeof(*status));
}

void kube_status_free(struct kube_status *status) {
    kube_status_done(status);
    free(status);
}

void kube_status_list_done(struct kube_status_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        kube_status_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct kube_status_list){0};
}

void kube_summary_done(struct kube_summary *s) {
    if (!s)
        return;
    free(s->reason);
    *s = (struct kube_summary){0};
}
