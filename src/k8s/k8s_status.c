/* What a server says of a failure, in whichever form. Layer 2 (k8s); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "k8s_codec.h"

#include <string.h>

void k8s_status_read(const void *bytes, size_t n, struct k8s_status *out) {
    const bool is_protobuf = n >= sizeof(K8S_ENVELOPE) && !memcmp(bytes, K8S_ENVELOPE, sizeof(K8S_ENVELOPE));
    (is_protobuf ? &k8s_codec_protobuf : &k8s_codec_json)->read_status(bytes, n, out);
}
