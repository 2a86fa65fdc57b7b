/* Fuzz target: provider_parse, provider_read, provider_document. What is taken keeps what the header promises, and its one form means the same; what is
 * refused names the file.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool condition) {
    if (!condition)
        abort();
}

static void check_ranges(const struct provider *p, const struct address_ranges *ranges, bool is_in_subnet) {
    const uint32_t mask = provider_netmask(p), network = p->node_gateway & mask;
    uint32_t address;
    must(ranges->count <= PROVIDER_RANGES_MAX && address_ranges_size(ranges) <= PROVIDER_ADDRESSES_MAX);
    for (uint64_t at = 0; address_ranges_next(ranges, &at, &address);) {
        must(address != p->node_gateway);
        must(!is_in_subnet || ((address & mask) == network && address != network && address != (network | ~mask)));
    }
}

/* A cluster's share, and that of the next one. */
static void check_shares(const struct address_ranges *all) {
    const struct address_ranges none = {0};
    struct address_ranges first = {0}, second = {0};
    const uint64_t size = address_ranges_size(all), share = 8;
    uint32_t common;
    must(!address_ranges_choose(all, &none, share, &first, NULL) && !address_ranges_choose(all, &first, share, &second, NULL));
    must(address_ranges_size(&first) == (size < share ? size : share));
    must(address_ranges_size(&second) == (size < share ? 0 : size < 2 * share ? size - share : share));
    must(!address_ranges_meet(&first, &second, &common) && !address_ranges_repeat(&second, &common));
    free(first.items);
    free(second.items);
}

static void check_provider(const struct provider *p) {
    uint32_t common;
    must(p->name && *p->name && strlen(p->name) <= PROVIDER_NAME_CHARS_MAX && p->vcenter && *p->vcenter);
    must(!p->places[PROVIDER_VSPHERE_CLUSTER].given != !p->places[PROVIDER_RESOURCE_POOL].given);
    for (size_t i = PROVIDER_FOLDER; i < PROVIDER_PLACES_COUNT; i++)
        must(p->places[i].given && *p->places[i].given && !str_has_control(p->places[i].given));
    must(p->node_prefix >= 1 && p->node_prefix <= 30 && p->node_addresses.count);
    check_ranges(p, &p->node_addresses, true);
    check_ranges(p, &p->api_addresses, true);
    check_ranges(p, &p->service_addresses, false);
    check_shares(&p->service_addresses);
    must(!address_ranges_meet(&p->node_addresses, &p->api_addresses, &common));
    must(!address_ranges_meet(&p->node_addresses, &p->service_addresses, &common));
    must(!address_ranges_meet(&p->api_addresses, &p->service_addresses, &common));
    must(!p->http_proxy || !strchr(p->http_proxy, '@'));
    for (size_t i = 0; i < p->ssh_keys.count; i++)
        must(!str_has_control(p->ssh_keys.items[i]) && !strstr(p->ssh_keys.items[i], "PRIVATE KEY"));
}

static void check_form(const struct provider *p) {
    _cleanup_json_ json_t *document = provider_document(p), *same = NULL;
    _cleanup_provider_ struct provider again = {0};
    char where[PROVIDER_WHERE_BYTES];
    must(document && !provider_read(document, &again, where, NULL) && !*where);
    same = provider_document(&again);
    must(json_equal(document, same));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    _cleanup_provider_ struct provider p = {0};
    struct err err = {0};
    const int rc = provider_parse("FILE", (const char *)data, n, &p, &err);
    if (rc) {
        must((rc == ERR_UNPROCESSABLE || rc == ERR_TOO_LARGE) && err.code == rc && str_starts(err.text, "FILE:") && !p.name);
        return 0;
    }
    check_provider(&p);
    check_form(&p);
    return 0;
}
