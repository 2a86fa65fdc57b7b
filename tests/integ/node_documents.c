/* Writes what a machine is told to become, for tests that have it judged. Not installed.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   node_documents FOLDER <PLAN
 *
 * PLAN is a JSON object whose members are those of struct node_plan (role: "init", "control-plane", "worker"; lists are arrays, routes objects with `to` and `via`). FOLDER
 * holds the keys of the cluster, made by the first run. Prints {"metadata", "userdata": as guestinfo, "plain": {"metadata", "userdata"}, "kubeadm", "authentication", "ca",
 * "client": {"cert", "key"} of an admin, "etcd_ca", "etcd_client"}, or {"error", "text", "remedy"} with status 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "cluster_pki.h"
#include "fsutil.h"
#include "json.h"
#include "kubeadm_docs.h"
#include "node_data.h"
#include "secret.h"
#include "str.h"

#define TEXT_BYTES_MAX (1024U * 1024U)
#define CLIENT_TTL_S 3600

static struct err err;

/* The end, if something is wrong. */
static void check(int rc) {
    if (!rc)
        return;
    _cleanup_json_ json_t *told = json_pack("{s:s, s:s, s:s}", "error", err_slug(rc), "text", err.text, "remedy", err.remedy);
    (void)json_dumpf(told, stdout, JSON_COMPACT);
    exit(1);
}

/* -- keys ------------------------------------------------------------------------------------------------------------------- */

static char *path_of(const char *folder, const char *name) {
    return str_format("%s/%s", folder, name);
}

static char *read_text(const char *folder, const char *name) {
    _cleanup_free_ char *path = path_of(folder, name);
    struct strbuf text;
    strbuf_init_secret(&text, TEXT_BYTES_MAX);
    check(fs_read(path, &text, &err));
    return strbuf_steal(&text);
}

static void write_text(const char *folder, const char *name, const char *text) {
    _cleanup_free_ char *path = path_of(folder, name);
    check(fs_write_atomic(path, text, strlen(text), 0600, &err));
}

static void write_pair(const char *folder, const char *name, const char *common_name) {
    struct pki_pair pair;
    _cleanup_free_ char *cert = str_format("%s.crt", name), *key = str_format("%s.key", name);
    check(pki_make_ca(common_name, &pair, &err));
    write_text(folder, cert, pair.cert_pem);
    write_text(folder, key, pair.key_pem);
    pki_pair_done(&pair);
}

static void make_keys(const char *folder) {
    _cleanup_free_ char *last = path_of(folder, "sa.pub");
    char *key = NULL, *public = NULL;
    if (!access(last, R_OK))
        return;
    write_pair(folder, "ca", "kubernetes");
    write_pair(folder, "etcd-ca", "etcd-ca");
    write_pair(folder, "front-proxy-ca", "front-proxy-ca");
    check(pki_make_rsa(&key, &public, &err));
    write_text(folder, "sa.key", key);
    write_text(folder, "sa.pub", public);
    secret_free(key);
    free(public);
}

static struct cluster_pki *read_keys(const char *folder) {
    struct cluster_pki *pki = calloc(1, sizeof(*pki));
    uint8_t hash[DIGEST_SHA256_BYTES];
    make_keys(folder);
    pki->ca = (struct pki_pair){read_text(folder, "ca.crt"), read_text(folder, "ca.key")};
    pki->etcd_ca = (struct pki_pair){read_text(folder, "etcd-ca.crt"), read_text(folder, "etcd-ca.key")};
    pki->front_proxy_ca = (struct pki_pair){read_text(folder, "front-proxy-ca.crt"), read_text(folder, "front-proxy-ca.key")};
    pki->accounts_key_pem = read_text(folder, "sa.key");
    pki->accounts_public_pem = read_text(folder, "sa.pub");
    check(pki_hash_key(pki->ca.cert_pem, hash, &err));
    memcpy(pki->ca_hash, "sha256:", 7);
    str_hex(hash, sizeof(hash), pki->ca_hash + 7);
    return pki;
}

/* -- the plan --------------------------------------------------------------------------------------------------------------- */

/* The texts are those of `plan`; the caller frees the list itself. */
static struct node_texts texts_of(const json_t *plan, const char *name) {
    const json_t *list = json_object_get(plan, name);
    const char **items = calloc(json_array_size(list) + 1, sizeof(*items));
    for (size_t i = 0; i < json_array_size(list); i++)
        items[i] = json_string_value(json_array_get(list, i));
    return (struct node_texts){items, json_array_size(list)};
}

static struct node_route *routes_of(const json_t *list) {
    struct node_route *routes = calloc(json_array_size(list) + 1, sizeof(*routes));
    for (size_t i = 0; i < json_array_size(list); i++)
        routes[i] =
            (struct node_route){json_get_string(json_array_get(list, i), "to"), json_get_string(json_array_get(list, i), "via")};
    return routes;
}

static struct node_plan plan_of(const json_t *plan, const struct cluster_pki *pki) {
    const char *role = json_get_string(plan, "role");
    return (struct node_plan){
        .role = str_eq(role, "init")            ? PLAN_INIT
                : str_eq(role, "control-plane") ? PLAN_CONTROL_PLANE
                                                : PLAN_WORKER,
        .instance_id = json_get_string(plan, "instance_id"),
        .node_name = json_get_string(plan, "node_name"),
        .cluster_name = json_get_string(plan, "cluster_name"),
        .kubernetes_version = json_get_string(plan, "kubernetes_version"),
        .api_host = json_get_string(plan, "api_host"),
        .api_port = (unsigned)json_get_int(plan, "api_port", NODE_API_PORT),
        .is_api_external = json_get_bool(plan, "is_api_external", false),
        .pod_network = json_get_string(plan, "pod_network"),
        .service_network = json_get_string(plan, "service_network"),
        .mac = json_get_string(plan, "mac"),
        .address = json_get_string(plan, "address"),
        .prefix = (unsigned)json_get_int(plan, "prefix", 0),
        .gateway = json_get_string(plan, "gateway"),
        .dns = texts_of(plan, "dns"),
        .search = texts_of(plan, "search"),
        .routes = routes_of(json_object_get(plan, "routes")),
        .routes_count = json_array_size(json_object_get(plan, "routes")),
        .bridge_pods = json_get_string(plan, "bridge_pods"),
        .token = json_get_string(plan, "token"),
        .token_ttl_s = (unsigned)json_get_int(plan, "token_ttl_s", 900),
        .pki = pki,
        .ssh_keys = texts_of(plan, "ssh_keys"),
        .ntp = texts_of(plan, "ntp"),
        .http_proxy = json_get_string(plan, "http_proxy"),
        .https_proxy = json_get_string(plan, "https_proxy"),
        .no_proxy = texts_of(plan, "no_proxy"),
        .made_at_ms = json_get_int(plan, "made_at_ms", clock_wall_ms()),
    };
}

/* -- what is printed -------------------------------------------------------------------------------------------------------- */

static json_t *pair_json(const struct pki_pair *pair) {
    return json_pack("{s:s, s:s}", "cert", pair->cert_pem, "key", pair->key_pem);
}

static void print_all(const struct node_plan *plan) {
    _cleanup_json_ json_t *told = json_object();
    struct node_data packed, plain;
    struct pki_pair client, etcd_client;
    _cleanup_strbuf_ struct strbuf kubeadm, authentication;
    strbuf_init_secret(&kubeadm, TEXT_BYTES_MAX);
    strbuf_init(&authentication, TEXT_BYTES_MAX);
    check(node_data_make(plan, &packed, &err));
    check(node_data_make_plain(plan, &plain, &err));
    check(kubeadm_write_documents(plan, &kubeadm, &err));
    check(kubeadm_write_authentication(plan, &authentication, &err));
    check(cluster_pki_issue_client(plan->pki, "ada", "kubeadm:cluster-admins", CLIENT_TTL_S, &client, NULL, &err));
    check(cluster_pki_issue_etcd_client(plan->pki, "kaas", CLIENT_TTL_S, &etcd_client, &err));
    json_put_string(told, "metadata", packed.metadata);
    json_put_string(told, "userdata", packed.userdata);
    json_put(told, "plain", json_pack("{s:s, s:s}", "metadata", plain.metadata, "userdata", plain.userdata));
    json_put_string(told, "kubeadm", kubeadm.data);
    json_put_string(told, "authentication", authentication.data);
    json_put_string(told, "ca", plan->pki->ca.cert_pem);
    json_put_string(told, "etcd_ca", plan->pki->etcd_ca.cert_pem);
    json_put(told, "client", pair_json(&client));
    json_put(told, "etcd_client", pair_json(&etcd_client));
    (void)json_dumpf(told, stdout, JSON_COMPACT);
    node_data_done(&packed);
    node_data_done(&plain);
    pki_pair_done(&client);
    pki_pair_done(&etcd_client);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    _cleanup_json_ json_t *given = json_loadf(stdin, 0, NULL);
    _cleanup_(cluster_pki_free) struct cluster_pki *pki = read_keys(argv[1]);
    const struct node_plan plan = plan_of(given, pki);
    print_all(&plan);
    free((void *)(uintptr_t)plan.dns.items);
    free((void *)(uintptr_t)plan.search.items);
    free((void *)(uintptr_t)plan.routes);
    free((void *)(uintptr_t)plan.ssh_keys.items);
    free((void *)(uintptr_t)plan.ntp.items);
    free((void *)(uintptr_t)plan.no_proxy.items);
    return 0;
}
