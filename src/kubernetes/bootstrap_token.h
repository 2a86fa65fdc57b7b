/* The token by which a new machine joins a cluster that kaasd has made. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It is drawn here and kept sealed, so that whoever goes on with a job uses the same one. In the cluster it is the Secret bootstrap-token-ID of kube-system, and ends by itself.
 *
 * Facts: Kubernetes, "Authenticating with Bootstrap Tokens". */
#pragma once

#include "err.h"

struct k8s_client;
struct kubernetes;

#define BOOTSTRAP_TOKEN_BYTES 24    /* "abcdef.0123456789abcdef", and NUL */
#define BOOTSTRAP_TOKEN_LIFE_S 900  /* in the cluster, from the last bootstrap_token_apply on */
#define BOOTSTRAP_TOKEN_RENEW_S 300 /* how often that is to be called while a machine has not joined */

/* The token of this cluster; the first call draws it and keeps it. Wipe it after use. Errors of the store and of seal_unseal. */
int bootstrap_token_get(struct kubernetes *k, const char *cluster_id, char token[BOOTSTRAP_TOKEN_BYTES], struct err *err);
/* Makes the token good in the cluster for BOOTSTRAP_TOKEN_LIFE_S from now, by the clock of its API server. Errors of bootstrap_token_get, of k8s_call. */
int bootstrap_token_apply(struct kubernetes *k, const char *cluster_id, struct k8s_client *client, struct err *err);
/* Ends it there (`client` NULL: the cluster is gone, or was never there), then forgets it; one that is not there is ended. Errors of the store, of k8s_call. */
int bootstrap_token_remove(struct kubernetes *k, const char *cluster_id, struct k8s_client *client, struct err *err);
