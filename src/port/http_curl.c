/* TLS, safe options and errors of every use of libcurl. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "http_curl.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <strings.h>

#include "cleanup.h"
#include "limits.h"
#include "str.h"
#include "x509.h"

CLEANUP_DEFINE(BIO, BIO_free_all);

/* -- TLS of outgoing connections: whom to trust, our client certificate, what was seen ----------------------------- */

/* Chain, name and pin are all judged in one verify callback of OpenSSL, during the handshake: nothing of ours, neither request
 * nor client certificate, reaches a peer that was refused. */

/* Reads all certificates of a PEM text; NULL if there is none or one is malformed. */
static STACK_OF(X509) * http_tls_read_certificates(const char *pem) {
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(pem, X509_PEM_CERTIFICATES, NULL);
    STACK_OF(X509) *list = sk_X509_new_null();
    X509 *cert;
    while (bio && list && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        if (!sk_X509_push(list, cert))
            X509_free(cert);
    /* the loop ends well only by "no start line", i.e. no further certificate */
    bool is_complete = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    ERR_clear_error();
    if (is_complete && list && sk_X509_num(list) > 0)
        return list;
    sk_X509_pop_free(list, X509_free);
    return NULL;
}

static int http_tls_init_store(struct http_tls *tls, const char *ca_pem, struct err *err) {
    STACK_OF(X509) *list = http_tls_read_certificates(ca_pem);
    if (!list)
        return err_set(err, ERR_CONFIG, "the CA certificates are not valid PEM");
    tls->store = X509_STORE_new();
    bool is_ok = tls->store;
    for (int i = 0; is_ok && i < sk_X509_num(list); i++)
        is_ok = X509_STORE_add_cert(tls->store, sk_X509_value(list, i)) == 1;
    sk_X509_pop_free(list, X509_free);
    /* an intermediate CA, or the server's own certificate, may be the anchor */
    if (!is_ok || X509_STORE_set_flags(tls->store, X509_V_FLAG_PARTIAL_CHAIN) != 1)
        return err_set(err, ERR_NOMEM, "out of memory while reading CA certificates");
    return 0;
}

static int init_client_cert(struct http_tls *tls, const char *cert_pem, const char *key_pem, struct err *err) {
    if (!key_pem)
        return err_set(err, ERR_CONFIG, "the client certificate comes without its key");
    tls->chain = http_tls_read_certificates(cert_pem);
    if (!tls->chain)
        return err_set(err, ERR_CONFIG, "the client certificate is not valid PEM");
    tls->cert = sk_X509_shift(tls->chain);
    _cleanup_(BIO_free_all) BIO *bio = x509_open_pem(key_pem, X509_PEM_KEYS, NULL);
    tls->key = bio ? PEM_read_bio_PrivateKey(bio, NULL, x509_no_passphrase, NULL) : NULL;
    bool fits = tls->key && X509_check_private_key(tls->cert, tls->key) == 1;
    ERR_clear_error();
    if (!tls->key)
        return err_set(err, ERR_CONFIG, "the key of the client certificate is not valid PEM");
    return fits ? 0 : err_set(err, ERR_CONFIG, "the key does not belong to the client certificate");
}

static int init_trust(struct http_tls *tls, const struct http_trust *trust, bool is_optional, struct err *err) {
    if (trust->ca_pem && trust->pin_sha256)
        return err_set(err, ERR_CONFIG, "trust is either by CA or by SHA-256 of the certificate, not both");
    if (!trust->ca_pem && !trust->pin_sha256 && !is_optional)
        return err_set(err, ERR_CONFIG, "neither a CA nor the SHA-256 of the server's certificate is given");
    if (trust->verify_host && !(tls->verify_host = str_dup(trust->verify_host)))
        return err_set(err, ERR_NOMEM, "out of memory");
    if (trust->pin_sha256) {
        memcpy(tls->pin, trust->pin_sha256, sizeof(tls->pin));
        tls->has_pin = true;
    }
    return trust->ca_pem ? http_tls_init_store(tls, trust->ca_pem, err) : 0;
}

void http_tls_done(struct http_tls *tls) {
    X509_STORE_free(tls->store);
    X509_free(tls->cert);
    EVP_PKEY_free(tls->key); /* OpenSSL clears private numbers */
    sk_X509_pop_free(tls->chain, X509_free);
    X509_free(tls->leaf);
    free(tls->verify_host);
    free(tls->host);
    memset(tls, 0, sizeof(*tls));
}

int http_tls_init(struct http_tls *tls, const struct http_client_options *options, struct err *err) {
    memset(tls, 0, sizeof(*tls));
    if (options->proxy && !str_starts(options->proxy, "http://"))
        return err_set(err, ERR_CONFIG, "the proxy must be given as http://host:port");
    /* plain HTTP over a unix socket needs no trust; https there is refused without it by the verify callback */
    int rc = init_trust(tls, &options->trust, options->unix_socket, err);
    if (!rc && options->client_key_pem && !options->client_cert_pem)
        rc = err_set(err, ERR_CONFIG, "the client key comes without its certificate");
    if (!rc && options->client_cert_pem)
        rc = init_client_cert(tls, options->client_cert_pem, options->client_key_pem, err);
    if (rc)
        http_tls_done(tls);
    return rc;
}

char *http_url_host(const char *url, unsigned *port) {
    CURLU *parts = curl_url();
    char *host = NULL, *number = NULL, *copy = NULL;
    if (parts && !curl_url_set(parts, CURLUPART_URL, url, 0) && !curl_url_get(parts, CURLUPART_HOST, &host, 0) &&
        !curl_url_get(parts, CURLUPART_PORT, &number, CURLU_DEFAULT_PORT)) {
        size_t len = strlen(host);
        bool has_brackets = len > 2 && host[0] == '[' && host[len - 1] == ']';
        copy = has_brackets ? str_format("%.*s", (int)len - 2, host + 1) : str_dup(host);
        *port = (unsigned)strtoul(number, NULL, 10);
    }
    curl_free(host);
    curl_free(number);
    curl_url_cleanup(parts);
    return copy;
}

int http_tls_begin(struct http_tls *tls, const char *url, struct err *err) {
    unsigned port;
    char *host = tls->verify_host ? str_dup(tls->verify_host) : http_url_host(url, &port);
    if (!host)
        return err_set(err, ERR_CONFIG, "the address is not a valid URL");
    free(tls->host);
    tls->host = host;
    tls->was_refused = tls->has_seen = false;
    tls->verify_error = X509_V_OK;
    return 0;
}

static bool http_tls_is_ip_address(const char *host) {
    unsigned char address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* RFC 9525 6.3: names stand in subjectAltName; the common name is not looked at. */
static bool expect_name(X509_VERIFY_PARAM *param, const char *host) {
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return http_tls_is_ip_address(host) ? X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1
                                        : X509_VERIFY_PARAM_set1_host(param, host, 0) == 1;
}

/* Judged by a context over our own store: the one of the handshake may hold another. libcurl keeps the store of one transfer for the next of the same multi
 * handle (CURLOPT_CA_CACHE_TIMEOUT), and that may be one to another server with another CA. */
static bool is_chain_trusted(const struct http_tls *tls, X509_STORE_CTX *handshake) {
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    bool is_trusted = false;
    X509_STORE_CTX_set_error(handshake, X509_V_ERR_OUT_OF_MEM);
    if (ctx &&
        X509_STORE_CTX_init(ctx, tls->store, X509_STORE_CTX_get0_cert(handshake), X509_STORE_CTX_get0_untrusted(handshake)) &&
        X509_VERIFY_PARAM_set1(X509_STORE_CTX_get0_param(ctx), X509_STORE_CTX_get0_param(handshake)) == 1 &&
        expect_name(X509_STORE_CTX_get0_param(ctx), tls->host)) {
        is_trusted = X509_verify_cert(ctx) == 1;
        X509_STORE_CTX_set_error(handshake, X509_STORE_CTX_get_error(ctx));
    }
    X509_STORE_CTX_free(ctx);
    return is_trusted;
}

static bool is_pin_met(const struct http_tls *tls, X509_STORE_CTX *ctx) {
    bool is_met = tls->has_seen && !memcmp(tls->seen, tls->pin, sizeof(tls->pin));
    X509_STORE_CTX_set_error(ctx, is_met ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
    return is_met;
}

/* Instead of OpenSSL's own verification (SSL_CTX_set_cert_verify_callback(3)); 1: trusted. */
static int http_tls_verify(X509_STORE_CTX *ctx, void *arg) {
    struct http_tls *tls = arg;
    X509 *leaf = X509_STORE_CTX_get0_cert(ctx);
    unsigned n = sizeof(tls->seen);
    bool is_trusted = false;
    X509_free(tls->leaf);
    tls->leaf = leaf && X509_up_ref(leaf) == 1 ? leaf : NULL;
    tls->has_seen = leaf && X509_digest(leaf, EVP_sha256(), tls->seen, &n) == 1;
    if (tls->has_pin)
        is_trusted = is_pin_met(tls, ctx);
    else if (tls->store)
        is_trusted = is_chain_trusted(tls, ctx);
    else
        X509_STORE_CTX_set_error(ctx, X509_V_ERR_CERT_REJECTED);
    tls->was_refused = !is_trusted;
    tls->verify_error = X509_STORE_CTX_get_error(ctx);
    return is_trusted;
}

/* CURLOPT_SSL_CTX_FUNCTION; the argument is a struct http_tls. */
static CURLcode http_tls_setup(CURL *curl, void *ssl_ctx, void *arg) {
    struct http_tls *tls = arg;
    SSL_CTX *ctx = ssl_ctx;
    (void)curl;
    tls->is_said_before = *tls->said;
    SSL_CTX_set_cert_verify_callback(ctx, http_tls_verify, tls);
    if (!tls->cert)
        return CURLE_OK;
    if (SSL_CTX_use_certificate(ctx, tls->cert) != 1 || SSL_CTX_use_PrivateKey(ctx, tls->key) != 1)
        return CURLE_SSL_CERTPROBLEM;
    for (int i = 0; i < sk_X509_num(tls->chain); i++)
        if (SSL_CTX_add1_chain_cert(ctx, sk_X509_value(tls->chain, i)) != 1)
            return CURLE_SSL_CERTPROBLEM;
    return CURLE_OK;
}

static const char *http_tls_remedy_for(int verify_error) {
    switch (verify_error) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return "renew the server's certificate, or correct this machine's clock";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "correct this machine's clock, or the server's";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "use the name that stands in the server's certificate";
    default:
        return "check the SHA-256 at the server itself; then give the CA that issued the certificate, or confirm the SHA-256";
    }
}

static enum err_cause http_tls_cause_of(int verify_error) {
    switch (verify_error) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return ERR_CAUSE_CERTIFICATE_ENDED;
    case X509_V_ERR_CERT_NOT_YET_VALID: return ERR_CAUSE_CERTIFICATE_EARLY;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return ERR_CAUSE_CERTIFICATE_NAME;
    default: return ERR_CAUSE_CA;
    }
}

/* Describes the refusal that the last handshake ended with. Returns ERR_TLS. */
static int http_tls_error(const struct http_tls *tls, struct err *err) {
    char seen[X509_THUMBPRINT_TEXT_BYTES] = "none", expected[X509_THUMBPRINT_TEXT_BYTES];
    int rc;
    if (tls->has_seen)
        x509_thumbprint_text(tls->seen, seen);
    if (tls->has_pin) {
        x509_thumbprint_text(tls->pin, expected);
        rc = err_set(err, ERR_TLS, "the certificate of %s is not the expected one: expected SHA-256 %s, seen %s", tls->host,
                     expected, seen);
        (void)err_remedy(err,
                         "compare with the SHA-256 shown at the server itself; if it was renewed there, confirm the new one");
        (void)err_because(err, ERR_CAUSE_PIN);
        return rc;
    }
    rc = err_set(err, ERR_TLS, "the certificate of %s is not trusted: %s (SHA-256 %s)", tls->host,
                 X509_verify_cert_error_string(tls->verify_error), seen);
    (void)err_remedy(err, "%s", http_tls_remedy_for(tls->verify_error));
    (void)err_because(err, http_tls_cause_of(tls->verify_error));
    return rc;
}

/* -- what every use of libcurl shares: safe options, error mapping ------------------------------------------------- */

/* A row of the option list; curl's options are enum constants with values of three types. */
static CURLcode set_numbers(CURL *curl) {
    static const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_SSL_VERIFYPEER, 1},      /* judged by the callback http_tls_verify; without it nothing would be trusted */
        {CURLOPT_SSL_VERIFYHOST, 0},      /* the name is checked there, too, since it may differ from the URL's */
        {CURLOPT_SSL_SESSIONID_CACHE, 0}, /* a resumed session skips the callback; certificates are judged every time */
        {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_TCP_KEEPALIVE, 1}, /* long waits without a byte: a peer that vanished is noticed */
        {CURLOPT_TCP_KEEPIDLE, 15},
        {CURLOPT_TCP_KEEPINTVL, 5},
        {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
        {CURLOPT_HEADEROPT, CURLHEADER_SEPARATE}, /* our headers, cookie included, are not for the proxy */
        {CURLOPT_HTTP_CONTENT_DECODING, 0},
        {CURLOPT_UPLOAD_BUFFERSIZE, 16384}, /* the least; by default 64 KiB are allocated for each request by HTTP/1.1 and TLS */
#if LIBCURL_VERSION_NUM >= 0x075700
        {CURLOPT_QUICK_EXIT, 1}, /* or a hanging name look-up would outlive our timeout and cancel */
#endif
    };
    CURLcode rc = CURLE_OK;
    for (size_t i = 0; !rc && i < ARRAY_COUNT(numbers); i++)
        rc = curl_easy_setopt(curl, numbers[i].option, numbers[i].value);
    return rc;
}

static CURLcode set_texts(CURL *curl) {
    static const struct {
        CURLoption option;
        const char *value;
    } texts[] = {
        {CURLOPT_PROXY, ""},   /* not the one of the environment */
        {CURLOPT_NOPROXY, ""}, /* $no_proxy would switch a given proxy off */
        {CURLOPT_PROTOCOLS_STR, "https"},
        {CURLOPT_REDIR_PROTOCOLS_STR, "https"},
        {CURLOPT_CAINFO, NULL}, /* built-in defaults of the distribution */
        {CURLOPT_CAPATH, NULL},
    };
    CURLcode rc = CURLE_OK;
    for (size_t i = 0; !rc && i < ARRAY_COUNT(texts); i++)
        rc = curl_easy_setopt(curl, texts[i].option, texts[i].value);
    return rc;
}

static bool http_reach_allows(struct http_reach *reach, const struct sockaddr *to) {
    char text[NET_ADDRESS_BYTES];
    uint8_t addr[16];
    if (getnameinfo(to, to->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in), text, sizeof(text),
                    NULL, 0, NI_NUMERICHOST))
        return false;
    text[strcspn(text, "%")] = '\0'; /* the interface of a link-local address */
    if (net_addr_parse(text, addr) && net_policy_allows(reach->policy, addr))
        return reach->was_opened = true;
    memcpy(reach->refused, text, sizeof(text));
    return false;
}

/* CURLOPT_OPENSOCKETFUNCTION: whatever the name resolved to just now, also that of a proxy. */
static curl_socket_t http_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to) {
    (void)purpose;
    if ((to->family == AF_INET || to->family == AF_INET6) && !http_reach_allows(arg, &to->addr))
        return CURL_SOCKET_BAD;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

CURLcode http_curl_setup(CURL *curl, struct http_tls *tls, struct http_reach *reach, char *error_buffer) {
    CURLcode rc;
    tls->said = error_buffer;
    if ((rc = set_numbers(curl)) || (rc = set_texts(curl)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, http_open_socket)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, reach)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, http_tls_setup)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_SSL_CTX_DATA, tls)))
        return rc;
    return curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error_buffer);
}

CURLcode http_curl_setup_client(CURL *curl, const struct http_client_options *o) {
    long connect_ms = o->connect_timeout_ms > 0 ? o->connect_timeout_ms : KAAS_VIM_CONNECT_TIMEOUT_MS;
    CURLcode rc;
    if ((o->proxy && (rc = curl_easy_setopt(curl, CURLOPT_PROXY, o->proxy))) ||
        (o->proxy && (rc = curl_easy_setopt(curl, CURLOPT_HTTPPROXYTUNNEL, 1L))) ||
        (o->unix_socket && (rc = curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, o->unix_socket))) ||
        (o->unix_socket && (rc = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https"))) ||
        (rc = curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, connect_ms)))
        return rc;
    return curl_easy_setopt(curl, CURLOPT_USERAGENT, o->user_agent);
}

char *http_curl_peer(const char *url, const char *unix_socket, const char *proxy) {
    const char *host = strstr(url, "://"), *at = host ? host + 3 : url;
    int n = (int)strcspn(at, "/?#");
    if (unix_socket)
        return str_dup(unix_socket);
    if (proxy)
        return str_format("%.*s through the proxy %s", n, at, proxy + strlen("http://"));
    return str_format("%.*s", n, at);
}

/* The answer of a proxy that does not open the tunnel comes as a plain receive error. */
static int proxy_refusal(const struct http_outcome *o, struct err *err) {
    long status = 0;
    if (o->code != CURLE_RECV_ERROR && o->code != CURLE_PROXY && o->code != CURLE_COULDNT_CONNECT)
        return 0;
    if (curl_easy_getinfo(o->curl, CURLINFO_HTTP_CONNECTCODE, &status) || !status || status / 100 == 2)
        return 0;
    return err_set(err, ERR_UNREACHABLE, "the proxy refused the tunnel to %s with HTTP status %ld", o->peer, status);
}

/* A handshake that fails without a refusal by us. What OpenSSL says of it ("error:0A00010B:SSL routines::...", ERR_error_string(3)) is a
 * misunderstanding, but for an end that comes without a word; all else is said of the socket, by a peer that is going down. curl tells
 * the two apart by text only. */
static int handshake_error(const struct http_outcome *o, struct err *err) {
    if (!o->tls->is_said_before && strstr(o->text, "error:") && !strstr(o->text, "unexpected eof"))
        return err_set(err, ERR_PROTOCOL, "the TLS handshake with %s failed", o->peer);
    return err_set(err, ERR_UNREACHABLE, "%s ended the connection during the TLS handshake", o->peer);
}

/* curl refuses an answer without a status line as "unsupported protocol", the same code as for a URL; but a URL by which a connection was
 * opened can be used. */
static int scheme_error(const struct http_outcome *o, struct err *err) {
    if (o->reach->was_opened || strstr(o->text, "HTTP/0.9"))
        return err_set(err, ERR_PROTOCOL, "the answer of %s is not HTTP", o->peer);
    return err_set(err, ERR_CONFIG, "the address of %s is not a usable https URL", o->peer);
}

static int http_curl_describe(const struct http_outcome *o, struct err *err) {
    switch ((int)o->code) {
    case CURLE_OPERATION_TIMEDOUT: return err_set(err, ERR_TIMEOUT, "%s did not answer in time", o->peer);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        (void)err_set(err, ERR_UNREACHABLE, "the name of %s cannot be resolved", o->peer);
        return err_because(err, ERR_CAUSE_NAME);
    case CURLE_COULDNT_CONNECT:
        if (!o->reach->was_opened && o->reach->refused[0])
            return net_policy_check(o->reach->policy, o->peer, o->reach->refused, err);
        (void)err_set(err, ERR_UNREACHABLE, "%s does not accept connections", o->peer);
        return err_because(err, ERR_CAUSE_PORT);
    case CURLE_PROXY:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:        /* behind a GOAWAY that the server does not go on after */
    case CURLE_HTTP2_STREAM: /* reset by the server */
    case CURLE_RECV_ERROR: return err_set(err, ERR_UNREACHABLE, "the connection to %s broke", o->peer);
    case CURLE_SSL_CONNECT_ERROR: return handshake_error(o, err);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT: return scheme_error(o, err);
    case CURLE_SSL_CERTPROBLEM: return err_set(err, ERR_CONFIG, "our client certificate cannot be used");
    case CURLE_OUT_OF_MEMORY: return err_set(err, ERR_NOMEM, "out of memory");
    default: return err_set(err, ERR_PROTOCOL, "the answer of %s could not be understood", o->peer);
    }
}

int http_curl_error(const struct http_outcome *outcome, struct err *err) {
    if (outcome->tls->was_refused)
        return http_tls_error(outcome->tls, err);
    int rc = proxy_refusal(outcome, err);
    if (!rc)
        rc = http_curl_describe(outcome, err);
    if (rc == ERR_UNREACHABLE)
        (void)err_remedy(err, "check address, port, firewall and that the service runs there");
    (void)err_detail(err, "libcurl %d: %s", (int)outcome->code,
                     *outcome->text ? outcome->text : curl_easy_strerror(outcome->code));
    return rc;
}

/* -- header lines of a request and of an answer -------------------------------------------------------------------- */

/* Our header lines, without those that curl would add by itself. */
int http_curl_headers(const char *const *lines, struct curl_slist **out, struct err *err) {
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no waiting for "100 Continue" */
    struct curl_slist *plain =
        list ? curl_slist_append(list, "Accept-Encoding: identity") : NULL; /* without it any would do (RFC 9110 12.5.3) */
    if (list && !plain) {
        curl_slist_free_all(list);
        list = NULL;
    }
    bool has_type = false;
    for (const char *const *line = lines; line && *line; line++) {
        struct curl_slist *longer = strpbrk(*line, "\r\n") || !list ? NULL : curl_slist_append(list, *line);
        if (!longer) {
            curl_slist_free_all(list);
            return err_set(err, ERR_INTERNAL, "a request header cannot be sent");
        }
        has_type = has_type || !strncasecmp(*line, "Content-Type:", 13);
    }
    if (list && !has_type && !curl_slist_append(list, "Content-Type:")) {
        curl_slist_free_all(list);
        list = NULL;
    }
    *out = list;
    return list ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Compressed by something in between, mostly: an answer in a coding is no text to anybody here. */
static void note_coding(struct http_head *head, const char *line, size_t n) {
    static const char name[] = "Content-Encoding:";
    size_t at = sizeof(name) - 1;
    if (n < at || strncasecmp(line, name, at) != 0)
        return;
    while (at < n && (line[at] == ' ' || line[at] == '\t'))
        at++;
    if (n - at != strlen("identity") || strncasecmp(line + at, "identity", n - at) != 0)
        (void)snprintf(head->coding, sizeof(head->coding), "%.*s", (int)(n - at), line + at);
}

/* "HTTP/1.1 100 Continue", "HTTP/2 103 ". */
static bool is_interim(const char *line, size_t n) {
    const char *space = memchr(line, ' ', n);
    return space && space + 1 < line + n && space[1] == '1';
}

/* Interim answers (1xx, RFC 9110 15.2) and trailers also come here, one line per call; neither belongs to the final header. */
size_t http_head_line(char *bytes, size_t size, size_t count, void *arg) {
    struct http_head *head = arg;
    size_t n = size * count, len = n;
    head->bytes += n;
    if (head->bytes > HTTP_HEAD_BYTES_MAX)
        return 0;
    while (len > 0 && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r'))
        len--;
    if (len > 5 && !memcmp(bytes, "HTTP/", 5)) {
        head->is_final = !is_interim(bytes, len);
        return n;
    }
    if (len == 0)
        head->is_final = false;
    if (head->is_final)
        note_coding(head, bytes, len);
    if (head->is_final && head->on_line)
        head->on_line(head->arg, bytes, len);
    return n;
}

int http_head_check(const struct http_head *head, const char *peer, struct err *err) {
    if (head->bytes > HTTP_HEAD_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the header of the answer of %s is larger than %u bytes", peer, HTTP_HEAD_BYTES_MAX);
    if (!head->coding[0])
        return 0;
    for (const char *c = head->coding; *c; c++)
        if (*c < ' ' || *c > '~')
            return err_set(err, ERR_PROTOCOL, "%s answers with a Content-Encoding that nobody has asked for", peer);
    (void)err_set(err, ERR_PROTOCOL, "%s answers with Content-Encoding \"%s\", which nobody has asked for", peer, head->coding);
    return err_remedy(err, "see that no proxy or balancer in between compresses its answers");
}

unsigned http_retry_after_s(const char *line, size_t n, unsigned default_s, unsigned max_s) {
    static const char name[] = "Retry-After:";
    const size_t name_n = sizeof(name) - 1;
    char digits[20];
    int64_t seconds = 0;
    if (n < name_n || strncasecmp(line, name, name_n) != 0)
        return 0;
    for (line += name_n, n -= name_n; n && (*line == ' ' || *line == '\t'); n--)
        line++;
    for (; n && (line[n - 1] == ' ' || line[n - 1] == '\t'); n--)
        ;
    if (n >= sizeof(digits))
        return default_s;
    memcpy(digits, line, n);
    digits[n] = '\0';
    if (!str_to_i64(digits, 0, INT64_MAX, &seconds))
        return default_s;
    if (seconds < 1)
        return 1;
    return seconds < max_s ? (unsigned)seconds : max_s;
}

bool http_date_ms(const char *line, size_t n, int64_t *out_ms) {
    char text[64];
    struct tm parts = {0};
    if (n < 6 || n >= sizeof(text) || strncasecmp(line, "Date: ", 6) != 0)
        return false;
    memcpy(text, line, n);
    text[n] = 0;
    if (!strptime(text + 6, "%a, %d %b %Y %H:%M:%S GMT", &parts))
        return false;
    *out_ms = (int64_t)timegm(&parts) * 1000;
    return true;
}
