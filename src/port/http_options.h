/* How a server is reached over HTTPS and what makes it the right one. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whom to trust: exactly one of the two for https. With `ca_pem` chain and host name are checked; with `pin_sha256` the leaf
 * certificate must have this SHA-256 over its DER form, and neither chain nor name is looked at. */
struct http_trust {
    const char *ca_pem;        /* PEM text, one or more certificates */
    const uint8_t *pin_sha256; /* 32 bytes */
    const char *verify_host; /* with ca_pem: name or address the certificate must carry instead of the URL's host; NULL: URL's */
};

struct net_policy;

struct http_client_options {
    const struct net_policy *networks; /* where it may connect to; outlives the client; NULL: anywhere */
    struct http_trust trust;           /* copied */
    const char *unix_socket;           /* connect to this path instead of the URL's host; NULL: no */
    const char *proxy;                 /* "http://host:port" used by CONNECT; NULL: none at all */
    const char *client_cert_pem;       /* client certificate and key as PEM texts, held in memory only; both or neither; copied */
    const char *client_key_pem;
    const char *user_agent; /* copied */
    long connect_timeout_ms;
};

/* Host of a URL without the brackets of an IPv6 address, and its port, that of the scheme if it names none. NULL if the URL is not valid. The caller frees. */
char *http_url_host(const char *url, unsigned *port);

/* Seconds that a header line asks to wait, if it is Retry-After (RFC 9110 10.2.3): 1 to `max_s`, or `default_s` for a date and for what cannot be read.
 * 0: another line. */
unsigned http_retry_after_s(const char *line, size_t n, unsigned default_s, unsigned max_s);

/* The time of a header line, if it is Date (RFC 9110 6.6.1), in the one form that is sent today: wall clock, whole seconds. False: another line; *out_ms is left. */
bool http_date_ms(const char *line, size_t n, int64_t *out_ms);
