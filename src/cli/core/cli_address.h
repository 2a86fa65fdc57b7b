/* Small notations of arguments: addresses with ports, counts, durations, labels, nodes. Layer 7 (cli); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "json.h"

/* A host with an optional port. */
struct cli_address {
    char host[256]; /* without brackets */
    int port;       /* 0: not given */
};

/* Parses "host", "host:port", "192.0.2.1:443", "[2001:db8::1]:443", "[2001:db8::1]" or "2001:db8::1". ERR_INVALID. */
int cli_address_parse(const char *text, struct cli_address *out, struct err *err);

/* True if only this machine can reach the address. */
bool cli_address_is_loopback(const struct cli_address *address);

/* Parses "4/5" to {ready: 4, desired: 5}; "5" to {desired: 5}; "-/5" to {ready: null, desired: 5}. *out is freed by json_decref. ERR_INVALID;
 * `option` names it in the message. */
int cli_parse_replicas(const char *text, const char *option, json_t **out, struct err *err);

/* Parses "90s", "30m", "1h", "2d", or seconds without a unit, from 1 s to 1,000 days. False if it is none. */
bool cli_parse_duration(const char *text, int64_t *ms);

/* Parses "KEY=VALUE" and sets it in the object of labels. ERR_INVALID. */
int cli_parse_label(const char *text, json_t *labels, struct err *err);

/* Parses "NAME,ROLE[,VCENTER_ID,VM_INSTANCE_UUID]" and appends it to the array of nodes. ERR_INVALID. */
int cli_parse_node(const char *text, json_t *nodes, struct err *err);
