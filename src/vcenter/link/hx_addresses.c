/* Where an HX cluster may be, by what its vCenter tells. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hx_addresses.h"

#include <stdlib.h>
#include <string.h>

#include "http_client.h"
#include "link.h"
#include "net_addr.h"
#include "str.h"
#include "vim_extension.h"
#include "vim_guest.h"

#define HX_PORT 443U
#define CONTROLLER_PREFIX "stCtlVM"
#define CONTROLLER_NETWORK "Storage Controller Management Network"

static int hx_addresses_add_url(struct hx_addresses *out, const char *url, struct err *err) {
    struct hx_address one = {.source = HX_ADDRESS_EXTENSION};
    if (!url || !str_starts(url, "https://"))
        return 0;
    _cleanup_free_ char *host = http_url_host(url, &one.port);
    one.address = host;
    return host ? hx_addresses_add(out, &one, err) : 0;
}

static int hx_addresses_read_record(struct vim_client *client, const char *key, struct hx_addresses *out, struct err *err) {
    _cleanup_(vim_extension_free) struct vim_extension *record = NULL;
    int rc = vim_find_extension(client, key, &record, err);
    if (rc || !record)
        return rc;
    rc = hx_addresses_add_url(out, record->management_url, err);
    for (size_t i = 0; !rc && i < record->server_count; i++)
        rc = hx_addresses_add_url(out, record->servers[i].url, err);
    return rc;
}

/* There may be two records of one HX cluster (platform.h); one of them is noted with it. */
static int hx_addresses_read_records(struct vim_client *client, const struct hx_cluster *hx, struct hx_addresses *out,
                                     struct err *err) {
    _cleanup_free_ char *plain = str_format(HX_KEY_PREFIX "%s", hx->vsphere_cluster.moref);
    if (!plain)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = hx_addresses_read_record(client, plain, out, err);
    if (rc || str_eq(plain, hx->extension_key))
        return rc;
    return hx_addresses_read_record(client, hx->extension_key, out, err);
}

/* HX speaks IPv4 only (Administration Guide). */
static int hx_addresses_read_controllers(struct vim_client *client, const struct hx_cluster *hx, struct hx_addresses *out,
                                         struct err *err) {
    const struct vim_guest_query query = {
        .cluster = hx->vsphere_cluster.moref, .name_prefix = CONTROLLER_PREFIX, .network = CONTROLLER_NETWORK};
    _cleanup_done_(vim_guest_addresses_done) struct vim_guest_addresses found = {.count = 0};
    uint8_t bytes[16];
    int rc = vim_list_guest_addresses(client, &query, &found, err);
    for (size_t i = 0; !rc && i < found.count; i++)
        if (net_addr_parse(found.items[i], bytes) && !strchr(found.items[i], ':'))
            rc = hx_addresses_add(
                out, &(struct hx_address){.address = found.items[i], .port = HX_PORT, .source = HX_ADDRESS_CONTROLLER}, err);
    return rc;
}

int hx_addresses_list(struct link *link, const struct hx_cluster *hx, struct hx_addresses *out, struct err *err) {
    _cleanup_done_(hx_addresses_done) struct hx_addresses found = {.count = 0};
    int rc = hx_addresses_read_records(link_client(link), hx, &found, err);
    if (!rc)
        rc = hx_addresses_read_controllers(link_client(link), hx, &found, err);
    if (rc)
        return rc;
    *out = found;
    found.count = 0;
    return 0;
}
