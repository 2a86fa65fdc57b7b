/* A kubeconfig: the one context of it that is connected by. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: "Organizing Cluster Access Using kubeconfig Files" and "kubeconfig (v1)" (kubernetes.io), k8s.io/client-go tools/clientcmd/api/v1. YAML or JSON;
 * a value without quotes is the text that stands there; what is null, false or empty counts as not given.
 *
 * The file is used on a server, not where it was written, and once. So what it only points to is refused by name, with the place and the cure: files of any
 * kind, programs and plug-ins that sign in, proxies; and so is what weakens or changes the sign-in: insecure-skip-tls-verify, plain http, user and password,
 * acting as somebody else, any key of the user that is not known here (a later one may change who signs in). Keys that are not known elsewhere, namespace,
 * extensions and preferences are ignored. Only the chosen context, its cluster and its user are judged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "limits.h"
#include "strbuf.h"

#define KUBECONFIG_BYTES_MAX KAAS_KUBECONFIG_BYTES_MAX
#define KUBECONFIG_CONTEXTS_MAX 1000U
#define KUBECONFIG_NAME_BYTES_MAX 512U /* of contexts, clusters and users: EKS makes them of ARNs, OpenShift of addresses */

/* All texts are malloc'ed. At least one of token and client certificate is there. Both are taken where both are given and are to be sent together, as kubectl
 * does: which of them counts is the server's decision (the certificate, unless a proxy is before it), and another choice here could be another account. */
struct kubeconfig {
    char *context, *cluster_name, *user_name;
    char *url;             /* as k8s_url_check gives it */
    char *tls_server_name; /* name or address that the server's certificate is for; NULL: that of the URL */
    char *ca_pem;          /* certificates and nothing else; NULL: none was given, and whom to trust is to be asked */
    char *token;           /* a secret; NULL: none */
    char *client_cert_pem, *client_key_pem; /* certificates, the account's first, and its key, a secret; both or neither */
    int64_t client_not_after_ms;            /* when that certificate ends, wall clock; 0: there is none */
};

/* Reads the context of that name; NULL: the current one, or else the only one. `now_ms` (wall clock) is when the client certificate must be valid. The caller
 * kubeconfig_done's *out. ERR_UNPROCESSABLE with the place ("kubeconfig:LINE:COLUMN:") and a remedy, also for a context that is not there and for several of
 * which none was chosen, both of which name those there are (ERR_CAUSE_CHOICE); ERR_TOO_LARGE above 256 KiB and other caps; ERR_NOMEM. Names of the file may be part of a text,
 * what stands in credentials never is. */
int kubeconfig_parse(const char *text, size_t n, const char *context, int64_t now_ms, struct kubeconfig *out, struct err *err);
void kubeconfig_done(struct kubeconfig *config); /* wipes token and key; NULL and a zeroed struct are allowed */
#define _cleanup_kubeconfig_ _cleanup_done_(kubeconfig_done)

/* What a new one is to hold, all of it; names without control characters. Borrowed. */
struct kubeconfig_new {
    const char *context, *cluster_name, *user_name;
    const char *url, *ca_pem;
    const char *client_cert_pem, *client_key_pem;
};
/* Appends it as kubeconfig_parse reads it and kubectl takes it; `out` holds a secret then. ERR_TOO_LARGE, ERR_NOMEM. */
int kubeconfig_write(const struct kubeconfig_new *config, struct strbuf *out, struct err *err);

/* The contexts of a kubeconfig, to choose from: whether one can be used is told by kubeconfig_parse. */
struct kubeconfig_contexts {
    struct kubeconfig_context {
        char *name;
        char *cluster, *user; /* "": it has none */
        bool is_current;
    } * items; /* in the order of the file */
    size_t count;
};

/* Lists them; the caller kubeconfig_contexts_done's *out. Errors as of kubeconfig_parse. */
int kubeconfig_list(const char *text, size_t n, struct kubeconfig_contexts *out, struct err *err);
void kubeconfig_contexts_done(struct kubeconfig_contexts *contexts); /* a zeroed struct is allowed */
