/* Addresses of clients: one form for IPv4 and IPv6, and who counts as one. Layer 0 (port); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads a numeric address; IPv4 becomes IPv4 mapped into IPv6 (RFC 4291 section 2.5.5.2), so that both are compared in one form. False if it is
 * none; NULL is allowed. */
bool net_addr_parse(const char *text, uint8_t out[16]);

/* Wherever something is counted by address, it is counted by party: an IPv4 address, or an IPv6 /64, since a host has all addresses of that.
 * The number stands for it and is never 0. */
uint64_t net_addr_party(const uint8_t addr[16]);
/* The same of a text. What is no address ("unix") is one party. */
uint64_t net_party(const char *text);
/* The network around a party, about what one site has: IPv4 /24, IPv6 /48. */
uint64_t net_party_site(uint64_t party);
