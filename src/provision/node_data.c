/* What a machine is told by guestinfo at its first boot. Layer 5 (provision); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "node_data.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster_pki.h"
#include "gzip.h"
#include "json.h"
#include "kubeadm_docs.h"
#include "node_files.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"

#define PLAIN_BYTES_MAX (1024U * 1024U)
#define FILE_BYTES_MAX (64U * 1024U)
#define CARD "eth0" /* what the network card is called inside, wherever it came from */
#define PLAN "/etc/kaas/"
#define CONTROL_PLANE_MIB 1700 /* kubeadm's own least */
#define WORKER_MIB 800

void node_data_done(struct node_data *data) {
    if (!data)
        return;
    free(data->metadata);
    secret_free(data->userdata);
    *data = (struct node_data){0};
}

/* -- metadata --------------------------------------------------------------------------------------------------------------- */

static json_t *node_list(const struct node_texts *texts) {
    json_t *list = json_array();
    for (size_t i = 0; i < texts->count; i++)
        json_add(list, json_string(texts->items[i]));
    return list;
}

/* Routes are part of the configuration, so that they are there after a restart, too. */
static json_t *node_routes(const struct node_plan *plan) {
    json_t *list = json_array();
    if (plan->gateway)
        json_add(list, json_pack("{s:s, s:s}", "to", "0.0.0.0/0", "via", plan->gateway));
    for (size_t i = 0; i < plan->routes_count; i++)
        json_add(list, json_pack("{s:s, s:s}", "to", plan->routes[i].to, "via", plan->routes[i].via));
    return list;
}

static json_t *node_card(const struct node_plan *plan) {
    char address[40];
    (void)snprintf(address, sizeof(address), "%s/%u", plan->address, plan->prefix);
    json_t *card = json_pack("{s:{s:s}, s:s, s:b, s:[s]}", "match", "macaddress", plan->mac, "set-name", CARD, "dhcp4", 0,
                             "addresses", address);
    if (plan->gateway || plan->routes_count)
        json_put(card, "routes", node_routes(plan));
    if (plan->dns.count || plan->search.count)
        json_put(card, "nameservers",
                 json_pack("{s:o, s:o}", "addresses", node_list(&plan->dns), "search", node_list(&plan->search)));
    return card;
}

static json_t *node_metadata(const struct node_plan *plan) {
    return json_pack("{s:s, s:s, s:[s], s:{s:b}, s:{s:i, s:{s:o}}}", "instance-id", plan->instance_id, "local-hostname",
                     plan->node_name, "redact", "userdata", "wait-on-network", "ipv4", 1, "network", "version", 2, "ethernets",
                     CARD, node_card(plan));
}

/* -- files ------------------------------------------------------------------------------------------------------------------ */

static void node_add_file(json_t *files, const char *path, const char *mode, const char *text) {
    json_add(files, json_pack("{s:s, s:s, s:s}", "path", path, "permissions", mode, "content", text));
}

/* Whether a buffer came out whole is asked where it is used up: a text that was cut would be a wrong file. */
static int node_add_buffer(json_t *files, const char *path, const char *mode, struct strbuf *text, struct err *err) {
    int rc = strbuf_check(text, path, err);
    if (!rc && text->len)
        node_add_file(files, path, mode, text->data);
    strbuf_done(text);
    return rc;
}

/* Read by node_start.sh. No value has a character that means something to a shell (node_plan_check). */
static int node_add_settings(const struct node_plan *plan, json_t *files, struct err *err) {
    static const char *const roles[] = {[PLAN_INIT] = "init", [PLAN_CONTROL_PLANE] = "control-plane", [PLAN_WORKER] = "worker"};
    struct strbuf text;
    strbuf_init(&text, FILE_BYTES_MAX);
    strbuf_addf(&text, "KAAS_ROLE=%s\nKAAS_VERSION=%s\nKAAS_ADDRESS=%s\nKAAS_GATEWAY=%s\n", roles[plan->role],
                plan->kubernetes_version, plan->address, plan->gateway ? plan->gateway : "");
    strbuf_addf(&text, "KAAS_API=%s:%u\nKAAS_API_ADDRESS=%s\nKAAS_MADE_S=%lld\nKAAS_MEMORY_MIB=%d\n", plan->api_host,
                plan->api_port, plan->is_api_external ? "" : plan->api_host, (long long)(plan->made_at_ms / 1000),
                plan->role == PLAN_WORKER ? WORKER_MIB : CONTROL_PLANE_MIB);
    return node_add_buffer(files, PLAN "node.env", "0600", &text, err);
}

static int node_add_documents(const struct node_plan *plan, json_t *files, struct err *err) {
    struct strbuf text;
    strbuf_init_secret(&text, FILE_BYTES_MAX);
    int rc = kubeadm_write_documents(plan, &text, err);
    return rc ? rc : node_add_buffer(files, PLAN "kubeadm.yaml", "0600", &text, err);
}

static int node_add_authentication(const struct node_plan *plan, json_t *files, struct err *err) {
    struct strbuf text;
    strbuf_init(&text, FILE_BYTES_MAX);
    int rc = kubeadm_write_authentication(plan, &text, err);
    return rc ? rc : node_add_buffer(files, PLAN "authentication.yaml", "0600", &text, err);
}

/* Names and modes are those of kubeadm's own. */
static void node_add_keys(const struct cluster_pki *pki, json_t *files) {
    node_add_file(files, PLAN "pki/ca.crt", "0644", pki->ca.cert_pem);
    node_add_file(files, PLAN "pki/ca.key", "0600", pki->ca.key_pem);
    node_add_file(files, PLAN "pki/front-proxy-ca.crt", "0644", pki->front_proxy_ca.cert_pem);
    node_add_file(files, PLAN "pki/front-proxy-ca.key", "0600", pki->front_proxy_ca.key_pem);
    node_add_file(files, PLAN "pki/etcd/ca.crt", "0644", pki->etcd_ca.cert_pem);
    node_add_file(files, PLAN "pki/etcd/ca.key", "0600", pki->etcd_ca.key_pem);
    node_add_file(files, PLAN "pki/sa.pub", "0644", pki->accounts_public_pem);
    node_add_file(files, PLAN "pki/sa.key", "0600", pki->accounts_key_pem);
}

/* -- the address of the API ------------------------------------------------------------------------------------------------- */

/* Of VRRP (RFC 5798, 1 to 255): up to 255 addresses that follow each other have one each, so that clusters of one provider do not meet. */
static unsigned node_router_id(const char *address) {
    struct in_addr in = {0};
    (void)inet_pton(AF_INET, address, &in);
    return ntohl(in.s_addr) % 255 + 1;
}

#define KEEPALIVED "/etc/keepalived/"

/* All control planes have the same priority, so whoever holds the address keeps it as long as its API server is well; without one a node has less. Where none has one, as
 * at the beginning, the first one holds it. Advertisements go to the group of VRRP: who the others will be is not known when a machine is made. */
static int node_add_keepalived(const struct node_plan *plan, json_t *files, struct err *err) {
    struct strbuf text;
    strbuf_init(&text, FILE_BYTES_MAX);
    strbuf_addf(&text,
                "global_defs {\n    router_id %s\n    enable_script_security\n    script_user nobody\n}\n"
                "vrrp_script api {\n    script \"" KEEPALIVED
                "kaas-check-api\"\n    interval 2\n    timeout 4\n    fall 2\n    rise 2\n"
                "    weight -30\n    init_fail\n}\n"
                "vrrp_instance api {\n    state BACKUP\n    interface " CARD "\n    virtual_router_id %u\n    priority 100\n"
                "    advert_int 1\n    virtual_ipaddress {\n        %s/32\n    }\n    track_script {\n        api\n    }\n}\n",
                plan->node_name, node_router_id(plan->api_host), plan->api_host);
    int rc = node_add_buffer(files, KEEPALIVED "keepalived.conf", "0644", &text, err);
    if (rc)
        return rc;
    node_add_file(files, KEEPALIVED "kaas-ca.crt", "0644", plan->pki->ca.cert_pem);
    strbuf_init(&text, FILE_BYTES_MAX);
    strbuf_addf(&text,
                "#!/bin/sh\nexec curl --silent --fail --noproxy '*' --max-time 3 --output /dev/null --cacert " KEEPALIVED
                "kaas-ca.crt https://%s:%u/readyz\n",
                plan->address, NODE_API_PORT);
    return node_add_buffer(files, KEEPALIVED "kaas-check-api", "0755", &text, err);
}

/* -- the rest --------------------------------------------------------------------------------------------------------------- */

static int node_add_proxy(const struct node_plan *plan, json_t *files, struct err *err) {
    struct strbuf text;
    if (!plan->http_proxy && !plan->https_proxy)
        return 0;
    strbuf_init(&text, FILE_BYTES_MAX);
    strbuf_adds(&text, "[Service]\n");
    if (plan->http_proxy)
        strbuf_addf(&text, "Environment=\"HTTP_PROXY=%s\"\n", plan->http_proxy);
    if (plan->https_proxy)
        strbuf_addf(&text, "Environment=\"HTTPS_PROXY=%s\"\n", plan->https_proxy);
    strbuf_addf(&text, "Environment=\"NO_PROXY=localhost,127.0.0.0/8,.svc,.cluster.local,%s,%s,%s/%u,%s", plan->pod_network,
                plan->service_network, plan->address, plan->prefix, plan->api_host);
    for (size_t i = 0; i < plan->no_proxy.count; i++)
        strbuf_addf(&text, ",%s", plan->no_proxy.items[i]);
    strbuf_adds(&text, "\"\n");
    return node_add_buffer(files, "/etc/systemd/system/containerd.service.d/kaas-proxy.conf", "0644", &text, err);
}

/* Pods of a node on a bridge, which the routes of the others lead to. https://www.cni.dev/plugins/current/main/bridge/ */
static int node_add_bridge(const struct node_plan *plan, json_t *files, struct err *err) {
    struct strbuf text;
    if (!plan->bridge_pods)
        return 0;
    _cleanup_json_ json_t *document =
        json_pack("{s:s, s:s, s:[{s:s, s:s, s:b, s:b, s:{s:s, s:[[{s:s}]], s:[{s:s}]}}, {s:s, s:{s:b}}]}", "cniVersion", "0.4.0",
                  "name", "kaas", "plugins", "type", "bridge", "bridge", "pods", "isGateway", 1, "hairpinMode", 1, "ipam", "type",
                  "host-local", "ranges", "subnet", plan->bridge_pods, "routes", "dst", "0.0.0.0/0", "type", "portmap",
                  "capabilities", "portMappings", 1);
    strbuf_init(&text, FILE_BYTES_MAX);
    int rc = document ? json_write(document, &text, err) : err_set(err, ERR_NOMEM, "out of memory");
    return rc ? rc : node_add_buffer(files, "/etc/cni/net.d/10-kaas.conflist", "0644", &text, err);
}

#define START "/usr/local/lib/kaas/node-start"
#define UNIT "kaas-node.service"

/* At the first boot cloud-init runs it (runcmd), which it does once; at each further boot this unit does. */
static const char node_unit[] = "[Unit]\n"
                                "Description=Being a node of a Kubernetes cluster\n"
                                "Wants=network-online.target\n"
                                "After=network-online.target containerd.service open-vm-tools.service\n"
                                "[Service]\n"
                                "ExecStart=" START "\n"
                                "[Install]\n"
                                "WantedBy=multi-user.target\n";

static int node_add_files(const struct node_plan *plan, json_t *files, struct err *err) {
    const bool is_control_plane = plan->role != PLAN_WORKER;
    node_add_file(files, START, "0755", node_file_start);
    node_add_file(files, "/etc/systemd/system/" UNIT, "0644", node_unit);
    node_add_file(files, "/usr/local/lib/kaas/arp-probe", "0755", node_file_arp_probe);
    int rc = node_add_settings(plan, files, err);
    rc = rc ? rc : node_add_documents(plan, files, err);
    rc = rc ? rc : node_add_proxy(plan, files, err);
    rc = rc ? rc : node_add_bridge(plan, files, err);
    if (rc || !is_control_plane)
        return rc;
    node_add_keys(plan->pki, files);
    rc = node_add_authentication(plan, files, err);
    return rc || plan->is_api_external ? rc : node_add_keepalived(plan, files, err);
}

/* There is this user alone, with keys or without: not the one that the image would have made. */
static json_t *node_user(const struct node_plan *plan) {
    json_t *user = json_pack("{s:s, s:s, s:s, s:b}", "name", NODE_USER, "shell", "/bin/bash", "sudo", "ALL=(ALL) NOPASSWD:ALL",
                             "lock_passwd", 1);
    if (plan->ssh_keys.count)
        json_put(user, "ssh_authorized_keys", node_list(&plan->ssh_keys));
    return user;
}

static int node_userdata(const struct node_plan *plan, json_t **out, struct err *err) {
    json_t *config = json_pack("{s:s, s:b}", "manage_etc_hosts", "localhost", "ssh_pwauth", 0), *files = json_array();
    json_put(config, "users", json_pack("[o]", node_user(plan)));
    if (plan->ntp.count)
        json_put(config, "ntp", json_pack("{s:b, s:o}", "enabled", 1, "servers", node_list(&plan->ntp)));
    json_put(config, "write_files", files);
    json_put(config, "runcmd", json_pack("[[s, s, s], [s]]", "systemctl", "enable", UNIT, START));
    *out = config;
    return node_add_files(plan, files, err);
}

/* -- packing ---------------------------------------------------------------------------------------------------------------- */

int node_data_make_plain(const struct node_plan *plan, struct node_data *out, struct err *err) {
    _cleanup_json_ json_t *meta = NULL, *user = NULL;
    _cleanup_strbuf_ struct strbuf metadata, userdata;
    strbuf_init(&metadata, PLAIN_BYTES_MAX);
    strbuf_init_secret(&userdata, PLAIN_BYTES_MAX);
    strbuf_adds(&userdata, "#cloud-config\n");
    int rc = node_plan_check(plan, err);
    rc = rc ? rc : node_userdata(plan, &user, err);
    rc = rc ? rc : json_write(user, &userdata, err);
    if (rc)
        return rc;
    meta = node_metadata(plan);
    strbuf_adds(&userdata, "\n");
    rc = meta ? json_write(meta, &metadata, err) : err_set(err, ERR_NOMEM, "out of memory");
    rc = rc ? rc : strbuf_check(&userdata, "user-data", err);
    if (!rc)
        *out = (struct node_data){.metadata = strbuf_steal(&metadata), .userdata = strbuf_steal(&userdata)};
    return rc;
}

static int node_data_pack(const char *plain, const char *what, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf zipped, packed;
    strbuf_init_secret(&zipped, PLAIN_BYTES_MAX);
    strbuf_init_secret(&packed, 2 * PLAIN_BYTES_MAX);
    int rc = gzip_pack(plain, strlen(plain), 9, &zipped, err);
    if (rc)
        return rc;
    str_base64(&packed, (const uint8_t *)zipped.data, zipped.len);
    while (packed.len % 4)
        strbuf_addc(&packed, '=');
    rc = strbuf_check(&packed, what, err);
    if (!rc && packed.len > NODE_DATA_BYTES_MAX) {
        (void)err_set(err, ERR_TOO_LARGE, "the %s of the machine have %zu bytes; vSphere takes %u in a value of guestinfo", what,
                      packed.len, NODE_DATA_BYTES_MAX);
        rc = err_remedy(err, "give the provider fewer or shorter ssh_keys");
    }
    if (!rc)
        *out = strbuf_steal(&packed);
    return rc;
}

int node_data_make(const struct node_plan *plan, struct node_data *out, struct err *err) {
    struct node_data plain = {0}, packed = {0};
    int rc = node_data_make_plain(plan, &plain, err);
    rc = rc ? rc : node_data_pack(plain.metadata, "metadata", &packed.metadata, err);
    rc = rc ? rc : node_data_pack(plain.userdata, "user-data", &packed.userdata, err);
    node_data_done(&plain);
    if (rc)
        node_data_done(&packed);
    else
        *out = packed;
    return rc;
}
