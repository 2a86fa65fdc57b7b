/* The documents that kubeadm is run with. Layer 5 (provision); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubeadm_docs.h"

#include <stdio.h>

#include "cluster_pki.h"
#include "json.h"

#define V1BETA4_MINOR 31U        /* lists of arguments in place of maps, time limits of their own */
#define AUTHENTICATION_MINOR 30U /* apiserver.config.k8s.io/v1beta1 is on unless it is switched off */
#define AUTHENTICATION_V1_MINOR 34U
#define NFTABLES_MINOR 31U /* kube-proxy's mode is on unless it is switched off */
#define PATCHES_FOLDER "/etc/kubernetes/patches"

/* What kubeadm waits for takes longer on a busy datastore than its own limits allow: it then gives up on an API server that is about to come. */
#define API_CALL_LIMIT "4m0s"
#define HEALTH_LIMIT "6m0s"
#define ETCD_LIMIT "4m0s"

static bool kubeadm_is_v1beta4(const struct node_plan *plan) {
    return node_version_minor(plan->kubernetes_version) >= V1BETA4_MINOR;
}

static json_t *kubeadm_document(const struct node_plan *plan, const char *kind) {
    return json_pack("{s:s, s:s}", "apiVersion", kubeadm_is_v1beta4(plan) ? "kubeadm.k8s.io/v1beta4" : "kubeadm.k8s.io/v1beta3",
                     "kind", kind);
}

/* One argument, in the form of the version. */
static json_t *kubeadm_argument(const struct node_plan *plan, const char *name, const char *value) {
    return kubeadm_is_v1beta4(plan) ? json_pack("[{s:s, s:s}]", "name", name, "value", value) : json_pack("{s:s}", name, value);
}

/* Beside those of its own, v1beta3 knows one limit of each document. */
static json_t *kubeadm_timeouts(void) {
    return json_pack("{s:s, s:s, s:s, s:s}", "controlPlaneComponentHealthCheck", HEALTH_LIMIT, "kubernetesAPICall",
                     API_CALL_LIMIT, "kubeletHealthCheck", API_CALL_LIMIT, "etcdAPICall", ETCD_LIMIT);
}

/* SystemVerification looks at kernel, modules and control groups: those are the image's, in which kaas-node-check has looked at them. */
static json_t *kubeadm_registration(const struct node_plan *plan) {
    json_t *node =
        json_pack("{s:s, s:s, s:s, s:[s]}", "name", plan->node_name, "criSocket", "unix:///run/containerd/containerd.sock",
                  "imagePullPolicy", "IfNotPresent", "ignorePreflightErrors", "SystemVerification");
    json_put(node, "kubeletExtraArgs", kubeadm_argument(plan, "node-ip", plan->address));
    return node;
}

static json_t *kubeadm_api_endpoint(const struct node_plan *plan) {
    return json_pack("{s:s, s:i}", "advertiseAddress", plan->address, "bindPort", (int)NODE_API_PORT);
}

static char *kubeadm_endpoint(const struct node_plan *plan, char *out, size_t size) {
    (void)snprintf(out, size, "%s:%u", plan->api_host, plan->api_port);
    return out;
}

/* What is said of the node itself, in the document of init and in that of join. */
static void kubeadm_put_node(const struct node_plan *plan, json_t *document) {
    json_put(document, "nodeRegistration", kubeadm_registration(plan));
    json_put(document, "patches", json_pack("{s:s}", "directory", PATCHES_FOLDER));
    if (kubeadm_is_v1beta4(plan))
        json_put(document, "timeouts", kubeadm_timeouts());
}

/* -- init ------------------------------------------------------------------------------------------------------------------- */

static json_t *kubeadm_init(const struct node_plan *plan) {
    char ttl[32];
    json_t *document = kubeadm_document(plan, "InitConfiguration");
    (void)snprintf(ttl, sizeof(ttl), "%us", plan->token_ttl_s);
    json_put(document, "bootstrapTokens",
             json_pack("[{s:s, s:s, s:[s, s], s:[s]}]", "token", plan->token, "ttl", ttl, "usages", "signing", "authentication",
                       "groups", "system:bootstrappers:kubeadm:default-node-token"));
    json_put(document, "localAPIEndpoint", kubeadm_api_endpoint(plan));
    kubeadm_put_node(plan, document);
    return document;
}

static json_t *kubeadm_api_server(const struct node_plan *plan) {
    json_t *server = json_pack("{s:[s]}", "certSANs", plan->api_host);
    if (!kubeadm_is_v1beta4(plan))
        json_put_string(server, "timeoutForControlPlane", HEALTH_LIMIT);
    if (node_version_minor(plan->kubernetes_version) < AUTHENTICATION_MINOR)
        return server;
    json_put(server, "extraArgs", kubeadm_argument(plan, "authentication-config", KUBEADM_AUTHENTICATION_FILE));
    json_put(server, "extraVolumes",
             json_pack("[{s:s, s:s, s:s, s:b, s:s}]", "name", "kaas", "hostPath", KUBEADM_AUTHENTICATION_FOLDER, "mountPath",
                       KUBEADM_AUTHENTICATION_FOLDER, "readOnly", 1, "pathType", "DirectoryOrCreate"));
    return server;
}

static json_t *kubeadm_cluster(const struct node_plan *plan) {
    char endpoint[300], version[80];
    json_t *document = kubeadm_document(plan, "ClusterConfiguration");
    (void)snprintf(version, sizeof(version), "v%s", plan->kubernetes_version);
    json_put_string(document, "clusterName", plan->cluster_name);
    json_put_string(document, "kubernetesVersion", version);
    json_put_string(document, "controlPlaneEndpoint", kubeadm_endpoint(plan, endpoint, sizeof(endpoint)));
    json_put(document, "networking",
             json_pack("{s:s, s:s, s:s}", "podSubnet", plan->pod_network, "serviceSubnet", plan->service_network, "dnsDomain",
                       "cluster.local"));
    json_put(document, "apiServer", kubeadm_api_server(plan));
    if (kubeadm_is_v1beta4(plan))
        json_put_string(document, "encryptionAlgorithm", "ECDSA-P256"); /* as the CAs */
    return document;
}

static json_t *kubeadm_kubelet(void) {
    return json_pack("{s:s, s:s, s:b}", "apiVersion", "kubelet.config.k8s.io/v1beta1", "kind", "KubeletConfiguration",
                     "serverTLSBootstrap", 0);
}

/* The kernel knows better how many connections it can track: kube-proxy's own count is less than its on machines with few CPUs. */
static json_t *kubeadm_proxy(const struct node_plan *plan) {
    const bool has_nftables = node_version_minor(plan->kubernetes_version) >= NFTABLES_MINOR;
    return json_pack("{s:s, s:s, s:s, s:{s:i}}", "apiVersion", "kubeproxy.config.k8s.io/v1alpha1", "kind",
                     "KubeProxyConfiguration", "mode", has_nftables ? "nftables" : "iptables", "conntrack", "maxPerCore", 0);
}

/* -- join ------------------------------------------------------------------------------------------------------------------- */

/* Control planes are given the CAs as files, so nothing has to be uploaded for them (certificateKey). */
static json_t *kubeadm_join(const struct node_plan *plan) {
    char endpoint[300];
    json_t *document = kubeadm_document(plan, "JoinConfiguration");
    json_t *discovery =
        json_pack("{s:{s:s, s:s, s:[s]}}", "bootstrapToken", "apiServerEndpoint",
                  kubeadm_endpoint(plan, endpoint, sizeof(endpoint)), "token", plan->token, "caCertHashes", plan->pki->ca_hash);
    if (!kubeadm_is_v1beta4(plan))
        json_put_string(discovery, "timeout", HEALTH_LIMIT);
    json_put(document, "discovery", discovery);
    if (plan->role == PLAN_CONTROL_PLANE)
        json_put(document, "controlPlane", json_pack("{s:o}", "localAPIEndpoint", kubeadm_api_endpoint(plan)));
    kubeadm_put_node(plan, document);
    return document;
}

/* -- writing ---------------------------------------------------------------------------------------------------------------- */

/* Appends a document, behind a line that separates it, and gives it back. */
static int kubeadm_add(json_t *document, struct strbuf *out, struct err *err) {
    if (out->len)
        strbuf_adds(out, "---\n");
    int rc = document ? json_write(document, out, err) : err_set(err, ERR_NOMEM, "out of memory");
    json_decref(document);
    strbuf_adds(out, "\n");
    return rc ? rc : strbuf_check(out, "kubeadm's documents", err);
}

int kubeadm_write_documents(const struct node_plan *plan, struct strbuf *out, struct err *err) {
    if (plan->role != PLAN_INIT)
        return kubeadm_add(kubeadm_join(plan), out, err);
    int rc = kubeadm_add(kubeadm_init(plan), out, err);
    rc = rc ? rc : kubeadm_add(kubeadm_cluster(plan), out, err);
    rc = rc ? rc : kubeadm_add(kubeadm_kubelet(), out, err);
    return rc ? rc : kubeadm_add(kubeadm_proxy(plan), out, err);
}

int kubeadm_write_authentication(const struct node_plan *plan, struct strbuf *out, struct err *err) {
    const unsigned minor = node_version_minor(plan->kubernetes_version);
    if (minor < AUTHENTICATION_MINOR)
        return 0;
    return kubeadm_add(
        json_pack("{s:s, s:s, s:[]}", "apiVersion",
                  minor < AUTHENTICATION_V1_MINOR ? "apiserver.config.k8s.io/v1beta1" : "apiserver.config.k8s.io/v1", "kind",
                  "AuthenticationConfiguration", "jwt"),
        out, err);
}
