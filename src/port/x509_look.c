/* Looking at a server's certificate, by a handshake and nothing else. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <openssl/ssl.h>

#include "cleanup.h"
#include "http_curl.h"
#include "limits.h"
#include "str.h"
#include "x509.h"

/* One look. The struct http_tls stays empty: its own callback, which would refuse, is replaced by keep_leaf. */
struct look {
    CURL *curl;
    struct http_tls tls;
    struct http_reach reach;
    X509 *leaf;
    const char *url, *peer; /* peer: "host:port", for people */
    const char *proxy;      /* "http://host:port/", or NULL */
    long connect_status;    /* HTTP status of the proxy's answer to CONNECT; 0: none */
    char error_text[CURL_ERROR_SIZE];
};

static int x509_look_keep_leaf(X509_STORE_CTX *ctx, void *arg) {
    struct look *look = arg;
    X509 *leaf = X509_STORE_CTX_get0_cert(ctx);
    if (!leaf || look->leaf || X509_up_ref(leaf) != 1)
        return 0;
    look->leaf = leaf;
    X509_STORE_CTX_set_error(ctx, X509_V_OK);
    return 1;
}

static CURLcode accept_any(CURL *curl, void *ssl_ctx, void *arg) {
    (void)curl;
    SSL_CTX_set_cert_verify_callback(ssl_ctx, x509_look_keep_leaf, arg);
    return CURLE_OK;
}

static CURLcode x509_look_setup(struct look *look, long timeout_ms) {
    CURLcode rc;
    if ((rc = http_curl_setup(look->curl, &look->tls, &look->reach, look->error_text)) ||
        (rc = curl_easy_setopt(look->curl, CURLOPT_SSL_CTX_FUNCTION, accept_any)) ||
        (rc = curl_easy_setopt(look->curl, CURLOPT_SSL_CTX_DATA, look)) ||
        (rc = curl_easy_setopt(look->curl, CURLOPT_CONNECT_ONLY, 1L)) || /* TCP and TLS, then stop */
        (rc = curl_easy_setopt(look->curl, CURLOPT_URL, look->url)) ||   /* gives SNI, too, unless the host is an address */
        (look->proxy && (rc = curl_easy_setopt(look->curl, CURLOPT_PROXY, look->proxy))) ||
        (look->proxy && (rc = curl_easy_setopt(look->curl, CURLOPT_HTTPPROXYTUNNEL, 1L))))
        return rc;
    return curl_easy_setopt(look->curl, CURLOPT_TIMEOUT_MS, timeout_ms > 0 ? timeout_ms : KAAS_VIM_CONNECT_TIMEOUT_MS);
}

/* "SCHEME://host:port/", with brackets around an IPv6 address. */
static char *make_url(const char *scheme, const char *host, unsigned port) {
    unsigned char address[16];
    bool is_ip6 = inet_pton(AF_INET6, host, address) == 1;
    return str_format("%s://%s%s%s:%u/", scheme, is_ip6 ? "[" : "", host, is_ip6 ? "]" : "", port);
}

static int x509_look_perform(struct look *look, long timeout_ms, struct err *err) {
    CURLcode code = x509_look_setup(look, timeout_ms);
    if (!code)
        code = curl_easy_perform(look->curl);
    (void)curl_easy_getinfo(look->curl, CURLINFO_HTTP_CONNECTCODE, &look->connect_status);
    if (!code && !look->leaf)
        return err_set(err, ERR_TLS, "%s showed no certificate", look->peer);
    struct http_outcome outcome = {code, look->curl, look->error_text, look->peer, &look->tls, &look->reach};
    return code ? http_curl_error(&outcome, err) : 0;
}

static int x509_look_run(struct look *look, long timeout_ms, struct x509_info *out, struct err *err) {
    int rc;
    look->curl = curl_easy_init();
    rc = look->curl && look->url && look->peer ? x509_look_perform(look, timeout_ms, err)
                                               : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = x509_describe(look->leaf, out, err);
    curl_easy_cleanup(look->curl);
    X509_free(look->leaf);
    return rc;
}

int x509_lookup_server(const char *host, unsigned port, const struct net_policy *networks, long timeout_ms, struct x509_info *out,
                       struct err *err) {
    _cleanup_free_ char *url = make_url("https", host, port), *peer = str_format("%s:%u", host, port);
    struct look look = {.url = url, .peer = peer, .reach.policy = networks};
    return x509_look_run(&look, timeout_ms, out, err);
}

int x509_lookup_tunnel(const struct x509_tunnel *tunnel, long timeout_ms, struct x509_info *out, long *connect_status,
                       struct err *err) {
    _cleanup_free_ char *proxy = make_url("http", tunnel->host, tunnel->port), *url = str_format("https://%s/", tunnel->target);
    _cleanup_free_ char *peer = str_format("%s through %s:%u", tunnel->target, tunnel->host, tunnel->port);
    struct look look = {.url = url, .peer = peer, .proxy = proxy, .reach.policy = tunnel->networks};
    int rc = proxy ? x509_look_run(&look, timeout_ms, out, err) : err_set(err, ERR_NOMEM, "out of memory");
    *connect_status = look.connect_status;
    return rc;
}
