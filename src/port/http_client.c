/* One HTTPS exchange at a time over libcurl. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A multi handle with a single transfer is used instead of curl_easy_perform, since its wait can be ended from another thread. */
#include "http_client.h"

#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "http_curl.h"
#include "limits.h"
#include "str.h"
#include "x509.h"

#define IDLE_MAX_S 118L    /* a kept connection is used again within this; libcurl's default */
#define ONCE_IDLE_MAX_S 5L /* for what may not be repeated: servers end idle connections, but not so soon */
#define WAIT_MS 1000       /* upper bound of one wait; ended early by traffic or cancel */

/* -- the client ---------------------------------------------------------------------------------------------------- */

struct http_client {
    CURL *curl;
    CURLM *multi;
    struct http_tls tls;
    struct http_reach reach;
    char *proxy, *unix_socket; /* for messages; NULL: none */
    char error_text[CURL_ERROR_SIZE];
    atomic_bool is_canceled; /* set by other threads */
    /* the exchange under way */
    const struct http_exchange *exchange;
    struct http_head head;
    struct strbuf *reply;
    size_t reply_bytes;
    unsigned sent; /* requests that were begun; curl repeats one whose kept connection turns out to be dead */
    bool is_too_large;
};

static size_t on_body(char *bytes, size_t size, size_t count, void *arg) {
    struct http_client *client = arg;
    size_t n = size * count;
    if (n > client->exchange->reply_max_bytes - client->reply_bytes) {
        client->is_too_large = true;
        return 0;
    }
    client->reply_bytes += n;
    strbuf_add(client->reply, bytes, n);
    return client->reply->failed ? 0 : n;
}

/* Called whenever a request is about to be sent. What may be done only once must not go out again when the connection breaks: nobody knows
 * whether it arrived the first time. */
static int before_request(void *arg, char *peer_ip, char *own_ip, int peer_port, int own_port) {
    struct http_client *client = arg;
    (void)peer_ip, (void)own_ip, (void)peer_port, (void)own_port;
    client->sent++;
    return client->exchange->is_once && client->sent > 1 ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static CURLcode http_client_setup(struct http_client *client, const struct http_client_options *o) {
    CURL *curl = client->curl;
    CURLcode rc;
    if ((rc = http_curl_setup(curl, &client->tls, &client->reach, client->error_text)) ||
        (rc = http_curl_setup_client(curl, o)) || (rc = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_WRITEDATA, client)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, http_head_line)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_HEADERDATA, &client->head)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, before_request)))
        return rc;
    return curl_easy_setopt(curl, CURLOPT_PREREQDATA, client);
}

int http_client_new(const struct http_client_options *options, struct http_client **out, struct err *err) {
    struct http_client *client = calloc(1, sizeof(*client));
    if (!client)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = http_tls_init(&client->tls, options, err);
    if (rc)
        goto fail;
    client->reach.policy = options->networks;
    client->curl = curl_easy_init();
    client->multi = curl_multi_init();
    rc = ERR_NOMEM;
    if (options->unix_socket && !(client->unix_socket = str_dup(options->unix_socket)))
        goto fail_text;
    if (options->proxy && !(client->proxy = str_dup(options->proxy)))
        goto fail_text;
    if (!client->curl || !client->multi || curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, 1L))
        goto fail_text;
    CURLcode code = http_client_setup(client, options);
    if (!code) {
        *out = client;
        return 0;
    }
    rc = code == CURLE_OUT_OF_MEMORY ? ERR_NOMEM : ERR_CONFIG;
fail_text:
    (void)err_set(err, rc, "an HTTP client could not be made");
fail:
    http_client_free(client);
    return rc;
}

void http_client_free(struct http_client *client) {
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    curl_multi_cleanup(client->multi);
    http_tls_done(&client->tls);
    free(client->unix_socket);
    free(client->proxy);
    free(client);
}

static bool carries_body(const struct http_exchange *e) {
    return e->body_bytes > 0 || str_eq(e->method, "POST") || str_eq(e->method, "PUT") || str_eq(e->method, "PATCH");
}

static CURLcode set_method(CURL *curl, const struct http_exchange *e) {
    CURLcode rc = curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L); /* undoes HEAD and POST of the exchange before */
    if (!rc && carries_body(e)) {
        rc = curl_easy_setopt(curl, CURLOPT_POSTFIELDS, e->body_bytes ? e->body : ""); /* implies POST */
        if (!rc)
            rc = curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)e->body_bytes);
    } else if (!rc && str_eq(e->method, "HEAD")) {
        rc = curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    }
    return rc ? rc : curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, e->method);
}

static CURLcode set_exchange(struct http_client *client, const struct http_exchange *e, struct curl_slist *headers) {
    long timeout_ms = e->timeout_ms > 0 ? e->timeout_ms : KAAS_VIM_CALL_TIMEOUT_MS; /* 0 would mean for ever */
    CURLcode rc;
    if ((rc = set_method(client->curl, e)) || (rc = curl_easy_setopt(client->curl, CURLOPT_URL, e->url)) ||
        (rc = curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers)) ||
        (rc = curl_easy_setopt(client->curl, CURLOPT_CONNECT_ONLY, e->is_handshake ? 1L : 0L)) ||
        (rc = curl_easy_setopt(client->curl, CURLOPT_MAXAGE_CONN, e->is_once ? ONCE_IDLE_MAX_S : IDLE_MAX_S)))
        return rc;
    return curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, timeout_ms);
}

/* Drives the transfer to its end, or until canceled. */
static CURLcode http_client_perform(struct http_client *client) {
    int running = 0, left = 0;
    CURLcode result = CURLE_ABORTED_BY_CALLBACK;
    CURLMcode rc = curl_multi_add_handle(client->multi, client->curl);
    if (rc)
        return CURLE_OUT_OF_MEMORY;
    do {
        rc = curl_multi_perform(client->multi, &running);
        if (!rc && running && !atomic_load(&client->is_canceled))
            rc = curl_multi_poll(client->multi, NULL, 0, WAIT_MS, NULL);
    } while (!rc && running && !atomic_load(&client->is_canceled));
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left));)
        if (message->msg == CURLMSG_DONE)
            result = message->data.result;
    (void)curl_multi_remove_handle(client->multi, client->curl);
    return rc ? CURLE_OUT_OF_MEMORY : result;
}

static int http_client_fail(struct http_client *client, CURLcode code, struct err *err) {
    _cleanup_free_ char *peer = http_curl_peer(client->exchange->url, client->unix_socket, client->proxy);
    struct http_outcome outcome = {code,         client->curl,  client->error_text, peer ? peer : "the peer",
                                   &client->tls, &client->reach};
    if (client->is_too_large)
        return err_set(err, ERR_TOO_LARGE, "the answer of %s is larger than %zu bytes", outcome.peer,
                       client->exchange->reply_max_bytes);
    if (http_head_check(&client->head, outcome.peer, err))
        return err->code;
    if (client->reply->failed)
        return strbuf_check(client->reply, "answer", err);
    if (code == CURLE_ABORTED_BY_CALLBACK && client->exchange->is_once && client->sent > 1)
        code = outcome.code = CURLE_SEND_ERROR;
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return err_set(err, ERR_CANCELED, "the exchange with %s was given up", outcome.peer);
    return http_curl_error(&outcome, err);
}

static int http_client_check_head(const struct http_client *client, struct err *err) {
    _cleanup_free_ char *peer = http_curl_peer(client->exchange->url, client->unix_socket, client->proxy);
    return http_head_check(&client->head, peer ? peer : "the peer", err);
}

int http_client_run(struct http_client *client, const struct http_exchange *exchange, struct strbuf *reply, long *status,
                    struct err *err) {
    _cleanup_(curl_slist_free_all) struct curl_slist *headers = NULL;
    long seen = 0;
    if (atomic_load(&client->is_canceled))
        return err_set(err, ERR_CANCELED, "the exchange was given up");
    int rc = http_tls_begin(&client->tls, exchange->url, err);
    if (!rc)
        rc = http_curl_headers(exchange->headers, &headers, err);
    if (rc)
        return rc;
    client->exchange = exchange;
    client->reply = reply;
    client->head = (struct http_head){.on_line = exchange->on_header, .arg = exchange->on_header_arg};
    client->reply_bytes = client->sent = 0;
    client->is_too_large = false;
    client->reach = (struct http_reach){.policy = client->reach.policy};
    client->error_text[0] = '\0';
    CURLcode code = set_exchange(client, exchange, headers);
    if (!code)
        code = http_client_perform(client);
    if (!code)
        code = curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &seen);
    rc = code ? http_client_fail(client, code, err) : http_client_check_head(client, err);
    /* the caller's memory must not be reachable after this call */
    (void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, NULL);
    (void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, NULL);
    client->exchange = NULL;
    client->reply = NULL;
    if (!rc)
        *status = seen;
    return rc;
}

bool http_client_has_sent(const struct http_client *client) {
    return client->sent > 0;
}

int http_client_get_end_point(const struct http_client *client, uint8_t *out, size_t max, size_t *n, struct err *err) {
    if (!client->tls.leaf)
        return err_set(err, ERR_NOT_FOUND, "no certificate was seen yet");
    return x509_end_point_of(client->tls.leaf, out, max, n, err);
}

void http_client_cancel(struct http_client *client) {
    atomic_store(&client->is_canceled, true);
    (void)curl_multi_wakeup(client->multi);
}

/* -- start and end of the library ---------------------------------------------------------------------------------- */

int http_client_global_init(struct err *err) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return err_set(err, ERR_INTERNAL, "libcurl cannot be started");
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    if (!str_starts(info->ssl_version, "OpenSSL")) {
        curl_global_cleanup();
        (void)err_set(err, ERR_CONFIG, "libcurl was built with %s, not with OpenSSL",
                      info->ssl_version ? info->ssl_version : "no TLS");
        return err_remedy(err, "install the OpenSSL flavour of libcurl (Debian package libcurl4)");
    }
    /* OpenSSL writes to sockets by write(2), and curl leaves signals alone under NOSIGNAL */
    (void)signal(SIGPIPE, SIG_IGN);
    return 0;
}

void http_client_global_done(void) {
    curl_global_cleanup();
}

/* -- the seam ------------------------------------------------------------------------------------------------------ */

static int https_open(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    struct http_client *client = NULL;
    int rc = http_client_new(options, &client, err);
    (void)arg;
    if (!rc)
        *conn = client;
    return rc;
}

static int https_run(void *conn, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err) {
    return http_client_run(conn, exchange, reply, status, err);
}

static void https_cancel(void *conn) {
    http_client_cancel(conn);
}

static void https_close(void *conn) {
    http_client_free(conn);
}

const struct http_transport *http_transport_https(void) {
    static const struct http_transport https = {NULL, https_open, https_run, https_cancel, https_close};
    return &https;
}
