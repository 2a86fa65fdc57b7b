/* Fuzz target: values of Accept-Encoding as they come from the wire. SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http_request_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct http_request *req = http_request_new(NULL, 0, "/");
    char *text = malloc(n + 1);
    if (!req || !text)
        abort();
    memcpy(text, data, n);
    text[n] = '\0';
    req->fields[req->fields_count++] = (struct http_field){"Accept-Encoding", text, 15, (unsigned)strlen(text), 0};
    (void)http_request_accepts_gzip(req);
    http_request_destroy(req);
    free(text);
    return 0;
}
