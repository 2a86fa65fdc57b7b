/* Where clusters are built, and the clusters that kaasd makes there. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <config.h>

#include "provision.h"
#include "wire_private.h"

static int make_providers(struct wire *w, struct err *err) {
    const struct providers_options options = {
        .runtime = &w->runtime, .platform = w->parts.platform, .inventory = w->parts.inventory, .networks = &w->kube_networks};
    return providers_new(&options, &w->parts.providers, err);
}

static int make_provision(struct wire *w, struct err *err) {
    const char *bundles = w->config.kubernetes_bundles;
    int rc = make_providers(w, err);
    if (rc)
        return rc;
    const struct provision_options options = {.runtime = &w->runtime,
                                              .platform = w->parts.platform,
                                              .providers = w->parts.providers,
                                              .inventory = w->parts.inventory,
                                              .clusters = w->parts.clusters,
                                              .kubernetes = w->parts.kubernetes,
                                              .networks = &w->kube_networks,
                                              .bundles = *bundles ? bundles : KAAS_BUNDLES_DIR};
    return provision_new(&options, &w->parts.provision, err);
}

static void drop_provision(struct wire *w) {
    provision_free(w->parts.provision);
    providers_free(w->parts.providers);
}

MODULE_TRY(settle_provision, provision_settle(w->parts.provision, err))

const struct wire_module module_provision = {
    .make = make_provision,
    .drop = drop_provision,
    .ticks = {{.name = "made clusters", .period_ms = MINUTE, .jitter_percent = 20, .retry = RETRY_SLOW, .run = settle_provision}},
};
