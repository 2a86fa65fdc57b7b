/* An answer in the making. Layer 2 (httpd), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "http_response.h"
#include "strbuf.h"

#define HTTP_RESPONSE_FIELDS_MAX 24U

enum http_body_kind { HTTP_BODY_NONE, HTTP_BODY_TEXT, HTTP_BODY_SHARED, HTTP_BODY_STATIC };

struct http_header {
    unsigned name, value; /* offsets into text */
    unsigned name_len, value_len;
};

struct http_response {
    int status;
    bool is_closing;
    bool is_broken; /* a setter failed */
    enum http_body_kind kind;
    struct strbuf body;
    struct http_shared *shared;
    const void *bytes;
    size_t bytes_count;
    struct strbuf text; /* names and values of the headers, each NUL-terminated */
    unsigned fields_count;
    struct http_header fields[HTTP_RESPONSE_FIELDS_MAX];
};

/* Empty answer with status 200; done frees what it holds, not the record itself. */
void http_response_init(struct http_response *resp);
void http_response_done(struct http_response *resp);
