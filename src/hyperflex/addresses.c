/* Where HX clusters may be, and whose certificate is good there. Layer 5 (hyperflex). SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex_private.h"

#include <ctype.h>
#include <stdlib.h>

#include "http_client.h"
#include "hx_addresses.h"
#include "inventory.h"
#include "net_addr.h"
#include "platform_links.h"
#include "str.h"

#define LOOK_MS 3000L

char *hyperflex_get_ca(struct hyperflex *h) {
    LOCKED(&h->lock);
    return str_dup(h->ca_pem);
}

bool hyperflex_has_ca(struct hyperflex *h) {
    LOCKED(&h->lock);
    return h->ca_pem != NULL;
}

/* A client is made of it for a try, so that a bad file is told when it is read. */
int hyperflex_set_ca(struct hyperflex *h, const char *ca_pem, struct err *err) {
    const struct http_client_options options = {.trust = {.ca_pem = ca_pem}};
    struct http_client *client = NULL;
    char *copy = str_dup(ca_pem), *old;
    int rc = ca_pem ? http_client_new(&options, &client, err) : 0;
    http_client_free(client);
    if (!rc && ca_pem && !copy)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (rc) {
        free(copy);
        return rc;
    }
    (void)pthread_mutex_lock(&h->lock);
    old = h->ca_pem;
    h->ca_pem = copy;
    (void)pthread_mutex_unlock(&h->lock);
    free(old);
    return 0;
}

int hyperflex_list_addresses(struct hyperflex *h, const char *hx_id, struct hx_addresses *out, struct err *err) {
    struct inventory_snapshot *snapshot = inventory_get(h->options.inventory);
    const struct hx_cluster *hx = snapshot ? inventory_find_hx(snapshot->platform, hx_id) : NULL;
    struct link *link = NULL;
    int rc = hx ? platform_find(h->options.platform, hx->vsphere_cluster.vcenter_id, &link, err)
                : err_set(err, ERR_NOT_FOUND, "there is no HX cluster %s", hx_id);
    if (!rc)
        rc = hx_addresses_list(link, hx, out, err);
    link_unref(link);
    inventory_snapshot_unref(snapshot);
    return rc;
}

/* `*` stands for any characters of one label. */
static bool name_fits(const char *pattern, const char *name) {
    while (*pattern != '*')
        if (tolower((unsigned char)*pattern) != tolower((unsigned char)*name))
            return false;
        else if (!*name)
            return true;
        else
            pattern++, name++;
    for (; !name_fits(pattern + 1, name); name++)
        if (!*name || *name == '.')
            return false;
    return true;
}

/* Anybody may get a certificate of a CA that signs for others, too, and write his own address into a record of vCenter, or into the name of a virtual machine. */
bool hyperflex_names(const struct hyperflex *h, const char *address) {
    uint8_t numeric[16];
    const bool is_numeric = net_addr_parse(address, numeric);
    struct net_block block;
    for (const char *const *item = h->options.names; item && *item; item++)
        if (is_numeric ? net_block_parse(*item, &block) && net_block_has(&block, 1, numeric) : name_fits(*item, address))
            return true;
    return false;
}

static long hyperflex_look_ms(const struct hyperflex *h) {
    return h->options.call_timeout_ms < LOOK_MS ? h->options.call_timeout_ms : LOOK_MS;
}

/* By what this connection trusts (NULL: there is none yet): its own CA or fingerprint, else the CA of hx.ca_file. */
bool hyperflex_trusts(struct hyperflex *h, const struct hx_connection *as, const struct hx_address *where) {
    _cleanup_free_ char *shared = hyperflex_get_ca(h), *url = str_format("https://%s:%u/", where->address, where->port);
    uint8_t pin[32];
    const bool is_pinned = as && as->sha256 && str_unhex(as->sha256, pin, sizeof(pin));
    const char *ca = is_pinned ? NULL : as && as->ca_pem ? as->ca_pem : shared;
    const struct http_client_options options = {.networks = h->options.networks,
                                                .trust = {.ca_pem = ca, .pin_sha256 = is_pinned ? pin : NULL},
                                                .connect_timeout_ms = hyperflex_look_ms(h)};
    const struct http_exchange handshake = {
        .method = "GET", .url = url, .timeout_ms = hyperflex_look_ms(h), .is_handshake = true};
    _cleanup_strbuf_ struct strbuf nothing;
    struct http_client *client = NULL;
    long status;
    strbuf_init(&nothing, 1);
    int rc = (ca || is_pinned) && url ? http_client_new(&options, &client, NULL) : ERR_CONFIG;
    if (!rc)
        rc = http_client_run(client, &handshake, &nothing, &status, NULL);
    http_client_free(client);
    return !rc;
}

void hyperflex_look_at(struct hyperflex *h, const struct hx_address *where, struct hyperflex_look *out) {
    *out = (struct hyperflex_look){0};
    if (!x509_lookup_server(where->address, where->port, h->options.networks, hyperflex_look_ms(h), &out->certificate,
                            &out->problem))
        out->is_chain_valid = hyperflex_trusts(h, NULL, where);
    out->is_trusted = out->is_chain_valid && hyperflex_names(h, where->address);
}
