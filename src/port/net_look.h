/* Looking at the network: names and ports, each look bounded in time. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * For diagnosis only: real calls go through http_client.h. Nothing is sent to anybody. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

#define NET_ADDRESSES_MAX 8
#define NET_ADDRESS_BYTES 46 /* INET6_ADDRSTRLEN */

/* Numeric addresses of a host, in the order the system would try them. Nothing to free. */
struct net_addresses {
    char items[NET_ADDRESSES_MAX][NET_ADDRESS_BYTES];
    size_t count;
};

/* Resolves a name (or takes a numeric address as it is) as the system does, but waits no longer than `timeout_ms`; a look-up that
 * hangs is left to end by itself. ERR_NOT_FOUND (no such name), ERR_TIMEOUT, ERR_UNREACHABLE (no name server answers), ERR_NOMEM. */
int net_lookup_name(const char *host, long timeout_ms, struct net_addresses *out, struct err *err);

/* Makes a TCP connection to a numeric address and closes it again. ERR_UNREACHABLE (refused, no route: the text tells), ERR_TIMEOUT,
 * ERR_INVALID (not a numeric address). */
int net_probe_port(const char *address, unsigned port, long timeout_ms, struct err *err);

/* True if both texts are the same numeric address, also when one is IPv4 and the other the same IPv4 mapped into IPv6. */
bool net_same_address(const char *a, const char *b);
