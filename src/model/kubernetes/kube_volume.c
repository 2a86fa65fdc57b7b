/* A volume of a Kubernetes cluster. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_volume.h"

#include <stdlib.h>

void kube_volumes_done(struct kube_volumes *volumes) {
    if (!volumes)
        return;
    for (size_t i = 0; i < volumes->count; i++) {
        free(volumes->items[i].name);
        free(volumes->items[i].claim);
        free(volumes->items[i].capacity);
        free(volumes->items[i].handle);
    }
    free(volumes->items);
    *volumes = (struct kube_volumes){0};
}
