/* Ranges of IPv4 addresses. Layer 1 (model); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#include "address_range.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

bool address_parse(const char *text, uint32_t *out) {
    struct in_addr address;
    if (!text || inet_pton(AF_INET, text, &address) != 1)
        return false;
    *out = ntohl(address.s_addr);
    return true;
}

void address_format(uint32_t address, char out[ADDRESS_TEXT_BYTES]) {
    (void)snprintf(out, ADDRESS_TEXT_BYTES, "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

/* -- one range ------------------------------------------------------------------------------------------------------------- */

static int refuse_range(const char *text, const char *why, struct err *err) {
    (void)err_set(err, ERR_UNPROCESSABLE, "\"%.60s\" %s", str_has_control(text) ? "?" : text, why);
    return err_remedy(err, "write 10.9.0.20-10.9.0.99, 10.9.0.20 or 10.9.0.64/28");
}

/* "10.9.0.64/28": all addresses of the block. */
static int read_block(const char *text, uint32_t base, const char *bits_text, struct address_range *out, struct err *err) {
    int64_t bits;
    if (!str_to_i64(bits_text, 1, 32, &bits))
        return refuse_range(text, "has no length of a prefix from 1 to 32", err);
    const uint32_t host = (uint32_t)((UINT64_C(1) << (32 - bits)) - 1);
    if (base & host)
        return refuse_range(text, "does not begin with the first address of its block", err);
    *out = (struct address_range){base, base | host};
    return 0;
}

int address_range_parse(const char *text, struct address_range *out, struct err *err) {
    char first_text[ADDRESS_TEXT_BYTES];
    uint32_t first, last;
    const size_t n = strcspn(text, "-/");
    if (n >= sizeof(first_text))
        return refuse_range(text, "is no range of IPv4 addresses", err);
    memcpy(first_text, text, n);
    first_text[n] = '\0';
    if (!address_parse(first_text, &first))
        return refuse_range(text, "is no range of IPv4 addresses", err);
    if (text[n] == '/')
        return read_block(text, first, text + n + 1, out, err);
    last = first;
    if (text[n] && !address_parse(text + n + 1, &last))
        return refuse_range(text, "is no range of IPv4 addresses", err);
    if (last < first)
        return refuse_range(text, "ends before it begins", err);
    *out = (struct address_range){first, last};
    return 0;
}

void address_range_format(const struct address_range *range, char out[ADDRESS_RANGE_TEXT_BYTES]) {
    char first[ADDRESS_TEXT_BYTES], last[ADDRESS_TEXT_BYTES];
    address_format(range->first, first);
    address_format(range->last, last);
    (void)snprintf(out, ADDRESS_RANGE_TEXT_BYTES, range->first == range->last ? "%s" : "%s-%s", first, last);
}

/* -- several --------------------------------------------------------------------------------------------------------------- */

static uint64_t address_range_size(const struct address_range *range) {
    return (uint64_t)range->last - range->first + 1;
}

uint64_t address_ranges_size(const struct address_ranges *ranges) {
    uint64_t size = 0;
    for (size_t i = 0; i < ranges->count; i++)
        size += address_range_size(&ranges->items[i]);
    return size;
}

bool address_ranges_has(const struct address_ranges *ranges, uint32_t address) {
    for (size_t i = 0; i < ranges->count; i++)
        if (address >= ranges->items[i].first && address <= ranges->items[i].last)
            return true;
    return false;
}

bool address_ranges_next(const struct address_ranges *ranges, uint64_t *at, uint32_t *address) {
    uint64_t left = *at;
    for (size_t i = 0; i < ranges->count; i++) {
        const uint64_t size = address_range_size(&ranges->items[i]);
        if (left < size) {
            *address = ranges->items[i].first + (uint32_t)left;
            ++*at;
            return true;
        }
        left -= size;
    }
    return false;
}

static bool ranges_meet(const struct address_range *a, const struct address_range *b, uint32_t *common) {
    const uint32_t first = a->first > b->first ? a->first : b->first;
    if (first > a->last || first > b->last)
        return false;
    *common = first;
    return true;
}

bool address_ranges_meet(const struct address_ranges *a, const struct address_ranges *b, uint32_t *common) {
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++)
            if (ranges_meet(&a->items[i], &b->items[j], common))
                return true;
    return false;
}

bool address_ranges_repeat(const struct address_ranges *ranges, uint32_t *common) {
    for (size_t i = 1; i < ranges->count; i++)
        for (size_t j = 0; j < i; j++)
            if (ranges_meet(&ranges->items[i], &ranges->items[j], common))
                return true;
    return false;
}

int address_ranges_add(struct address_ranges *to, const struct address_range *range, struct err *err) {
    struct address_range *last = to->count ? &to->items[to->count - 1] : NULL;
    if (last && last->last != UINT32_MAX && last->last + 1 == range->first) {
        last->last = range->last;
        return 0;
    }
    struct address_range *items = reallocarray(to->items, to->count + 1, sizeof(*items));
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    to->items = items;
    items[to->count++] = *range;
    return 0;
}

int address_ranges_choose(const struct address_ranges *all, const struct address_ranges *taken, uint64_t most,
                          struct address_ranges *out, struct err *err) {
    uint32_t address;
    int rc = 0;
    for (uint64_t at = 0; !rc && most && address_ranges_next(all, &at, &address);)
        if (!address_ranges_has(taken, address)) {
            rc = address_ranges_add(out, &(struct address_range){address, address}, err);
            most--;
        }
    return rc;
}
