/* What every use of libcurl shares: whom to trust, our client certificate, safe options, error mapping. Inside src/port only. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <curl/curl.h>
#include <openssl/x509.h>
#include <stdbool.h>

#include "cleanup.h"
#include "digest.h"
#include "err.h"
#include "http_options.h"
#include "net_policy.h"

/* TLS settings and state of a client. PEM texts are parsed when it is made, so that a bad one is reported before anything is sent. */
struct http_tls {
    X509_STORE *store; /* with a CA: exactly the given certificates, never the system's */
    bool has_pin;
    uint8_t pin[DIGEST_SHA256_BYTES];
    char *verify_host; /* name that replaces the URL's; NULL: none */
    X509 *cert;        /* client certificate, key and further certificates of its chain; NULL: none */
    EVP_PKEY *key;
    STACK_OF(X509) * chain;
    char *host;       /* name to check in the exchange under way */
    const char *said; /* curl's error buffer */
    /* what was said when the newest handshake began, is of the connection before, or of the socket: curl keeps its first complaint of an exchange */
    bool is_said_before;
    /* outcome of the newest handshake, set by the verify callback */
    bool was_refused;
    int verify_error; /* X509_V_ERR_* */
    bool has_seen;
    uint8_t seen[DIGEST_SHA256_BYTES]; /* of the leaf */
    X509 *leaf; /* server certificate of the newest handshake, kept while its connection is used again; NULL: no handshake yet */
};

/* Which addresses a client may connect to; checked when a connection is opened. */
struct http_reach {
    const struct net_policy *policy;
    bool was_opened;                 /* the policy allowed an address in the exchange under way */
    char refused[NET_ADDRESS_BYTES]; /* the newest address that it did not allow; "": none */
};

/* Reads trust and client certificate of `options`; http_tls_done frees. ERR_CONFIG (bad PEM, bad proxy, key does not belong to the certificate), ERR_NOMEM. */
int http_tls_init(struct http_tls *tls, const struct http_client_options *options, struct err *err);
void http_tls_done(struct http_tls *tls);

/* Before each exchange: forgets the last outcome and takes the name to check from the URL. ERR_CONFIG for a bad URL, ERR_NOMEM. */
int http_tls_begin(struct http_tls *tls, const char *url, struct err *err);

/* A failed transfer, for http_curl_error. */
struct http_outcome {
    CURLcode code;
    CURL *curl;
    const char *text; /* curl's error buffer */
    const char *peer; /* "host" or "host through proxy", for people */
    const struct http_tls *tls;
    const struct http_reach *reach;
};

/* Sets the options that no exchange may go without: no proxy, signal, redirect or system CA behind our back; TLS 1.2 or newer,
 * judged by `tls`, and no address that `reach` does not allow. Both structs must stay where they are. CURLE_OK or the first failure. */
CURLcode http_curl_setup(CURL *curl, struct http_tls *tls, struct http_reach *reach, char *error_buffer);

/* Adds what `options` says but for trust and client certificate, which are http_tls_init's. The texts are copied by curl. CURLE_OK or the first failure. */
CURLcode http_curl_setup_client(CURL *curl, const struct http_client_options *options);

/* "vc.example.com:443", with the proxy ("http://host:port", or NULL) where there is one; or the unix socket. For messages. The caller frees; NULL: no memory. */
char *http_curl_peer(const char *url, const char *unix_socket, const char *proxy);

/* Makes curl's list of the header lines to send from `lines`, ended by NULL (NULL: none). The caller frees by curl_slist_free_all.
 * ERR_INTERNAL (a line end inside a line), ERR_NOMEM. */
int http_curl_headers(const char *const *lines, struct curl_slist **out, struct err *err);

CLEANUP_DEFINE(struct curl_slist, curl_slist_free_all);

/* Turns a failed transfer into an error: ERR_TLS, ERR_TIMEOUT, ERR_UNREACHABLE, ERR_PROTOCOL, ERR_CONFIG, ERR_NOMEM. */
int http_curl_error(const struct http_outcome *outcome, struct err *err);

#define HTTP_HEAD_BYTES_MAX (256U * 1024U) /* all header lines of one exchange */

/* The header lines of the answer to one exchange: CURLOPT_HEADERFUNCTION is http_head_line, its argument is this. All but `on_line` and `arg` is 0 at first. */
struct http_head {
    void (*on_line)(void *arg, const char *line,
                    size_t n); /* for each line of the final answer, without line end; NULL: nobody asks */
    void *arg;
    size_t bytes;
    bool is_final;   /* between the status line of the final answer and its empty line */
    char coding[32]; /* Content-Encoding of the final answer, which nobody has asked for; "": none */
};

/* Takes one line (`size` times `count` bytes) as curl hands it over. `count`, or 0, which ends the transfer, above HTTP_HEAD_BYTES_MAX. */
size_t http_head_line(char *bytes, size_t size, size_t count, void *head);

/* ERR_TOO_LARGE for header lines over the limit, ERR_PROTOCOL for an answer in a coding; both name `peer`. */
int http_head_check(const struct http_head *head, const char *peer, struct err *err);
