/* Random identifiers. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "uuid.h"

#include <errno.h>
#include <stdlib.h>
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
