/* What a machine is to become. Layer 5 (provision); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a member goes it may stand in JSON, in a shell's variable, in a unit of systemd or in keepalived's configuration. So each is held to the few characters that it is
 * made of, and nothing has to be quoted. */
#include "node_plan.h"

#include <string.h>

#include "names.h"
#include "net_addr.h"
#include "str.h"

#define NODE_LABEL_CHARS_MAX 63U /* RFC 1123 */
#define NODE_MINOR_MIN 29U       /* kubeadm of 1.29 reads v1beta3 as those after it do */
#define SSH_KEY_CHARS_MAX 8192U
#define PROXY_CHARS_MAX 300U

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static int node_refuse(const char *member, const char *what, struct err *err) {
    return err_set(err, ERR_UNPROCESSABLE, "%s: %s", member, what);
}

/* 1 to `max` characters out of `allowed`. */
static bool node_is_made_of(const char *text, const char *allowed, size_t max) {
    const size_t n = text ? strlen(text) : 0;
    return n && n <= max && strspn(text, allowed) == n;
}

static int node_check_label(const char *text, const char *member, struct err *err) {
    const bool is_label =
        node_is_made_of(text, LOWER DIGITS "-", NODE_LABEL_CHARS_MAX) && text[0] != '-' && text[strlen(text) - 1] != '-';
    return is_label ? 0 : node_refuse(member, "a DNS label is wanted: lower-case letters, digits, and - within", err);
}

static int node_check_ip4(const char *text, const char *member, struct err *err) {
    uint8_t address[16];
    const bool is_ip4 = node_is_made_of(text, DIGITS ".", 15) && net_addr_parse(text, address);
    return is_ip4 ? 0 : node_refuse(member, "an IPv4 address is wanted, such as 10.9.0.21", err);
}

static int node_check_network(const char *text, const char *member, struct err *err) {
    struct net_block block;
    const bool is_network = node_is_made_of(text, DIGITS "./", 18) && strchr(text, '/') && net_block_parse(text, &block);
    return is_network ? 0 : node_refuse(member, "a network is wanted, such as 10.244.0.0/16", err);
}

static int node_check_mac(const char *text, struct err *err) {
    uint8_t bytes[6];
    const bool is_mac = text && strlen(text) == 17 && str_unhex(text, bytes, sizeof(bytes));
    return is_mac ? 0 : node_refuse("mac", "the address of a network card is wanted, such as 00:50:56:00:00:15", err);
}

static int node_check_token(const char *text, struct err *err) {
    const bool is_token =
        node_is_made_of(text, LOWER DIGITS ".", 23) && strlen(text) == 23 && text[6] == '.' && !strchr(text + 7, '.');
    return is_token ? 0 : node_refuse("token", "a bootstrap token has the form abcdef.0123456789abcdef", err);
}

static int node_check_proxy(const char *url, const char *member, struct err *err) {
    const bool is_proxy = !url || (node_is_made_of(url, LOWER UPPER DIGITS ".-:/[]", PROXY_CHARS_MAX) &&
                                   (str_starts(url, "http://") || str_starts(url, "https://")));
    return is_proxy ? 0 : node_refuse(member, "a proxy is wanted as http://HOST:PORT", err);
}

/* -- lists ------------------------------------------------------------------------------------------------------------------ */

static int node_check_ssh_key(const char *text, const char *member, struct err *err) {
    return name_check_line(text, SSH_KEY_CHARS_MAX, member, err);
}

static int node_check_no_proxy(const char *text, const char *member, struct err *err) {
    return node_is_made_of(text, LOWER UPPER DIGITS ".-:/*", PROXY_CHARS_MAX)
               ? 0
               : node_refuse(member, "a host, a domain or a network is wanted", err);
}

static int node_check_texts(const struct node_texts *texts, const char *member,
                            int (*check)(const char *text, const char *member, struct err *err), struct err *err) {
    int rc = texts->count > NODE_TEXTS_MAX ? node_refuse(member, "there are more than 64", err) : 0;
    for (size_t i = 0; i < texts->count && !rc; i++)
        rc = check(texts->items[i], member, err);
    return rc;
}

static int node_check_routes(const struct node_plan *plan, struct err *err) {
    int rc = plan->routes_count > NODE_ROUTES_MAX ? node_refuse("routes", "there are more than 16", err) : 0;
    for (size_t i = 0; i < plan->routes_count && !rc; i++) {
        rc = node_check_network(plan->routes[i].to, "routes", err);
        rc = rc ? rc : node_check_ip4(plan->routes[i].via, "routes", err);
    }
    return rc;
}

/* -- the plan --------------------------------------------------------------------------------------------------------------- */

int node_plan_check_version(const char *version, struct err *err) {
    int rc = name_check_kubernetes_version(version, err);
    if (rc || node_version_minor(version) >= NODE_MINOR_MIN)
        return rc;
    return err_set(err, ERR_UNPROCESSABLE, "kubernetes_version: %.40s is older than 1.%u, the first that clusters are made of",
                   version, NODE_MINOR_MIN);
}

static int node_check_api(const struct node_plan *plan, struct err *err) {
    if (!plan->is_api_external && plan->api_port != NODE_API_PORT)
        return node_refuse("api_port", "an API address of ours is at port 6443", err);
    if (!plan->api_port || plan->api_port > UINT16_MAX)
        return node_refuse("api_port", "a port is wanted, 1 to 65535", err);
    return plan->is_api_external ? name_check_host(plan->api_host, "api_host", err)
                                 : node_check_ip4(plan->api_host, "api_host", err);
}

static int node_check_network_card(const struct node_plan *plan, struct err *err) {
    int rc = node_check_mac(plan->mac, err);
    rc = rc ? rc : node_check_ip4(plan->address, "address", err);
    rc = rc || (plan->prefix && plan->prefix < 32) ? rc : node_refuse("prefix", "1 to 31 bits are wanted", err);
    rc = rc || !plan->gateway ? rc : node_check_ip4(plan->gateway, "gateway", err);
    rc = rc ? rc : node_check_texts(&plan->dns, "dns", name_check_ip_address, err);
    rc = rc ? rc : node_check_texts(&plan->search, "search", name_check_host, err);
    rc = rc ? rc : node_check_routes(plan, err);
    return rc || !plan->bridge_pods ? rc : node_check_network(plan->bridge_pods, "bridge_pods", err);
}

static int node_check_cluster(const struct node_plan *plan, struct err *err) {
    int rc = node_check_label(plan->cluster_name, "cluster_name", err);
    rc = rc ? rc : node_plan_check_version(plan->kubernetes_version, err);
    rc = rc ? rc : node_check_api(plan, err);
    rc = rc ? rc : node_check_network(plan->pod_network, "pod_network", err);
    rc = rc ? rc : node_check_network(plan->service_network, "service_network", err);
    rc = rc ? rc : node_check_token(plan->token, err);
    rc = rc || plan->role != PLAN_INIT || plan->token_ttl_s ? rc : node_refuse("token_ttl_s", "the token's life is missing", err);
    return rc || plan->pki ? rc : node_refuse("pki", "the cluster's keys are missing", err);
}

int node_plan_check(const struct node_plan *plan, struct err *err) {
    int rc = node_check_label(plan->node_name, "node_name", err);
    rc = rc || node_is_made_of(plan->instance_id, LOWER UPPER DIGITS "-", 100)
             ? rc
             : node_refuse("instance_id", "up to 100 letters, digits and - are wanted", err);
    rc = rc ? rc : node_check_cluster(plan, err);
    rc = rc ? rc : node_check_network_card(plan, err);
    rc = rc ? rc : node_check_texts(&plan->ssh_keys, "ssh_keys", node_check_ssh_key, err);
    rc = rc ? rc : node_check_texts(&plan->ntp, "ntp", name_check_host, err);
    rc = rc ? rc : node_check_proxy(plan->http_proxy, "http_proxy", err);
    rc = rc ? rc : node_check_proxy(plan->https_proxy, "https_proxy", err);
    return rc ? rc : node_check_texts(&plan->no_proxy, "no_proxy", node_check_no_proxy, err);
}

unsigned node_version_minor(const char *version) {
    int64_t minor = 0;
    char digits[4] = "";
    const size_t n = str_starts(version, "1.") ? strspn(version + 2, DIGITS) : 0;
    if (!n || n >= sizeof(digits))
        return 0;
    memcpy(digits, version + 2, n);
    return str_to_i64(digits, 0, 999, &minor) ? (unsigned)minor : 0;
}
