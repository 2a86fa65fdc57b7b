/* Where kaasd connects to: the networks that addresses of vCenters and HX clusters may be in. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Addresses come from administrators and from what vCenters tell, and a name may resolve to anything at any time. So each address is judged when it is
 * connected to, after the name was resolved (http_client.h, x509.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "net_addr.h"

#define NET_POLICY_BLOCKS_MAX 64

struct net_policy {
    const char *option; /* the option that sets the policy, for messages: "hx.allowed_networks"; borrowed */
    struct net_block blocks[NET_POLICY_BLOCKS_MAX];
    size_t count; /* 0: all addresses but loopback, link-local, multicast and reserved ones, and cloud metadata in IPv6 */
};

/* Reads addresses and blocks, ended by NULL; NULL is none. ERR_CONFIG naming the first that is neither. */
int net_policy_init(struct net_policy *policy, const char *option, const char *const *networks, struct err *err);

/* NULL allows every address. */
bool net_policy_allows(const struct net_policy *policy, const uint8_t addr[16]);
/* The same for a numeric address of `host`: 0 if it is allowed, else ERR_UNREACHABLE with a text that names both and a remedy. 0 for what is no address. */
int net_policy_check(const struct net_policy *policy, const char *host, const char *address, struct err *err);
