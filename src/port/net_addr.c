/* Addresses of clients: one form for IPv4 and IPv6, and who counts as one. Layer 0 (port); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A party is the upper half of an IPv6 address, or the lower half of an IPv4 address in its IPv6 form: that is 0000:ffff and the address, which is
 * nobody's upper half. */
#include "net_addr.h"

#include <arpa/inet.h>
#include <string.h>

#define PARTY_LOCAL 1U    /* not an address: a unix socket */
#define PARTY_LOOPBACK 2U /* ::1 and the unspecified address, whose upper half is 0 */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

bool net_addr_parse(const char *text, uint8_t out[16]) {
    struct in6_addr ip6;
    struct in_addr ip4;
    if (text && inet_pton(AF_INET6, text, &ip6) == 1) {
        memcpy(out, &ip6, 16);
        return true;
    }
    if (!text || inet_pton(AF_INET, text, &ip4) != 1)
        return false;
    memcpy(out, mapped, sizeof(mapped));
    memcpy(out + sizeof(mapped), &ip4, sizeof(ip4));
    return true;
}

uint64_t net_addr_party(const uint8_t addr[16]) {
    const uint8_t *half = memcmp(addr, mapped, sizeof(mapped)) == 0 ? addr + 8 : addr;
    uint64_t party = 0;
    for (int i = 0; i < 8; i++)
        party = party << 8 | half[i];
    return party ? party : PARTY_LOOPBACK;
}

uint64_t net_party(const char *text) {
    uint8_t addr[16];
    return net_addr_parse(text, addr) ? net_addr_party(addr) : PARTY_LOCAL;
}

uint64_t net_party_site(uint64_t party) {
    return party >> 32 == 0xffff ? party >> 8 : party >> 16;
}
