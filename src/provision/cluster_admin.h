/* Administrators of clusters that kaasd has made: certificates for kaasd itself, kubeconfigs for people. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each is issued by the cluster's CA when it is asked for, ends soon, and is kept nowhere here. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "kube_admin.h"
#include "runtime.h"
#include "strbuf.h"

struct actor;
struct cluster;
struct kubernetes;

#define CLUSTER_ADMIN_OWN_S 900     /* life of kaasd's own: longer than any call, and than clocks differ */
#define CLUSTER_ADMIN_PERSON_S 3600 /* of a person's */

/* Issues a certificate for kaasd itself: what kubernetes_options.issue_admin wants. *out (all zero at first) is given back by kube_admin_done in any case. Blocks.
 * ERR_NOT_FOUND: the cluster was not made here; ERR_CONFIG: the master key that sealed its CA is lost; ERR_UNPROCESSABLE: the CA has ended. */
int cluster_admin_issue(const struct runtime *runtime, const char *cluster_id, struct kube_admin *out, struct err *err);

/* Appends a kubeconfig by which whoever asks is an administrator of the cluster for CLUSTER_ADMIN_PERSON_S, under their own name; `text` (strbuf_init_secret) holds a secret
 * then. *until_ms: its end, wall clock. The audit log has a line of it before; without that line nothing is given. Blocks. ERR_CONFLICT: the cluster was not made here, or its API does
 * not answer yet; ERR_UNPROCESSABLE: a name that no certificate holds; ERR_CONFIG as above. */
int cluster_admin_make_kubeconfig(const struct runtime *runtime, struct kubernetes *k, const struct actor *actor,
                                  const struct cluster *cluster, struct strbuf *text, int64_t *until_ms, struct err *err);
