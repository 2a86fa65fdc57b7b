/* Fuzz target: values of Accept-Encoding as they come from the wire. SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http_request_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* In two fields, as in one with a comma between: where it is cut must not matter. */
static bool accepts(struct http_request *req, const char *first, const char *second) {
    req->fields_count = 0;
    req->fields[req->fields_count++] = (struct http_field){"Accept-Encoding", first, 15, (unsigned)strlen(first)};
    if (second)
        req->fields[req->fields_count++] = (struct http_field){"accept-encoding", second, 15, (unsigned)strlen(second)};
    return http_request_accepts_gzip(req);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct http_request *req = http_request_new(NULL, 0, "/");
    char *text = malloc(n + 1);
    if (!req || !text)
        abort();
    memcpy(text, data, n);
    text[n] = '\0';
    bool as_one = accepts(req, text, NULL);
    char *comma = strchr(text, ',');
    if (comma) {
        *comma = '\0';
        if (accepts(req, text, comma + 1) != as_one)
            abort();
    }
    http_request_destroy(req);
    free(text);
    return 0;
}
