/* A SID as text turned into its binary form (MS-DTYP 2.4.2.2), for tests: the product only reads them.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ldap_text.h"

/* *n gets the length. False if the text is no SID. */
static inline bool sid_bytes(const char *text, uint8_t out[LDAP_SID_BYTES_MAX], size_t *n) {
    unsigned count = 0;
    uint64_t value;
    char *end;
    if (strncmp(text, "S-1-", 4))
        return false;
    value = strtoull(text + 4, &end, 10);
    out[0] = 1;
    for (unsigned i = 0; i < 6; i++)
        out[2 + i] = (uint8_t)(value >> (8 * (5 - i)));
    for (; *end == '-' && count < 15; count++) {
        value = strtoull(end + 1, &end, 10);
        for (unsigned i = 0; i < 4; i++)
            out[8 + 4 * count + i] = (uint8_t)(value >> (8 * i));
    }
    out[1] = (uint8_t)count;
    *n = 8 + (size_t)4 * count;
    return !*end && count;
}
