/* Ranges of IPv4 addresses: reading, writing, stepping through them. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An address is a number in the order of the host: 10.0.0.1 is 0x0a000001. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define ADDRESS_TEXT_BYTES 16                             /* "255.255.255.255" and NUL */
#define ADDRESS_RANGE_TEXT_BYTES (2 * ADDRESS_TEXT_BYTES) /* "FIRST-LAST" */

/* Reads "10.9.0.20"; false for anything else, also for 10.9.20 and 010.9.0.20. NULL is allowed. */
bool address_parse(const char *text, uint32_t *out);
void address_format(uint32_t address, char out[ADDRESS_TEXT_BYTES]);

/* From first to last, both included; first <= last. */
struct address_range {
    uint32_t first, last;
};

/* Reads "10.9.0.20-10.9.0.99", "10.9.0.20" or "10.9.0.64/28". ERR_UNPROCESSABLE saying what is wrong with the text, which it names. */
int address_range_parse(const char *text, struct address_range *out, struct err *err);
/* As "10.9.0.20-10.9.0.99", or "10.9.0.20" where it is one address. */
void address_range_format(const struct address_range *range, char out[ADDRESS_RANGE_TEXT_BYTES]);

/* Ranges in the order given; none is all-zero. `items` is malloc'ed. */
struct address_ranges {
    struct address_range *items;
    size_t count;
};

/* How many addresses are in them, which do not overlap. */
uint64_t address_ranges_size(const struct address_ranges *ranges);
bool address_ranges_has(const struct address_ranges *ranges, uint32_t address);
/* Steps through all addresses in their order: begin with `*at` = 0, and each call puts one into *address until it says false:
 * for (uint64_t at = 0; address_ranges_next(ranges, &at, &address);). */
bool address_ranges_next(const struct address_ranges *ranges, uint64_t *at, uint32_t *address);
/* True if both have an address in common; the lowest of two ranges that meet first is in *common. */
bool address_ranges_meet(const struct address_ranges *a, const struct address_ranges *b, uint32_t *common);
/* True if one of the ranges meets one before it; *common as above. */
bool address_ranges_repeat(const struct address_ranges *ranges, uint32_t *common);

/* Adds one behind the others; where it goes on from the last one, that becomes longer. ERR_NOMEM. */
int address_ranges_add(struct address_ranges *to, const struct address_range *range, struct err *err);
/* Adds the first addresses of `all` that are not in `taken`, at most `most`, to *out. ERR_NOMEM. */
int address_ranges_choose(const struct address_ranges *all, const struct address_ranges *taken, uint64_t most,
                          struct address_ranges *out, struct err *err);
