/* What every use of libcurl shares: safe options, error mapping, start and end of the library. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "http_curl.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "secret.h"
#include "str.h"

/* A row of the option list; curl's options are enum constants with values of three types. */
static CURLcode set_numbers(CURL *curl) {
    static const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_SSL_VERIFYPEER, 1},      /* judged by the callback of http_tls.c; without it nothing would be trusted */
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

CURLcode http_curl_setup(CURL *curl, struct http_tls *tls, char *error_buffer) {
    CURLcode rc = set_numbers(curl);
    if (!rc)
        rc = set_texts(curl);
    if (!rc)
        rc = curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, http_tls_setup);
    if (!rc)
        rc = curl_easy_setopt(curl, CURLOPT_SSL_CTX_DATA, tls);
    return rc ? rc : curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error_buffer);
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

/* A handshake that fails without a refusal by us: a peer going down ends it without a word, which is an outage; anything else is
 * a misunderstanding. curl tells the two apart by text only. */
static int handshake_error(const struct http_outcome *o, struct err *err) {
    bool is_outage = strstr(o->text, "SYSCALL") || strstr(o->text, "unexpected eof") || strstr(o->text, "reset by peer");
    if (is_outage)
        return err_set(err, ERR_UNREACHABLE, "%s ended the connection during the TLS handshake", o->peer);
    return err_set(err, ERR_PROTOCOL, "the TLS handshake with %s failed", o->peer);
}

/* curl refuses an answer without a status line as "unsupported protocol", the same code as for a URL. */
static int scheme_error(const struct http_outcome *o, struct err *err) {
    if (strstr(o->text, "HTTP/0.9"))
        return err_set(err, ERR_PROTOCOL, "the answer of %s is not HTTP", o->peer);
    return err_set(err, ERR_CONFIG, "the address of %s is not a usable https URL", o->peer);
}

static int describe(const struct http_outcome *o, struct err *err) {
    switch ((int)o->code) {
    case CURLE_OPERATION_TIMEDOUT: return err_set(err, ERR_TIMEOUT, "%s did not answer in time", o->peer);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return err_set(err, ERR_UNREACHABLE, "the name of %s cannot be resolved", o->peer);
    case CURLE_COULDNT_CONNECT: return err_set(err, ERR_UNREACHABLE, "%s does not accept connections", o->peer);
    case CURLE_PROXY:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
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
        rc = describe(outcome, err);
    if (rc == ERR_UNREACHABLE)
        (void)err_remedy(err, "check address, port, firewall and that the service runs there");
    (void)err_detail(err, "libcurl %d: %s", (int)outcome->code,
                     *outcome->text ? outcome->text : curl_easy_strerror(outcome->code));
    return rc;
}

/* libcurl copies small request bodies and the Cookie header into buffers of its own, and frees them as they are: passwords would
 * stay readable in memory long after the call. So all that it gives back is wiped first. */
static void wiping_free(void *p) {
    if (p)
        secret_wipe(p, malloc_usable_size(p));
    free(p);
}

static void *wiping_realloc(void *p, size_t n) {
    size_t had = p ? malloc_usable_size(p) : 0;
    void *moved = malloc(n);
    if (!moved)
        return NULL;
    if (p)
        memcpy(moved, p, had < n ? had : n);
    wiping_free(p);
    return moved;
}

int http_client_global_init(struct err *err) {
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wiping_free, wiping_realloc, strdup, calloc))
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
