/* The BIOS UUID of the machine that we run on. Layer 7 (daemon). SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine_uuid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "fsutil.h"
#include "str.h"
#include "strbuf.h"

#define NAME "product_uuid"

/* A machine without one of its own shows zeros, or "Not Settable". */
static bool machine_uuid_take(const char *path, char out[UUID_TEXT_BYTES]) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, 256);
    out[0] = '\0';
    if (fs_read(path, &text, NULL) || text.len < UUID_TEXT_BYTES - 1)
        return false;
    memcpy(out, text.data, UUID_TEXT_BYTES - 1);
    out[UUID_TEXT_BYTES - 1] = '\0';
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (uuid_is_valid(out) && strspn(out, "0-") < UUID_TEXT_BYTES - 1)
        return true;
    out[0] = '\0';
    return false;
}

void machine_uuid_read(char out[UUID_TEXT_BYTES]) {
    const char *folder = getenv("RUNTIME_DIRECTORY"); /* NOLINT(concurrency-mt-unsafe): nobody sets variables while threads run */
    _cleanup_free_ char *copy = folder ? str_format("%s-machine/" NAME, folder) : NULL;
    if (!copy || !machine_uuid_take(copy, out))
        (void)machine_uuid_take("/sys/class/dmi/id/" NAME, out);
}
