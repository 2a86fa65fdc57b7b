/* Random identifiers. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "uuid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <uuid/uuid.h>

void random_bytes(void *out, size_t n) {
    unsigned char *at = out;
    while (n) {
        ssize_t got = getrandom(at, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort();
        at += got;
        n -= (size_t)got;
    }
}

uint32_t random_u32(void) {
    uint32_t value;
    random_bytes(&value, sizeof(value));
    return value;
}

/* Not uuid_generate: that one falls back to a guessable generator when the kernel gives nothing. */
void uuid_new(char out[UUID_TEXT_BYTES]) {
    uuid_t id;
    random_bytes(id, sizeof(id));
    id[6] = (unsigned char)((id[6] & 0x0f) | 0x40); /* version 4, RFC 9562 section 5.4 */
    id[8] = (unsigned char)((id[8] & 0x3f) | 0x80); /* variant 10 */
    uuid_unparse_lower(id, out);
}

bool uuid_is_valid(const char *text) {
    uuid_t id;
    return text && uuid_parse(text, id) == 0;
}

void uuid_turn(const char *uuid, char out[UUID_TEXT_BYTES]) {
    static const unsigned char turned[] = {6, 7, 4, 5, 2, 3, 0, 1, 8, 11, 12, 9, 10, 13, 16, 17, 14, 15};
    memcpy(out, uuid, UUID_TEXT_BYTES);
    for (size_t i = 0; i < sizeof(turned); i++)
        out[i] = uuid[turned[i]];
}

bool uuid_is_same_machine(const char *a, const char *b) {
    char turned[UUID_TEXT_BYTES];
    if (!uuid_is_valid(a) || !uuid_is_valid(b))
        return false;
    uuid_turn(a, turned);
    return !strcasecmp(a, b) || !strcasecmp(turned, b);
}
