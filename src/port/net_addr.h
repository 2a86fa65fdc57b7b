/* Addresses of clients: one form for IPv4 and IPv6, and who counts as one; and looking at names and ports. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define NET_ADDRESS_BYTES 46 /* INET6_ADDRSTRLEN */

/* Reads a numeric address; IPv4 becomes IPv4 mapped into IPv6 (RFC 4291 section 2.5.5.2), so that both are compared in one form. False if it is
 * none; NULL is allowed. */
bool net_addr_parse(const char *text, uint8_t out[16]);

/* Writes an address of net_addr_parse as text, IPv4 in its usual form. `out` has NET_ADDRESS_BYTES. */
void net_addr_format(const uint8_t addr[16], char *out);

/* The party of an address, as a number that is never 0. Whatever is counted by address is counted by party: an IPv4 address, or an IPv6 /64, since one
 * host has all addresses of a /64. */
uint64_t net_addr_party(const uint8_t addr[16]);
/* The same for a text. All texts that are no address ("unix") are one party. */
uint64_t net_party(const char *text);
/* The network around a party, about what one site has: IPv4 /24, IPv6 /48. */
uint64_t net_party_site(uint64_t party);

/* A block of addresses. */
struct net_block {
    uint8_t addr[16]; /* as net_addr_parse gives it */
    unsigned bits;    /* length of the prefix of addr that all addresses of the block share */
};
/* Reads "192.0.2.0/24", "2001:db8::/32", "192.0.2.1". False if it is none. */
bool net_block_parse(const char *text, struct net_block *out);
/* True if the address is in one of the blocks. */
bool net_block_has(const struct net_block *blocks, size_t count, const uint8_t addr[16]);

/* The origin of pages at this address over HTTPS, as browsers write it (https://html.spec.whatwg.org/#ascii-serialisation-of-an-origin): a host in lower case, an IPv6
 * address in its short form and brackets, the port unless it is 443 (0 counts as that). False if it does not fit. */
#define NET_ORIGIN_BYTES 301
bool net_https_origin(const char *address, unsigned port, char out[NET_ORIGIN_BYTES]);

/* -- looking at the network: names and ports, each look bounded in time -------------------------------------------- */

/* For diagnosis only: real calls go through http_client.h. Nothing is sent to anybody. */

#define NET_ADDRESSES_MAX 8

/* Numeric addresses of a host, in the order the system would try them. Nothing to free. */
struct net_addresses {
    char items[NET_ADDRESSES_MAX][NET_ADDRESS_BYTES];
    size_t count;
};

/* Resolves a name (or takes a numeric address as it is) as the system does, but waits no longer than `timeout_ms`; a look-up that
 * hangs is left to end by itself. ERR_NOT_FOUND (no such name), ERR_TIMEOUT, ERR_UNREACHABLE (no name server answers), ERR_NOMEM. */
int net_lookup_name(const char *host, long timeout_ms, struct net_addresses *out, struct err *err);

/* Makes a TCP connection to a numeric address. *out is its socket, which does not block. Returns 0 or an errno: ETIMEDOUT, EINVAL (not a
 * numeric address), ECONNREFUSED and the like. */
int net_connect(const char *address, unsigned port, long timeout_ms, int *out);

/* Makes a TCP connection to a numeric address and closes it again. ERR_UNREACHABLE (refused, no route: the text tells), ERR_TIMEOUT,
 * ERR_INVALID (not a numeric address). */
int net_probe_port(const char *address, unsigned port, long timeout_ms, struct err *err);

/* One of many ports that are tried at once. */
struct net_try {
    char address[NET_ADDRESS_BYTES]; /* numeric */
    unsigned port;
    int why; /* what came of it: 0 if a connection was made (and closed again), or an errno as of net_connect */
};
/* Makes a TCP connection to each, NET_TRIES_AT_ONCE at a time, and waits `timeout_ms` for those. */
#define NET_TRIES_AT_ONCE 128
void net_try_ports(struct net_try *tries, size_t count, long timeout_ms);

/* True if both texts are the same numeric address, also when one is IPv4 and the other the same IPv4 mapped into IPv6. */
bool net_same_address(const char *a, const char *b);
