/* Where kaasd connects to. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "net_policy.h"

#include "cleanup.h"

/* Special-purpose addresses (RFC 6890, IANA's registries) behind which there is no vCenter and no HX cluster, but perhaps what listens for this host alone,
 * such as a cloud's metadata. Private networks are where they are. */
static const char *const net_policy_never[] = {
    /* IPv4 */
    "0.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "192.0.0.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    /* IPv6; ::1 and :: are in the first */
    "::/96",
    "fe80::/10",
    "ff00::/8",
    /* this host and its links by NAT64 (RFC 6052) */
    "64:ff9b::7f00:0/104",
    "64:ff9b::a9fe:0/112",
    /* where a cloud keeps credentials in IPv6 */
    "fd00:ec2::254/128",
};

int net_policy_init(struct net_policy *policy, const char *option, const char *const *networks, struct err *err) {
    *policy = (struct net_policy){.option = option};
    for (size_t i = 0; networks && networks[i]; i++) {
        if (i >= NET_POLICY_BLOCKS_MAX)
            return err_set(err, ERR_CONFIG, "%s has more than %d networks", option, NET_POLICY_BLOCKS_MAX);
        if (!net_block_parse(networks[i], &policy->blocks[policy->count++]))
            return err_set(err, ERR_CONFIG, "%s: \"%s\" is no address and no block of addresses", option, networks[i]);
    }
    return 0;
}

bool net_policy_allows(const struct net_policy *policy, const uint8_t addr[16]) {
    struct net_block never;
    if (!policy)
        return true;
    if (policy->count)
        return net_block_has(policy->blocks, policy->count, addr);
    for (size_t i = 0; i < ARRAY_COUNT(net_policy_never); i++)
        if (net_block_parse(net_policy_never[i], &never) && net_block_has(&never, 1, addr))
            return false;
    return true;
}

int net_policy_check(const struct net_policy *policy, const char *host, const char *address, struct err *err) {
    uint8_t addr[16];
    if (!net_addr_parse(address, addr) || net_policy_allows(policy, addr))
        return 0;
    (void)err_set(err, ERR_UNREACHABLE, "%s is at %s, where kaasd does not connect to", host, address);
    (void)err_remedy(err, "if it belongs there, add its network to %s in kaasd's configuration and restart kaasd",
                     policy->option);
    return err_because(err, ERR_CAUSE_NETWORK);
}
