/* What every use of libcurl shares: safe options, error mapping. Inside src/port only. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <curl/curl.h>

#include "err.h"
#include "http_tls.h"

/* What went on, for the words of an error. */
struct http_outcome {
    CURLcode code;
    CURL *curl;
    const char *text; /* curl's error buffer */
    const char *peer; /* "host" or "host through proxy", for people */
    const struct http_tls *tls;
};

/* Sets the options that no exchange may go without: no proxy, signal, redirect or system CA behind our back; TLS 1.2 or newer,
 * judged by `tls` (whose place must not change). CURLE_OK or the first failure. */
CURLcode http_curl_setup(CURL *curl, struct http_tls *tls, char *error_buffer);

/* Turns a failed transfer into an error: ERR_TLS, ERR_TIMEOUT, ERR_UNREACHABLE, ERR_PROTOCOL, ERR_CONFIG, ERR_NOMEM. */
int http_curl_error(const struct http_outcome *outcome, struct err *err);
