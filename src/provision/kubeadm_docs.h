/* The documents that kubeadm is run with. Layer 5 (provision); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: kubernetes.io, "kubeadm Configuration (v1beta4)" and "(v1beta3)". They are written as JSON, which is YAML: no name can be taken for anything but a text. */
#pragma once

#include "err.h"
#include "node_plan.h"
#include "strbuf.h"

/* Where on a control plane the file of kubeadm_write_authentication lies; the folder is mounted into the API server. */
#define KUBEADM_AUTHENTICATION_FOLDER "/etc/kubernetes/kaas"
#define KUBEADM_AUTHENTICATION_FILE KUBEADM_AUTHENTICATION_FOLDER "/authentication.yaml"

/* Appends the documents of a plan that node_plan_check has taken, separated by lines of "---": of INIT four, of the other roles one. They hold the token. ERR_NOMEM, or
 * ERR_TOO_LARGE by the cap of `out` (make it with strbuf_init_secret). */
int kubeadm_write_documents(const struct node_plan *plan, struct strbuf *out, struct err *err);

/* Appends the API server's configuration of authentication: no issuer of tokens is trusted yet. It is there from the first day, since an API server reads it again when it
 * changes, but takes the option only when it starts. Nothing is appended for a version that knows no such file. ERR_NOMEM, ERR_TOO_LARGE. */
int kubeadm_write_authentication(const struct node_plan *plan, struct strbuf *out, struct err *err);
